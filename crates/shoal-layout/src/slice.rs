//! Slices: the layout of a tile that lost a dimension, as a reduction leaves it or `expand_dims` takes it.
//!
//! ```text
//!   2 × 4 on four lanes            its slice along dimension 1: a tile of 2
//!   lane 0  0  1  1                lanes 0 and 1 hold element 0,
//!   lane 2  2  3  3                lanes 2 and 3 hold element 1
//! ```

use crate::matrix::Matrix;
use crate::{InDim, LayoutError, LinearLayout};

impl LinearLayout {
    /// The layout of the tile without dimension `out`: every place that held an element of a row now holds the row's
    /// one element. Lanes and warps that become alike hold copies; registers that become alike are merged.
    pub fn slice(&self, out: usize) -> Result<Self, LayoutError> {
        let outs: Vec<usize> = (0..self.rank()).filter(|&other| other != out).collect();
        if outs.len() == self.rank() {
            return Err(LayoutError::BadOrder { order: vec![out] });
        }
        let projected = self.sublayout(&InDim::ALL, &outs)?;
        let mut sliced = Matrix::clone(&projected.matrix);
        sliced.bases[InDim::Register.index()].retain(|&basis| basis != 0);
        Ok(sliced.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn lanes_become_copies_and_registers_go() {
        let tile = LinearLayout::blocked(&[4, 16], &[2, 2], &[2, 4], &[1, 2], &[1, 0]).unwrap();
        let rows = tile.slice(1).unwrap();
        assert_eq!(rows.to_string(), "#layout<register=[[1]], lane=[[0],[0],[2]], warp=[[0]], out=[4]>");
        let place = Place { register: 1, lane: 5, warp: 1, ..Place::default() };
        assert_eq!(rows.apply(place), [tile.apply(Place { register: 2, ..place })[0]]);
        assert_eq!(tile.slice(2), Err(LayoutError::BadOrder { order: vec![2] }));
    }
}
