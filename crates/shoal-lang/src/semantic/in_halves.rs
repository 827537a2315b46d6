//! Reductions and scans by halves of whole tiles, for combine functions that access memory, assert or print: a region that is
//! applied to elements may only compute.

use shoal_ir::{Region, effects};
use shoal_source::Span;

use super::reduce::{combined, enter, leave};
use super::scan::Begin;
use super::{broadcast, shape};
use crate::builtin::BuiltinContext;
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::module::Function;
use crate::value::{Tensor, Value};

/// Whether a combine function's region does more than compute.
pub(crate) fn are_needed(e: &Emit<'_>, region: Region) -> bool {
    effects::of_region(&e.func, region).acts()
}

/// Combines along an axis, which vanishes: neighbours first.
pub(crate) fn reduce(
    l: &mut dyn BuiltinContext<'_>,
    f: &Function,
    inputs: &[Tensor],
    axis: usize,
    span: Span,
) -> LowerResult<Vec<Tensor>> {
    let mut tiles = inputs.to_vec();
    while tiles[0].shape()[axis] > 1 {
        let (left, right) = halves_of_all(l.emit(), &tiles, axis, 1)?;
        tiles = combine(l, f, &left, &right, span)?;
        for tile in &mut tiles {
            *tile = without_dim(l.emit(), tile, axis + 1)?;
        }
    }
    tiles.iter().map(|tile| without_dim(l.emit(), tile, axis)).collect()
}

/// The prefixes along an axis: those of blocks of 1, 2, 4, … elements, and beside them the blocks' totals.
pub(crate) fn scan(
    l: &mut dyn BuiltinContext<'_>,
    f: &Function,
    inputs: &[Tensor],
    axis: usize,
    begin: Begin,
    span: Span,
) -> LowerResult<Vec<Tensor>> {
    let shape = inputs[0].shape().to_vec();
    let (mut tiles, mut totals) = (inputs.to_vec(), inputs.to_vec());
    let mut block = 1;
    while block < shape[axis] {
        let (mut left, mut right) = halves_of_all(l.emit(), &tiles, axis, block)?;
        let (left_totals, right_totals) = halves_of_all(l.emit(), &totals, axis, 1)?;
        let (first, later, first_totals, later_totals) = match begin {
            Begin::First => (&left, &mut right, left_totals, right_totals),
            Begin::Last => (&right, &mut left, right_totals, left_totals),
        };
        let carried: Vec<_> =
            first_totals.iter().map(|total| broadcast::expand(l.emit(), total, first[0].shape())).collect();
        *later = combine(l, f, &carried, later, span)?;
        totals = combine(l, f, &first_totals, &later_totals, span)?;
        for total in &mut totals {
            *total = without_dim(l.emit(), total, axis + 1)?;
        }
        tiles =
            left.iter().zip(&right).map(|(a, b)| joined(l.emit(), a, b, axis, &shape)).collect::<LowerResult<_>>()?;
        block *= 2;
    }
    Ok(tiles)
}

/// What the function makes of two groups of tiles.
fn combine(
    l: &mut dyn BuiltinContext<'_>,
    f: &Function,
    a: &[Tensor],
    b: &[Tensor],
    span: Span,
) -> LowerResult<Vec<Tensor>> {
    let here = l.emit().span;
    let region = l.emit().region;
    let before = enter(l.emit(), region);
    let arguments = a.iter().chain(b).cloned().map(Value::from).collect();
    let result = l.inline_call(f, arguments, span);
    let e = l.emit();
    e.span = here;
    leave(e, before);
    combined(e, f.name(), a, &result?)
}

/// The first and the second halves of blocks of `2 * half` elements along an axis. A dimension of size `half` follows it.
fn halves(e: &mut Emit<'_>, t: &Tensor, axis: usize, half: u32) -> LowerResult<(Tensor, Tensor)> {
    let mut shape = t.shape().to_vec();
    shape.splice(axis..=axis, [shape[axis] / (2 * half), 2, half]);
    let blocks = shape::reshape(e, t, &shape)?;
    let rank = shape.len() as i128;
    let at = axis as i128 + 1;
    let order: Vec<i128> = (0..rank).filter(|&dim| dim != at).chain([at]).collect();
    let blocks = shape::permute(e, &blocks, &order)?;
    shape::split(e, &blocks)
}

fn halves_of_all(
    e: &mut Emit<'_>,
    tiles: &[Tensor],
    axis: usize,
    half: u32,
) -> LowerResult<(Vec<Tensor>, Vec<Tensor>)> {
    tiles
        .iter()
        .map(|t| halves(e, t, axis, half))
        .collect::<LowerResult<Vec<_>>>()
        .map(|pairs| pairs.into_iter().unzip())
}

/// The tile of a shape that `halves` took apart.
fn joined(e: &mut Emit<'_>, a: &Tensor, b: &Tensor, axis: usize, shape: &[u32]) -> LowerResult<Tensor> {
    let both = shape::join(e, a, b)?;
    let (last, at) = (both.shape().len() as i128 - 1, axis as i128 + 1);
    let order: Vec<i128> = (0..at).chain([last]).chain(at..last).collect();
    let blocks = shape::permute(e, &both, &order)?;
    shape::reshape(e, &blocks, shape)
}

/// Without a dimension of size 1.
fn without_dim(e: &mut Emit<'_>, t: &Tensor, dim: usize) -> LowerResult<Tensor> {
    let mut shape = t.shape().to_vec();
    shape.remove(dim);
    shape::reshape(e, t, &shape)
}
