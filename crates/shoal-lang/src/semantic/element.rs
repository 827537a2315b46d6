//! Single elements of tiles: `x[i, j]` and `x[i, j] = v` in code for single threads.
//!
//! With indices that differ between lanes, each lane takes or puts an element of its own. Lanes that put different
//! values at one place: the last of them stays.

use shoal_ir::op::{BinaryOp, CmpOp, ForAttrs};
use shoal_ir::types::{Scalar, Type};
use shoal_ir::{OpKind, Value as IrValue};

use super::operand::{Operand, number_type, to_tensor};
use super::words::counted;
use super::{broadcast, cast, memory};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::value::{Const, Tensor, Value};

/// Whether a subscript names one element: an integer for each dimension.
pub(crate) fn is_element(t: &Tensor, indices: &[Value]) -> bool {
    let integer = |v: &Value| match v {
        Value::Tensor(t) => number_type(t).is_some_and(Scalar::is_int) && (t.is_scalar() || lanes::is_per_lane(t)),
        other => other.as_const().and_then(Const::as_int).is_some(),
    };
    !lanes::is_per_lane(t) && !t.is_scalar() && indices.len() == t.shape().len() && indices.iter().all(integer)
}

/// The place of an element in row-major order, inside the tile.
fn place(e: &mut Emit<'_>, t: &Tensor, indices: &[Value]) -> LowerResult<Tensor> {
    if t.is_scalar() || lanes::is_per_lane(t) {
        return Err(e.lower_error(format!("elements are taken from tiles, not from `{}`", t.type_name())));
    }
    if indices.len() != t.shape().len() {
        return Err(e.lower_error(format!("{} indices for a tile of rank {}", indices.len(), t.shape().len())));
    }
    let mut parts = Vec::new();
    for (dim, index) in indices.iter().enumerate() {
        check_known_index(e, t, dim, index)?;
        let index = to_tensor(e, index)?;
        if !number_type(&index).is_some_and(Scalar::is_int) {
            return Err(e.lower_error(format!("an index is an integer, not `{}`", index.type_name())));
        }
        parts.push(cast::to_number(e, &index, Scalar::I32)?);
    }
    let parts = broadcast::all(e, &parts)?;
    let mut flat: Option<IrValue> = None;
    for (index, &size) in parts.iter().zip(t.shape()) {
        flat = Some(match flat {
            None => index.value,
            Some(before) => {
                let size = e.b().int(size.into(), index.ty.clone());
                let row = e.b().binary(BinaryOp::Mul, before, size);
                e.b().binary(BinaryOp::Add, row, index.value)
            }
        });
    }
    let flat = flat.expect("a tile has dimensions");
    // Lanes that do not run this may have any index, so that what is only known at run time is kept inside.
    let count: u32 = t.shape().iter().product();
    let ty = e.func.ty(flat).clone();
    let last = e.b().int(i64::from(count) - 1, ty.clone());
    let first = e.b().int(0, ty);
    let inside = e.b().binary(BinaryOp::Max, flat, first);
    let inside = e.b().binary(BinaryOp::Min, inside, last);
    Ok(e.tensor(inside))
}

/// An index that is known at compile time is inside of its dimension. Nothing counts from the end, as nothing could for
/// indices that are known at run time.
fn check_known_index(e: &Emit<'_>, t: &Tensor, dim: usize, index: &Value) -> LowerResult<()> {
    let Some(index) = index.as_const().and_then(Const::as_int) else { return Ok(()) };
    let size = t.shape()[dim];
    if (0..i128::from(size)).contains(&index) {
        return Ok(());
    }
    let elements = counted(size as usize, "element");
    Err(e
        .error(format!("index {index} is out of range: dimension {dim} of the tile has {elements}"))
        .label(format!("the tile is `{}`", t.type_name()))
        .help(format!("indices go from 0 to {}", size - 1))
        .into())
}

/// The tile in one dimension.
fn flattened(e: &mut Emit<'_>, t: &Tensor) -> IrValue {
    let count: u32 = t.shape().iter().product();
    e.b().reshape(t.value, &[count])
}

/// `t[indices]`.
pub(crate) fn extract(e: &mut Emit<'_>, t: &Tensor, indices: &[Value]) -> LowerResult<Tensor> {
    let at = place(e, t, indices)?;
    let flat = flattened(e, t);
    let value = if lanes::is_per_lane(&at) {
        let elem = t.ty.elem().expect("a tile has elements");
        let ty = lanes::lane_type(e, elem);
        e.b().value_as(OpKind::Gather { axis: 0 }, &[flat, at.value], ty)
    } else {
        lanes::extract(e, flat, at.value)
    };
    Ok(Tensor { access: t.access, ..e.tensor(value) })
}

/// The tile with `t[indices]` replaced.
pub(crate) fn insert(e: &mut Emit<'_>, t: &Tensor, value: &Operand, indices: &[Value]) -> LowerResult<Tensor> {
    let elem = t.ty.elem().expect("a tile has elements");
    let value = memory::at_element(e, value, elem)?;
    let at = place(e, t, indices)?;
    let flat = flattened(e, t);
    let count: u32 = t.shape().iter().product();
    let places = e.b().iota(0, count);
    let new = if lanes::is_per_lane(&at) || lanes::is_per_lane(&value) || e.active.is_some() {
        let (at, value) = (lanes::of_each(e, &at)?, lanes::of_each(e, &value)?);
        scattered(e, flat, places, at.value, value.value)
    } else {
        let at = e.b().splat(at.value, &[count]);
        let here = e.b().cmp(CmpOp::Eq, places, at);
        let everywhere = e.b().splat(value.value, &[count]);
        e.b().select(here, everywhere, flat)
    };
    let new = e.b().reshape(new, t.shape());
    Ok(Tensor { access: t.access, ..e.tensor(new) })
}

/// A tile with the values of lanes at their places.
fn scattered(e: &mut Emit<'_>, flat: IrValue, places: IrValue, at: IrValue, value: IrValue) -> IrValue {
    let count = e.func.ty(places).shape()[0];
    // Lanes that do not run this write nowhere.
    let nowhere = lanes::lane_type(e, Scalar::I32);
    let nowhere = e.b().int(-1, nowhere);
    let active = lanes::active(e);
    let at = e.b().select(active, at, nowhere);
    let writer = last_writers(e, places, at);
    let first = e.b().int(0, Type::tile(Scalar::I32, &[count]));
    let written = e.b().cmp(CmpOp::Ge, writer, first);
    let safe = e.b().binary(BinaryOp::Max, writer, first);
    let elem = e.func.ty(value).elem().expect("lanes have elements");
    let new = e.b().value_as(OpKind::Gather { axis: 0 }, &[value, safe], Type::tile(elem, &[count]));
    e.b().select(written, new, flat)
}

/// Elements of the tiles in which places are compared with those of lanes.
const COMPARED_AT_ONCE: u32 = 1 << 16;

/// For each place the last lane that writes there, or -1. Lanes are looked at in groups, one after another, so that no
/// tile gets too large.
fn last_writers(e: &mut Emit<'_>, places: IrValue, at: IrValue) -> IrValue {
    let (count, threads) = (e.func.ty(places).shape()[0], lanes::count(e));
    let group = (COMPARED_AT_ONCE / count).clamp(1, threads);
    let writers = Type::tile(Scalar::I32, &[count]);
    if group == threads {
        let lane = lanes::index(e);
        return last_writers_of(e, places, at, lane);
    }
    let nobody = e.b().int(-1, writers.clone());
    let [zero, end, step] = [0, threads, group].map(|n| e.b().int(n.into(), Scalar::I32));
    let (region, ()) = e.in_region(&[Type::scalar(Scalar::I32), writers.clone()], |e, params| {
        let start = e.b().splat(params[0], &[group]);
        let lane = e.b().iota(0, group);
        let lane = e.b().binary(BinaryOp::Add, lane, start);
        let at = e.b().value_as(OpKind::Gather { axis: 0 }, &[at, lane], Type::tile(Scalar::I32, &[group]));
        let here = last_writers_of(e, places, at, lane);
        let last = e.b().binary(BinaryOp::Max, params[1], here);
        e.b().yield_(&[last]);
    });
    let op = e.b().op(OpKind::For(ForAttrs::default()), [zero, end, step, nobody], [writers], [region]);
    e.func.op(op).result()
}

/// For each place the last of some lanes that writes there, or -1.
fn last_writers_of(e: &mut Emit<'_>, places: IrValue, at: IrValue, lane: IrValue) -> IrValue {
    let (count, lanes) = (e.func.ty(places).shape()[0], e.func.ty(at).shape()[0]);
    let grid = [count, lanes];
    let plain = |e: &mut Emit<'_>, v: IrValue, shape: [u32; 2]| {
        let shaped = e.b().value_as(OpKind::Reshape, &[v], Type::tile(Scalar::I32, &shape));
        e.b().broadcast(shaped, &grid)
    };
    let none = e.b().int(-1, Type::tile(Scalar::I32, &grid));
    let lane = plain(e, lane, [1, lanes]);
    let wanted = plain(e, at, [1, lanes]);
    let rows = plain(e, places, [count, 1]);
    let here = e.b().cmp(CmpOp::Eq, rows, wanted);
    let writers = e.b().select(here, lane, none);
    let scalar = Type::scalar(Scalar::I32);
    let (region, ()) = e.in_region(&[scalar.clone(), scalar], |e, params| {
        let last = e.b().binary(BinaryOp::Max, params[0], params[1]);
        e.b().yield_(&[last]);
    });
    let reduce = OpKind::Reduce { axis: 1, in_order: false };
    let writer = e.b().op(reduce, [writers], [Type::tile(Scalar::I32, &[count])], [region]);
    e.func.op(writer).result()
}

fn indices(a: &Args) -> Vec<Value> {
    a.sequence("indices")
}

fn run_extract(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    extract(l.emit(), a.tensor("input")?, &indices(a)).map(Value::from)
}

fn run_insert(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let value = Operand::new(e, a.value("scalar"))?;
    insert(e, a.tensor("input")?, &value, &indices(a)).map(Value::from)
}

/// Code for single threads begins: what was done before is seen by all lanes.
fn run_region(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    let e = l.emit();
    e.b().inferred(OpKind::Barrier, &[], &[]);
    let thread = lanes::index(e);
    let threads = i64::from(lanes::count(e));
    let threads = e.b().int(threads, Scalar::I32);
    Ok(Value::tuple(vec![e.tensor(thread).into(), e.tensor(threads).into()]))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("extract", "input, indices", run_extract),
    Builtin::kernel("insert", "input, scalar, indices", run_insert),
    Builtin::kernel("simt_exec_region", "", run_region),
];
