use shoal_interp::{Arg, Memory};

use crate::support::{alloc_f32, alloc_i32, launch, read_f32, read_i32};

#[test]
fn read_modify_write_combines_and_gives_the_old_value() {
    for (op, new) in [("add", 9), ("min", 3), ("max", 6), ("and", 2), ("or", 7), ("xor", 5), ("xchg", 3)] {
        let text = format!(
            "kernel @k(%p: ptr<i32>, %q: ptr<i32>) {{
                %v = const {{value = 3}} () : i32
                %old = atomic_rmw {{op = {op}, sem = acq_rel, scope = gpu}} (%p, %v) : i32
                store (%q, %old)
                return ()
            }}"
        );
        let mut memory = Memory::new();
        let (p, q) = (alloc_i32(&mut memory, &[6]), memory.alloc(4));
        launch(&text, [1, 1, 1], &[Arg::Pointer(p), Arg::Pointer(q)], &mut memory).unwrap();
        assert_eq!((read_i32(&memory, p), read_i32(&memory, q)), (vec![new], vec![6]), "{op}");
    }
}

#[test]
fn elements_happen_in_row_major_order_and_masks_hide() {
    let text = "kernel @k(%p: ptr<i32>, %q: ptr<i32>) {
        %i = iota {start = 0} () : tile<4xi32>
        %two = const {value = 2} () : tile<4xi32>
        %m = cmp {is = ne} (%i, %two) : tile<4xi1>
        %ps = splat (%p) : tile<4xptr<i32>>
        %ten = const {value = 10} () : tile<4xi32>
        %old = atomic_rmw {op = add, sem = relaxed, scope = gpu} (%ps, %ten, %m) : tile<4xi32>
        %qs = splat (%q) : tile<4xptr<i32>>
        %qp = ptr_add (%qs, %i) : tile<4xptr<i32>>
        store (%qp, %old)
        return ()
    }";
    let mut memory = Memory::new();
    let (p, q) = (alloc_i32(&mut memory, &[1]), memory.alloc(16));
    launch(text, [1, 1, 1], &[Arg::Pointer(p), Arg::Pointer(q)], &mut memory).unwrap();
    assert_eq!((read_i32(&memory, p), read_i32(&memory, q)), (vec![31], vec![1, 11, 0, 21]));
}

#[test]
fn floats_add_across_programs() {
    let text = "kernel @k(%p: ptr<f32>) {
        %v = const {value = 0.5} () : f32
        %old = atomic_rmw {op = add, sem = relaxed, scope = gpu} (%p, %v) : f32
        return ()
    }";
    let mut memory = Memory::new();
    let p = alloc_f32(&mut memory, &[1.0]);
    launch(text, [100, 3, 1], &[Arg::Pointer(p)], &mut memory).unwrap();
    assert_eq!(read_f32(&memory, p), [151.0]);
}

#[test]
fn compare_and_swap_loads_and_stores() {
    let text = "kernel @k(%p: ptr<i32>, %q: ptr<i32>) {
        %five = const {value = 5} () : i32
        %six = const {value = 6} () : i32
        %a = atomic_cas {sem = acq_rel, scope = gpu} (%p, %five, %six) : i32
        %b = atomic_cas {sem = acq_rel, scope = gpu} (%p, %five, %a) : i32
        %c = atomic_load {sem = acquire, scope = gpu} (%p) : i32
        %ab = add (%a, %b) : i32
        %abc = add (%ab, %c) : i32
        atomic_store {sem = release, scope = gpu} (%q, %abc)
        return ()
    }";
    let mut memory = Memory::new();
    let (p, q) = (alloc_i32(&mut memory, &[5]), memory.alloc(4));
    launch(text, [1, 1, 1], &[Arg::Pointer(p), Arg::Pointer(q)], &mut memory).unwrap();
    assert_eq!((read_i32(&memory, p), read_i32(&memory, q)), (vec![6], vec![17]));
}
