//! Loads and stores: masks, implicit casts, truth values in memory, block pointers.

use shoal_ir::OpKind;
use shoal_ir::op::{Evict, LoadAttrs, LoadMode, StoreCache};
use shoal_ir::types::{Elem, Ptr, Scalar};

use super::operand::{Operand, constant, elem, number_type};
use super::{attribute, block_ptr, broadcast, cast};
use crate::builtin::{Args, Builtin, BuiltinContext, describe};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Access, Tensor, Value};

/// What a memory operation goes through: pointers, and the type of what they point to.
pub(crate) fn pointer(e: &Emit<'_>, function: &str, t: &Tensor) -> LowerResult<Ptr> {
    elem(t).ptr().ok_or_else(|| {
        e.error(format!("`{function}` takes a pointer, not `{}`", t.type_name()))
            .help("add the offset to a pointer argument: `ptr + offsets`")
            .into()
    })
}

/// Complains about writes through a pointer that may only be read.
pub(crate) fn writable(e: &Emit<'_>, function: &str, t: &Tensor) -> LowerResult<()> {
    if t.access == Access::ReadOnly {
        return Err(e
            .error(format!("`{function}` writes through a pointer that is `tl.const`"))
            .help("drop the `tl.const` annotation, or write through another pointer")
            .into());
    }
    Ok(())
}

/// With a scalar pointer, masks and values are scalars too.
pub(crate) fn scalar_beside_scalar(e: &Emit<'_>, what: &str, pointer: &Tensor, t: &Tensor) -> LowerResult<()> {
    if pointer.is_scalar() && !t.is_scalar() {
        return Err(e
            .error(format!("the pointer is a scalar, but the {what} is `{}`", t.type_name()))
            .help("add offsets to the pointer, for example `ptr + tl.arange(0, N)`")
            .into());
    }
    Ok(())
}

/// Masks and values have the shape of the pointers, or one that broadcasts with it.
fn fits_pointer(e: &Emit<'_>, what: &str, pointer: &Tensor, t: &Tensor) -> LowerResult<()> {
    let Some((at, [p, m])) = broadcast::mismatch(pointer.shape(), t.shape()) else { return Ok(()) };
    let error = e
        .error(format!("the {what} has shape {:?}, the pointers have {:?}", t.shape(), pointer.shape()))
        .label(format!("dimension {at} is {p} in the pointers and {m} in the {what}"));
    Err(match what {
        "mask" => error.help("compare the offsets that the pointers are made of: `mask = offsets < n`"),
        _ => error.help("make it from the same `tl.arange` as the pointers, or use `tl.broadcast_to`"),
    }
    .into())
}

/// A mask: truth values.
pub(crate) fn mask_of(e: &mut Emit<'_>, mask: &Operand) -> LowerResult<Tensor> {
    match mask {
        Operand::Number(n) => Ok(constant(e, *n, Scalar::I1)),
        Operand::Tensor(t) if number_type(t) == Some(Scalar::I1) => Ok(t.clone()),
        Operand::Tensor(t) => Err(e
            .error(format!("a mask is made of truth values, not of `{}`", t.type_name()))
            .help("compare: `mask != 0`")
            .into()),
    }
}

/// An operand at the type of what a pointer points to; numbers convert as a cast would.
pub(crate) fn at_element(e: &mut Emit<'_>, x: &Operand, to: Elem) -> LowerResult<Tensor> {
    match (x, to) {
        (Operand::Number(n), Elem::Scalar(ty)) => Ok(constant(e, *n, ty)),
        (Operand::Number(_), Elem::Ptr(_)) => {
            let t = super::operand::materialize(e, x)?;
            cast::by_value(e, &t, to, None)
        }
        (Operand::Tensor(t), _) => cast::by_value(e, t, to, None),
    }
}

/// A pointer through which memory holds bytes, where the language sees truth values.
pub(crate) fn as_stored(e: &mut Emit<'_>, p: &Tensor) -> LowerResult<(Tensor, Elem)> {
    let element = elem(p).ptr().expect("a pointer").element();
    if element != Elem::Scalar(Scalar::I1) {
        return Ok((p.clone(), element));
    }
    let byte = Ptr { pointee: Scalar::I8, ..elem(p).ptr().expect("a pointer") };
    Ok((cast::by_value(e, p, byte.into(), None)?, Elem::Scalar(Scalar::I8)))
}

/// `load(pointer, mask, other)`.
pub(crate) fn load(
    e: &mut Emit<'_>,
    p: &Tensor,
    mask: Option<&Operand>,
    other: Option<&Operand>,
    attrs: LoadAttrs,
) -> LowerResult<Tensor> {
    let element = pointer(e, "load", p)?.element();
    cast::supported(e, element)?;
    if mask.is_none() && other.is_some() {
        return Err(e
            .error("`other` has no meaning without `mask`")
            .help("`other` is what masked-out elements get: give a `mask`, or drop `other`")
            .into());
    }
    let (p, stored) = as_stored(e, p)?;
    let mask = mask.map(|m| mask_of(e, m)).transpose()?;
    let (p, mask) = lanes::at_access(e, &p, other.and_then(Operand::tensor), mask.as_ref())?;
    let mut parts = vec![p];
    if let Some(mask) = mask {
        scalar_beside_scalar(e, "mask", &parts[0], &mask)?;
        fits_pointer(e, "mask", &parts[0], &mask)?;
        parts.push(mask);
    }
    if let Some(other) = other {
        if let Operand::Tensor(t) = other {
            scalar_beside_scalar(e, "`other`", &parts[0], t)?;
            fits_pointer(e, "`other`", &parts[0], t)?;
        }
        parts.push(at_element(e, other, stored)?);
    }
    let parts = broadcast::all(e, &parts)?;
    let operands: Vec<_> = parts.iter().map(|t| t.value).collect();
    let value = e.b().value(OpKind::Load(attrs), &operands);
    // What is read is a value of its own: that the pointer may not be written through says nothing about it.
    let loaded = e.tensor(value);
    if element == stored { Ok(loaded) } else { cast::by_value(e, &loaded, element, None) }
}

/// `store(pointer, value, mask)`.
pub(crate) fn store(
    e: &mut Emit<'_>,
    p: &Tensor,
    value: &Operand,
    mask: Option<&Operand>,
    (cache, evict): (StoreCache, Evict),
) -> LowerResult<()> {
    let element = pointer(e, "store", p)?.element();
    writable(e, "store", p)?;
    let mask = mask.map(|m| mask_of(e, m)).transpose()?;
    let of_first = value.tensor().and_then(|t| lanes::of_first(e, t, p)).map(Operand::Tensor);
    let value = of_first.as_ref().unwrap_or(value);
    let (p, mask) = &lanes::at_access(e, p, value.tensor(), mask.as_ref())?;
    if let Operand::Tensor(t) = value {
        scalar_beside_scalar(e, "value", p, t)?;
        fits_pointer(e, "value", p, t)?;
    }
    if let Some(mask) = mask {
        scalar_beside_scalar(e, "mask", p, mask)?;
        fits_pointer(e, "mask", p, mask)?;
    }
    // First to the type the language sees, then to what memory holds.
    let value = at_element(e, value, element)?;
    let (p, stored) = as_stored(e, p)?;
    let value = cast::by_value(e, &value, stored, None)?;
    let operands = at_pointer_shape(e, &p, &value, mask.as_ref())?;
    e.b().inferred(OpKind::Store { cache, evict }, &operands, &[]);
    Ok(())
}

/// Pointer, value and mask at the pointer's shape, which may not grow.
pub(crate) fn at_pointer_shape(
    e: &mut Emit<'_>,
    p: &Tensor,
    value: &Tensor,
    mask: Option<&Tensor>,
) -> LowerResult<Vec<shoal_ir::Value>> {
    let parts: Vec<Tensor> = [Some(p), Some(value), mask].into_iter().flatten().cloned().collect();
    let shape = p.shape().to_vec();
    let parts = broadcast::all(e, &parts)?;
    if parts[0].shape() != shape {
        return Err(e
            .error(format!("the pointers have shape {shape:?}, but value and mask need {:?}", parts[0].shape()))
            .help("give the pointers the full shape, for example with `ptr + rows[:, None] * stride + cols[None, :]`")
            .into());
    }
    Ok(parts.iter().map(|t| t.value).collect())
}

fn optional_operand(e: &Emit<'_>, a: &Args, name: &str) -> LowerResult<Option<Operand>> {
    a.optional(name).map(|v| Operand::new(e, v)).transpose()
}

fn not_a_pointer(e: &Emit<'_>, function: &str, found: &Value) -> LowerError {
    match found {
        Value::Invalid => LowerError::reported(),
        Value::Descriptor(_) => e
            .error(format!("`{function}` takes a pointer, not a tensor descriptor"))
            .help(format!("use `desc.{function}(offsets)`"))
            .into(),
        _ => e
            .error(format!("`{function}` takes a pointer, not {}", describe(found)))
            .help("pointers are kernel arguments; add offsets to them: `ptr + offsets`")
            .into(),
    }
}

fn run_load(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let attrs = LoadAttrs {
        cache: attribute::load_cache(e, a.optional_str("cache_modifier")?)?,
        evict: attribute::eviction(e, a.optional_str("eviction_policy")?)?,
        mode: if a.bool("volatile")? { LoadMode::Volatile } else { LoadMode::Free },
    };
    let mask = optional_operand(e, a, "mask")?;
    let other = optional_operand(e, a, "other")?;
    let padding = attribute::padding(e, a.optional_str("padding_option")?)?;
    match a.value("pointer") {
        Value::Tensor(p) => {
            block_ptr::only_for_block_pointers(e, a)?;
            load(e, p, mask.as_ref(), other.as_ref(), attrs).map(Value::from)
        }
        Value::BlockPtr(p) => {
            block_ptr::no_mask(e, mask.is_some() || other.is_some())?;
            block_ptr::load(e, p, &block_ptr::checked_dims(e, a, p)?, padding, attrs).map(Value::from)
        }
        found => Err(not_a_pointer(e, "load", found)),
    }
}

fn run_store(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let cache = attribute::store_cache(e, a.optional_str("cache_modifier")?)?;
    let evict = attribute::eviction(e, a.optional_str("eviction_policy")?)?;
    let value = Operand::new(e, a.value("value"))?;
    let mask = optional_operand(e, a, "mask")?;
    match a.value("pointer") {
        Value::Tensor(p) => {
            block_ptr::only_for_block_pointers(e, a)?;
            store(e, p, &value, mask.as_ref(), (cache, evict))?;
        }
        Value::BlockPtr(p) => {
            block_ptr::no_mask(e, mask.is_some())?;
            block_ptr::store(e, p, &value, &block_ptr::checked_dims(e, a, p)?, (cache, evict))?;
        }
        found => return Err(not_a_pointer(e, "store", found)),
    }
    Ok(Value::NONE)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel(
        "load",
        "pointer, mask=None, other=None, boundary_check: const=(), padding_option: const='', \
         cache_modifier: const='', eviction_policy: const='', volatile: const=False",
        run_load,
    ),
    Builtin::kernel(
        "store",
        "pointer, value, mask=None, boundary_check: const=(), cache_modifier: const='', eviction_policy: const=''",
        run_store,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::operand::Number;
    use crate::semantic::testing::{Sandbox, message, type_of};

    const PLAIN: (StoreCache, Evict) = (StoreCache::Default, Evict::Normal);

    #[test]
    fn loads_follow_the_pointer() {
        let mut s = Sandbox::new();
        let p = s.pointer(Scalar::BF16, &[8, 1]);
        let mask = s.param(Scalar::I1, &[16]);
        let e = &mut s.emit;
        let x = load(e, &p, Some(&mask.into()), Some(&Number::Int(0).into()), LoadAttrs::default()).unwrap();
        assert_eq!(type_of(&x), "bf16[8, 16]");
        let scalar = s.pointer(Scalar::F32, &[]);
        let y = load(&mut s.emit, &scalar, Some(&Number::Bool(true).into()), None, LoadAttrs::default()).unwrap();
        assert_eq!(type_of(&y), "fp32");
        let bools = s.pointer(Scalar::I1, &[4]);
        let z = load(&mut s.emit, &bools, None, None, LoadAttrs::default()).unwrap();
        assert_eq!(type_of(&z), "i1[4]");
        let chain = s.param(Ptr { depth: 2, ..Ptr::global(Scalar::F32) }, &[4]);
        let w = load(&mut s.emit, &chain, None, None, LoadAttrs::default()).unwrap();
        assert_eq!(type_of(&w), "*fp32[4]");
        let through_const = Tensor { access: Access::ReadOnly, ..chain };
        let w = load(&mut s.emit, &through_const, None, None, LoadAttrs::default()).unwrap();
        assert_eq!(w.access, Access::ReadWrite);
        s.verify();
    }

    #[test]
    fn stores_cast_to_the_element() {
        let mut s = Sandbox::new();
        let p = s.pointer(Scalar::F16, &[8]);
        let x = s.param(Scalar::F32, &[8]);
        let mask = s.param(Scalar::I1, &[]);
        store(&mut s.emit, &p, &x.into(), Some(&mask.into()), PLAIN).unwrap();
        store(&mut s.emit, &p, &Number::Int(0).into(), None, PLAIN).unwrap();
        let bools = s.pointer(Scalar::I1, &[8]);
        let i = s.param(Scalar::I32, &[8]);
        store(&mut s.emit, &bools, &i.into(), None, PLAIN).unwrap();
        let text = s.verify();
        assert!(text.contains("tile<8xf16>") && text.contains("ptr<i8>"), "{text}");
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let p = s.pointer(Scalar::F32, &[]);
        let ps = s.pointer(Scalar::F32, &[8]);
        let x = s.param(Scalar::F32, &[8]);
        let i = s.param(Scalar::I32, &[8]);
        let m = s.param(Scalar::I1, &[4, 8]);
        let e = &mut s.emit;
        let attrs = LoadAttrs::default();
        let one = Operand::from(Number::Int(1));
        assert_eq!(message(load(e, &x, None, None, attrs)), "`load` takes a pointer, not `fp32[8]`");
        assert_eq!(message(load(e, &p, None, Some(&one), attrs)), "`other` has no meaning without `mask`");
        assert_eq!(
            message(load(e, &ps, Some(&i.into()), None, attrs)),
            "a mask is made of truth values, not of `i32[8]`"
        );
        assert_eq!(
            message(load(e, &p, Some(&m.clone().into()), None, attrs)),
            "the pointer is a scalar, but the mask is `i1[4, 8]`"
        );
        assert_eq!(
            message(store(e, &p, &x.clone().into(), None, PLAIN)),
            "the pointer is a scalar, but the value is `fp32[8]`"
        );
        assert_eq!(
            message(store(e, &ps, &one, Some(&m.into()), PLAIN)),
            "the pointers have shape [8], but value and mask need [4, 8]"
        );
        let read_only = Tensor { access: Access::ReadOnly, ..ps };
        assert_eq!(
            message(store(e, &read_only, &one, None, PLAIN)),
            "`store` writes through a pointer that is `tl.const`"
        );
    }
}
