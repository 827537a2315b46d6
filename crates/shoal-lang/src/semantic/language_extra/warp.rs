//! What the lanes of a warp tell each other.
//!
//! Lanes outside the mask argument, and lanes that do not run the code, take no part: votes count them as false, and
//! what they hold can still be read.

use shoal_ir::layouts::WARP_SIZE;
use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::{Scalar, Type};
use shoal_ir::{OpKind, Value as IrValue};

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::semantic::cast;
use crate::semantic::operand::to_tensor;
use crate::value::{Tensor, Value};

/// A number on every lane.
fn number(e: &mut Emit<'_>, value: i64, ty: Scalar) -> IrValue {
    let ty = lanes::lane_type(e, ty);
    e.b().int(value, ty)
}

/// Each lane's place in its warp.
fn lane(e: &mut Emit<'_>) -> IrValue {
    let (threads, last) = (lanes::index(e), number(e, i64::from(WARP_SIZE) - 1, Scalar::I32));
    e.b().binary(BinaryOp::And, threads, last)
}

/// The thread that is lane 0 of each lane's warp.
fn warp_start(e: &mut Emit<'_>) -> IrValue {
    let (threads, start) = (lanes::index(e), number(e, -i64::from(WARP_SIZE), Scalar::I32));
    e.b().binary(BinaryOp::And, threads, start)
}

/// What other threads hold, by their numbers.
pub(crate) fn from_threads(e: &mut Emit<'_>, value: IrValue, threads: IrValue) -> IrValue {
    let elem = e.func.ty(value).elem().expect("lanes have elements");
    let ty = lanes::lane_type(e, elem);
    e.b().value_as(OpKind::Gather { axis: 0 }, &[value, threads], ty)
}

/// Whether a lane is the first of its warp.
pub(super) fn is_first(e: &mut Emit<'_>) -> Tensor {
    let (lane, zero) = (lane(e), number(e, 0, Scalar::I32));
    let first = e.b().cmp(CmpOp::Eq, lane, zero);
    e.tensor(first)
}

/// What the first lane of each warp holds.
pub(super) fn from_first(e: &mut Emit<'_>, value: &Tensor) -> Tensor {
    let start = warp_start(e);
    let shared = from_threads(e, value.value, start);
    e.tensor(shared)
}

/// How a shuffle finds the lane to read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shuffle {
    /// The lane with that number.
    Index,
    /// That many lanes before.
    Up,
    /// That many lanes after.
    Down,
    /// The lane whose number differs in these bits.
    Xor,
}

/// What another lane of the warp holds, and whether there is such a lane; where there is none, its own. The warp is
/// divided into groups of `width` lanes, a power of two: lanes are numbered inside of their group, and read from it. (By
/// `Xor` they may read from groups before it, as on hardware.)
pub(crate) fn shuffle(e: &mut Emit<'_>, how: Shuffle, value: IrValue, by: IrValue, width: u32) -> (IrValue, IrValue) {
    let (mine, start) = (lane(e), warp_start(e));
    let within = number(e, i64::from(width) - 1, Scalar::I32);
    let outside = number(e, -i64::from(width), Scalar::I32);
    let first = e.b().binary(BinaryOp::And, mine, outside);
    let last = e.b().binary(BinaryOp::Or, mine, within);
    let wanted = match how {
        Shuffle::Index => {
            let index = e.b().binary(BinaryOp::And, by, within);
            e.b().binary(BinaryOp::Or, first, index)
        }
        Shuffle::Up => e.b().binary(BinaryOp::Sub, mine, by),
        Shuffle::Down => e.b().binary(BinaryOp::Add, mine, by),
        Shuffle::Xor => e.b().binary(BinaryOp::Xor, mine, by),
    };
    let zero = number(e, 0, Scalar::I32);
    let lowest = if how == Shuffle::Xor { zero } else { first };
    let not_before = e.b().cmp(CmpOp::Ge, wanted, lowest);
    let not_after = e.b().cmp(CmpOp::Le, wanted, last);
    let exists = e.b().binary(BinaryOp::And, not_before, not_after);
    let place = e.b().select(exists, wanted, mine);
    let thread = e.b().binary(BinaryOp::Or, start, place);
    (from_threads(e, value, thread), exists)
}

fn run_shuffle(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let width = u32::try_from(a.int("width")?).ok().filter(|w| w.is_power_of_two() && *w <= WARP_SIZE);
    let Some(width) = width else { return Err(a.wrong("width", "a power of two of at most 32")) };
    let e = l.emit();
    let (how, by) = match a.function_name() {
        name if name.starts_with("__shfl_up") => (Shuffle::Up, "delta"),
        name if name.starts_with("__shfl_down") => (Shuffle::Down, "delta"),
        name if name.starts_with("__shfl_xor") => (Shuffle::Xor, "delta"),
        _ => (Shuffle::Index, "index"),
    };
    let value = to_tensor(e, a.value("value"))?;
    let value = lanes::of_each(e, &value)?;
    let by = to_tensor(e, a.value(by))?;
    let by = cast::to_number(e, &by, Scalar::I32)?;
    let by = lanes::of_each(e, &by)?;
    let (read, _) = shuffle(e, how, value.value, by.value, width);
    Ok(e.tensor(read).into())
}

/// Combines a number over the lanes of each warp; every lane gets its warp's.
pub(crate) fn over_warp(e: &mut Emit<'_>, op: BinaryOp, value: IrValue) -> IrValue {
    let elem = e.func.ty(value).elem().expect("lanes have elements");
    let (threads, warps) = (lanes::count(e), e.options.num_warps);
    let rows = e.b().value_as(OpKind::Reshape, &[value], Type::tile(elem, &[warps, WARP_SIZE]));
    let scalar = Type::Elem(elem);
    let (region, ()) = e.in_region(&[scalar.clone(), scalar], |e, params| {
        let both = e.b().binary(op, params[0], params[1]);
        e.b().yield_(&[both]);
    });
    let reduced = e.b().inferred(OpKind::Reduce { axis: 1, in_order: false }, &[rows], &[region]);
    let reduced = e.func.op(reduced).result();
    let column = e.b().value_as(OpKind::Reshape, &[reduced], Type::tile(elem, &[warps, 1]));
    let everywhere = e.b().value_as(OpKind::Broadcast, &[column], Type::tile(elem, &[warps, WARP_SIZE]));
    let flat = e.b().value_as(OpKind::Reshape, &[everywhere], Type::tile(elem, &[threads]));
    lanes::marked(e, flat)
}

/// The lanes of each warp for which a predicate holds, as bits.
pub(crate) fn ballot(e: &mut Emit<'_>, predicate: IrValue) -> IrValue {
    let active = e.active;
    let votes = lanes::both(e, active, predicate);
    let (one, zero) = (number(e, 1, Scalar::U32), number(e, 0, Scalar::U32));
    let lane = lane(e);
    let lane = e.b().cast(lane, Scalar::U32);
    let bit = e.b().binary(BinaryOp::Shl, one, lane);
    let bit = e.b().select(votes, bit, zero);
    over_warp(e, BinaryOp::Or, bit)
}

/// Mask and predicate of a vote, as bits of the lanes that take part and of those that say yes.
fn votes(e: &mut Emit<'_>, a: &Args) -> LowerResult<(IrValue, IrValue)> {
    let mask = to_tensor(e, a.value("mask"))?;
    let mask = cast::to_number(e, &mask, Scalar::U32)?;
    let mask = lanes::of_each(e, &mask)?.value;
    let predicate = to_tensor(e, a.value("predicate"))?;
    let predicate = cast::truth(e, &predicate)?;
    let predicate = lanes::of_each(e, &predicate)?;
    let yes = ballot(e, predicate.value);
    let yes = e.b().binary(BinaryOp::And, yes, mask);
    let all = number(e, 1, Scalar::I1);
    let present = ballot(e, all);
    Ok((e.b().binary(BinaryOp::And, present, mask), yes))
}

fn run_vote(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let (present, yes) = votes(e, a)?;
    let result = match a.function_name() {
        "__ballot_sync" => e.b().cast(yes, Scalar::I32),
        "__any_sync" => {
            let none = number(e, 0, Scalar::U32);
            e.b().cmp(CmpOp::Ne, yes, none)
        }
        _ => e.b().cmp(CmpOp::Eq, yes, present),
    };
    Ok(e.tensor(result).into())
}

fn run_activemask(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let all = number(e, 1, Scalar::I1);
    let bits = ballot(e, all);
    let bits = e.b().cast(bits, Scalar::I32);
    Ok(e.tensor(bits).into())
}

const INDEX: &str = "mask, value, index, width: const=32";
const DELTA: &str = "mask, value, delta, width: const=32";
const VOTE: &str = "mask, predicate";

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.__shfl_sync", INDEX, run_shuffle),
    Builtin::kernel("language_extra.__shfl_sync_i32", INDEX, run_shuffle),
    Builtin::kernel("language_extra.__shfl_up_sync_i32", DELTA, run_shuffle),
    Builtin::kernel("language_extra.__shfl_down_sync_i32", DELTA, run_shuffle),
    Builtin::kernel("language_extra.__shfl_xor_sync_i32", DELTA, run_shuffle),
    Builtin::kernel("language_extra.__ballot_sync", VOTE, run_vote),
    Builtin::kernel("language_extra.__any_sync", VOTE, run_vote),
    Builtin::kernel("language_extra.__all_sync", VOTE, run_vote),
    Builtin::kernel("language_extra.__activemask", "", run_activemask),
];
