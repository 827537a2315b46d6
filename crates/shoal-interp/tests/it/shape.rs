use shoal_interp::Error;

use crate::support::{eval, i32s, try_eval};

const I: &str = "%i = iota {start = 0} () : tile<8xi32>\n%t = reshape (%i) : tile<2x4xi32>\n";

fn on_tile(body: &str, count: usize) -> Vec<i32> {
    i32s(&eval(&format!("{I}{body}"), "i32", count))
}

#[test]
fn tiles_change_shape() {
    assert_eq!(on_tile("%r = reshape (%t) : tile<4x2xi32>", 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(on_tile("%r = transpose {perm = [1, 0]} (%t) : tile<4x2xi32>", 8), [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(
        on_tile("%c = reshape (%i) : tile<8x1xi32>\n%r = broadcast (%c) : tile<8x2xi32>", 16)[..6],
        [0, 0, 1, 1, 2, 2]
    );
    assert_eq!(
        on_tile("%n = neg (%t) : tile<2x4xi32>\n%r = join (%t, %n) : tile<2x4x2xi32>", 16)[..6],
        [0, 0, 1, -1, 2, -2]
    );
    let split = "%s = reshape (%i) : tile<4x2xi32>\n%a, %b = split (%s) : tile<4xi32>, tile<4xi32>\n%r = sub (%b, %a) : tile<4xi32>";
    assert_eq!(on_tile(split, 4), [1; 4]);
    assert_eq!(on_tile("%c = const {value = 9} () : i32\n%r = splat (%c) : tile<2x2xi32>", 4), [9; 4]);
}

#[test]
fn splits_end_in_scalars() {
    let body = "%a = const {value = 3} () : i32\n%b = const {value = 5} () : i32
        %j = join (%a, %b) : tile<2xi32>\n%x, %y = split (%j) : i32, i32\n%r = sub (%x, %y) : i32";
    assert_eq!(i32s(&eval(body, "i32", 1)), [-2]);
}

#[test]
fn gather_reads_along_an_axis() {
    let along_last = "%x = const {value = 3} () : tile<2x4xi32>\n%k = sub (%x, %t) : tile<2x4xi32>
        %four = const {value = 4} () : tile<2x4xi32>\n%m = const {value = 3} () : tile<2x4xi32>
        %w = and (%k, %m) : tile<2x4xi32>\n%r = gather {axis = 1} (%t, %w) : tile<2x4xi32>";
    assert_eq!(on_tile(along_last, 8), [3, 2, 1, 0, 7, 6, 5, 4]);
    let along_first = "%one = const {value = 1} () : tile<1x4xi32>\n%r = gather {axis = 0} (%t, %one) : tile<1x4xi32>";
    assert_eq!(on_tile(along_first, 4), [4, 5, 6, 7]);
}

#[test]
fn gather_outside_is_an_error() {
    let body =
        format!("{I}%w = const {{value = 2}} () : tile<1x4xi32>\n%r = gather {{axis = 0}} (%t, %w) : tile<1x4xi32>");
    let error = try_eval(&body, "i32", 4).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfRange { index: 2, size: 2, .. }), "{error}");
}

#[test]
fn histograms_count_what_is_inside() {
    let body = format!(
        "{I}%m = const {{value = 5}} () : tile<8xi32>\n%x = sub (%i, %m) : tile<8xi32>\n%r = histogram (%x) : tile<4xi32>"
    );
    assert_eq!(i32s(&eval(&body, "i32", 4)), [1, 1, 1, 0]);
    let masked = format!(
        "{I}%one = const {{value = 1}} () : tile<8xi32>\n%x = shr (%i, %one) : tile<8xi32>
        %odd = and (%i, %one) : tile<8xi32>\n%m = cast {{round = rtne}} (%odd) : tile<8xi1>\n%r = histogram (%x, %m) : tile<4xi32>"
    );
    assert_eq!(i32s(&eval(&masked, "i32", 4)), [1; 4]);
}

#[test]
fn layouts_do_not_change_what_is_computed() {
    let body = "%i = iota {start = 0} () : tile<4xi32, #layout<lane=[[1],[2]], out=[4]>>
        %s = add (%i, %i) : tile<4xi32, #layout<lane=[[1],[2]], out=[4]>>
        %c = convert_layout (%s) : tile<4xi32, #layout<register=[[2],[1]], out=[4]>>
        %x = reduce {axis = 0} (%c) : i32 do (%a: i32, %b: i32) {
            %m = add (%a, %b) : i32
            yield (%m)
        }
        %r = splat (%x) : tile<2xi32>";
    assert_eq!(i32s(&eval(body, "i32", 2)), [12, 12]);
}
