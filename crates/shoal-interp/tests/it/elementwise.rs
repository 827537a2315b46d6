use shoal_interp::Error;
use shoal_ir::numeric;
use shoal_ir::op::{BinaryOp, CmpOp, MathFn, UnaryOp};
use shoal_ir::{Const, Scalar};

use crate::support::{eval, f32s, i32s, try_eval};

#[test]
fn constants_and_iota() {
    assert_eq!(i32s(&eval("%r = const {value = -7} () : tile<4xi32>", "i32", 4)), [-7; 4]);
    assert_eq!(i32s(&eval("%r = iota {start = -2} () : tile<4xi32>", "i32", 4)), [-2, -1, 0, 1]);
    assert_eq!(f32s(&eval("%r = const {value = 1.5} () : f32", "f32", 1)), [1.5]);
}

#[test]
fn binary_operations_are_the_numeric_ones() {
    for &op in BinaryOp::ALL {
        let float = matches!(op, BinaryOp::DivRn | BinaryOp::MinNan | BinaryOp::MaxNan);
        let ty = if float { Scalar::F32 } else { Scalar::I32 };
        let (a, b) = (Const::from_i64(ty, -37), Const::from_i64(ty, 5));
        let body = format!(
            "%a = const {{value = {a}}} () : tile<2x{ty}>
             %b = const {{value = {b}}} () : tile<2x{ty}>
             %r = {op} (%a, %b) : tile<2x{ty}>"
        );
        assert_eq!(eval(&body, ty.name(), 2), [numeric::binary(op, a, b).bits(); 2], "{op}");
    }
}

#[test]
fn unary_comparison_and_math_are_the_numeric_ones() {
    let a = Const::from_i64(Scalar::I32, -37);
    for &op in UnaryOp::ALL {
        let body = format!("%a = const {{value = -37}} () : i32\n%r = {op} (%a) : i32");
        assert_eq!(eval(&body, "i32", 1), [numeric::unary(op, a).bits()], "{op}");
    }
    for &op in CmpOp::ALL {
        let b = Const::from_i64(Scalar::I32, 4);
        let body = format!(
            "%a = const {{value = -37}} () : i32\n%b = const {{value = 4}} () : i32\n%r = cmp {{is = {op}}} (%a, %b) : i1"
        );
        assert_eq!(eval(&body, "i1", 1), [numeric::compare(op, a, b).bits()], "{op}");
    }
    for &function in MathFn::ALL {
        let x = Const::from_f64(Scalar::F32, 0.75);
        let args = vec![x; function.arity()];
        let operands = vec!["%x"; function.arity()].join(", ");
        let body = format!("%x = const {{value = 0.75}} () : f32\n%r = math {{fn = {function}}} ({operands}) : f32");
        assert_eq!(eval(&body, "f32", 1), [numeric::math(function, &args).bits()], "{function}");
    }
}

#[test]
fn select_fma_casts() {
    let body = "%i = iota {start = 0} () : tile<4xi32>
        %two = const {value = 2} () : tile<4xi32>
        %c = cmp {is = lt} (%i, %two) : tile<4xi1>
        %r = select (%c, %two, %i) : tile<4xi32>";
    assert_eq!(i32s(&eval(body, "i32", 4)), [2, 2, 2, 3]);
    let body = "%a = const {value = 3.0} () : f32\n%b = const {value = 4.0} () : f32\n%r = fma (%a, %b, %a) : f32";
    assert_eq!(f32s(&eval(body, "f32", 1)), [15.0]);
    let body =
        "%a = const {value = -1} () : i32\n%b = cast {round = rtne} (%a) : i64\n%r = cast {round = rtne} (%b) : f32";
    assert_eq!(f32s(&eval(body, "f32", 1)), [-1.0]);
    let body = "%a = const {value = 1.00390625} () : f32\n%r = cast {round = rtz} (%a) : bf16";
    assert_eq!(eval(body, "bf16", 1), [0x3f80]);
    let body = "%a = const {value = 1.0} () : f32\n%r = bitcast (%a) : i32";
    assert_eq!(i32s(&eval(body, "i32", 1)), [0x3f80_0000]);
}

#[test]
fn library_functions_are_known_and_others_are_named() {
    let call = |symbol: &str, library: &str| {
        format!(
            "%a = const {{value = 2.0}} () : tile<2xf32>
             %r = extern {{symbol = {symbol:?}, library = {library:?}, pure}} (%a) : tile<2xf32>"
        )
    };
    assert_eq!(f32s(&eval(&call("__nv_sqrtf", ""), "f32", 2)), [2f32.sqrt(); 2]);
    let error = try_eval(&call("my_fn", "mine.bc"), "f32", 2).unwrap_err();
    assert!(matches!(&error, Error::ExternFunction { symbol, .. } if symbol == "my_fn"));
    assert!(error.to_string().contains("`my_fn`"), "{error}");
}

#[test]
fn inline_assembly_is_refused() {
    let body = "%a = const {value = 2} () : i32
        %r = inline_asm {asm = \"mov $0, $1\", constraints = \"=r,r\", pack = 1, pure} (%a) : i32";
    assert!(matches!(try_eval(body, "i32", 1), Err(Error::InlineAsm { .. })));
}

#[test]
fn pointers_compare_convert_and_move_by_elements() {
    let body = "%i = iota {start = -1} () : tile<2xi32>
        %p = splat (%out) : tile<2xptr<i64>>
        %q = ptr_add (%p, %i) : tile<2xptr<i64>>
        %a = cast {round = rtne} (%p) : tile<2xi64>
        %b = cast {round = rtne} (%q) : tile<2xi64>
        %r = sub (%b, %a) : tile<2xi64>";
    assert_eq!(eval(body, "i64", 2), [-8i64 as u64, 0]);
    let body = "%one = const {value = 1} () : i32
        %q = ptr_add (%out, %one) : ptr<i1>
        %r = cmp {is = gt} (%q, %out) : i1";
    assert_eq!(eval(body, "i1", 1), [1]);
    let body = "%big = const {value = 4294967295} () : u32
        %q = ptr_add (%out, %big) : ptr<i64>
        %a = cast {round = rtne} (%q) : i64
        %b = cast {round = rtne} (%out) : i64
        %r = sub (%a, %b) : i64";
    assert_eq!(eval(body, "i64", 1), [u64::from(u32::MAX) * 8], "unsigned offsets are zero-extended");
}
