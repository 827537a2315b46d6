//! Values that differ between the threads of a program.
//!
//! Code for single threads is no second language: a number that each thread has for itself is a tile with one element
//! for each thread, and code that only some threads run works under a mask ([`Emit::active`]). While a kernel is
//! lowered such tiles are told from others by their layout, one element per thread; it is taken off at the end, since
//! the meaning of a tile does not depend on where its elements are.
//!
//! A value that is a scalar is the same on every lane. It becomes one of each lane where it meets one.

use shoal_ir::class::{ControlOp, OpClass};
use shoal_ir::comm::CommOp;
use shoal_ir::layouts::{self, WARP_SIZE};
use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::{Elem, Scalar, Type};
use shoal_ir::{Func, Module, OpId, OpKind, Value as IrValue};

use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Aggregate, Tensor, Tuple, Value};

/// Whether a type is that of a value that each lane has for itself. A tile that was made of one by reshaping or reducing
/// is a tile like others.
pub(crate) fn is_lane_type(ty: &Type) -> bool {
    match (ty.layout(), ty.shape()) {
        (Some(layout), &[threads]) if threads >= WARP_SIZE => *layout == layouts::one_per_thread(threads / WARP_SIZE),
        _ => false,
    }
}

/// Whether each lane has a value of its own.
pub(crate) fn is_per_lane(t: &Tensor) -> bool {
    is_lane_type(&t.ty)
}

/// The number of threads of a program.
pub(crate) fn count(e: &Emit<'_>) -> u32 {
    e.options.num_warps * WARP_SIZE
}

/// The type of values that each lane has for itself.
pub(crate) fn lane_type(e: &Emit<'_>, elem: impl Into<Elem>) -> Type {
    Type::tile(elem, &[count(e)]).with_layout(Some(layouts::one_per_thread(e.options.num_warps)))
}

/// The same tile, known to have one element for each lane.
pub(crate) fn marked(e: &mut Emit<'_>, value: IrValue) -> IrValue {
    let elem = e.func.ty(value).elem().expect("a tile has elements");
    let ty = lane_type(e, elem);
    e.func.value_mut(value).ty = ty;
    value
}

/// The number of each lane.
pub(crate) fn index(e: &mut Emit<'_>) -> IrValue {
    let threads = count(e);
    let value = e.b().iota(0, threads);
    marked(e, value)
}

/// A scalar or a value of each lane, as a value of each lane.
pub(crate) fn splat(e: &mut Emit<'_>, value: IrValue) -> IrValue {
    if is_lane_type(e.func.ty(value)) {
        return value;
    }
    let threads = count(e);
    let everywhere = e.b().splat(value, &[threads]);
    marked(e, everywhere)
}

/// The same for a tensor; a tile cannot be mixed with values of each lane.
pub(crate) fn of_each(e: &mut Emit<'_>, t: &Tensor) -> LowerResult<Tensor> {
    if !t.is_scalar() && !is_per_lane(t) {
        return Err(e
            .error("a tile and a value that differs between threads cannot be combined")
            .label(format!("the tile is `{}`", t.type_name()))
            .help("threads see one element each: take it with `x[i]`, or compute with tiles alone")
            .into());
    }
    let value = splat(e, t.value);
    Ok(Tensor { access: t.access, ..e.tensor(value) })
}

/// Values of lanes that meet a tile, whose elements belong to no lane: they must be the same on all lanes that run the
/// code, and become scalars.
pub(crate) fn beside_tiles(e: &mut Emit<'_>, tensors: &[Tensor]) -> Vec<Tensor> {
    let is_tile = |t: &Tensor| !t.is_scalar() && !is_per_lane(t);
    let settle = tensors.iter().any(is_tile);
    tensors.iter().map(|t| if settle { agreed(e, t) } else { t.clone() }).collect()
}

/// What all lanes that run the code have alike, as a scalar: kernels find a tile's number by shuffles and votes of a warp,
/// and loop from there. The program fails where lanes differ. Other values stay what they are.
pub(crate) fn agreed(e: &mut Emit<'_>, t: &Tensor) -> Tensor {
    if !is_per_lane(t) {
        return t.clone();
    }
    let splat_of = e.func.def_op(t.value).filter(|&op| matches!(e.func.op(op).kind, OpKind::Splat));
    if let Some(op) = splat_of {
        let value = e.func.op(op).operands()[0];
        return Tensor { access: t.access, ..e.tensor(value) };
    }
    let lane = first_active(e);
    let first = extract(e, t.value, lane);
    let everywhere = splat(e, first);
    let [own, everywhere] = [t.value, everywhere].map(|value| comparable(e, value));
    let mut same = e.b().cmp(CmpOp::Eq, own, everywhere);
    if let Some(mask) = e.active {
        let resting = inverted(e, mask);
        same = e.b().binary(BinaryOp::Or, same, resting);
    }
    let message = "a tile meets a value that differs between threads".to_owned();
    e.b().inferred(OpKind::Assert { message }, &[same], &[]);
    Tensor { access: t.access, ..e.tensor(first) }
}

/// The first of the lanes that run the code under construction; the last lane if none does.
fn first_active(e: &mut Emit<'_>) -> IrValue {
    let Some(mask) = e.active else { return e.b().int(0, Scalar::I32) };
    let ty = lane_type(e, Scalar::I32);
    let last = i64::from(count(e)) - 1;
    let last = e.b().int(last, ty);
    let own = index(e);
    let running = e.b().select(mask, own, last);
    combined(e, BinaryOp::Min, running)
}

/// Bits that are equal where values are.
fn comparable(e: &mut Emit<'_>, value: IrValue) -> IrValue {
    match e.func.ty(value).elem() {
        Some(Elem::Ptr(_)) => e.b().cast(value, Scalar::I64),
        Some(Elem::Scalar(Scalar::I1)) => e.b().cast(value, Scalar::U8),
        Some(Elem::Scalar(s)) if s.is_float() => match Scalar::int(s.bits(), false) {
            Some(bits) => e.b().bitcast(value, bits),
            None => value,
        },
        Some(Elem::Scalar(_)) | None => value,
    }
}

/// Whether any lane is set: a scalar.
pub(crate) fn any(e: &mut Emit<'_>, mask: IrValue) -> IrValue {
    combined(e, BinaryOp::Or, mask)
}

/// All lanes combined: a scalar.
pub(crate) fn combined(e: &mut Emit<'_>, op: BinaryOp, value: IrValue) -> IrValue {
    let elem = e.func.ty(value).elem().expect("lanes have elements");
    let scalar = Type::Elem(elem);
    let (region, ()) = e.in_region(&[scalar.clone(), scalar], |e, params| {
        let both = e.b().binary(op, params[0], params[1]);
        e.b().yield_(&[both]);
    });
    let op = e.b().inferred(OpKind::Reduce { axis: 0, in_order: false }, &[value], &[region]);
    e.func.op(op).result()
}

/// The lanes of both masks; `None` stands for all lanes.
pub(crate) fn both(e: &mut Emit<'_>, outer: Option<IrValue>, inner: IrValue) -> IrValue {
    match outer {
        None => inner,
        Some(outer) => e.b().binary(BinaryOp::And, outer, inner),
    }
}

/// The lanes that are not set.
pub(crate) fn inverted(e: &mut Emit<'_>, mask: IrValue) -> IrValue {
    e.b().unary(shoal_ir::op::UnaryOp::Not, mask)
}

/// The lanes that run the code under construction.
pub(crate) fn active(e: &mut Emit<'_>) -> IrValue {
    match e.active {
        Some(mask) => mask,
        None => {
            let ty = lane_type(e, Scalar::I1);
            e.b().int(1, ty)
        }
    }
}

/// The value that one lane has: a scalar. The lane must exist.
pub(crate) fn extract(e: &mut Emit<'_>, value: IrValue, lane: IrValue) -> IrValue {
    let mut b = e.b();
    let at = b.splat(lane, &[1]);
    let picked = b.func.ty(value).elem().expect("lanes have elements");
    let one = b.value_as(OpKind::Gather { axis: 0 }, &[value, at], Type::tile(picked, &[1]));
    b.reshape(one, &[])
}

/// What the first lanes have, for pointers with no more elements than there are lanes: there each thread of a GPU holds one
/// element, and stores what it has itself.
pub(crate) fn of_first(e: &mut Emit<'_>, t: &Tensor, pointers: &Tensor) -> Option<Tensor> {
    let count = match pointers.shape() {
        &[count] if !is_per_lane(pointers) => count,
        _ => return None,
    };
    if !is_per_lane(t) || e.active.is_some() || count > self::count(e) {
        return None;
    }
    let lane = e.b().iota(0, count);
    let elem = t.ty.elem()?;
    let value = e.b().value_as(OpKind::Gather { axis: 0 }, &[t.value, lane], Type::tile(elem, &[count]));
    Some(Tensor { access: t.access, ..e.tensor(value) })
}

/// A zero, or a null pointer, of a type of numbers or pointers.
pub(crate) fn zero(e: &mut Emit<'_>, ty: &Type) -> Option<IrValue> {
    match ty.elem()? {
        Elem::Scalar(s) => Some(e.b().constant(shoal_ir::Const::zero(s), ty.clone())),
        Elem::Ptr(p) => {
            let address = e.b().int(0, ty.with_elem(Scalar::I64));
            Some(e.b().cast(address, p))
        }
    }
}

/// The value with the types that its parts have in the function: after lanes took the place of scalars.
pub(crate) fn retyped(e: &Emit<'_>, value: Value) -> Value {
    match value {
        Value::Tensor(t) => Value::Tensor(Tensor { ty: e.func.ty(t.value).clone(), ..t }),
        Value::Tuple(t) => {
            Value::Tuple(Tuple { items: t.items.iter().map(|v| retyped(e, v.clone())).collect(), class: t.class })
        }
        Value::Aggregate(a) => Value::Aggregate(Aggregate {
            class: a.class,
            fields: a.fields.iter().map(|v| retyped(e, v.clone())).collect(),
        }),
        Value::Vector(v) => Value::Vector(v.map(|t| Tensor { ty: e.func.ty(t.value).clone(), ..t.clone() })),
        Value::Dict(pairs) => Value::Dict(pairs.iter().map(|(k, v)| (k.clone(), retyped(e, v.clone()))).collect()),
        other => other,
    }
}

/// Whether one type is that of a scalar or of lanes: what may differ between lanes.
pub(crate) fn may_differ(ty: &Type) -> bool {
    matches!(ty, Type::Elem(_)) || is_lane_type(ty)
}

/// Pointer, value and mask of an access by lanes: if one of them differs between lanes they all do, and lanes that do
/// not run the code are masked out. Other accesses are the program's own and stay as they are.
pub(crate) fn at_access(
    e: &mut Emit<'_>,
    pointer: &Tensor,
    value: Option<&Tensor>,
    mask: Option<&Tensor>,
) -> LowerResult<(Tensor, Option<Tensor>)> {
    let per_lane = [Some(pointer), value, mask].into_iter().flatten().any(is_per_lane);
    if !per_lane {
        return Ok((pointer.clone(), mask.cloned()));
    }
    if !pointer.is_scalar() && !is_per_lane(pointer) {
        return Ok((pointer.clone(), mask.map(|mask| agreed(e, mask))));
    }
    let pointer = of_each(e, pointer)?;
    let mask = mask.map(|mask| of_each(e, mask)).transpose()?;
    let mask = match (mask, e.active) {
        (Some(mask), outer) => {
            let both = both(e, outer, mask.value);
            Some(e.tensor(both))
        }
        (None, Some(active)) => Some(e.tensor(active)),
        (None, None) => None,
    };
    Ok((pointer, mask))
}

/// Takes the marks of lanes off all tiles: the finished module says nothing of where elements are. It says which
/// operations lanes do.
pub(crate) fn unmark(module: &mut Module) {
    for func in &mut module.funcs {
        let by_lanes: Vec<OpId> = func.walk().into_iter().filter(|&op| is_done_by_lanes(func, op)).collect();
        for op in by_lanes {
            func.by_lanes.insert(op);
        }
        for value in (0..func.num_values()).map(|i| IrValue::from_u32(i as u32)) {
            if func.ty(value).layout().is_some() {
                let open = func.ty(value).with_layout(None);
                func.value_mut(value).ty = open;
            }
        }
        for ty in &mut func.results {
            *ty = ty.with_layout(None);
        }
    }
}

/// Whether each lane does an operation for itself: an access to its own element, a branch or a loop on its own condition.
fn is_done_by_lanes(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let own_element = || data.operands().first().is_some_and(|&v| is_lane_type(func.ty(v)));
    // Divergent code runs if any lane wants it.
    let any_lane = |condition: IrValue| {
        let combined = func.def_op(condition).map(|op| func.op(op));
        combined.is_some_and(|op| {
            matches!(op.kind, OpKind::Reduce { .. }) && op.operands().iter().any(|&v| is_lane_type(func.ty(v)))
        })
    };
    match data.kind.class() {
        OpClass::Access(_) | OpClass::Atomic(..) | OpClass::Comm(CommOp::Shmem(_)) => own_element(),
        OpClass::Control(ControlOp::If) => any_lane(data.operands()[0]),
        OpClass::Control(ControlOp::While { .. }) => {
            let head = func.region(data.regions()[0]);
            // The lanes that are still in it are carried last.
            let carries_mask = head.params().last().is_some_and(|&mask| {
                is_lane_type(func.ty(mask)) && func.ty(mask).elem() == Some(Elem::Scalar(Scalar::I1))
            });
            let last = head.ops().last().and_then(|&op| func.op(op).operands().first());
            carries_mask && last.is_some_and(|&condition| any_lane(condition))
        }
        OpClass::Control(ControlOp::For(_))
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}
