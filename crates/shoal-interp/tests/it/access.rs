use shoal_interp::{AccessKind, Address, Arg, ElementOrder, Error, Memory, Options, run};

use crate::support::{alloc_f32, alloc_i32, elements, int, launch, module, read_f32, read_i32};

const ADD: &str = "kernel @k(%x: ptr<f32>, %y: ptr<f32>, %n: i32) {
    %pid = program_id {axis = 0} () : i32
    %block = const {value = 8} () : i32
    %start = mul (%pid, %block) : i32
    %s = splat (%start) : tile<8xi32>
    %i = iota {start = 0} () : tile<8xi32>
    %o = add (%s, %i) : tile<8xi32>
    %ns = splat (%n) : tile<8xi32>
    %m = cmp {is = lt} (%o, %ns) : tile<8xi1>
    %xs = splat (%x) : tile<8xptr<f32>>
    %xp = ptr_add (%xs, %o) : tile<8xptr<f32>>
    %ys = splat (%y) : tile<8xptr<f32>>
    %yp = ptr_add (%ys, %o) : tile<8xptr<f32>>
    %a = load (%xp, %m) : tile<8xf32>
    %b = load (%yp, %m) : tile<8xf32>
    %c = add (%a, %b) : tile<8xf32>
    store (%yp, %c, %m)
    return ()
}";

fn vector_add(count: i64) -> (Result<shoal_interp::Report, Error>, Memory, Address) {
    let mut memory = Memory::new();
    let x = alloc_f32(&mut memory, &(0..20).map(|i| i as f32).collect::<Vec<_>>());
    let y = alloc_f32(&mut memory, &[0.5; 20]);
    memory.name(x, "x");
    let result = launch(ADD, [3, 1, 1], &[Arg::Pointer(x), Arg::Pointer(y), int(count)], &mut memory);
    (result, memory, y)
}

#[test]
fn masks_keep_accesses_inside() {
    let (result, memory, y) = vector_add(20);
    result.unwrap();
    assert_eq!(read_f32(&memory, y), (0..20).map(|i| i as f32 + 0.5).collect::<Vec<_>>());
}

#[test]
fn an_access_outside_names_program_element_and_neighbour() {
    let (result, ..) = vector_add(21);
    let error = result.unwrap_err();
    let Error::OutOfBounds { bytes: 4, access: AccessKind::Read, element, at, .. } = &error else { panic!("{error}") };
    assert_eq!((element.as_slice(), at.program), ([4u32].as_slice(), [2, 0, 0]));
    assert!(at.span.start < at.span.end);
    assert!(error.to_string().ends_with("0 bytes past the end of `x` (80 bytes)"), "{error}");
}

#[test]
fn different_values_at_one_address_are_refused_where_elements_have_no_order() {
    let store = |what: &str, value: &str, hidden: i64| {
        let text = format!(
            "kernel @k(%p: ptr<i32>, %n: i32) {{
                %i = iota {{start = 0}} () : tile<8xi32>
                %two = const {{value = 2}} () : tile<8xi32>
                %half = div (%i, %two) : tile<8xi32>
                %ns = splat (%n) : tile<8xi32>
                %m = cmp {{is = ge}} (%i, %ns) : tile<8xi1>
                %ps = splat (%p) : tile<8xptr<i32>>
                %at = ptr_add (%ps, %half) : tile<8xptr<i32>>
                {what} (%at, {value}, %m)
                return ()
            }}"
        );
        let mut memory = Memory::new();
        let p = alloc_i32(&mut memory, &[0; 4]);
        let options = Options { elements: ElementOrder::Unordered, ..Options::default() };
        run(&module(&text), "k", [1, 1, 1], &[Arg::Pointer(p), int(hidden)], &mut memory, &options)
    };
    for what in ["store", "atomic_store {sem = relaxed, scope = gpu}"] {
        store(what, "%half", 0).unwrap();
        store(what, "%i", 7).unwrap();
        let refused = store(what, "%i", 6).unwrap_err().to_string();
        assert!(refused.contains("a store of different values to one address"), "{refused}");
    }
}

#[test]
fn misaligned_accesses_are_errors() {
    let text = "kernel @k(%p: ptr<i32>) {\n%v = load (%p) : i32\nstore (%p, %v)\nreturn ()\n}";
    let mut memory = Memory::new();
    let p = memory.alloc(16);
    let error = launch(text, [1, 1, 1], &[Arg::Pointer(p.offset(2))], &mut memory).unwrap_err();
    assert!(matches!(error, Error::Misaligned { bytes: 4, .. }), "{error}");
    let error = launch(text, [1, 1, 1], &[Arg::Pointer(Address(0))], &mut memory).unwrap_err();
    assert!(error.to_string().contains("where nothing is allocated"), "{error}");
}

#[test]
fn masked_elements_are_other_or_zero() {
    let text = "kernel @k(%p: ptr<i32>, %q: ptr<i32>) {
        %i = iota {start = 0} () : tile<4xi32>
        %one = const {value = 1} () : tile<4xi32>
        %odd = and (%i, %one) : tile<4xi32>
        %m = cast {round = rtne} (%odd) : tile<4xi1>
        %other = const {value = -9} () : tile<4xi32>
        %ps = splat (%p) : tile<4xptr<i32>>
        %pp = ptr_add (%ps, %i) : tile<4xptr<i32>>
        %a = load (%pp, %m, %other) : tile<4xi32>
        %b = load (%pp, %m) : tile<4xi32>
        %c = add (%a, %b) : tile<4xi32>
        %qs = splat (%q) : tile<4xptr<i32>>
        %qp = ptr_add (%qs, %i) : tile<4xptr<i32>>
        store (%qp, %c)
        return ()
    }";
    let mut memory = Memory::new();
    let (p, q) = (alloc_i32(&mut memory, &[1, 2, 3, 4]), memory.alloc(16));
    launch(text, [1, 1, 1], &[Arg::Pointer(p), Arg::Pointer(q)], &mut memory).unwrap();
    assert_eq!(read_i32(&memory, q), [-9, 4, -9, 8]);
}

#[test]
fn truth_values_take_a_byte_and_pointers_eight() {
    let text = "kernel @k(%p: ptr<i1>, %t: ptr<ptr<i32>>) {
        %v = load (%p) : i1
        %one = const {value = 1} () : i32
        %second = ptr_add (%p, %one) : ptr<i1>
        store (%second, %v)
        %inner = load (%t) : ptr<i32>
        %w = load (%inner) : i32
        %x = add (%w, %one) : i32
        store (%inner, %x)
        return ()
    }";
    let mut memory = Memory::new();
    let (p, target) = (memory.alloc_from(&[2, 0]), alloc_i32(&mut memory, &[41]));
    let table = memory.alloc_from(&target.0.to_le_bytes());
    launch(text, [1, 1, 1], &[Arg::Pointer(p), Arg::Pointer(table)], &mut memory).unwrap();
    assert_eq!(elements(&memory, p, 1), [2, 1]);
    assert_eq!(read_i32(&memory, target), [42]);
}
