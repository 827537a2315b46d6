//! `reduce`, `scan` and `map_elementwise`: regions applied to elements, in the order that the IR's definition gives.

use crate::combine::Combiner;
use crate::error::Error;
use crate::machine::{Machine, Step};
use crate::program::{Program, Site};
use crate::shape::len;
use crate::value::Val;

/// How many lanes reduce the last axis.
const LANES: usize = 64;

/// A shape around an axis: how many rows before it, its size, and how many elements after it.
struct Split {
    outer: usize,
    size: usize,
    inner: usize,
}

impl Split {
    fn new(shape: &[u32], axis: usize) -> Split {
        Split { outer: len(&shape[..axis]), size: shape[axis] as usize, inner: len(&shape[axis + 1..]) }
    }
}

/// Of each `stride` elements, the `count` ones from `start` on.
fn rows(bits: &[u64], stride: usize, start: usize, count: usize) -> Vec<u64> {
    let mut out = Vec::with_capacity(bits.len() / stride * count);
    bits.chunks_exact(stride).for_each(|row| out.extend_from_slice(&row[start..start + count]));
    out
}

/// The same of several tiles.
fn all_rows<B: AsRef<[u64]>>(tiles: &[B], stride: usize, start: usize, count: usize) -> Vec<Vec<u64>> {
    tiles.iter().map(|tile| rows(tile.as_ref(), stride, start, count)).collect()
}

/// Rows of `size` elements whose runs of neighbours become the lanes of a reduction, in an order in which folding the lanes
/// by halves combines neighbours.
fn runs_as_lanes(tile: &[u64], size: usize, lanes: usize) -> Vec<u64> {
    let (run, bits) = (size / lanes, lanes.trailing_zeros());
    let reversed = |lane: usize| if bits == 0 { 0 } else { lane.reverse_bits() >> (usize::BITS - bits) };
    let from = |at: usize| reversed(at % lanes) * run + at / lanes;
    tile.chunks_exact(size).flat_map(|row| (0..size).map(|at| row[from(at)])).collect()
}

/// Combines two lists of tiles, lane by lane; `first` becomes the result.
fn combine<'p>(
    combiner: &mut Combiner<'p>,
    program: &mut Program<'p>,
    machine: &mut Machine<'_>,
    first: &mut [Vec<u64>],
    second: &[Vec<u64>],
) -> Result<(), Error> {
    let lanes = first.first().map_or(0, Vec::len);
    combiner.run(program, machine, lanes, first.iter().chain(second).map(Vec::as_slice))?;
    for (index, first) in first.iter_mut().enumerate() {
        first.copy_from_slice(combiner.output(index));
    }
    Ok(())
}

impl<'p> Program<'p> {
    fn tiles(&self, site: Site<'p>) -> Vec<Vec<u64>> {
        site.op.operands().iter().map(|&v| self.val(v).bits().to_vec()).collect()
    }

    pub(crate) fn reduce(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        axis: usize,
        in_order: bool,
    ) -> Result<Step, Error> {
        let shape = site.ty(0).shape();
        let Split { size, inner, .. } = Split::new(shape, axis);
        let mut tiles = self.tiles(site);
        let mut combiner = Combiner::new(self, site);
        let last_axis = axis + 1 == shape.len();
        // Along the last axis `width` lanes take turns, then fold by halves; else whole rows are combined in order.
        let mut width = if last_axis { size.min(LANES) } else { inner };
        if last_axis && in_order {
            tiles.iter_mut().for_each(|tile| *tile = runs_as_lanes(tile, size, width));
        }
        let stride = size * inner;
        let mut sums = all_rows(&tiles, stride, 0, width);
        for start in (width..stride).step_by(width) {
            let next = all_rows(&tiles, stride, start, width);
            combine(&mut combiner, self, machine, &mut sums, &next)?;
        }
        while last_axis && width > 1 {
            let half = width / 2;
            let upper = all_rows(&sums, width, half, half);
            sums = all_rows(&sums, width, 0, half);
            combine(&mut combiner, self, machine, &mut sums, &upper)?;
            width = half;
        }
        let results: Vec<Val> = sums.into_iter().enumerate().map(|(i, sum)| Val::of(site.result_ty(i), sum)).collect();
        Ok(self.finish(site, results))
    }

    pub(crate) fn scan(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        axis: usize,
        reverse: bool,
    ) -> Result<Step, Error> {
        let Split { outer, size, inner } = Split::new(site.ty(0).shape(), axis);
        let mut tiles = self.tiles(site);
        let mut combiner = Combiner::new(self, site);
        let stride = size * inner;
        let place = |i: usize| if reverse { size - 1 - i } else { i } * inner;
        let mut sums = all_rows(&tiles, stride, place(0), inner);
        for i in 1..size {
            let start = place(i);
            let next = all_rows(&tiles, stride, start, inner);
            combine(&mut combiner, self, machine, &mut sums, &next)?;
            for (tile, sum) in tiles.iter_mut().zip(&sums) {
                for row in 0..outer {
                    let to = row * stride + start;
                    tile[to..to + inner].copy_from_slice(&sum[row * inner..(row + 1) * inner]);
                }
            }
        }
        Ok(self.finish(site, tiles.into_iter().map(Val::tile)))
    }

    pub(crate) fn map_elementwise(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        pack: usize,
    ) -> Result<Step, Error> {
        let tiles = self.tiles(site);
        let lanes = tiles.first().map_or(0, Vec::len) / pack;
        let inputs: Vec<Vec<u64>> = tiles
            .iter()
            .flat_map(|tile| (0..pack).map(|part| tile.iter().skip(part).step_by(pack).copied().collect()))
            .collect();
        let mut combiner = Combiner::new(self, site);
        combiner.run(self, machine, lanes, inputs.iter().map(Vec::as_slice))?;
        let mut results = Vec::new();
        for result in 0..site.op.results().len() {
            let mut bits = vec![0; lanes * pack];
            for part in 0..pack {
                let output = combiner.output(result * pack + part);
                bits.iter_mut().skip(part).step_by(pack).zip(output).for_each(|(to, &from)| *to = from);
            }
            results.push(Val::of(site.result_ty(result), bits));
        }
        Ok(self.finish(site, results))
    }
}
