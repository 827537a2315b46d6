//! The type [`LinearLayout`]: its simplest constructors, and evaluation.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::matrix::{MAX_DIM_BITS, Matrix, combine, shape_bits};
use crate::{InDim, LayoutError, Place};

/// A linear map over F2 from places in the hardware to elements of a tile; see the [crate's documentation](crate).
///
/// It is two words: the bases are shared, and their hash is computed once. Types carry layouts, and a compiler clones,
/// hashes and compares types all the time.
#[derive(Clone)]
pub struct LinearLayout {
    hash: u64,
    pub(crate) matrix: Arc<Matrix>,
}

impl From<Matrix> for LinearLayout {
    fn from(matrix: Matrix) -> Self {
        // The default hasher has no random state: the same layout has the same hash in every run.
        let mut hasher = DefaultHasher::new();
        matrix.hash(&mut hasher);
        Self { hash: hasher.finish(), matrix: Arc::new(matrix) }
    }
}

impl PartialEq for LinearLayout {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.matrix, &other.matrix) || (self.hash == other.hash && self.matrix == other.matrix)
    }
}

impl Eq for LinearLayout {}

impl Hash for LinearLayout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Default for LinearLayout {
    fn default() -> Self {
        Self::empty()
    }
}

impl LinearLayout {
    /// The layout of a tile without dimensions, held in one place: the neutral element of the product.
    pub fn empty() -> Self {
        Matrix::default().finish()
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
        let mut layout = Matrix::of_tile(vec![0; out + 1]);
        layout.out_bits[out] = (count + first) as u8;
        layout.bases[dim.index()] = (0..count).map(|bit| 1 << (first + bit)).collect();
        layout.finish()
    }

    /// All `size` places along `dim` hold element 0 of tile dimension `out`, whose size is one: copies.
    ///
    /// # Panics
    /// If `size` is not a power of two.
    pub fn zeros1d(size: u32, dim: InDim, out: usize) -> Self {
        let mut layout = Matrix::of_tile(vec![0; out + 1]);
        layout.bases[dim.index()] = vec![0; log2_or_panic(size)];
        layout.finish()
    }

    /// The layout with these bases, each a coordinate in a tile of the given shape. Dimensions named twice go on where
    /// they ended.
    pub fn from_bases(
        bases: impl IntoIterator<Item = (InDim, Vec<Vec<u32>>)>,
        shape: &[u32],
    ) -> Result<Self, LayoutError> {
        let mut layout = Matrix::of_tile(shape_bits(shape)?);
        for (dim, vectors) in bases {
            for basis in vectors {
                let packed = layout.checked_pack(dim, &basis)?;
                layout.bases[dim.index()].push(packed);
            }
        }
        layout.check_size()?;
        Ok(layout.finish())
    }

    /// The shape of the tile.
    pub fn shape(&self) -> Vec<u32> {
        self.matrix.shape()
    }

    /// The number of dimensions of the tile.
    pub fn rank(&self) -> usize {
        self.matrix.rank()
    }

    /// The number of elements of the tile.
    pub fn num_elements(&self) -> u64 {
        1 << self.matrix.total_out_bits()
    }

    /// The number of places along `dim`.
    pub fn in_size(&self, dim: InDim) -> u32 {
        1 << self.flat_bases(dim).len()
    }

    /// The images of 1, 2, 4, … along `dim`, as coordinates.
    pub fn bases(&self, dim: InDim) -> impl ExactSizeIterator<Item = Vec<u32>> {
        self.flat_bases(dim).iter().map(|&packed| self.matrix.unpack(packed))
    }

    /// The images of 1, 2, 4, … along `dim`, as row-major indices.
    pub fn flat_bases(&self, dim: InDim) -> &[u64] {
        &self.matrix.bases[dim.index()]
    }

    /// The coordinates of the element that `place` holds. Numbers past the end of a dimension wrap around.
    pub fn apply(&self, place: Place) -> Vec<u32> {
        self.matrix.unpack(self.apply_flat(place))
    }

    /// The row-major index of the element that `place` holds. Numbers past the end of a dimension wrap around.
    pub fn apply_flat(&self, place: Place) -> u64 {
        InDim::ALL.into_iter().fold(0, |image, dim| image ^ combine(self.flat_bases(dim), place[dim].into()))
    }
}

fn log2_or_panic(size: u32) -> usize {
    assert!(size.is_power_of_two(), "the size {size} is not a power of two");
    size.trailing_zeros() as usize
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
    fn equal_layouts_have_equal_hashes_and_clones_are_shared() {
        let hash = |layout: &LinearLayout| {
            let mut hasher = DefaultHasher::new();
            layout.hash(&mut hasher);
            hasher.finish()
        };
        let (a, b) = (LinearLayout::identity1d(8, InDim::Lane, 0), LinearLayout::identity1d(8, InDim::Lane, 0));
        assert_eq!((&a, hash(&a)), (&b, hash(&b)));
        assert!(Arc::ptr_eq(&a.matrix, &a.clone().matrix));
        assert_ne!(a, LinearLayout::identity1d(8, InDim::Warp, 0));
        assert_eq!(size_of::<LinearLayout>(), 16);
    }

    #[test]
    #[should_panic(expected = "not a power of two")]
    fn generators_take_powers_of_two_only() {
        let _ = LinearLayout::identity1d(6, InDim::Lane, 0);
    }
}
