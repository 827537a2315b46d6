//! Launch grids: one to three extents, or a function of the arguments.

use crate::Error;
use crate::bind::Bound;

/// What can be a grid: a number, a tuple or array of one to three numbers, or a closure that computes one from the
/// launch's arguments.
pub trait IntoGrid {
    /// The three extents.
    ///
    /// # Errors
    /// When an extent is negative or too large, or the closure asks for an argument that is not there.
    fn extents(self, bound: &Bound<'_>) -> Result<[u32; 3], Error>;
}

/// One extent of a grid.
pub trait Extent: Copy {
    /// As the driver takes it.
    ///
    /// # Errors
    /// When it is negative or above `u32::MAX`.
    fn extent(self) -> Result<u32, Error>;
}

macro_rules! numbers {
    ($($t:ty),*) => { $(
        impl Extent for $t {
            fn extent(self) -> Result<u32, Error> {
                u32::try_from(self).map_err(|_| Error::Grid { extent: self.to_string() })
            }
        }
        impl IntoGrid for $t {
            fn extents(self, _: &Bound<'_>) -> Result<[u32; 3], Error> {
                Ok([self.extent()?, 1, 1])
            }
        }
    )* };
}
numbers!(i32, i64, u32, u64, usize);

impl<X: Extent> IntoGrid for (X,) {
    fn extents(self, _: &Bound<'_>) -> Result<[u32; 3], Error> {
        Ok([self.0.extent()?, 1, 1])
    }
}

impl<X: Extent, Y: Extent> IntoGrid for (X, Y) {
    fn extents(self, _: &Bound<'_>) -> Result<[u32; 3], Error> {
        Ok([self.0.extent()?, self.1.extent()?, 1])
    }
}

impl<X: Extent, Y: Extent, Z: Extent> IntoGrid for (X, Y, Z) {
    fn extents(self, _: &Bound<'_>) -> Result<[u32; 3], Error> {
        Ok([self.0.extent()?, self.1.extent()?, self.2.extent()?])
    }
}

impl<X: Extent> IntoGrid for [X; 3] {
    fn extents(self, _: &Bound<'_>) -> Result<[u32; 3], Error> {
        Ok([self[0].extent()?, self[1].extent()?, self[2].extent()?])
    }
}

impl<F, G> IntoGrid for F
where
    F: FnOnce(&Bound<'_>) -> Result<G, Error>,
    G: IntoGrid,
{
    fn extents(self, bound: &Bound<'_>) -> Result<[u32; 3], Error> {
        self(bound)?.extents(bound)
    }
}
