//! Tensor maps: what the copy engine must know to move tiles of a tensor.

use core::ffi::c_int;

use super::{driver::driver, error::CudaError, sys::TensorMapWords};

/// The most dimensions of a tensor map.
pub const MAX_DIMENSIONS: usize = 5;

/// What a tensor's elements are, as the copy engine tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say all")]
pub enum TensorMapElement {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Bf16,
}

impl TensorMapElement {
    fn number(self) -> c_int {
        match self {
            TensorMapElement::U8 => 0,
            TensorMapElement::U16 => 1,
            TensorMapElement::U32 => 2,
            TensorMapElement::I32 => 3,
            TensorMapElement::U64 => 4,
            TensorMapElement::I64 => 5,
            TensorMapElement::F16 => 6,
            TensorMapElement::F32 => 7,
            TensorMapElement::F64 => 8,
            TensorMapElement::Bf16 => 9,
        }
    }
}

/// How tiles lie in shared memory: the bytes over which 16-byte pieces are swizzled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Swizzle {
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

/// What reads outside of the tensor give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfBounds {
    /// Zeros.
    Zero,
    /// NaN.
    Nan,
}

/// A tensor as the copy engine sees it. Dimensions come innermost first, as CUDA has them.
#[derive(Clone, Debug)]
pub struct TensorMapLayout<'a> {
    /// What the elements are.
    pub element: TensorMapElement,
    /// Where the first element is; a multiple of 16.
    pub address: u64,
    /// Elements in each dimension.
    pub sizes: &'a [u64],
    /// Bytes from one element to the next in each dimension but the innermost; multiples of 16.
    pub strides: &'a [u64],
    /// Elements of a tile in each dimension; 256 at most.
    pub tile: &'a [u32],
    /// How tiles lie in shared memory.
    pub swizzle: Swizzle,
    /// What reads outside of the tensor give.
    pub outside: OutOfBounds,
}

/// A tensor map, as kernels take it: 128 bytes, aligned to 64.
#[derive(Clone, Copy)]
pub struct TensorMap(TensorMapWords);

impl TensorMap {
    /// Encodes a tensor's layout.
    ///
    /// # Errors
    /// When the copy engine cannot move such tiles, or the driver knows no tensor maps.
    pub fn encode(layout: &TensorMapLayout<'_>) -> Result<TensorMap, CudaError> {
        let rank = layout.sizes.len();
        if rank == 0 || rank > MAX_DIMENSIONS || layout.tile.len() != rank || layout.strides.len() + 1 != rank {
            let text =
                format!("a tensor map has 1 to {MAX_DIMENSIONS} dimensions, and sizes, strides and tile for each");
            return Err(CudaError::Invalid(text));
        }
        let cuda = driver()?;
        let missing = CudaError::Missing { what: "encode tensor maps", since: "12.0" };
        let encode = cuda.tensor_map_tiled.ok_or(missing)?;
        let swizzle = match layout.swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes32 => 1,
            Swizzle::Bytes64 => 2,
            Swizzle::Bytes128 => 3,
        };
        let outside = match layout.outside {
            OutOfBounds::Zero => 0,
            OutOfBounds::Nan => 1,
        };
        let steps = [1u32; MAX_DIMENSIONS];
        const PROMOTE_TO_L2_128_BYTES: c_int = 2;
        let mut map = TensorMapWords([0; 16]);
        // SAFETY: sizes, tile and steps have `rank` elements, strides one less; the map is as large and aligned as the
        // driver wants. The address is only written down.
        let status = unsafe {
            encode(
                &raw mut map,
                layout.element.number(),
                rank as u32,
                layout.address,
                layout.sizes.as_ptr(),
                layout.strides.as_ptr(),
                layout.tile.as_ptr(),
                steps.as_ptr(),
                0,
                swizzle,
                PROMOTE_TO_L2_128_BYTES,
                outside,
            )
        };
        cuda.check(status, || format!("encoding a tensor map of {:?} in tiles of {:?}", layout.sizes, layout.tile))?;
        Ok(TensorMap(map))
    }

    /// The words that a kernel gets.
    #[must_use]
    pub fn words(&self) -> &[u64; 16] {
        &self.0.0
    }
}

impl core::fmt::Debug for TensorMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("TensorMap(..)")
    }
}
