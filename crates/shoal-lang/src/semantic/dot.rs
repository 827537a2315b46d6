//! Matrix products.

use shoal_ir::OpKind;
use shoal_ir::op::DotPrecision;
use shoal_ir::types::{Scalar, Shape, Type};

use super::operand::{number_type, to_tensor};
use super::words::any_of;
use super::{cast, shape};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype::scalar_name;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Tensor, Value};

/// What a product may be told.
#[derive(Debug, Default)]
pub(crate) struct DotOptions {
    /// How `fp32` inputs may be rounded; `None`: as the target prefers.
    pub(crate) precision: Option<DotPrecision>,
    /// How many fp8 products may be summed imprecisely.
    pub(crate) max_imprecise: Option<u32>,
    /// The type of the result, where there is a choice.
    pub(crate) out_dtype: Option<Scalar>,
}

/// `a @ b + acc`.
pub(crate) fn dot(
    e: &mut Emit<'_>,
    a: &Tensor,
    b: &Tensor,
    acc: Option<&Tensor>,
    options: &DotOptions,
) -> LowerResult<Tensor> {
    let shape = result_shape(e, a, b, acc)?;
    let (a, b) = input_types(e, a, b)?;
    let input = number_type(&a).expect("numbers");
    check_k(e, &a)?;
    let result = result_type(e, input, acc, options)?;
    let imprecise = imprecise(e, input, *a.shape().last().expect("a matrix"), options)?;
    let flat = flat_shape(&shape);
    let acc = match acc {
        Some(acc) => {
            if number_type(acc) != Some(result) {
                return Err(wrong_accumulator(e, acc, result, options));
            }
            shape::reshape(e, acc, &flat)?
        }
        None => {
            let zero = e.b().int(0, Type::tile(result, &flat));
            e.tensor(zero)
        }
    };
    let a = shape::reshape(e, &a, &flat_shape(a.shape()))?;
    let b = shape::reshape(e, &b, &flat_shape(b.shape()))?;
    // The precision only says what may happen to `fp32` inputs; for all others one spelling is enough.
    let precision = match options.precision {
        _ if input != Scalar::F32 => DotPrecision::Ieee,
        Some(precision) => precision,
        None => e.options.default_dot_precision,
    };
    let kind = OpKind::Dot { precision, max_imprecise_acc: imprecise };
    let value = e.b().value(kind, &[a.value, b.value, acc.value]);
    let product = e.tensor(value);
    shape::reshape(e, &product, &shape)
}

/// All batch dimensions as one.
fn flat_shape(shape: &[u32]) -> Shape {
    match shape.len() {
        0..=3 => Shape::from_slice(shape),
        rank => {
            let batch = shape[..rank - 2].iter().product();
            Shape::from_slice(&[batch, shape[rank - 2], shape[rank - 1]])
        }
    }
}

fn result_shape(e: &Emit<'_>, a: &Tensor, b: &Tensor, acc: Option<&Tensor>) -> LowerResult<Shape> {
    let (x, y) = (a.shape(), b.shape());
    let rank = x.len();
    if rank < 2 || y.len() != rank {
        return Err(e
            .error("`dot` multiplies matrices: two tiles of the same rank, 2 or more")
            .label(format!("`{}` and `{}`", a.type_name(), b.type_name()))
            .help("make a row with `x[None, :]` and a column with `x[:, None]`")
            .into());
    }
    if x[..rank - 2] != y[..rank - 2] {
        return Err(e
            .error(format!("the batches of `dot` differ: {:?} and {:?}", &x[..rank - 2], &y[..rank - 2]))
            .help("all dimensions but the last two must agree")
            .into());
    }
    if x[rank - 1] != y[rank - 2] {
        return Err(e
            .error(format!("shapes {x:?} and {y:?} cannot be multiplied"))
            .label(format!("{} columns meet {} rows", x[rank - 1], y[rank - 2]))
            .help("the columns of the first must be the rows of the second; `tl.trans` swaps them")
            .into());
    }
    let mut shape = Shape::from_slice(&x[..rank - 1]);
    shape.push(y[rank - 1]);
    match acc {
        Some(acc) if acc.shape() != shape.as_slice() => Err(e
            .error(format!("the accumulator has shape {:?}, but the product has {:?}", acc.shape(), shape.as_slice()))
            .help("create it with the product's shape")
            .into()),
        _ => super::broadcast::within_limit(e, shape),
    }
}

/// The inputs at a type the IR multiplies.
fn input_types(e: &mut Emit<'_>, a: &Tensor, b: &Tensor) -> LowerResult<(Tensor, Tensor)> {
    let (Some(x), Some(y)) = (number_type(a), number_type(b)) else { return Err(cannot_multiply(e, a, b)) };
    if x.is_fp8() && y.is_fp8() {
        if x == y && x != Scalar::F8E4B15 {
            return Ok((a.clone(), b.clone()));
        }
        // Every fp8 number is exact in `fp16`.
        return Ok((cast::to_number(e, a, Scalar::F16)?, cast::to_number(e, b, Scalar::F16)?));
    }
    let known = [Scalar::I8, Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64];
    if x == y && known.contains(&x) { Ok((a.clone(), b.clone())) } else { Err(cannot_multiply(e, a, b)) }
}

fn cannot_multiply(e: &Emit<'_>, a: &Tensor, b: &Tensor) -> LowerError {
    let (x, y) = (number_type(a), number_type(b));
    let error = e.error(format!("`dot` cannot multiply `{}` and `{}`", a.type_name(), b.type_name()));
    match (x, y) {
        (Some(x), Some(y)) if x != y => {
            error.help("both inputs must have one type: cast one, for example with `.to(a.dtype)`").into()
        }
        (Some(Scalar::U8), _) => error.help("of the integers only `int8` is multiplied").into(),
        _ => error.help("inputs are int8, fp8, fp16, bf16, fp32 or fp64").into(),
    }
}

fn check_k(e: &Emit<'_>, a: &Tensor) -> LowerResult<()> {
    let k = *a.shape().last().expect("a matrix");
    let bytes = number_type(a).expect("numbers").bytes();
    let least = e.options.min_dot_k_bytes.div_ceil(bytes);
    if k < least {
        return Err(e
            .error(format!("the target multiplies at least {least} columns of `{}`, not {k}", a.type_name()))
            .help(format!("use K >= {least}, and mask what is too much"))
            .into());
    }
    Ok(())
}

fn result_type(e: &Emit<'_>, input: Scalar, acc: Option<&Tensor>, options: &DotOptions) -> LowerResult<Scalar> {
    let wanted = options.out_dtype.or_else(|| acc.and_then(number_type)).unwrap_or(Scalar::F32);
    if input == Scalar::I8 {
        return Ok(Scalar::I32);
    }
    if wanted == Scalar::BF16 {
        return Err(e
            .error("`dot` does not sum in `bf16`")
            .help("use out_dtype=tl.float32 and cast the result with `.to(tl.bfloat16)`")
            .into());
    }
    match input {
        Scalar::F32 | Scalar::BF16 => Ok(Scalar::F32),
        Scalar::F64 => Ok(Scalar::F64),
        _ if matches!(wanted, Scalar::F16 | Scalar::F32) => Ok(wanted),
        _ => Err(e
            .error(format!("`dot` of `{}` does not sum in `{}`", scalar_name(input), scalar_name(wanted)))
            .help("use `tl.float32` or `tl.float16`")
            .into()),
    }
}

fn wrong_accumulator(e: &Emit<'_>, acc: &Tensor, result: Scalar, options: &DotOptions) -> LowerError {
    let error =
        e.error(format!("the accumulator is `{}`, but the product is `{}`", acc.type_name(), scalar_name(result)));
    match options.out_dtype {
        Some(_) => error.help("`out_dtype` and the accumulator's type must agree").into(),
        None => error.help(format!("create the accumulator with `{}`", scalar_name(result))).into(),
    }
}

fn imprecise(e: &Emit<'_>, input: Scalar, k: u32, options: &DotOptions) -> LowerResult<u32> {
    match options.max_imprecise {
        Some(n) if input.is_fp8() && n > k => Err(e
            .error(format!("`max_num_imprecise_acc` is {n}, but only {k} products are summed"))
            .help(format!("use at most {k}"))
            .into()),
        // None at all: no more than one.
        Some(n) if input.is_fp8() => Ok(n.max(1)),
        _ => Ok(0),
    }
}

fn precision_of(e: &Emit<'_>, a: &Args) -> LowerResult<Option<DotPrecision>> {
    let word = a.optional_str("input_precision")?;
    if word.is_some() && a.optional("allow_tf32").is_some() {
        return Err(e
            .error("`input_precision` and `allow_tf32` exclude each other")
            .help("use `input_precision`")
            .into());
    }
    if let Some(word) = word {
        let allowed = &e.options.dot_precisions;
        return match DotPrecision::from_name(&word.to_lowercase()).filter(|p| allowed.contains(p)) {
            Some(precision) => Ok(Some(precision)),
            None => {
                let names: Vec<String> = allowed.iter().map(|p| format!("\"{p}\"")).collect();
                Err(e.error(format!("unknown precision \"{word}\"")).help(format!("use {}", any_of(&names))).into())
            }
        };
    }
    match a.optional("allow_tf32") {
        Some(_) if a.bool("allow_tf32")? => {
            Ok(Some(DotPrecision::Tf32).filter(|p| e.options.dot_precisions.contains(p)))
        }
        Some(_) => Ok(Some(DotPrecision::Ieee)),
        None => Ok(None),
    }
}

fn run_dot(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let out_dtype = match a.optional_dtype("out_dtype")? {
        Some(d) => Some(d.number().ok_or_else(|| a.wrong("out_dtype", "a number type"))?),
        None => None,
    };
    let max_imprecise = match a.optional_int("max_num_imprecise_acc")? {
        Some(n) => Some(u32::try_from(n).map_err(|_| a.wrong("max_num_imprecise_acc", "a number from 0 to 2^32"))?),
        None => None,
    };
    let options = DotOptions { precision: precision_of(e, a)?, max_imprecise, out_dtype };
    let x = to_tensor(e, a.value("input"))?;
    let y = to_tensor(e, a.value("other"))?;
    let acc = a.optional("acc").map(|v| to_tensor(e, v)).transpose()?;
    dot(e, &x, &y, acc.as_ref(), &options).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[Builtin::kernel(
    "dot",
    "input, other, acc=None, input_precision: const=None, allow_tf32: const=None, \
         max_num_imprecise_acc: const=None, out_dtype: const=None",
    run_dot,
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::semantic::testing::{Sandbox, message, type_of};

    fn product(s: &mut Sandbox, ty: Scalar, other: Scalar, options: &DotOptions) -> LowerResult<Tensor> {
        let a = s.param(ty, &[16, 32]);
        let b = s.param(other, &[32, 64]);
        dot(&mut s.emit, &a, &b, None, options)
    }

    #[test]
    fn sums_have_their_types() {
        let mut s = Sandbox::new();
        let plain = DotOptions::default();
        let half = DotOptions { out_dtype: Some(Scalar::F16), ..DotOptions::default() };
        let mut of = |ty, options| type_of(&product(&mut s, ty, ty, options).unwrap());
        assert_eq!(of(Scalar::I8, &plain), "i32[16, 64]");
        assert_eq!(of(Scalar::F16, &plain), "fp32[16, 64]");
        assert_eq!(of(Scalar::F16, &half), "fp16[16, 64]");
        assert_eq!(of(Scalar::BF16, &plain), "fp32[16, 64]");
        assert_eq!(of(Scalar::BF16, &half), "fp32[16, 64]");
        assert_eq!(of(Scalar::F32, &plain), "fp32[16, 64]");
        assert_eq!(of(Scalar::F64, &plain), "fp64[16, 64]");
        assert_eq!(of(Scalar::F8E5M2, &half), "fp16[16, 64]");
        assert_eq!(type_of(&product(&mut s, Scalar::F8E5M2, Scalar::F8E4M3, &plain).unwrap()), "fp32[16, 64]");
        s.verify();
    }

    #[test]
    fn batches_are_flattened() {
        let mut s = Sandbox::new();
        let a = s.param(Scalar::F32, &[2, 4, 8, 16]);
        let b = s.param(Scalar::F32, &[2, 4, 16, 8]);
        let acc = s.param(Scalar::F32, &[2, 4, 8, 8]);
        let c = dot(&mut s.emit, &a, &b, Some(&acc), &DotOptions::default()).unwrap();
        assert_eq!(type_of(&c), "fp32[2, 4, 8, 8]");
        let text = s.verify();
        assert!(text.contains("tile<8x8x8xf32>"), "{text}");
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let plain = DotOptions::default();
        let bf16 = DotOptions { out_dtype: Some(Scalar::BF16), ..DotOptions::default() };
        assert_eq!(
            message(product(&mut s, Scalar::F16, Scalar::F32, &plain)),
            "`dot` cannot multiply `fp16[16, 32]` and `fp32[32, 64]`"
        );
        assert_eq!(
            message(product(&mut s, Scalar::U8, Scalar::U8, &plain)),
            "`dot` cannot multiply `u8[16, 32]` and `u8[32, 64]`"
        );
        assert_eq!(message(product(&mut s, Scalar::F16, Scalar::F16, &bf16)), "`dot` does not sum in `bf16`");
        let a = s.param(Scalar::F16, &[16, 32]);
        let b = s.param(Scalar::F16, &[32, 64]);
        let acc = s.param(Scalar::I32, &[16, 64]);
        let small = s.param(Scalar::F32, &[16, 16]);
        let e = &mut s.emit;
        assert_eq!(message(dot(e, &b, &a, None, &plain)), "shapes [32, 64] and [16, 32] cannot be multiplied");
        assert_eq!(message(dot(e, &a, &b, Some(&acc), &plain)), "`dot` of `fp16` does not sum in `i32`");
        assert_eq!(
            message(dot(e, &a, &b, Some(&small), &plain)),
            "the accumulator has shape [16, 16], but the product has [16, 64]"
        );
        let mut s = Sandbox::with(Options { min_dot_k_bytes: 32, ..Options::default() });
        let a = s.param(Scalar::F16, &[16, 8]);
        let b = s.param(Scalar::F16, &[8, 64]);
        assert_eq!(
            message(dot(&mut s.emit, &a, &b, None, &plain)),
            "the target multiplies at least 16 columns of `fp16[16, 8]`, not 8"
        );
    }
}
