//! Operations that move elements, and those that count them.

use shoal_ir::numeric::Const;
use shoal_ir::{Scalar, Type};

use crate::error::Error;
use crate::program::{Program, Site};
use crate::value::Val;

/// The number of elements of a shape; 1 for a scalar's.
pub(crate) fn len(shape: &[u32]) -> usize {
    shape.iter().map(|&d| d as usize).product()
}

/// The place of the element with row-major number `flat`.
pub(crate) fn index_of(flat: usize, shape: &[u32]) -> Vec<u32> {
    let mut rest = flat;
    let mut index: Vec<u32> = shape
        .iter()
        .rev()
        .map(|&size| {
            let place = rest % size as usize;
            rest /= size as usize;
            place as u32
        })
        .collect();
    index.reverse();
    index
}

/// Calls with each index of a shape in row-major order.
pub(crate) fn for_each_index(shape: &[u32], mut f: impl FnMut(&[u32])) {
    let mut index = vec![0u32; shape.len()];
    for _ in 0..len(shape) {
        f(&index);
        for (place, &size) in index.iter_mut().zip(shape).rev() {
            *place += 1;
            if *place < size {
                break;
            }
            *place = 0;
        }
    }
}

/// How far apart neighbours along each dimension are.
fn strides(shape: &[u32]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim] as usize;
    }
    strides
}

/// A tile of that shape whose elements are `strides` apart in `source`.
fn strided(source: &[u64], shape: &[u32], strides: &[usize]) -> Val {
    let mut out = Vec::with_capacity(len(shape));
    let (Some((&inner, outer)), Some((&step, outer_strides))) = (shape.split_last(), strides.split_last()) else {
        return Val::tile(source.to_vec());
    };
    for_each_index(outer, |index| {
        let start: usize = index.iter().zip(outer_strides).map(|(&i, &s)| i as usize * s).sum();
        out.extend((0..inner as usize).map(|i| source[start + i * step]));
    });
    Val::tile(out)
}

pub(crate) fn fill(ty: &Type, bits: u64) -> Val {
    if ty.is_tile() { Val::tile(vec![bits; len(ty.shape())]) } else { Val::Scalar(bits) }
}

pub(crate) fn iota(ty: &Type, start: i32) -> Val {
    let first = u64::from(start.cast_unsigned());
    Val::tile((0..len(ty.shape()) as u64).map(|i| (first + i) & u64::from(u32::MAX)).collect())
}

pub(crate) fn broadcast(from: &[u32], to: &[u32], bits: &[u64]) -> Val {
    let steps: Vec<usize> =
        strides(from).into_iter().zip(from).map(|(s, &size)| if size == 1 { 0 } else { s }).collect();
    strided(bits, to, &steps)
}

pub(crate) fn reshape(to: &Type, val: Val) -> Val {
    match (&val, to.is_tile()) {
        (Val::Scalar(bits), true) => Val::tile(vec![*bits]),
        (Val::Tile(_), false) => Val::Scalar(val.scalar()),
        (Val::Empty | Val::Scalar(_) | Val::Tile(_) | Val::Desc(_), _) => val,
    }
}

pub(crate) fn transpose(from: &[u32], perm: &[u8], bits: &[u64]) -> Val {
    let (mut shape, mut steps, old) = (Vec::new(), Vec::new(), strides(from));
    for &dim in perm {
        shape.push(from[usize::from(dim)]);
        steps.push(old[usize::from(dim)]);
    }
    strided(bits, &shape, &steps)
}

pub(crate) fn join(a: &[u64], b: &[u64]) -> Val {
    Val::tile(a.iter().zip(b).flat_map(|(&a, &b)| [a, b]).collect())
}

pub(crate) fn split(ty: &Type, bits: &[u64]) -> [Val; 2] {
    [0, 1].map(|part| Val::of(ty, bits.iter().skip(part).step_by(2).copied().collect()))
}

impl<'p> Program<'p> {
    pub(crate) fn gather(&self, site: Site<'p>, axis: usize) -> Result<Val, Error> {
        let (source, index) = (self.operand(site, 0).bits(), self.operand(site, 1).bits());
        let (source_shape, index_shape) = (site.ty(0).shape(), site.ty(1).shape());
        let index_ty = site.ty(1).number().unwrap_or(Scalar::I32);
        let (size, along) = (source_shape[axis] as usize, index_shape[axis] as usize);
        let inner = len(&source_shape[axis + 1..]);
        let mut out = Vec::with_capacity(index.len());
        for (flat, &bits) in index.iter().enumerate() {
            let wanted = Const::from_bits(index_ty, bits).as_int().unwrap_or(-1);
            let Some(place) = usize::try_from(wanted).ok().filter(|&i| i < size) else {
                let element = index_of(flat, index_shape);
                let size = source_shape[axis];
                return Err(Error::IndexOutOfRange { index: wanted, size, element, at: self.place(site) });
            };
            let (outer, inside) = (flat / (along * inner), flat % inner);
            out.push(source[(outer * size + place) * inner + inside]);
        }
        Ok(Val::tile(out))
    }

    pub(crate) fn histogram(&self, site: Site<'p>) -> Val {
        let ty = site.ty(0).number().unwrap_or(Scalar::I32);
        let mask = (site.operand_count() > 1).then(|| self.operand(site, 1).bits());
        let mut bins = vec![0u64; len(site.result_ty(0).shape())];
        for (i, &bits) in self.operand(site, 0).bits().iter().enumerate() {
            let value = Const::from_bits(ty, bits).as_int().and_then(|v| usize::try_from(v).ok());
            if let Some(bin) = value.and_then(|v| bins.get_mut(v))
                && mask.is_none_or(|m| m[i] != 0)
            {
                *bin += 1;
            }
        }
        Val::tile(bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_numbers_and_indices_agree() {
        let shape = [2, 4, 8];
        let mut flat = 0;
        for_each_index(&shape, |index| {
            assert_eq!(index_of(flat, &shape), index);
            flat += 1;
        });
        assert_eq!(flat, 64);
    }

    #[test]
    fn movement_follows_the_strides() {
        let bits: Vec<u64> = (0..8).collect();
        assert_eq!(transpose(&[2, 4], &[1, 0], &bits).bits(), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(transpose(&[2, 2, 2], &[2, 0, 1], &bits).bits(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(broadcast(&[2, 1], &[2, 2], &[7, 9]).bits(), [7, 7, 9, 9]);
        assert_eq!(broadcast(&[1, 2], &[2, 2], &[7, 9]).bits(), [7, 9, 7, 9]);
        assert_eq!(join(&[1, 2], &[3, 4]).bits(), [1, 3, 2, 4]);
    }
}
