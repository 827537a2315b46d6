//! **What.** Writes functions of mathematics on `f32` as arithmetic that vectorises.
//!
//! ```text
//! %1 = math {fn = log2} (%0) : tile<8xf32>    ==>    about forty of add, fma, bitcast, shl, cmp and select
//! ```
//!
//! **Why here.** For CPUs, which have no such instructions, and whose mathematical library takes one number at a time.
//! After the other passes, which fold and move one operation more easily than forty. `exp` and `exp2` stay: CPUs differ
//! in how they begin and end, so the backend writes them.
//!
//! | function | greatest error over the tested inputs, in units of the last place |
//! |---|---|
//! | `log` | 1 |
//! | `exp10`, `log2`, `log10`, `erf`, `rsqrt` | 1.5 |
//! | `sin`, `cos` | 1.5 for magnitudes up to 2^40; beyond 2^50 meaningless |
//! | `tanh`, `expm1`, `log1p` | 2 |
//!
//! Zeros keep their sign where the function does; infinities, NaNs, overflow and underflow to subnormal numbers come
//! out as they should. `f16` and `bf16` are computed in `f32` and rounded. `f64`, and the other functions, stay as they
//! are: backends call a library for each element.
//!
//! NVIDIA GPUs have an instruction for `rsqrt`, which stays for them.
//!
//! The arithmetic relies on each of its roundings: in a function where something was expanded, products stay apart from the
//! sums they are added to.

mod exponential;
mod hyperbolic;
mod logarithm;
mod polynomial;
mod trigonometric;

use shoal_abi::Target;
use shoal_ir::op::{BinaryOp, MathFn};
use shoal_ir::{Builder, Func, Module, OpId, OpKind, Region, Scalar, Value};

/// Expands in every function what the target has no instruction for.
pub fn expand_math(module: &mut Module, target: &Target) {
    for func in &mut module.funcs {
        let body = func.body();
        expand_in(func, body, target);
    }
}

fn expand_in(func: &mut Func, region: Region, target: &Target) {
    for op in func.take_ops(region) {
        for inner in func.op(op).regions().to_vec() {
            expand_in(func, inner, target);
        }
        match expansion_of(func, op, target) {
            Some(expand) => {
                let (span, result, x) = (func.op(op).span, func.op(op).result(), func.op(op).operands()[0]);
                let value = expand_at(&mut Builder::at_end(func, region, span), x, expand);
                func.replace_all_uses(result, value);
                func.erase(op);
                func.gpu.fuse_products = false;
            }
            None => func.append(region, op),
        }
    }
}

/// Makes the value of a function of one `f32`.
type Expand = fn(&mut Builder<'_>, Value) -> Value;

fn expansion_of(func: &Func, op: OpId, target: &Target) -> Option<Expand> {
    let OpKind::Math(function) = func.op(op).kind else { return None };
    let number = func.ty(func.op(op).operands()[0]).number()?;
    (number.compute_type() == Scalar::F32).then(|| expansion(function, target)).flatten()
}

/// How a function is expanded; `None` if it stays.
fn expansion(function: MathFn, target: &Target) -> Option<Expand> {
    match function {
        MathFn::Exp10 => Some(exponential::exp10),
        MathFn::Expm1 => Some(exponential::expm1),
        MathFn::Log10 => Some(logarithm::log10),
        MathFn::Log1p => Some(logarithm::log1p),
        MathFn::Log => Some(logarithm::log),
        MathFn::Log2 => Some(logarithm::log2),
        MathFn::Sin => Some(trigonometric::sin),
        MathFn::Cos => Some(trigonometric::cos),
        MathFn::Tanh => Some(hyperbolic::tanh),
        MathFn::Erf => Some(hyperbolic::erf),
        MathFn::Rsqrt => target.nvptx().is_none().then_some(rsqrt),
        MathFn::Acos
        | MathFn::Acosh
        | MathFn::Asin
        | MathFn::Asinh
        | MathFn::Atan
        | MathFn::Atan2
        | MathFn::Atanh
        | MathFn::Cbrt
        | MathFn::Ceil
        | MathFn::Copysign
        | MathFn::Cosh
        | MathFn::Cospi
        | MathFn::CylBesselI0
        | MathFn::CylBesselI1
        | MathFn::Erfc
        | MathFn::Erfcinv
        | MathFn::Erfcx
        | MathFn::Erfinv
        | MathFn::Exp
        | MathFn::Exp2
        | MathFn::Fdim
        | MathFn::Floor
        | MathFn::Fmod
        | MathFn::Hypot
        | MathFn::J0
        | MathFn::J1
        | MathFn::Jn
        | MathFn::Lgamma
        | MathFn::Logb
        | MathFn::Nextafter
        | MathFn::Normcdf
        | MathFn::Normcdfinv
        | MathFn::Pow
        | MathFn::Rcbrt
        | MathFn::Remainder
        | MathFn::Rhypot
        | MathFn::Rint
        | MathFn::Round
        | MathFn::Sinh
        | MathFn::Sinpi
        | MathFn::Sqrt
        | MathFn::SqrtRn
        | MathFn::Tan
        | MathFn::Tgamma
        | MathFn::Trunc
        | MathFn::Y0
        | MathFn::Y1
        | MathFn::Yn => None,
    }
}

/// The function's value, computed in `f32` whatever the type of `x`.
fn expand_at(b: &mut Builder<'_>, x: Value, expand: Expand) -> Value {
    let number = b.func.ty(x).number().expect("functions of mathematics take numbers");
    let wide = b.cast(x, Scalar::F32);
    let value = expand(b, wide);
    b.cast(value, number)
}

fn rsqrt(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.func.ty(x).clone();
    let one = b.float(1.0, ty);
    let root = b.value(OpKind::Math(MathFn::SqrtRn), &[x]);
    b.binary(BinaryOp::DivRn, one, root)
}
