use crate::support::{eval, f32s, i32s, try_eval_with};

/// A reduction or scan that shows its order: `(a * 31) + b`, wrapping.
const MIX: &str = "do (%a: i32, %b: i32) {
    %k = const {value = 31} () : i32
    %m = mul (%a, %k) : i32
    %s = add (%m, %b) : i32
    yield (%s)
}";

/// The same through a branch, which is not computed lane-wise.
const MIX_WITH_BRANCH: &str = "do (%a: i32, %b: i32) {
    %k = const {value = 31} () : i32
    %m = mul (%a, %k) : i32
    %zero = const {value = 0} () : i32
    %c = cmp {is = ge} (%b, %zero) : i1
    %s = if (%c) : i32 do {
        %p = add (%m, %b) : i32
        yield (%p)
    } do {
        %n = add (%m, %b) : i32
        yield (%n)
    }
    yield (%s)
}";

fn mix(a: i32, b: i32) -> i32 {
    a.wrapping_mul(31).wrapping_add(b)
}

/// The definition of the order along the last axis, for one row.
fn expected_last(row: &[i32]) -> i32 {
    let mut width = row.len().min(64);
    let mut lanes: Vec<i32> =
        (0..width).map(|l| row.iter().skip(l).step_by(width).copied().reduce(mix).unwrap()).collect();
    while width > 1 {
        width /= 2;
        lanes = (0..width).map(|l| mix(lanes[l], lanes[l + width])).collect();
    }
    lanes[0]
}

fn source(n: usize) -> String {
    format!("%i = iota {{start = 3}} () : tile<{n}xi32>\n%x = mul (%i, %i) : tile<{n}xi32>\n")
}

fn values(n: usize) -> Vec<i32> {
    (3..3 + n as i32).map(|i| i * i).collect()
}

#[test]
fn the_last_axis_reduces_in_lanes_and_halves() {
    for region in [MIX, MIX_WITH_BRANCH] {
        for n in [1usize, 2, 32, 64, 256, 1024] {
            let body = format!("{}%r = reduce {{axis = 0}} (%x) : i32 {region}", source(n));
            assert_eq!(i32s(&eval(&body, "i32", 1)), [expected_last(&values(n))], "{n}");
        }
        let body = format!(
            "{}%t = reshape (%x) : tile<4x128xi32>\n%r = reduce {{axis = 1}} (%t) : tile<4xi32> {region}",
            source(512)
        );
        let rows: Vec<i32> = values(512).chunks(128).map(expected_last).collect();
        assert_eq!(i32s(&eval(&body, "i32", 4)), rows);
    }
}

#[test]
fn other_axes_reduce_in_order() {
    for region in [MIX, MIX_WITH_BRANCH] {
        let body = format!(
            "{}%t = reshape (%x) : tile<2x8x4xi32>\n%r = reduce {{axis = 1}} (%t) : tile<2x4xi32> {region}",
            source(64)
        );
        let x = values(64);
        let expected: Vec<i32> =
            (0..8).map(|o| (0..8).map(|k| x[o / 4 * 32 + k * 4 + o % 4]).reduce(mix).unwrap()).collect();
        assert_eq!(i32s(&eval(&body, "i32", 8)), expected);
    }
}

#[test]
fn scans_combine_in_order_from_either_end() {
    for region in [MIX, MIX_WITH_BRANCH] {
        let x = values(8);
        let running = |xs: &mut dyn Iterator<Item = i32>| -> Vec<i32> {
            xs.scan(None, |sum: &mut Option<i32>, v| {
                *sum = Some(sum.map_or(v, |s| mix(s, v)));
                *sum
            })
            .collect()
        };
        let forward = format!("{}%r = scan {{axis = 0}} (%x) : tile<8xi32> {region}", source(8));
        assert_eq!(i32s(&eval(&forward, "i32", 8)), running(&mut x.iter().copied()));
        let backward = format!("{}%r = scan {{axis = 0, reverse}} (%x) : tile<8xi32> {region}", source(8));
        let mut expected = running(&mut x.iter().rev().copied());
        expected.reverse();
        assert_eq!(i32s(&eval(&backward, "i32", 8)), expected);
        let columns = format!(
            "{}%t = reshape (%x) : tile<4x2xi32>\n%r = scan {{axis = 0}} (%t) : tile<4x2xi32> {region}",
            source(8)
        );
        let got = i32s(&eval(&columns, "i32", 8));
        let even: Vec<i32> = got.iter().step_by(2).copied().collect();
        assert_eq!(even, running(&mut x.iter().step_by(2).copied()));
    }
}

#[test]
fn several_tiles_reduce_together() {
    // The greatest value with its place: the first one of equals.
    let body = "%i = iota {start = 0} () : tile<128xi32>
        %k = const {value = 37} () : tile<128xi32>\n%m = mul (%i, %k) : tile<128xi32>
        %mask = const {value = 127} () : tile<128xi32>\n%x = and (%m, %mask) : tile<128xi32>
        %v, %p = reduce {axis = 0} (%x, %i) : i32, i32 do (%a: i32, %ai: i32, %b: i32, %bi: i32) {
            %gt = cmp {is = gt} (%a, %b) : i1
            %eq = cmp {is = eq} (%a, %b) : i1
            %lt = cmp {is = lt} (%ai, %bi) : i1
            %tie = and (%eq, %lt) : i1
            %first = or (%gt, %tie) : i1
            %rv = select (%first, %a, %b) : i32
            %ri = select (%first, %ai, %bi) : i32
            yield (%rv, %ri)
        }
        %r = join (%v, %p) : tile<2xi32>";
    let x: Vec<i32> = (0..128).map(|i| (i * 37) & 127).collect();
    let place = x.iter().position(|&v| v == 127).unwrap();
    assert_eq!(i32s(&eval(body, "i32", 2)), [127, place as i32]);
}

#[test]
fn regions_may_call_functions_and_use_outer_values() {
    let function = "func @plus(%a: i32, %b: i32) -> (i32) {\n%s = add (%a, %b) : i32\nreturn (%s)\n}";
    let body = "%i = iota {start = 1} () : tile<16xi32>\n%k = const {value = 100} () : i32
        %r = scan {axis = 0} (%i) : tile<16xi32> do (%a: i32, %b: i32) {
            %s = call {callee = \"plus\"} (%a, %b) : i32
            %t = call {callee = \"plus\"} (%s, %k) : i32
            yield (%t)
        }";
    let got = i32s(&try_eval_with(function, body, "i32", 16).unwrap());
    assert_eq!(got[..4], [1, 103, 206, 310]);
}

#[test]
fn float_sums_follow_the_order() {
    let body = "%i = iota {start = 1} () : tile<256xi32>\n%f = cast {round = rtne} (%i) : tile<256xf32>
        %one = const {value = 1.0} () : tile<256xf32>\n%x = div (%one, %f) : tile<256xf32>
        %r = reduce {axis = 0} (%x) : f32 do (%a: f32, %b: f32) {
            %s = add (%a, %b) : f32
            yield (%s)
        }";
    let x: Vec<f32> = (1..=256).map(|i| 1.0 / i as f32).collect();
    let mut lanes: Vec<f32> = (0..64).map(|l| x[l] + x[l + 64]).collect();
    lanes.iter_mut().enumerate().for_each(|(l, s)| *s += x[l + 128]);
    lanes.iter_mut().enumerate().for_each(|(l, s)| *s += x[l + 192]);
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        lanes = (0..half).map(|l| lanes[l] + lanes[l + half]).collect();
    }
    assert_eq!(f32s(&eval(body, "f32", 1)), lanes);
}

#[test]
fn map_elementwise_takes_packs_apart() {
    let body = "%i = iota {start = 0} () : tile<8xi32>
        %r, %s = map_elementwise {pack = 2} (%i) : tile<8xi32>, tile<8xi32> do (%a: i32, %b: i32) {
            %sum = add (%a, %b) : i32
            yield (%b, %a, %sum, %sum)
        }";
    assert_eq!(i32s(&eval(body, "i32", 8)), [1, 0, 3, 2, 5, 4, 7, 6]);
    let second = body.replace("%r, %s", "%z, %r");
    assert_eq!(i32s(&eval(&second, "i32", 8)), [1, 1, 5, 5, 9, 9, 13, 13]);
    let branching = "%i = iota {start = 0} () : tile<4xi32>
        %r = map_elementwise {pack = 1} (%i) : tile<4xi32> do (%a: i32) {
            %two = const {value = 2} () : i32\n%c = cmp {is = lt} (%a, %two) : i1
            %v = if (%c) : i32 do {\nyield (%two)\n} do {\nyield (%a)\n}
            yield (%v)
        }";
    assert_eq!(i32s(&eval(branching, "i32", 4)), [2, 2, 2, 3]);
}
