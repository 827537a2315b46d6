//! Launch grids: one to three extents.

use crate::Error;

/// What can be a grid: a number, or a tuple or array of one to three numbers.
pub trait IntoGrid {
    /// The three extents.
    ///
    /// # Errors
    /// When one is negative or above `u32::MAX`.
    fn extents(self) -> Result<[u32; 3], Error>;
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
            fn extents(self) -> Result<[u32; 3], Error> {
                Ok([self.extent()?, 1, 1])
            }
        }
    )* };
}
numbers!(i32, i64, u32, u64, usize);

impl<X: Extent> IntoGrid for (X,) {
    fn extents(self) -> Result<[u32; 3], Error> {
        Ok([self.0.extent()?, 1, 1])
    }
}

impl<X: Extent, Y: Extent> IntoGrid for (X, Y) {
    fn extents(self) -> Result<[u32; 3], Error> {
        Ok([self.0.extent()?, self.1.extent()?, 1])
    }
}

impl<X: Extent, Y: Extent, Z: Extent> IntoGrid for (X, Y, Z) {
    fn extents(self) -> Result<[u32; 3], Error> {
        Ok([self.0.extent()?, self.1.extent()?, self.2.extent()?])
    }
}

impl<X: Extent> IntoGrid for [X; 3] {
    fn extents(self) -> Result<[u32; 3], Error> {
        (self[0], self[1], self[2]).extents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tuples_and_arrays_are_grids() {
        assert_eq!(7.extents().unwrap(), [7, 1, 1]);
        assert_eq!((2u32, 3usize).extents().unwrap(), [2, 3, 1]);
        assert_eq!([1i64, 2, 3].extents().unwrap(), [1, 2, 3]);
        assert_eq!((-1).extents().unwrap_err().to_string(), "a grid's extents are from 0 to 4294967295, but one is -1");
    }
}
