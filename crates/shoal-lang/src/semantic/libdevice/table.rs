//! Every name of `libdevice`: how many arguments, which types, what it does.

use shoal_ir::op::{BinaryOp, MathFn, Rounding, UnaryOp};
use shoal_ir::types::Scalar::{F32, F64, I32, I64, U32, U64};

use super::Domain::{Any, Floats};
use super::Meaning::{Binary, Bits, Cast, Compose, Convert, Count, Directed, Math, Rcp64h, ToInt, Unary};
use super::directed::Arithmetic::{Add, Div, Fma, Mul, Rcp, Sqrt, Sub};
use super::directed::Direction::{Down, Up, Zero};
use super::{Entry, Meaning, compose, run};
use crate::builtin::Builtin;

const ONE: &str = "arg0";
const TWO: &str = "arg0, arg1";
const THREE: &str = "arg0, arg1, arg2";
const FOUR: &str = "arg0, arg1, arg2, arg3";

/// How many arguments a name takes.
pub(super) fn arity(name: &str) -> usize {
    let signature = BUILTINS.iter().find(|b| b.short_name() == name).map_or("", |b| b.signature);
    signature.split(',').count()
}

macro_rules! names {
    ($($name:literal, $signature:expr, $domain:expr, $meaning:expr;)*) => {
        /// What each name means.
        pub(super) static ENTRIES: &[Entry] = &[$(Entry { name: $name, domain: $domain, meaning: $meaning }),*];

        /// The functions of this module.
        pub(crate) static BUILTINS: &[Builtin] =
            &[$(Builtin::kernel(concat!("libdevice.", $name), $signature, run)),*];
    };
}

names! {
    // Integers.
    "clz", ONE, Any(&[&[I32], &[I64]]), Count(UnaryOp::Clz);
    "popc", ONE, Any(&[&[I32], &[I64]]), Count(UnaryOp::Popc);
    "byte_perm", THREE, Any(&[&[I32, I32, I32]]), Compose(compose::byte_perm);
    "mulhi", TWO, Any(&[&[I32, I32], &[U32, U32], &[I64, I64], &[U64, U64]]), Binary(BinaryOp::MulHi);
    "mul24", TWO, Any(&[&[I32, I32], &[U32, U32]]), Compose(compose::mul24);
    "brev", ONE, Any(&[&[I32], &[I64]]), Unary(UnaryOp::Brev);
    "sad", THREE, Any(&[&[I32, I32, U32], &[U32, U32, U32]]), Compose(compose::sad);
    "abs", ONE, Any(&[&[I32], &[I64], &[F32], &[F64]]), Unary(UnaryOp::Abs);
    "hadd", TWO, Any(&[&[I32, I32], &[U32, U32]]), Compose(compose::hadd);
    "rhadd", TWO, Any(&[&[I32, I32], &[U32, U32]]), Compose(compose::rhadd);
    "ffs", ONE, Any(&[&[I32], &[I64]]), Compose(compose::ffs);
    // Arithmetic that rounds in a stated direction.
    "fma_rn", THREE, Floats, Meaning::Fma;
    "fma_rz", THREE, Floats, Directed(Fma, Zero);
    "fma_rd", THREE, Floats, Directed(Fma, Down);
    "fma_ru", THREE, Floats, Directed(Fma, Up);
    "div_rn", TWO, Floats, Binary(BinaryOp::DivRn);
    "div_rz", TWO, Floats, Directed(Div, Zero);
    "div_rd", TWO, Floats, Directed(Div, Down);
    "div_ru", TWO, Floats, Directed(Div, Up);
    "rcp_rn", ONE, Floats, Compose(compose::rcp_rn);
    "rcp_rz", ONE, Floats, Directed(Rcp, Zero);
    "rcp_rd", ONE, Floats, Directed(Rcp, Down);
    "rcp_ru", ONE, Floats, Directed(Rcp, Up);
    "sqrt_rn", ONE, Floats, Math(MathFn::SqrtRn);
    "sqrt_rz", ONE, Floats, Directed(Sqrt, Zero);
    "sqrt_rd", ONE, Floats, Directed(Sqrt, Down);
    "sqrt_ru", ONE, Floats, Directed(Sqrt, Up);
    "add_rn", TWO, Floats, Binary(BinaryOp::Add);
    "add_rz", TWO, Floats, Directed(Add, Zero);
    "add_rd", TWO, Floats, Directed(Add, Down);
    "add_ru", TWO, Floats, Directed(Add, Up);
    "mul_rn", TWO, Floats, Binary(BinaryOp::Mul);
    "mul_rz", TWO, Floats, Directed(Mul, Zero);
    "mul_rd", TWO, Floats, Directed(Mul, Down);
    "mul_ru", TWO, Floats, Directed(Mul, Up);
    "sub_rn", TWO, Floats, Binary(BinaryOp::Sub);
    "sub_rz", TWO, Floats, Directed(Sub, Zero);
    "sub_rd", TWO, Floats, Directed(Sub, Down);
    "sub_ru", TWO, Floats, Directed(Sub, Up);
    "rsqrt_rn", ONE, Any(&[&[F32]]), Compose(compose::rsqrt_rn);
    // Conversions.
    "double2float_rn", ONE, Any(&[&[F64]]), Cast(F32, Rounding::Nearest);
    "double2float_rz", ONE, Any(&[&[F64]]), Cast(F32, Rounding::Zero);
    "double2float_rd", ONE, Any(&[&[F64]]), Convert(F32, Down);
    "double2float_ru", ONE, Any(&[&[F64]]), Convert(F32, Up);
    "double2int_rn", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Rint), via: I32, result: I32 };
    "double2int_rz", ONE, Any(&[&[F64]]), ToInt { round: None, via: I32, result: I32 };
    "double2int_rd", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Floor), via: I32, result: I32 };
    "double2int_ru", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Ceil), via: I32, result: I32 };
    "double2uint_rn", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Rint), via: U32, result: I32 };
    "double2uint_rz", ONE, Any(&[&[F64]]), ToInt { round: None, via: U32, result: I32 };
    "double2uint_rd", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Floor), via: U32, result: I32 };
    "double2uint_ru", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Ceil), via: U32, result: I32 };
    "int2double_rn", ONE, Any(&[&[I32]]), Cast(F64, Rounding::Nearest);
    "uint2double_rn", ONE, Any(&[&[U32]]), Cast(F64, Rounding::Nearest);
    "float2int_rn", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Rint), via: I32, result: I32 };
    "float2int_rz", ONE, Any(&[&[F32]]), ToInt { round: None, via: I32, result: I32 };
    "float2int_rd", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Floor), via: I32, result: I32 };
    "float2int_ru", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Ceil), via: I32, result: I32 };
    "float2uint_rn", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Rint), via: U32, result: I32 };
    "float2uint_rz", ONE, Any(&[&[F32]]), ToInt { round: None, via: U32, result: I32 };
    "float2uint_rd", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Floor), via: U32, result: I32 };
    "float2uint_ru", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Ceil), via: U32, result: I32 };
    "int2float_rn", ONE, Any(&[&[I32]]), Cast(F32, Rounding::Nearest);
    "int2float_rz", ONE, Any(&[&[I32]]), Convert(F32, Zero);
    "int2float_rd", ONE, Any(&[&[I32]]), Convert(F32, Down);
    "int2float_ru", ONE, Any(&[&[I32]]), Convert(F32, Up);
    "uint2float_rn", ONE, Any(&[&[U32]]), Cast(F32, Rounding::Nearest);
    "uint2float_rz", ONE, Any(&[&[U32]]), Convert(F32, Zero);
    "uint2float_rd", ONE, Any(&[&[U32]]), Convert(F32, Down);
    "uint2float_ru", ONE, Any(&[&[U32]]), Convert(F32, Up);
    "hiloint2double", TWO, Any(&[&[I32, I32]]), Compose(compose::hiloint2double);
    "double2loint", ONE, Any(&[&[F64]]), Compose(compose::double2loint);
    "double2hiint", ONE, Any(&[&[F64]]), Compose(compose::double2hiint);
    "float2ll_rn", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Rint), via: I64, result: I64 };
    "float2ll_rz", ONE, Any(&[&[F32]]), ToInt { round: None, via: I64, result: I64 };
    "float2ll_rd", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Floor), via: I64, result: I64 };
    "float2ll_ru", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Ceil), via: I64, result: I64 };
    "float2ull_rn", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Rint), via: U64, result: I64 };
    "float2ull_rz", ONE, Any(&[&[F32]]), ToInt { round: None, via: U64, result: I64 };
    "float2ull_rd", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Floor), via: U64, result: I64 };
    "float2ull_ru", ONE, Any(&[&[F32]]), ToInt { round: Some(MathFn::Ceil), via: U64, result: I64 };
    "double2ll_rn", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Rint), via: I64, result: I64 };
    "double2ll_rz", ONE, Any(&[&[F64]]), ToInt { round: None, via: I64, result: I64 };
    "double2ll_rd", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Floor), via: I64, result: I64 };
    "double2ll_ru", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Ceil), via: I64, result: I64 };
    "double2ull_rn", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Rint), via: U64, result: I64 };
    "double2ull_rz", ONE, Any(&[&[F64]]), ToInt { round: None, via: U64, result: I64 };
    "double2ull_rd", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Floor), via: U64, result: I64 };
    "double2ull_ru", ONE, Any(&[&[F64]]), ToInt { round: Some(MathFn::Ceil), via: U64, result: I64 };
    "ll2float_rn", ONE, Any(&[&[I64]]), Cast(F32, Rounding::Nearest);
    "ll2float_rz", ONE, Any(&[&[I64]]), Convert(F32, Zero);
    "ll2float_rd", ONE, Any(&[&[I64]]), Convert(F32, Down);
    "ll2float_ru", ONE, Any(&[&[I64]]), Convert(F32, Up);
    "ull2float_rn", ONE, Any(&[&[U64]]), Cast(F32, Rounding::Nearest);
    "ull2float_rz", ONE, Any(&[&[U64]]), Convert(F32, Zero);
    "ull2float_rd", ONE, Any(&[&[U64]]), Convert(F32, Down);
    "ull2float_ru", ONE, Any(&[&[U64]]), Convert(F32, Up);
    "ll2double_rn", ONE, Any(&[&[I64]]), Cast(F64, Rounding::Nearest);
    "ll2double_rz", ONE, Any(&[&[I64]]), Convert(F64, Zero);
    "ll2double_rd", ONE, Any(&[&[I64]]), Convert(F64, Down);
    "ll2double_ru", ONE, Any(&[&[I64]]), Convert(F64, Up);
    "ull2double_rn", ONE, Any(&[&[U64]]), Cast(F64, Rounding::Nearest);
    "ull2double_rz", ONE, Any(&[&[U64]]), Convert(F64, Zero);
    "ull2double_rd", ONE, Any(&[&[U64]]), Convert(F64, Down);
    "ull2double_ru", ONE, Any(&[&[U64]]), Convert(F64, Up);
    // The same bits at another type.
    "int_as_float", ONE, Any(&[&[I32]]), Bits(F32);
    "float_as_int", ONE, Any(&[&[F32]]), Bits(I32);
    "uint_as_float", ONE, Any(&[&[U32]]), Bits(F32);
    "float_as_uint", ONE, Any(&[&[F32]]), Bits(I32);
    "longlong_as_double", ONE, Any(&[&[I64]]), Bits(F64);
    "double_as_longlong", ONE, Any(&[&[F64]]), Bits(I64);
    // Fast versions, which are allowed to be exact.
    "fast_dividef", TWO, Any(&[&[F32, F32]]), Binary(BinaryOp::Div);
    "fast_sinf", ONE, Any(&[&[F32]]), Math(MathFn::Sin);
    "fast_cosf", ONE, Any(&[&[F32]]), Math(MathFn::Cos);
    "fast_log2f", ONE, Any(&[&[F32]]), Math(MathFn::Log2);
    "fast_logf", ONE, Any(&[&[F32]]), Math(MathFn::Log);
    "fast_expf", ONE, Any(&[&[F32]]), Math(MathFn::Exp);
    "fast_tanf", ONE, Any(&[&[F32]]), Math(MathFn::Tan);
    "fast_exp10f", ONE, Any(&[&[F32]]), Math(MathFn::Exp10);
    "fast_log10f", ONE, Any(&[&[F32]]), Math(MathFn::Log10);
    "fast_powf", TWO, Any(&[&[F32, F32]]), Math(MathFn::Pow);
    "fast_tanhf", ONE, Any(&[&[F32]]), Math(MathFn::Tanh);
    // Questions about a number.
    "isnan", ONE, Floats, Compose(compose::isnan);
    "signbit", ONE, Floats, Compose(compose::signbit);
    "finitef", ONE, Any(&[&[F32]]), Compose(compose::is_finite);
    "isinf", ONE, Floats, Compose(compose::isinf);
    "isfinited", ONE, Any(&[&[F64]]), Compose(compose::is_finite);
    // Rounding to integers.
    "floor", ONE, Floats, Math(MathFn::Floor);
    "ceil", ONE, Floats, Math(MathFn::Ceil);
    "trunc", ONE, Floats, Math(MathFn::Trunc);
    "rint", ONE, Floats, Math(MathFn::Rint);
    "llrint", ONE, Floats, ToInt { round: Some(MathFn::Rint), via: I64, result: I64 };
    "nearbyint", ONE, Floats, Math(MathFn::Rint);
    "round", ONE, Floats, Math(MathFn::Round);
    "llround", ONE, Floats, ToInt { round: Some(MathFn::Round), via: I64, result: I64 };
    // Mathematics.
    "rcp64h", ONE, Any(&[&[F64]]), Rcp64h;
    "rsqrt", ONE, Floats, Math(MathFn::Rsqrt);
    "exp2", ONE, Floats, Math(MathFn::Exp2);
    "saturatef", ONE, Any(&[&[F32]]), Compose(compose::saturatef);
    "sqrt", ONE, Floats, Math(MathFn::Sqrt);
    "copysign", TWO, Floats, Math(MathFn::Copysign);
    "nextafter", TWO, Floats, Math(MathFn::Nextafter);
    "sin", ONE, Floats, Math(MathFn::Sin);
    "cos", ONE, Floats, Math(MathFn::Cos);
    "sinpi", ONE, Floats, Math(MathFn::Sinpi);
    "cospi", ONE, Floats, Math(MathFn::Cospi);
    "tan", ONE, Floats, Math(MathFn::Tan);
    "log2", ONE, Floats, Math(MathFn::Log2);
    "exp", ONE, Floats, Math(MathFn::Exp);
    "exp10", ONE, Floats, Math(MathFn::Exp10);
    "cosh", ONE, Floats, Math(MathFn::Cosh);
    "sinh", ONE, Floats, Math(MathFn::Sinh);
    "tanh", ONE, Floats, Math(MathFn::Tanh);
    "atan2", TWO, Floats, Math(MathFn::Atan2);
    "atan", ONE, Floats, Math(MathFn::Atan);
    "asin", ONE, Floats, Math(MathFn::Asin);
    "acos", ONE, Floats, Math(MathFn::Acos);
    "log", ONE, Floats, Math(MathFn::Log);
    "log10", ONE, Floats, Math(MathFn::Log10);
    "log1p", ONE, Floats, Math(MathFn::Log1p);
    "acosh", ONE, Floats, Math(MathFn::Acosh);
    "asinh", ONE, Floats, Math(MathFn::Asinh);
    "atanh", ONE, Floats, Math(MathFn::Atanh);
    "expm1", ONE, Floats, Math(MathFn::Expm1);
    "hypot", TWO, Floats, Math(MathFn::Hypot);
    "rhypot", TWO, Floats, Math(MathFn::Rhypot);
    "norm3d", THREE, Floats, Compose(compose::norm3d);
    "rnorm3d", THREE, Floats, Compose(compose::rnorm3d);
    "norm4d", FOUR, Floats, Compose(compose::norm4d);
    "rnorm4d", FOUR, Floats, Compose(compose::rnorm4d);
    "cbrt", ONE, Floats, Math(MathFn::Cbrt);
    "rcbrt", ONE, Floats, Math(MathFn::Rcbrt);
    "j0", ONE, Floats, Math(MathFn::J0);
    "j1", ONE, Floats, Math(MathFn::J1);
    "y0", ONE, Floats, Math(MathFn::Y0);
    "y1", ONE, Floats, Math(MathFn::Y1);
    "yn", TWO, Any(&[&[I32, F32], &[I32, F64]]), Compose(compose::yn);
    "jn", TWO, Any(&[&[I32, F32], &[I32, F64]]), Compose(compose::jn);
    "cyl_bessel_i0", ONE, Floats, Math(MathFn::CylBesselI0);
    "cyl_bessel_i1", ONE, Floats, Math(MathFn::CylBesselI1);
    "erf", ONE, Floats, Math(MathFn::Erf);
    "erfinv", ONE, Floats, Math(MathFn::Erfinv);
    "erfc", ONE, Floats, Math(MathFn::Erfc);
    "erfcx", ONE, Floats, Math(MathFn::Erfcx);
    "erfcinv", ONE, Floats, Math(MathFn::Erfcinv);
    "normcdfinv", ONE, Floats, Math(MathFn::Normcdfinv);
    "normcdf", ONE, Floats, Math(MathFn::Normcdf);
    "lgamma", ONE, Floats, Math(MathFn::Lgamma);
    "ldexp", TWO, Any(&[&[F32, I32], &[F64, I32]]), Compose(compose::ldexp);
    "scalbn", TWO, Any(&[&[F32, I32], &[F64, I32]]), Compose(compose::ldexp);
    "fmod", TWO, Floats, Math(MathFn::Fmod);
    "remainder", TWO, Floats, Math(MathFn::Remainder);
    "fma", THREE, Floats, Meaning::Fma;
    "pow", TWO, Any(&[&[F32, I32], &[F64, I32], &[F32, F32], &[F64, F64]]), Compose(compose::pow);
    "tgamma", ONE, Floats, Math(MathFn::Tgamma);
    "fdim", TWO, Floats, Math(MathFn::Fdim);
    "ilogb", ONE, Floats, Compose(compose::ilogb);
    "logb", ONE, Floats, Math(MathFn::Logb);
}
