//! Other views of the same places: parts of a layout, and tiles of another shape.

use crate::blocked::check_order;
use crate::layout::shape_bits;
use crate::{InDim, LayoutError, LinearLayout};

impl LinearLayout {
    /// The layout of the transposed tile, whose dimension `i` is the old dimension `order[i]`.
    pub fn transpose_outs(&self, order: &[usize]) -> Result<Self, LayoutError> {
        check_order(order, self.rank())?;
        Ok(self.select(&InDim::ALL, order))
    }

    /// The layout of the tile read in another shape with as many elements; elements keep their row-major index.
    pub fn reshape_outs(&self, shape: &[u32]) -> Result<Self, LayoutError> {
        let reshaped = Self { bases: self.bases.clone(), out_bits: shape_bits(shape)? };
        if reshaped.total_out_bits() != self.total_out_bits() {
            return Err(LayoutError::Shape { expected: self.shape(), found: shape.to_vec() });
        }
        Ok(reshaped)
    }

    /// The part of the layout between these hardware dimensions and these tile dimensions: the other places are held
    /// at zero, and the other coordinates forgotten. Dimension `i` of the result is the old dimension `outs[i]`.
    pub fn sublayout(&self, ins: &[InDim], outs: &[usize]) -> Result<Self, LayoutError> {
        let once = outs.iter().enumerate().all(|(at, out)| *out < self.rank() && !outs[..at].contains(out));
        if once { Ok(self.select(ins, outs)) } else { Err(LayoutError::BadOrder { order: outs.to_vec() }) }
    }

    /// `outs` are dimensions of the tile, each named once at most.
    fn select(&self, ins: &[InDim], outs: &[usize]) -> Self {
        let mut part = Self { out_bits: outs.iter().map(|&out| self.out_bits[out]).collect(), ..Self::default() };
        for dim in InDim::ALL {
            if ins.contains(&dim) {
                let selected = self.bases(dim).map(|basis| outs.iter().map(|&out| basis[out]).collect::<Vec<u32>>());
                part.bases[dim.index()] = selected.map(|basis| part.pack(&basis)).collect();
            }
        }
        part
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
    fn a_part_forgets_the_rest() {
        let part = layout().sublayout(&[InDim::Lane], &[0]).unwrap();
        assert_eq!(part.to_string(), "#layout<lane=[[0],[0],[0],[1],[2]], out=[4]>");
        assert_eq!(layout().sublayout(&[], &[2]), Err(LayoutError::BadOrder { order: vec![2] }));
        assert_eq!(layout().sublayout(&[], &[1, 1]), Err(LayoutError::BadOrder { order: vec![1, 1] }));
    }
}
