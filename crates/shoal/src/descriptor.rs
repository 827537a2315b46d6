//! Tensor descriptors made on the host.

use shoal_ir::types::{DescPart, Padding};
use smallvec::SmallVec;

use crate::arg::Memory;
use crate::{DType, Error, Tensor};

/// A view of a tensor that a kernel reads and writes in blocks of a fixed shape.
#[derive(Debug, Clone)]
pub struct TensorDescriptor<'a> {
    pub(crate) base: Memory<'a>,
    pub(crate) shape: SmallVec<[i64; 5]>,
    pub(crate) strides: SmallVec<[i64; 5]>,
    pub(crate) block: SmallVec<[u32; 5]>,
    pub(crate) padding: Padding,
}

impl<'a> TensorDescriptor<'a> {
    /// A view of a whole tensor in blocks of shape `block`.
    ///
    /// # Errors
    /// When the number of dimensions differs, or a block's side is not a power of two.
    pub fn of(tensor: &'a Tensor, block: &[u32]) -> Result<TensorDescriptor<'a>, Error> {
        let shape: Vec<i64> = tensor.shape().iter().map(|&dim| dim as i64).collect();
        let mut strides = vec![1; shape.len()];
        for dim in (1..shape.len()).rev() {
            strides[dim - 1] = strides[dim] * shape[dim];
        }
        TensorDescriptor::new(tensor, &shape, &strides, block)
    }

    /// A view with a shape and strides (in elements) of its own.
    ///
    /// # Errors
    /// When the numbers of dimensions differ, the last stride is not 1, a block's side is not a power of two, the memory
    /// does not begin at a multiple of 16 bytes, or the view goes beyond it.
    pub fn new(tensor: &'a Tensor, shape: &[i64], strides: &[i64], block: &[u32]) -> Result<Self, Error> {
        TensorDescriptor::over(tensor.into(), shape, strides, block)
    }

    /// A view of memory with a shape and strides (in elements).
    ///
    /// # Errors
    /// As for [`TensorDescriptor::new`].
    pub fn over(base: Memory<'a>, shape: &[i64], strides: &[i64], block: &[u32]) -> Result<Self, Error> {
        let descriptor = TensorDescriptor::wrapping(base, shape, strides, block)?;
        descriptor.stays_inside()?;
        Ok(descriptor)
    }

    /// A view whose addresses may wrap around, which is how ragged tensors are described: how far it reaches is not
    /// compared with the memory. In debug mode each access is.
    ///
    /// # Errors
    /// As for [`TensorDescriptor::new`], but for the memory.
    pub fn wrapping(base: Memory<'a>, shape: &[i64], strides: &[i64], block: &[u32]) -> Result<Self, Error> {
        let wrong = |why: String| Err(Error::Descriptor { why });
        if shape.is_empty() || shape.len() > 5 {
            return wrong(format!("a descriptor has 1 to 5 dimensions, not {}", shape.len()));
        }
        if shape.len() != strides.len() || shape.len() != block.len() {
            let lens = (shape.len(), strides.len(), block.len());
            return wrong(format!("the shape has {} dimensions, the strides {}, the block {}", lens.0, lens.1, lens.2));
        }
        if let Some(side) = block.iter().find(|side| !side.is_power_of_two()) {
            return wrong(format!("the sides of a block are powers of two, but one is {side}"));
        }
        if strides.last() != Some(&1) {
            return wrong("the last dimension must be contiguous: its stride must be 1".into());
        }
        // Kernels are compiled with the promise that it is.
        let divisor = DescPart::Base.divisor();
        if !(base.address as u64).is_multiple_of(divisor) {
            return wrong(format!(
                "the memory must begin at a multiple of {divisor} bytes, not at {:#x}",
                base.address as u64
            ));
        }
        if let Some(size) = shape.iter().find(|&&size| i32::try_from(size).is_err()) {
            return wrong(format!("a size has at most 31 bits, but one is {size}"));
        }
        Ok(TensorDescriptor {
            base,
            shape: shape.into(),
            strides: strides.into(),
            block: block.into(),
            padding: Padding::Zero,
        })
    }

    /// Whether every element of the view lies in the memory.
    fn stays_inside(&self) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Descriptor { why });
        let (base, shape, strides) = (&self.base, self.shape.as_slice(), self.strides.as_slice());
        let last = shape.iter().zip(strides).try_fold(0i64, |last, (&dim, &stride)| {
            let step = dim.checked_sub(1).filter(|step| *step >= -1)?;
            last.checked_add(step.checked_mul(stride).filter(|_| stride >= 0)?)
        });
        let empty = shape.contains(&0);
        let elements = (base.bytes / base.dtype.bytes() as usize) as i64;
        match last {
            None => wrong(format!("the shape {shape:?} with strides {strides:?} is negative or too large")),
            Some(last) if !empty && last >= elements => {
                wrong(format!("the view needs {} elements, the tensor has {elements}", last + 1))
            }
            Some(_) => Ok(()),
        }
    }

    /// Lets reads beyond the edge give NaN instead of zero.
    #[must_use]
    pub fn padded_with_nan(mut self) -> Self {
        self.padding = Padding::Nan;
        self
    }

    /// What the tensor holds.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.base.dtype
    }
}
