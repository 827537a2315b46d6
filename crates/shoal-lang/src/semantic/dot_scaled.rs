//! Products of matrices in microscaling formats: groups of elements along the summed dimension share a scale.
//!
//! Written out as conversions and a plain product, so that every target has it. Elements times their scales, which are
//! powers of two, are exact in `bf16`, except those of `fp16`, which need more mantissa: with such an operand the product
//! is one of `fp32`.

use shoal_ir::op::{BinaryOp, CmpOp, DotPrecision};
use shoal_ir::types::{Scalar, Shape};

use super::dot::{DotOptions, dot};
use super::operand::{number_type, to_tensor};
use super::{broadcast, cast, e2m1, shape};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype::scalar_name;
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

/// How many elements share a scale: 32 for scales that are powers of two, 16 for those in `fp8e4nv`.
const GROUPS: [u32; 2] = [32, 16];

/// How the elements of an operand are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Four bits, two elements in a byte, the first in its lower half.
    E2M1,
    /// One number of this type for each element.
    Number(Scalar),
}

impl Format {
    const NAMES: [(&'static str, Format); 5] = [
        ("e2m1", Format::E2M1),
        ("e4m3", Format::Number(Scalar::F8E4M3)),
        ("e5m2", Format::Number(Scalar::F8E5M2)),
        ("bf16", Format::Number(Scalar::BF16)),
        ("fp16", Format::Number(Scalar::F16)),
    ];

    fn from_name(name: &str) -> Option<Format> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, format)| *format)
    }
}

/// Which side of the product an operand is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Side {
    /// The summed dimension, counted from the last one.
    fn summed_from_end(self) -> usize {
        match self {
            Side::Left => 1,
            Side::Right => 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Side::Left => "lhs",
            Side::Right => "rhs",
        }
    }
}

/// One operand as it is given.
#[derive(Debug)]
pub(crate) struct ScaledOperand {
    /// Its elements.
    pub(crate) elements: Tensor,
    /// One scale for each group of elements: `[…, rows or columns, groups]`.
    pub(crate) scale: Option<Tensor>,
    /// How elements are written.
    pub(crate) format: Format,
    /// Whether two elements in a byte follow each other along the summed dimension.
    pub(crate) packed_along_k: bool,
}

/// Whether scales that are NaN must be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScaleNan {
    /// They make NaN of what they scale.
    Kept,
    /// There are none (`fast_math`).
    Absent,
}

/// `lhs * lhs_scale @ rhs * rhs_scale + acc`.
pub(crate) fn dot_scaled(
    e: &mut Emit<'_>,
    lhs: &ScaledOperand,
    rhs: &ScaledOperand,
    acc: Option<&Tensor>,
    nan: ScaleNan,
) -> LowerResult<Tensor> {
    let half = Format::Number(Scalar::F16);
    let product = if lhs.format == half || rhs.format == half { Scalar::F32 } else { Scalar::BF16 };
    let a = unscaled(e, lhs, Side::Left, product, nan)?;
    let b = unscaled(e, rhs, Side::Right, product, nan)?;
    // `fp16` has no more mantissa than `tf32`: nothing is lost there.
    let fast = Some(DotPrecision::Tf32).filter(|p| product == Scalar::F32 && e.options.dot_precisions.contains(p));
    dot(e, &a, &b, acc, &DotOptions { precision: fast, ..DotOptions::default() })
}

/// An operand as numbers of type `to`, its scales multiplied in.
fn unscaled(e: &mut Emit<'_>, x: &ScaledOperand, side: Side, to: Scalar, nan: ScaleNan) -> LowerResult<Tensor> {
    check_rank(e, &x.elements, side)?;
    let numbers = match x.format {
        Format::E2M1 => unpacked(e, x, side)?,
        Format::Number(ty) => as_numbers(e, &x.elements, ty, side)?,
    };
    let Some(scale) = &x.scale else { return cast::to_number(e, &numbers, to) };
    let scale = factors(e, scale, numbers.shape(), side, nan)?;
    let wide = cast::to_number(e, &numbers, Scalar::F32)?;
    let scaled = e.b().binary(BinaryOp::Mul, wide.value, scale.value);
    let scaled = e.tensor(scaled);
    cast::to_number(e, &scaled, to)
}

fn check_rank(e: &Emit<'_>, x: &Tensor, side: Side) -> LowerResult<()> {
    if matches!(x.shape().len(), 2 | 3) {
        return Ok(());
    }
    Err(e
        .error("`dot_scaled` multiplies matrices: tiles with 2 or 3 dimensions")
        .label(format!("`{}` is `{}`", side.name(), x.type_name()))
        .into())
}

/// Elements of a type, given as that type or as its bits.
fn as_numbers(e: &mut Emit<'_>, x: &Tensor, ty: Scalar, side: Side) -> LowerResult<Tensor> {
    let bits = if ty.bits() == 8 { Scalar::U8 } else { Scalar::U16 };
    match number_type(x) {
        Some(given) if given == ty => Ok(x.clone()),
        Some(given) if given == bits => cast::by_bits(e, x, ty.into()),
        _ => Err(e
            .error(format!("`{}_format` says `{}`, but `{0}` is `{}`", side.name(), scalar_name(ty), x.type_name()))
            .help(format!("pass `{}`, or its bits as `{}`", scalar_name(ty), scalar_name(bits)))
            .into()),
    }
}

/// The elements of a tile of bytes with two in each, as `fp32`.
fn unpacked(e: &mut Emit<'_>, x: &ScaledOperand, side: Side) -> LowerResult<Tensor> {
    let packed = &x.elements;
    if number_type(packed) != Some(Scalar::U8) {
        return Err(e
            .error(format!("`{}_format` is \"e2m1\", but `{0}` is `{}`", side.name(), packed.type_name()))
            .help("two elements lie in each byte of a `uint8` tile")
            .into());
    }
    let rank = packed.shape().len();
    let from_end = if x.packed_along_k { side.summed_from_end() } else { 3 - side.summed_from_end() };
    let dim = rank - from_end;
    let bytes = packed.ty.clone();
    let (low, high) = {
        let mut b = e.b();
        let (fifteen, four) = (b.int(15, bytes.clone()), b.int(4, bytes));
        (b.binary(BinaryOp::And, packed.value, fifteen), b.binary(BinaryOp::Shr, packed.value, four))
    };
    let (low, high) = (e2m1::to_float(e, low), e2m1::to_float(e, high));
    let (low, high) = (e.tensor(low), e.tensor(high));
    let pairs = shape::join(e, &low, &high)?;
    // The pairs are the last dimension; they belong behind the one that was packed.
    let mut order: Vec<i128> = (0..rank as i128).collect();
    order.insert(dim + 1, rank as i128);
    let pairs = shape::permute(e, &pairs, &order)?;
    let mut shape = Shape::from_slice(packed.shape());
    shape[dim] *= 2;
    let shape = broadcast::within_limit(e, shape)?;
    shape::reshape(e, &pairs, &shape)
}

/// The scale of each element of an operand of this shape, as `fp32`.
fn factors(e: &mut Emit<'_>, scale: &Tensor, shape: &[u32], side: Side, nan: ScaleNan) -> LowerResult<Tensor> {
    let rank = shape.len();
    let k = shape[rank - side.summed_from_end()];
    let other = shape[rank - (3 - side.summed_from_end())];
    let mut leading = Shape::from_slice(&shape[..rank - 2]);
    leading.push(other);
    let given = scale.shape();
    let group = GROUPS.into_iter().find(|&group| {
        given.len() == rank
            && given[..rank - 1] == leading[..]
            && u64::from(given[rank - 1]) * u64::from(group) == u64::from(k)
    });
    let Some(group) = group else {
        let mut wanted = leading.clone();
        wanted.push((k / GROUPS[0]).max(1));
        return Err(e
            .error(format!(
                "`{}_scale` must be a tensor of shape {:?}. Got {given:?}",
                side.name(),
                wanted.as_slice()
            ))
            .help("32 elements along the summed dimension share a scale (16 where scales are `fp8e4nv`); neither scale is transposed")
            .into());
    };
    let values = scale_values(e, scale, side, nan)?;
    // `[…, other, groups]` to `[…, other, groups, group]` to `[…, other, k]`.
    let mut spread = Shape::from_slice(given);
    spread.push(group);
    let thin = shape::expand_dim(e, &values, rank);
    let all = broadcast::expand(e, &thin, &spread);
    let mut flat = leading;
    flat.push(k);
    let all = shape::reshape(e, &all, &flat)?;
    match side {
        Side::Left => Ok(all),
        Side::Right => {
            let mut order: Vec<i128> = (0..rank as i128).collect();
            order.swap(rank - 2, rank - 1);
            shape::permute(e, &all, &order)
        }
    }
}

/// Scales as numbers: powers of two given by their exponent, or `fp8e4nv`.
fn scale_values(e: &mut Emit<'_>, scale: &Tensor, side: Side, nan: ScaleNan) -> LowerResult<Tensor> {
    match number_type(scale) {
        Some(Scalar::F8E4M3) => cast::to_number(e, scale, Scalar::F32),
        Some(Scalar::U8 | Scalar::I8) => {
            let bytes = cast::by_bits(e, scale, Scalar::U8.into())?;
            let wide = cast::to_number(e, &bytes, Scalar::I32)?;
            let ty = wide.ty.clone();
            let mut b = e.b();
            let (mantissa, least) = (b.int(23, ty.clone()), b.int(0x0040_0000, ty.clone()));
            let bits = b.binary(BinaryOp::Shl, wide.value, mantissa);
            // An exponent of zero is 2^-127, a subnormal number.
            let mut bits = b.binary(BinaryOp::Max, bits, least);
            if nan == ScaleNan::Kept {
                let (all_ones, not_a_number) = (b.int(255, ty.clone()), b.int(0x7fc0_0000, ty));
                let is_nan = b.cmp(CmpOp::Eq, wide.value, all_ones);
                bits = b.select(is_nan, not_a_number, bits);
            }
            let value = b.bitcast(bits, Scalar::F32);
            Ok(e.tensor(value))
        }
        _ => Err(e
            .error(format!("`{}_scale` is `{}`", side.name(), scale.type_name()))
            .help("scales are the exponents of powers of two as `uint8`, or `fp8e4nv` numbers")
            .into()),
    }
}

fn operand(e: &mut Emit<'_>, a: &Args, side: Side) -> LowerResult<ScaledOperand> {
    let name = side.name();
    let word = a.str(&format!("{name}_format"))?;
    let Some(format) = Format::from_name(word) else {
        let known = Format::NAMES.map(|(name, _)| format!("\"{name}\""));
        return Err(e
            .error(format!("Invalid float format: {word}."))
            .help(format!("use {}", super::words::any_of(&known)))
            .into());
    };
    let packed_along_k = a.bool(&format!("{name}_k_pack"))?;
    if !packed_along_k && format != Format::E2M1 {
        return Err(e
            .error("only mxfp4 inputs can be packed along a dimension different than K")
            .help(format!("drop `{name}_k_pack=False`: `{word}` is not packed at all"))
            .into());
    }
    let elements = to_tensor(e, a.value(name))?;
    let scale = a.optional(&format!("{name}_scale")).map(|v| to_tensor(e, v)).transpose()?;
    Ok(ScaledOperand { elements, scale, format, packed_along_k })
}

fn run_dot_scaled(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    if let Some(dtype) = a.optional_dtype("out_dtype")?
        && dtype.number() != Some(Scalar::F32)
    {
        return Err(e
            .error("Only float32 is supported for out_dtype at the moment")
            .help("cast the result with `.to(…)`")
            .into());
    }
    let nan = if a.bool("fast_math")? { ScaleNan::Absent } else { ScaleNan::Kept };
    let (lhs, rhs) = (operand(e, a, Side::Left)?, operand(e, a, Side::Right)?);
    let acc = a.optional("acc").map(|v| to_tensor(e, v)).transpose()?;
    dot_scaled(e, &lhs, &rhs, acc.as_ref(), nan).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[Builtin::kernel(
    "dot_scaled",
    "lhs, lhs_scale, lhs_format: const, rhs, rhs_scale, rhs_format: const, acc=None, fast_math: const=False, \
     lhs_k_pack: const=True, rhs_k_pack: const=True, out_dtype: const=None",
    run_dot_scaled,
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};

    fn given(elements: Tensor, format: &str, scale: Option<Tensor>) -> ScaledOperand {
        ScaledOperand { elements, scale, format: Format::from_name(format).unwrap(), packed_along_k: true }
    }

    #[test]
    fn shapes_follow_the_packing() {
        let mut s = Sandbox::new();
        let a = given(s.param(Scalar::U8, &[16, 32]), "e2m1", Some(s.param(Scalar::U8, &[16, 2])));
        let along_n = ScaledOperand {
            packed_along_k: false,
            ..given(s.param(Scalar::U8, &[64, 8]), "e2m1", Some(s.param(Scalar::U8, &[16, 2])))
        };
        let c = dot_scaled(&mut s.emit, &a, &along_n, None, ScaleNan::Kept).unwrap();
        assert_eq!(type_of(&c), "fp32[16, 16]");
        let b = given(s.param(Scalar::U16, &[64, 32]), "fp16", None);
        let c = dot_scaled(&mut s.emit, &a, &b, None, ScaleNan::Absent).unwrap();
        assert_eq!(type_of(&c), "fp32[16, 32]");
        s.verify();
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let a = given(s.param(Scalar::U8, &[16, 64]), "e4m3", Some(s.param(Scalar::U8, &[16, 4])));
        let plain = given(s.param(Scalar::BF16, &[64, 16]), "bf16", Some(s.param(Scalar::U8, &[2, 16])));
        let wide = given(s.param(Scalar::F32, &[64, 16]), "e5m2", None);
        let e = &mut s.emit;
        assert_eq!(
            message(dot_scaled(e, &a, &plain, None, ScaleNan::Kept)),
            "`rhs_scale` must be a tensor of shape [16, 2]. Got [2, 16]"
        );
        assert_eq!(
            message(dot_scaled(e, &a, &wide, None, ScaleNan::Kept)),
            "`rhs_format` says `fp8e5`, but `rhs` is `fp32[64, 16]`"
        );
    }
}
