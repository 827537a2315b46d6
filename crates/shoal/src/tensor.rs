//! Tensors: typed, shaped memory that kernels read and write.

use std::fmt;

use half::{bf16, f16};
use shoal_driver::{Buffer, Pod};
use shoal_ir::numeric::cast_slice;
use shoal_ir::op::Rounding;

use crate::{DType, Error};

/// Rust types that are elements of tensors.
pub trait Element: Pod + fmt::Debug {
    /// The kernel language's type.
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $dtype:ident),* $(,)?) => { $( impl Element for $t { const DTYPE: DType = DType::$dtype; } )* };
}
element!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
);

/// A dense, row-major array in memory that kernels can reach, aligned to 64 bytes.
///
/// A launch takes tensors by shared reference, also those it writes: what a kernel does with its pointers is not known
/// to the borrow checker. The content can be looked at between launches, because a launch returns when all is written.
#[derive(Debug)]
pub struct Tensor {
    buffer: Buffer,
    dtype: DType,
    shape: Vec<usize>,
}

impl Tensor {
    /// Zeros.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let bytes = bytes_of(dtype, shape)?;
        Ok(Tensor { buffer: Buffer::zeroed(bytes)?, dtype, shape: shape.to_vec() })
    }

    /// Memory in which every float is NaN and every bit of an integer is set, so that what a kernel does not write
    /// shows.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn poisoned(dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let bytes = bytes_of(dtype, shape)?;
        Ok(Tensor { buffer: Buffer::poisoned(bytes)?, dtype, shape: shape.to_vec() })
    }

    /// A copy of `values` with one dimension.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn from_slice<T: Element>(values: &[T]) -> Result<Tensor, Error> {
        Ok(Tensor { buffer: Buffer::from_slice(values)?, dtype: T::DTYPE, shape: vec![values.len()] })
    }

    /// Rounds `values` to the type; `values` fill the shape row by row.
    ///
    /// # Errors
    /// When there is not enough memory, or not exactly one value for each element.
    pub fn from_f64(dtype: DType, shape: &[usize], values: &[f64]) -> Result<Tensor, Error> {
        let mut tensor = Tensor::zeros(dtype, shape)?;
        if values.len() != tensor.len() {
            return Err(Error::Shape { from: vec![values.len()], to: shape.to_vec() });
        }
        let size = dtype.bytes() as usize;
        let values: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        let mut rounded = vec![0; values.len()];
        cast_slice(DType::F64, dtype, Rounding::Nearest, &values, &mut rounded);
        for (element, bits) in tensor.bytes_mut().chunks_exact_mut(size).zip(rounded) {
            element.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        Ok(tensor)
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// When the number of elements would change.
    pub fn reshaped(mut self, shape: &[usize]) -> Result<Tensor, Error> {
        if shape.iter().product::<usize>() != self.len() {
            return Err(Error::Shape { from: self.shape, to: shape.to_vec() });
        }
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// Its element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its dimensions, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address that kernels get.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.buffer.as_ptr()
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.as_slice()
    }

    /// All bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }

    /// The elements, if they are of type `T`.
    ///
    /// # Errors
    /// When they are not.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        self.check::<T>()?;
        Ok(self.buffer.as_slice())
    }

    /// The elements to write, if they are of type `T`.
    ///
    /// # Errors
    /// When they are not.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], Error> {
        self.check::<T>()?;
        Ok(self.buffer.as_mut_slice())
    }

    /// All elements as `f64`; 64-bit integers are rounded.
    #[must_use]
    pub fn to_f64(&self) -> Vec<f64> {
        let size = self.dtype.bytes() as usize;
        let bits = |element: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(element);
            u64::from_le_bytes(word)
        };
        let elements: Vec<u64> = self.bytes().chunks_exact(size).map(bits).collect();
        let mut wide = vec![0; elements.len()];
        cast_slice(self.dtype, DType::F64, Rounding::Nearest, &elements, &mut wide);
        wide.into_iter().map(f64::from_bits).collect()
    }

    fn check<T: Element>(&self) -> Result<(), Error> {
        if self.dtype == T::DTYPE { Ok(()) } else { Err(Error::DType { has: self.dtype, asked: T::DTYPE }) }
    }
}

fn bytes_of(dtype: DType, shape: &[usize]) -> Result<usize, Error> {
    let size = dtype.bytes() as usize;
    shape.iter().try_fold(size, |bytes, &dim| bytes.checked_mul(dim)).ok_or(Error::TooLarge { shape: shape.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_in_every_type_that_has_them() {
        for dtype in DType::ALL {
            let values: &[f64] = match dtype {
                DType::I1 => &[0.0, 1.0],
                _ if dtype.is_unsigned_int() => &[0.0, 1.0, 2.0, 96.0],
                _ => &[0.0, 1.0, -1.0, 1.5, 0.25],
            };
            let tensor = Tensor::from_f64(dtype, &[values.len()], values).unwrap();
            let expected: Vec<f64> = values.iter().map(|v| if dtype.is_int() { v.trunc() } else { *v }).collect();
            assert_eq!(tensor.to_f64(), expected, "{dtype}");
            assert_eq!(tensor.bytes().len(), values.len() * dtype.bytes() as usize);
        }
    }

    #[test]
    fn views_are_typed() {
        let mut tensor = Tensor::from_slice(&[1i16, -1]).unwrap();
        assert!(tensor.as_slice::<u16>().is_err());
        tensor.as_mut_slice::<i16>().unwrap()[1] = 5;
        assert_eq!(tensor.to_f64(), [1.0, 5.0]);
        assert!(Tensor::poisoned(DType::BF16, &[3]).unwrap().to_f64().iter().all(|v| v.is_nan()));
        assert!(Tensor::from_f64(DType::F32, &[2], &[1.0]).is_err());
        assert!(Tensor::zeros(DType::F32, &[0, 4]).unwrap().is_empty());
    }
}
