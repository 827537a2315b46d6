//! Which elements of a tile a chunk of code is about.
//!
//! Tile code runs over a tile in *chunks* of `2^k` lanes. All dimensions are powers of two, so the place of a lane is
//! a matter of bits: an [`Index`] gives, for each dimension, a run-time base and the lane bits that are added to it.
//! Broadcasts, reshapes, transposes, joins and splits only move bits around, so no operation that rearranges a tile
//! costs anything until somebody reads memory through the result.

use inkwell::values::{AsValueRef, IntValue};
use smallvec::SmallVec;

use crate::shared::llvm::Llvm;

/// Lane bit `.0` is added to the coordinate as bit `.1`.
pub(super) type LaneBits = SmallVec<[(u8, u8); 5]>;

/// The coordinate along one dimension: a base, whose bits named by `lanes` are zero, plus those lane bits.
#[derive(Clone, Debug)]
pub(super) struct Dim<'ctx> {
    pub(super) base: IntValue<'ctx>,
    pub(super) lanes: LaneBits,
}

/// The places of the lanes of one chunk.
#[derive(Clone, Debug)]
pub(super) struct Index<'ctx> {
    pub(super) dims: SmallVec<[Dim<'ctx>; 4]>,
    /// The chunk has `2^log_lanes` lanes.
    pub(super) log_lanes: u8,
}

/// What makes two indices the same.
pub(super) type IndexKey = SmallVec<[(usize, LaneBits); 4]>;

impl<'ctx> Index<'ctx> {
    pub(super) fn lanes(&self) -> u32 {
        1 << self.log_lanes
    }

    /// All lanes are at one place.
    pub(super) fn is_uniform(&self) -> bool {
        self.dims.iter().all(|d| d.lanes.is_empty())
    }

    /// The place of lane 0, for one lane.
    pub(super) fn first(&self) -> Index<'ctx> {
        let dims = self.dims.iter().map(|d| Dim { base: d.base, lanes: LaneBits::new() }).collect();
        Index { dims, log_lanes: 0 }
    }

    pub(super) fn key(&self) -> IndexKey {
        self.dims.iter().map(|d| (d.base.as_value_ref() as usize, d.lanes.clone())).collect()
    }

    /// The dimension along which the lanes are neighbours, in order.
    pub(super) fn contiguous_dim(&self) -> Option<usize> {
        let mut with_lanes = self.dims.iter().enumerate().filter(|(_, d)| !d.lanes.is_empty());
        let (dim, only) = with_lanes.next()?;
        let in_order = only.lanes.iter().enumerate().all(|(i, &bit)| bit == (i as u8, i as u8));
        (with_lanes.next().is_none() && in_order && only.lanes.len() == usize::from(self.log_lanes)).then_some(dim)
    }

    /// How far from the base each lane is.
    pub(super) fn lane_offsets(lanes: &LaneBits, log_lanes: u8) -> impl Iterator<Item = i64> {
        (0..1i64 << log_lanes).map(move |lane| lanes.iter().map(|&(from, to)| ((lane >> from) & 1) << to).sum())
    }

    /// Dimensions picked in another order.
    pub(super) fn picked(&self, order: impl IntoIterator<Item = usize>) -> Index<'ctx> {
        Index { dims: order.into_iter().map(|d| self.dims[d].clone()).collect(), log_lanes: self.log_lanes }
    }

    /// The place read for this one when dimensions of size 1 were repeated.
    pub(super) fn before_broadcast(&self, llvm: &Llvm<'ctx>, from: &[u32]) -> Index<'ctx> {
        let mut index = self.clone();
        for (dim, &size) in index.dims.iter_mut().zip(from) {
            if size == 1 {
                *dim = Dim { base: llvm.const_i64(0), lanes: LaneBits::new() };
            }
        }
        index
    }

    /// The row-major place in a tile of this shape, as one coordinate.
    pub(super) fn linear(&self, llvm: &Llvm<'ctx>, shape: &[u32]) -> Dim<'ctx> {
        let mut shift: u32 = shape.iter().map(|d| d.trailing_zeros()).sum();
        let mut linear = Dim { base: llvm.const_i64(0), lanes: LaneBits::new() };
        for (dim, size) in self.dims.iter().zip(shape) {
            shift -= size.trailing_zeros();
            linear.base = llvm.or64(linear.base, llvm.shl64(dim.base, shift));
            linear.lanes.extend(dim.lanes.iter().map(|&(from, to)| (from, to + shift as u8)));
        }
        linear.lanes.sort_unstable();
        linear
    }

    /// The place in a tile of shape `to` that is, in row-major order, this place in a tile of shape `from`.
    pub(super) fn reshaped(&self, llvm: &Llvm<'ctx>, from: &[u32], to: &[u32]) -> Index<'ctx> {
        let nothing = || Dim { base: llvm.const_i64(0), lanes: LaneBits::new() };
        let mut dims: SmallVec<[Dim<'ctx>; 4]> = to.iter().map(|_| nothing()).collect();
        // Group the dimensions of both sides by equal numbers of elements; sizes of 1 say nothing.
        let (mut i, mut j) = (0, 0);
        loop {
            while i < from.len() && from[i] == 1 {
                i += 1;
            }
            while j < to.len() && to[j] == 1 {
                j += 1;
            }
            if i == from.len() || j == to.len() {
                break;
            }
            let (first_i, first_j) = (i, j);
            let (mut left, mut right) = (u64::from(from[i]), u64::from(to[j]));
            (i, j) = (i + 1, j + 1);
            while left != right {
                if left < right {
                    left *= u64::from(from[i]);
                    i += 1;
                } else {
                    right *= u64::from(to[j]);
                    j += 1;
                }
            }
            if i - first_i == 1 && j - first_j == 1 {
                dims[first_j] = self.dims[first_i].clone();
            } else {
                let group = Index { dims: self.dims[first_i..i].iter().cloned().collect(), log_lanes: self.log_lanes };
                let linear = group.linear(llvm, &from[first_i..i]);
                split_linear(llvm, &linear, &to[first_j..j], &mut dims[first_j..j]);
            }
        }
        Index { dims, log_lanes: self.log_lanes }
    }
}

/// Takes a row-major coordinate apart into dimensions.
pub(super) fn split_linear<'ctx>(llvm: &Llvm<'ctx>, linear: &Dim<'ctx>, shape: &[u32], dims: &mut [Dim<'ctx>]) {
    let mut shift: u32 = shape.iter().map(|d| d.trailing_zeros()).sum();
    for (i, (dim, size)) in dims.iter_mut().zip(shape).enumerate() {
        let bits = size.trailing_zeros();
        shift -= bits;
        let above = llvm.shr64(linear.base, shift);
        dim.base = if i == 0 { above } else { llvm.and64(above, u64::from(*size) - 1) };
        let here = shift as u8..(shift + bits) as u8;
        dim.lanes =
            linear.lanes.iter().filter(|(_, to)| here.contains(to)).map(|&(f, t)| (f, t - shift as u8)).collect();
    }
}
