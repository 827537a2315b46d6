//! What is known of a value's elements along each dimension, and how two such pieces of knowledge meet.

use shoal_ir::{Facts, Type};
use smallvec::SmallVec;

/// One number for each dimension; one for a scalar.
pub type PerDim = SmallVec<[u64; 2]>;

/// The greatest divisibility that is kept. Zero is divisible by everything; this is enough for every use.
pub const MAX_DIVISIBILITY: u64 = 1 << 24;

/// What is known of a value. All numbers are powers of two; 1 says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisInfo {
    /// Runs of this many elements along the dimension, aligned in the tile, are consecutive (for pointers: one
    /// element's size apart).
    pub contiguity: PerDim,
    /// The first element of each such run is divisible by this (for pointers: the address in bytes).
    pub divisibility: PerDim,
    /// Runs of this many elements along the dimension, aligned in the tile, are equal.
    pub constancy: PerDim,
    /// The integer that all elements are.
    pub constant: Option<i128>,
    /// No element is negative.
    pub non_negative: bool,
    /// By how much neighbours in a run differ: 1, or a pointer's element size.
    pub(super) stride: u64,
}

impl AxisInfo {
    /// Nothing is known of a value of this type, but what its type says.
    pub(super) fn unknown(ty: &Type) -> AxisInfo {
        let ones: PerDim = SmallVec::from_elem(1, ty.shape().len().max(1));
        AxisInfo {
            contiguity: ones.clone(),
            divisibility: ones.clone(),
            constancy: ones,
            constant: None,
            non_negative: ty.number().is_some_and(shoal_ir::Scalar::is_unsigned_int),
            stride: stride_of(ty),
        }
    }

    /// Every element is the same number, or at least the same.
    pub(super) fn uniform(ty: &Type, divisibility: u64) -> AxisInfo {
        let mut info = AxisInfo::unknown(ty);
        for (dim, &size) in ty.shape().iter().enumerate() {
            info.constancy[dim] = u64::from(size);
        }
        info.divisibility.fill(divisibility);
        info
    }

    /// The number of dimensions; one for a scalar.
    pub(super) fn rank(&self) -> usize {
        self.contiguity.len()
    }

    /// What divides the elements that stand at multiples of `run` along `dim`.
    ///
    /// Inside a longer run of consecutive numbers those are `run` apart, so no more than that is known of them.
    pub(super) fn divisibility_at(&self, dim: usize, run: u64) -> u64 {
        if run >= self.contiguity[dim] {
            self.divisibility[dim]
        } else {
            self.divisibility[dim].min((run * self.stride).power_of_two())
        }
    }

    /// What divides every element.
    pub(super) fn divisibility_of_all(&self) -> u64 {
        (0..self.rank()).map(|dim| self.divisibility_at(dim, 1)).max().unwrap_or(1)
    }

    /// Shortens the runs along `dim`, keeping what divides their first elements.
    pub(super) fn shorten(&mut self, dim: usize, run: u64) {
        if run < self.contiguity[dim] {
            self.divisibility[dim] = self.divisibility_at(dim, run);
            self.contiguity[dim] = run;
        }
    }

    /// What holds of a value that may be either.
    pub(super) fn join(&self, other: &AxisInfo) -> AxisInfo {
        let mut info = self.clone();
        for dim in 0..info.rank() {
            let run = self.contiguity[dim].min(other.contiguity[dim]);
            info.contiguity[dim] = run;
            info.divisibility[dim] = self.divisibility_at(dim, run).min(other.divisibility_at(dim, run));
            info.constancy[dim] = self.constancy[dim].min(other.constancy[dim]);
        }
        info.constant = self.constant.filter(|_| self.constant == other.constant);
        info.non_negative = self.non_negative && other.non_negative;
        info
    }

    /// Adds what is promised.
    pub(super) fn raise(&mut self, facts: &Facts) {
        for dim in 0..self.rank() {
            let promised = |list: &[u64]| list.get(dim).map_or(1, |&n| n.power_of_two());
            let contiguous = promised(&facts.contiguous).max(1);
            let divisible = promised(&facts.divisible).clamp(1, MAX_DIVISIBILITY);
            if contiguous > self.contiguity[dim] {
                // The runs' first elements are among those known before.
                self.contiguity[dim] = contiguous;
            }
            self.divisibility[dim] = self.divisibility[dim].max(divisible);
            self.constancy[dim] = self.constancy[dim].max(promised(&facts.constant).max(1));
        }
    }
}

/// By how much neighbours in a run of consecutive elements of this type differ.
fn stride_of(ty: &Type) -> u64 {
    ty.elem().and_then(shoal_ir::Elem::ptr).map_or(1, |ptr| u64::from(ptr.element().bytes()))
}

/// The power of two in a number.
pub(super) trait PowerOfTwo {
    /// The greatest power of two that divides it, at most [`MAX_DIVISIBILITY`]; that for zero.
    fn power_of_two(self) -> u64;
}

impl PowerOfTwo for u64 {
    fn power_of_two(self) -> u64 {
        if self == 0 { MAX_DIVISIBILITY } else { (1u64 << self.trailing_zeros()).min(MAX_DIVISIBILITY) }
    }
}
