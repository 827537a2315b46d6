//! Other views of the same places: parts of a layout, and tiles of another shape.

use crate::blocked::check_order;
use crate::matrix::{Matrix, shape_bits};
use crate::{InDim, LayoutError, LinearLayout};

impl LinearLayout {
    /// The layout of the transposed tile, whose dimension `i` is the old dimension `order[i]`.
    pub fn transpose_outs(&self, order: &[usize]) -> Result<Self, LayoutError> {
        check_order(order, self.rank())?;
        Ok(self.select(&InDim::ALL, order))
    }

    /// The layout of the tile read in another shape with as many elements; elements keep their row-major index.
    pub fn reshape_outs(&self, shape: &[u32]) -> Result<Self, LayoutError> {
        let reshaped = Matrix { bases: self.matrix.bases.clone(), out_bits: shape_bits(shape)? };
        if reshaped.total_out_bits() != self.matrix.total_out_bits() {
            return Err(LayoutError::Shape { expected: self.shape(), found: shape.to_vec() });
        }
        Ok(reshaped.finish())
    }

    /// The part of the layout between these hardware dimensions and these tile dimensions: the other places are held
    /// at zero, and the other coordinates forgotten. Dimension `i` of the result is the old dimension `outs[i]`.
    pub fn sublayout(&self, ins: &[InDim], outs: &[usize]) -> Result<Self, LayoutError> {
        let once = outs.iter().enumerate().all(|(at, out)| *out < self.rank() && !outs[..at].contains(out));
        if once { Ok(self.select(ins, outs)) } else { Err(LayoutError::BadOrder { order: outs.to_vec() }) }
    }

    /// `outs` are dimensions of the tile, each named once at most.
    fn select(&self, ins: &[InDim], outs: &[usize]) -> Self {
        let mut part = Matrix::of_tile(outs.iter().map(|&out| self.matrix.out_bits[out]).collect());
        for dim in InDim::ALL {
            if ins.contains(&dim) {
                let selected = self.bases(dim).map(|basis| outs.iter().map(|&out| basis[out]).collect::<Vec<u32>>());
                part.bases[dim.index()] = selected.map(|basis| part.pack(&basis)).collect();
            }
        }
        part.finish()
    }

    /// The order with `self.transpose_outs(order) == other`, if the two layouts are equal but for the order of the
    /// tile's dimensions.
    pub fn order_to(&self, other: &Self) -> Option<Vec<usize>> {
        if self.rank() != other.rank() || self.matrix.in_bits() != other.matrix.in_bits() {
            return None;
        }
        // A dimension is known by its size and by all coordinates along it; where two agree in that, either will do.
        let along = |layout: &Self, out: usize| layout.select(&InDim::ALL, &[out]);
        let mut free: Vec<usize> = (0..self.rank()).collect();
        (0..other.rank())
            .map(|out| {
                let wanted = along(other, out);
                let at = free.iter().position(|&own| along(self, own) == wanted)?;
                Some(free.remove(at))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn layout() -> LinearLayout {
        LinearLayout::blocked(&[4, 16], &[1, 2], &[4, 8], &[1, 1], &[1, 0]).unwrap()
    }

    #[test]
    fn transposing_moves_coordinates() {
        let transposed = layout().transpose_outs(&[1, 0]).unwrap();
        assert_eq!(transposed.shape(), [16, 4]);
        let place = Place { register: 1, lane: 21, ..Place::default() };
        let mut coordinates = layout().apply(place);
        coordinates.reverse();
        assert_eq!(transposed.apply(place), coordinates);
        assert_eq!(layout().transpose_outs(&[1]), Err(LayoutError::BadOrder { order: vec![1] }));
    }

    #[test]
    fn reshaping_keeps_the_row_major_index() {
        let reshaped = layout().reshape_outs(&[2, 8, 4]).unwrap();
        let place = Place { register: 1, lane: 21, ..Place::default() };
        assert_eq!(reshaped.apply_flat(place), layout().apply_flat(place));
        assert!(matches!(layout().reshape_outs(&[32]), Err(LayoutError::Shape { .. })));
        assert!(matches!(layout().reshape_outs(&[64, 0]), Err(LayoutError::NotPowerOfTwo { size: 0 })));
    }

    #[test]
    fn equal_but_for_the_order_of_dimensions() {
        let cube = LinearLayout::blocked(&[4, 16, 4], &[1, 2, 1], &[4, 8, 1], &[1, 1, 2], &[1, 0, 2]).unwrap();
        let turned = cube.transpose_outs(&[2, 0, 1]).unwrap();
        assert_eq!(cube.order_to(&turned), Some(vec![2, 0, 1]));
        assert_eq!(cube.order_to(&cube), Some(vec![0, 1, 2]));
        assert_eq!(layout().order_to(&layout().reshape_outs(&[16, 4]).unwrap()), None);
        assert_eq!(layout().order_to(&cube), None);
    }

    #[test]
    fn a_part_forgets_the_rest() {
        let part = layout().sublayout(&[InDim::Lane], &[0]).unwrap();
        assert_eq!(part.to_string(), "#layout<lane=[[0],[0],[0],[1],[2]], out=[4]>");
        assert_eq!(layout().sublayout(&[], &[2]), Err(LayoutError::BadOrder { order: vec![2] }));
        assert_eq!(layout().sublayout(&[], &[1, 1]), Err(LayoutError::BadOrder { order: vec![1, 1] }));
    }
}
