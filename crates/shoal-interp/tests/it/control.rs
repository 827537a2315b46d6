use shoal_interp::{Arg, Error, Memory};

use crate::support::{eval, i32s, launch, read_i32, try_eval, try_eval_with};

#[test]
fn branches_choose() {
    for (value, expected) in [("true", 1), ("false", 2)] {
        let body = format!(
            "%c = const {{value = {value}}} () : i1
            %r = if (%c) : i32 do {{\n%a = const {{value = 1}} () : i32\nyield (%a)\n}} do {{\n%b = const {{value = 2}} () : i32\nyield (%b)\n}}"
        );
        assert_eq!(i32s(&eval(&body, "i32", 1)), [expected]);
    }
}

fn sum(from: i64, to: i64, step: i64, ty: &str) -> Result<Vec<u64>, Error> {
    let body = format!(
        "%from = const {{value = {from}}} () : {ty}\n%to = const {{value = {to}}} () : {ty}\n%step = const {{value = {step}}} () : {ty}
        %zero = const {{value = 0}} () : {ty}
        %r = for (%from, %to, %step, %zero) : {ty} do (%i: {ty}, %s: {ty}) {{\n%t = add (%s, %i) : {ty}\nyield (%t)\n}}"
    );
    try_eval(&body, ty, 1)
}

#[test]
fn counted_loops_count() {
    assert_eq!(sum(0, 10, 3, "i32").unwrap(), [18]);
    assert_eq!(sum(5, 5, 1, "i32").unwrap(), [0]);
    assert_eq!(i32s(&sum(-3, 2, 1, "i32").unwrap()), [-5]);
    assert_eq!(sum(120, 127, 100, "i8").unwrap(), [120], "the counter does not wrap around");
    assert_eq!(
        sum(4_294_967_290, 4_294_967_295, 3, "u32").unwrap(),
        [u64::from(4_294_967_290u32.wrapping_add(4_294_967_293))]
    );
    assert!(matches!(sum(0, 10, 0, "i32"), Err(Error::LoopStep { step: 0, .. })));
}

#[test]
fn loops_carry_tiles_and_nest() {
    let body =
        "%zero = const {value = 0} () : i32\n%one = const {value = 1} () : i32\n%four = const {value = 4} () : i32
        %x = iota {start = 0} () : tile<2xi32>
        %r = for (%zero, %four, %one, %x) : tile<2xi32> do (%i: i32, %s: tile<2xi32>) {
            %t = for (%zero, %i, %one, %s) : tile<2xi32> do (%j: i32, %u: tile<2xi32>) {
                %js = splat (%j) : tile<2xi32>\n%v = add (%u, %js) : tile<2xi32>\nyield (%v)
            }
            yield (%t)
        }";
    assert_eq!(i32s(&eval(body, "i32", 2)), [4, 5]);
}

#[test]
fn while_loops_hand_over_values_at_the_condition() {
    // Collatz from 27: counts the steps to 1.
    let body = "%n0 = const {value = 27} () : i32\n%c0 = const {value = 0} () : i32\n%one = const {value = 1} () : i32\n%two = const {value = 2} () : i32\n%three = const {value = 3} () : i32
        %r = while (%n0, %c0) : i32 do (%n: i32, %c: i32) {
            %go = cmp {is = ne} (%n, %one) : i1
            condition (%go, %c)
        } do (%k: i32) {
            yield (%k, %k)
        }";
    // The body gets what the condition handed over, and nothing else.
    let text = body
        .replace("condition (%go, %c)", "condition (%go, %c, %n)")
        .replace(") : i32 do (%n: i32, %c: i32) {", ") : i32, i32 do (%n: i32, %c: i32) {")
        .replace("%r = while", "%r, %last = while")
        .replace(
            "do (%k: i32) {\n            yield (%k, %k)",
            "do (%k: i32, %m: i32) {
            %odd = and (%m, %one) : i32
            %is_odd = cmp {is = eq} (%odd, %one) : i1
            %next = if (%is_odd) : i32 do {
                %a = mul (%m, %three) : i32\n%b = add (%a, %one) : i32\nyield (%b)
            } do {
                %h = div (%m, %two) : i32\nyield (%h)
            }
            %count = add (%k, %one) : i32
            yield (%next, %count)",
        );
    assert_eq!(i32s(&eval(&text, "i32", 1)), [111]);
}

#[test]
fn functions_are_called() {
    let functions = "func @divmod(%a: i32, %b: i32) -> (i32, i32) {\n%q = div (%a, %b) : i32\n%r = rem (%a, %b) : i32\nreturn (%q, %r)\n}
        func @twice(%x: tile<2xi32>) -> (tile<2xi32>) noinline {\n%y = add (%x, %x) : tile<2xi32>\nreturn (%y)\n}";
    let body = "%a = const {value = 17} () : i32\n%b = const {value = 5} () : i32
        %q, %m = call {callee = \"divmod\"} (%a, %b) : i32, i32
        %j = join (%q, %m) : tile<2xi32>
        %r = call {callee = \"twice\"} (%j) : tile<2xi32>";
    assert_eq!(i32s(&try_eval_with(functions, body, "i32", 2).unwrap()), [6, 4]);
}

#[test]
fn programs_know_their_place() {
    let text = "kernel @k(%p: ptr<i32>) {
        %x = program_id {axis = 0} () : i32\n%y = program_id {axis = 1} () : i32\n%z = program_id {axis = 2} () : i32
        %nx = num_programs {axis = 0} () : i32\n%ny = num_programs {axis = 1} () : i32
        %a = mul (%z, %ny) : i32\n%b = add (%a, %y) : i32\n%c = mul (%b, %nx) : i32\n%flat = add (%c, %x) : i32
        %q = ptr_add (%p, %flat) : ptr<i32>\nstore (%q, %flat)\nbarrier ()
        %t = const {value = true} () : i1\nassume (%t)
        return ()
    }";
    let mut memory = Memory::new();
    let p = memory.alloc(4 * 24);
    launch(text, [2, 3, 4], &[Arg::Pointer(p)], &mut memory).unwrap();
    assert_eq!(read_i32(&memory, p), (0..24).collect::<Vec<_>>());
}
