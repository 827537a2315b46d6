//! Tensor maps: what the copy engine must know to move tiles of a tensor.

use core::ffi::c_int;

use shoal_abi::{KernelDescription, LaunchValue, MapElement, MapOutside, TensorMapNeeds};
use smallvec::SmallVec;

use super::{driver::driver, error::CudaError, sys::TensorMapWords};
use crate::args::ArgBlock;

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

/// What the copy engine wants addresses and strides to be multiples of, in bytes.
const ALIGNMENT: u64 = 16;

/// The map of a tensor that a kernel reaches, for a launch with these arguments.
///
/// # Errors
/// When the copy engine cannot reach such a tensor.
pub(super) fn encode_for(
    kernel: &KernelDescription,
    needs: &TensorMapNeeds,
    args: &ArgBlock,
) -> Result<TensorMap, CudaError> {
    let refuse = |why: String| {
        CudaError::Invalid(format!("kernel `{}` accesses a tensor through a descriptor: {why}", kernel.name))
    };
    let value = |value: &LaunchValue| {
        value
            .compute(|index| argument(kernel, args, index))
            .ok_or_else(|| refuse(format!("its description says `{value}`, which is no number")))
    };
    let numbers =
        |list: &[LaunchValue]| list.iter().rev().map(&value).collect::<Result<SmallVec<[i64; MAX_DIMENSIONS]>, _>>();
    let (address, sizes, strides) = (value(&needs.base)?, numbers(&needs.sizes)?, numbers(&needs.strides)?);
    if sizes.iter().any(|&size| size <= 0) {
        return Err(refuse(format!("its sizes must be positive, but are {:?}", in_order(&sizes))));
    }
    let element = u64::from(needs.element.bytes());
    let bytes: SmallVec<[u64; MAX_DIMENSIONS]> =
        strides.iter().map(|&stride| stride.cast_unsigned().wrapping_mul(element)).collect();
    let address = address.cast_unsigned();
    if !address.is_multiple_of(ALIGNMENT) || bytes.iter().any(|stride| !stride.is_multiple_of(ALIGNMENT)) {
        return Err(refuse(format!(
            "its memory and its strides must be multiples of {ALIGNMENT} bytes, but it begins at {address:#x}, with \
             strides of {:?} elements of {element} bytes",
            in_order(&strides)
        )));
    }
    let sizes: SmallVec<[u64; MAX_DIMENSIONS]> = sizes.iter().map(|&size| size.cast_unsigned()).collect();
    let tile: SmallVec<[u32; MAX_DIMENSIONS]> = needs.block.iter().rev().copied().collect();
    TensorMap::encode(&TensorMapLayout {
        element: match needs.element {
            MapElement::Bits8 => TensorMapElement::U8,
            MapElement::Bits16 => TensorMapElement::U16,
            MapElement::Bits32 => TensorMapElement::U32,
            MapElement::Bits64 => TensorMapElement::U64,
            MapElement::F16 => TensorMapElement::F16,
            MapElement::Bf16 => TensorMapElement::Bf16,
            MapElement::F32 => TensorMapElement::F32,
            MapElement::F64 => TensorMapElement::F64,
        },
        address,
        sizes: &sizes,
        strides: &bytes,
        tile: &tile,
        swizzle: match needs.swizzle {
            0 => Swizzle::None,
            32 => Swizzle::Bytes32,
            64 => Swizzle::Bytes64,
            _ => Swizzle::Bytes128,
        },
        outside: match needs.outside {
            MapOutside::Zero => OutOfBounds::Zero,
            MapOutside::Nan => OutOfBounds::Nan,
        },
    })
}

/// Numbers as the kernel has them, outermost first.
fn in_order(numbers: &[i64]) -> Vec<i64> {
    numbers.iter().rev().copied().collect()
}

/// The bits of an argument, and how many there are.
fn argument(kernel: &KernelDescription, args: &ArgBlock, index: u32) -> Option<(u64, u32)> {
    let mut end = 0;
    let mut found = None;
    for param in kernel.params.get(..=index as usize)? {
        let start = usize::next_multiple_of(end, param.align.max(1));
        end = start + param.size;
        found = Some((start, param.size));
    }
    let (start, size) = found?;
    Some((args.bits(start, size)?, 8 * size as u32))
}

impl core::fmt::Debug for TensorMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("TensorMap(..)")
    }
}
