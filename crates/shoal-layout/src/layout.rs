//! The type [`LinearLayout`]: its bases, its simplest constructors, and evaluation.

use crate::{InDim, LayoutError, Place};

/// The largest number of bits that the index of one dimension may have.
const MAX_DIM_BITS: usize = 31;
/// The largest number of bits that a whole index may have.
const MAX_TOTAL_BITS: usize = 63;

/// A linear map over F2 from places in the hardware to elements of a tile; see the [crate's documentation](crate).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct LinearLayout {
    /// For each hardware dimension, the images of 1, 2, 4, … as row-major tile indices.
    pub(crate) bases: [Vec<u64>; InDim::COUNT],
    /// For each tile dimension, the logarithm of its size.
    pub(crate) out_bits: Vec<u8>,
}

impl LinearLayout {
    /// The layout of a tile without dimensions, held in one place: the neutral element of the product.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Places `0..size` along `dim` hold the elements `0..size` along tile dimension `out`, in order.
    ///
    /// The tile has `out + 1` dimensions; those before `out` have size one.
    ///
    /// # Panics
    /// If `size` is not a power of two below 2³².
    pub fn identity1d(size: u32, dim: InDim, out: usize) -> Self {
        Self::strided1d(size, 1, dim, out)
    }

    /// Place `i` along `dim` holds element `i * stride` along tile dimension `out`, whose size is `size * stride`.
    ///
    /// # Panics
    /// If `size`, `stride` or their product is not a power of two below 2³².
    pub fn strided1d(size: u32, stride: u32, dim: InDim, out: usize) -> Self {
        let (count, first) = (log2_or_panic(size), log2_or_panic(stride));
        assert!(count + first <= MAX_DIM_BITS, "the size {size} and the stride {stride} are too large together");
        let mut layout = Self { out_bits: vec![0; out + 1], ..Self::default() };
        layout.out_bits[out] = (count + first) as u8;
        layout.bases[dim.index()] = (0..count).map(|bit| 1 << (first + bit)).collect();
        layout
    }

    /// All `size` places along `dim` hold element 0 of tile dimension `out`, whose size is one: copies.
    ///
    /// # Panics
    /// If `size` is not a power of two.
    pub fn zeros1d(size: u32, dim: InDim, out: usize) -> Self {
        let mut layout = Self { out_bits: vec![0; out + 1], ..Self::default() };
        layout.bases[dim.index()] = vec![0; log2_or_panic(size)];
        layout
    }

    /// The layout with these bases, each a coordinate in a tile of the given shape. Dimensions named twice go on where
    /// they ended.
    pub fn from_bases(
        bases: impl IntoIterator<Item = (InDim, Vec<Vec<u32>>)>,
        shape: &[u32],
    ) -> Result<Self, LayoutError> {
        let mut layout = Self { out_bits: shape_bits(shape)?, ..Self::default() };
        for (dim, vectors) in bases {
            for basis in vectors {
                let packed = layout.checked_pack(dim, &basis)?;
                layout.bases[dim.index()].push(packed);
            }
        }
        layout.check_size()?;
        Ok(layout)
    }

    /// The shape of the tile.
    pub fn shape(&self) -> Vec<u32> {
        self.out_bits.iter().map(|&bits| 1 << bits).collect()
    }

    /// The number of dimensions of the tile.
    pub fn rank(&self) -> usize {
        self.out_bits.len()
    }

    /// The number of elements of the tile.
    pub fn num_elements(&self) -> u64 {
        1 << self.total_out_bits()
    }

    /// The number of places along `dim`.
    pub fn in_size(&self, dim: InDim) -> u32 {
        1 << self.bases[dim.index()].len()
    }

    /// The images of 1, 2, 4, … along `dim`, as coordinates.
    pub fn bases(&self, dim: InDim) -> impl ExactSizeIterator<Item = Vec<u32>> {
        self.bases[dim.index()].iter().map(|&packed| self.unpack(packed))
    }

    /// The coordinates of the element that `place` holds. Numbers past the end of a dimension wrap around.
    pub fn apply(&self, place: Place) -> Vec<u32> {
        self.unpack(self.apply_flat(place))
    }

    /// The row-major index of the element that `place` holds. Numbers past the end of a dimension wrap around.
    pub fn apply_flat(&self, place: Place) -> u64 {
        InDim::ALL.into_iter().fold(0, |image, dim| image ^ combine(&self.bases[dim.index()], place[dim].into()))
    }

    /// The row-major index of these coordinates.
    pub(crate) fn pack(&self, coordinates: &[u32]) -> u64 {
        let dims = self.out_bits.iter().zip(coordinates);
        dims.fold(0, |index, (&bits, &coordinate)| (index << bits) | u64::from(coordinate))
    }

    /// The coordinates of this row-major index.
    pub(crate) fn unpack(&self, mut index: u64) -> Vec<u32> {
        let mut coordinates = vec![0; self.rank()];
        for (coordinate, &bits) in coordinates.iter_mut().zip(&self.out_bits).rev() {
            *coordinate = (index & low_mask(bits.into())) as u32;
            index >>= bits;
        }
        coordinates
    }

    pub(crate) fn total_out_bits(&self) -> usize {
        self.out_bits.iter().map(|&bits| usize::from(bits)).sum()
    }

    /// All bases, those of the nearest dimension first.
    pub(crate) fn columns(&self) -> impl Iterator<Item = u64> {
        self.bases.iter().flatten().copied()
    }

    pub(crate) fn check_size(&self) -> Result<(), LayoutError> {
        let in_bits = self.bases.iter().map(Vec::len);
        let out_bits = self.out_bits.iter().map(|&bits| usize::from(bits));
        let fits = in_bits.clone().chain(out_bits).all(|bits| bits <= MAX_DIM_BITS)
            && in_bits.sum::<usize>() <= MAX_TOTAL_BITS
            && self.total_out_bits() <= MAX_TOTAL_BITS;
        if fits { Ok(()) } else { Err(LayoutError::TooLarge) }
    }

    fn checked_pack(&self, dim: InDim, basis: &[u32]) -> Result<u64, LayoutError> {
        if basis.len() != self.rank() {
            return Err(LayoutError::Rank { expected: self.rank(), found: basis.len() });
        }
        let inside = basis.iter().zip(&self.out_bits).all(|(&coordinate, &bits)| coordinate >> bits == 0);
        if inside { Ok(self.pack(basis)) } else { Err(LayoutError::OutsideTile { dim, basis: basis.to_vec() }) }
    }
}

/// The logarithms of a tile's sizes.
pub(crate) fn shape_bits(shape: &[u32]) -> Result<Vec<u8>, LayoutError> {
    let bits: Vec<u8> = shape.iter().map(|&size| log2(size)).collect::<Result<_, _>>()?;
    if bits.iter().map(|&bits| usize::from(bits)).sum::<usize>() > MAX_TOTAL_BITS {
        return Err(LayoutError::TooLarge);
    }
    Ok(bits)
}

pub(crate) fn log2(size: u32) -> Result<u8, LayoutError> {
    if size.is_power_of_two() { Ok(size.trailing_zeros() as u8) } else { Err(LayoutError::NotPowerOfTwo { size }) }
}

fn log2_or_panic(size: u32) -> usize {
    assert!(size.is_power_of_two(), "the size {size} is not a power of two");
    size.trailing_zeros() as usize
}

/// The xor of those columns whose bit is set in `selection`.
pub(crate) fn combine(columns: &[u64], selection: u64) -> u64 {
    columns.iter().enumerate().filter(|(bit, _)| selection >> bit & 1 == 1).fold(0, |sum, (_, column)| sum ^ column)
}

/// A number with its lowest `bits` bits set.
pub(crate) fn low_mask(bits: usize) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dimensional_generators() {
        let identity = LinearLayout::identity1d(8, InDim::Lane, 1);
        assert_eq!(identity.shape(), [1, 8]);
        assert_eq!(identity.apply(Place { lane: 5, ..Place::default() }), [0, 5]);

        let strided = LinearLayout::strided1d(4, 8, InDim::Register, 0);
        assert_eq!(strided.shape(), [32]);
        assert_eq!(strided.apply(Place { register: 3, ..Place::default() }), [24]);

        let zeros = LinearLayout::zeros1d(4, InDim::Warp, 0);
        assert_eq!((zeros.shape(), zeros.in_size(InDim::Warp)), (vec![1], 4));
        assert_eq!(zeros.apply(Place { warp: 3, ..Place::default() }), [0]);
    }

    #[test]
    fn numbers_past_the_end_wrap_around() {
        let layout = LinearLayout::identity1d(4, InDim::Lane, 0);
        assert_eq!(layout.apply(Place::along(InDim::Lane, 6)), layout.apply(Place::along(InDim::Lane, 2)));
    }

    #[test]
    fn a_swizzle_is_linear() {
        // Row r of a 4 × 4 buffer holds column c at c ^ r.
        let bases = vec![vec![0, 1], vec![0, 2], vec![1, 1], vec![2, 2]];
        let layout = LinearLayout::from_bases([(InDim::Offset, bases)], &[4, 4]).unwrap();
        for row in 0..4 {
            for column in 0..4 {
                let place = Place { offset: row * 4 + column, ..Place::default() };
                assert_eq!(layout.apply(place), [row, column ^ row]);
            }
        }
    }

    #[test]
    fn bad_bases_are_refused() {
        let one = |basis: Vec<u32>, shape: &[u32]| LinearLayout::from_bases([(InDim::Lane, vec![basis])], shape);
        assert_eq!(one(vec![4], &[4]), Err(LayoutError::OutsideTile { dim: InDim::Lane, basis: vec![4] }));
        assert_eq!(one(vec![1, 1], &[4]), Err(LayoutError::Rank { expected: 1, found: 2 }));
        assert_eq!(one(vec![1], &[3]), Err(LayoutError::NotPowerOfTwo { size: 3 }));
        assert_eq!(one(vec![0, 0, 0], &[1 << 31; 3]), Err(LayoutError::TooLarge));
        let many = LinearLayout::from_bases([(InDim::Lane, vec![vec![0]; 32])], &[1]);
        assert_eq!(many, Err(LayoutError::TooLarge));
    }

    #[test]
    #[should_panic(expected = "not a power of two")]
    fn generators_take_powers_of_two_only() {
        let _ = LinearLayout::identity1d(6, InDim::Lane, 0);
    }
}
