//! Conversions: by value, by bits, and between pointers.

use shoal_ir::OpKind;
use shoal_ir::op::Rounding;
use shoal_ir::types::{Elem, Scalar, Type};

use super::operand::{self, elem};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Access, Dtype, Tensor, Value};

/// A tensor at another number type, by value. Conversions between fp8 and integers are not in the language, but here
/// they may be asked for by an implicit cast; see [`checked`].
pub(crate) fn to_number(e: &mut Emit<'_>, t: &Tensor, to: Scalar) -> LowerResult<Tensor> {
    by_value(e, t, Elem::Scalar(to), None)
}

/// A tensor at another element type, by value; `rounding` only for narrower floats.
pub(crate) fn by_value(e: &mut Emit<'_>, t: &Tensor, to: Elem, rounding: Option<Rounding>) -> LowerResult<Tensor> {
    let from = elem(t);
    if from == to {
        return Ok(t.clone());
    }
    checked(e, from, to)?;
    supported(e, to)?;
    let narrows = is_float(from) && is_float(to) && to.bits() < from.bits();
    if rounding.is_some() && !narrows {
        return Err(e
            .error(format!("no rounding takes place from `{}` to `{}`", name(from), name(to)))
            .help("`fp_downcast_rounding` is for casts to a narrower float type")
            .into());
    }
    // Addresses meet integers at 64 bits.
    let source = match (from, to) {
        (Elem::Ptr(_), Elem::Scalar(s)) if s.bits() != 64 => {
            convert(e, t, Elem::Scalar(Scalar::I64), Rounding::Nearest)
        }
        (Elem::Scalar(s), Elem::Ptr(_)) if s.bits() != 64 => {
            let wide = if s.is_signed_int() { Scalar::I64 } else { Scalar::U64 };
            convert(e, t, Elem::Scalar(wide), Rounding::Nearest)
        }
        _ => t.clone(),
    };
    Ok(convert(e, &source, to, rounding.unwrap_or(Rounding::Nearest)))
}

fn convert(e: &mut Emit<'_>, t: &Tensor, to: Elem, rounding: Rounding) -> Tensor {
    let ty = t.ty.with_elem(to);
    let value = e.b().value_as(OpKind::Cast(rounding), &[t.value], ty);
    // A cast between pointers keeps what may be done with the memory.
    let access = if to.ptr().is_some() && elem(t).ptr().is_some() { t.access } else { Access::ReadWrite };
    Tensor { access, ..e.tensor(value) }
}

/// Whether the language has this conversion.
fn checked(e: &Emit<'_>, from: Elem, to: Elem) -> LowerResult<()> {
    match (from, to) {
        (Elem::Scalar(a), Elem::Scalar(b)) => {
            if (a.is_fp8() && b.is_int()) || (a.is_int() && b.is_fp8()) {
                return Err(e
                    .error(format!("cannot cast `{}` to `{}`", name(from), name(to)))
                    .help("go through `tl.float32`")
                    .into());
            }
            Ok(())
        }
        (Elem::Ptr(_), Elem::Scalar(b)) if b.is_int() && (b.bits() == 64 || b == Scalar::I1) => Ok(()),
        (Elem::Ptr(_), Elem::Scalar(_)) => Err(e
            .error(format!("cannot cast the pointer `{}` to `{}`", name(from), name(to)))
            .help("an address is a `tl.int64` or a `tl.uint64`; to read what it points to, use `tl.load`")
            .into()),
        (Elem::Scalar(a), Elem::Ptr(_)) if a.is_float() => Err(e
            .error(format!("cannot cast `{}` to the pointer `{}`", name(from), name(to)))
            .help("only integers become addresses")
            .into()),
        (Elem::Scalar(_) | Elem::Ptr(_), Elem::Ptr(_)) => Ok(()),
    }
}

/// The same bits at another element type. Pointers are cast instead.
pub(crate) fn by_bits(e: &mut Emit<'_>, t: &Tensor, to: Elem) -> LowerResult<Tensor> {
    let from = elem(t);
    if from == to {
        return Ok(t.clone());
    }
    if from.ptr().is_some() || to.ptr().is_some() {
        return by_value(e, t, to, None);
    }
    supported(e, to)?;
    if from.bits() != to.bits() {
        return Err(e
            .error(format!("cannot bitcast `{}` to `{}`: the widths differ", name(from), name(to)))
            .label(format!("{} bits and {} bits", from.bits(), to.bits()))
            .help("a bitcast keeps the bits; use `.to(dtype)` without `bitcast=True` to convert the value")
            .into());
    }
    let value = e.b().bitcast(t.value, to);
    Ok(e.tensor(value))
}

/// A truth value for each element: not zero.
pub(crate) fn truth(e: &mut Emit<'_>, t: &Tensor) -> LowerResult<Tensor> {
    to_number(e, t, Scalar::I1)
}

/// Complains about fp8 types that the target does not have.
pub(crate) fn supported(e: &Emit<'_>, elem: Elem) -> LowerResult<()> {
    match elem {
        Elem::Scalar(s) if s.is_fp8() && !e.options.fp8_types.contains(&s) => {
            let known: Vec<String> =
                e.options.fp8_types.iter().map(|&s| format!("`{}`", dtype::scalar_name(s))).collect();
            let known = if known.is_empty() { "no fp8 type".to_owned() } else { known.join(", ") };
            Err(e.error(format!("the target has no `{}`", name(elem))).help(format!("it has {known}")).into())
        }
        Elem::Scalar(_) | Elem::Ptr(_) => Ok(()),
    }
}

/// An element type as users see it.
pub(crate) fn name(elem: Elem) -> String {
    dtype::display(&Type::Elem(elem), Access::ReadWrite)
}

fn is_float(elem: Elem) -> bool {
    elem.scalar().is_some_and(Scalar::is_float)
}

fn rounding_of(e: &Emit<'_>, word: Option<&str>) -> LowerResult<Option<Rounding>> {
    word.map(|word| Rounding::from_name(word).ok_or_else(|| unknown_rounding(e, word))).transpose()
}

fn unknown_rounding(e: &Emit<'_>, word: &str) -> LowerError {
    e.error(format!("unknown rounding `{word}`"))
        .help("use \"rtne\" (nearest, ties to even) or \"rtz\" (toward zero)")
        .into()
}

/// `x.to(dtype)`: by value or by bits.
pub(crate) fn to_dtype(
    e: &mut Emit<'_>,
    t: &Tensor,
    to: &Dtype,
    rounding: Option<Rounding>,
    how: Conversion,
) -> LowerResult<Tensor> {
    let Some(target) = to.elem() else {
        return Err(e.lower_error(format!("cannot cast to `{to}`")));
    };
    let cast = match how {
        Conversion::Value => by_value(e, t, target, rounding)?,
        Conversion::Bits => by_bits(e, t, target)?,
    };
    Ok(if target.ptr().is_some() { Tensor { access: to.access, ..cast } } else { cast })
}

/// What a cast keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// The value.
    Value,
    /// The bits.
    Bits,
}

fn run_cast(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = operand::to_tensor(e, a.value("input"))?;
    let rounding = rounding_of(e, a.optional_str("fp_downcast_rounding")?)?;
    let how = if a.bool("bitcast")? { Conversion::Bits } else { Conversion::Value };
    to_dtype(e, &x, a.dtype("dtype")?, rounding, how).map(Value::from)
}

fn run_to_tensor(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    operand::to_tensor(l.emit(), a.value("x")).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("cast", "input, dtype: const, fp_downcast_rounding: const=None, bitcast: const=False", run_cast),
    Builtin::kernel("to_tensor", "x", run_to_tensor),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::semantic::testing::{Sandbox, message, type_of};
    use shoal_ir::types::Ptr;

    #[test]
    fn numbers_and_pointers_convert() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[8]);
        let half = by_value(&mut s.emit, &x, Scalar::F16.into(), Some(Rounding::Zero)).unwrap();
        assert_eq!(type_of(&half), "fp16[8]");
        let p = s.pointer(Scalar::F32, &[8]);
        let address = to_number(&mut s.emit, &p, Scalar::I64).unwrap();
        let back = by_value(&mut s.emit, &address, Ptr::global(Scalar::I8).into(), None).unwrap();
        assert_eq!(type_of(&back), "*i8[8]");
        let other = by_bits(&mut s.emit, &p, Ptr::global(Scalar::U32).into()).unwrap();
        assert_eq!(type_of(&other), "*u32[8]");
        let there = to_number(&mut s.emit, &p, Scalar::I1).unwrap();
        assert_eq!(type_of(&there), "i1[8]");
        let small = s.param(Scalar::I32, &[]);
        assert_eq!(type_of(&by_value(&mut s.emit, &small, Ptr::global(Scalar::F32).into(), None).unwrap()), "*fp32");
        let bits = by_bits(&mut s.emit, &x, Scalar::I32.into()).unwrap();
        assert_eq!(type_of(&bits), "i32[8]");
        s.verify();
    }

    #[test]
    fn read_only_pointers_stay_so() {
        let mut s = Sandbox::new();
        let p = Tensor { access: Access::ReadOnly, ..s.pointer(Scalar::F32, &[]) };
        let q = by_value(&mut s.emit, &p, Ptr::global(Scalar::I32).into(), None).unwrap();
        assert_eq!(q.access, Access::ReadOnly);
    }

    #[test]
    fn what_does_not_convert_is_refused() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[8]);
        let p = s.pointer(Scalar::F32, &[8]);
        let i = s.param(Scalar::I32, &[8]);
        let e = &mut s.emit;
        assert_eq!(message(by_bits(e, &x, Scalar::I16.into())), "cannot bitcast `fp32` to `i16`: the widths differ");
        assert_eq!(message(to_number(e, &p, Scalar::I32)), "cannot cast the pointer `*fp32` to `i32`");
        assert_eq!(message(to_number(e, &i, Scalar::F8E5M2)), "cannot cast `i32` to `fp8e5`");
        assert_eq!(
            message(by_value(e, &i, Scalar::F32.into(), Some(Rounding::Zero))),
            "no rounding takes place from `i32` to `fp32`"
        );
        assert_eq!(message(rounding_of(e, Some("up"))), "unknown rounding `up`");
    }

    #[test]
    fn a_target_may_lack_fp8_types() {
        let mut s = Sandbox::with(Options { fp8_types: vec![Scalar::F8E5M2], ..Options::default() });
        let x = s.param(Scalar::F32, &[8]);
        assert!(to_number(&mut s.emit, &x, Scalar::F8E5M2).is_ok());
        assert_eq!(message(to_number(&mut s.emit, &x, Scalar::F8E4M3)), "the target has no `fp8e4nv`");
    }
}
