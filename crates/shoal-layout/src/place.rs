//! Places in the hardware: the inputs of a layout.

use std::fmt;
use std::ops::{Index, IndexMut};

/// A dimension of the hardware: what a layout maps from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InDim {
    /// The registers of one lane.
    Register,
    /// The lanes of one warp.
    Lane,
    /// The warps of one block.
    Warp,
    /// The blocks of one cluster.
    Block,
    /// The elements of a buffer in shared memory, for layouts of memory; distributed layouts do not use it.
    Offset,
}

impl InDim {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// All of them, from the nearest to the farthest.
    pub const ALL: [Self; Self::COUNT] = [Self::Register, Self::Lane, Self::Warp, Self::Block, Self::Offset];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Lane => "lane",
            Self::Warp => "warp",
            Self::Block => "block",
            Self::Offset => "offset",
        }
    }

    /// The dimension of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dim| dim.name() == name)
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for InDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One number for each hardware dimension: a place, or a mask over places.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The register in the lane.
    pub register: u32,
    /// The lane in the warp.
    pub lane: u32,
    /// The warp in the block.
    pub warp: u32,
    /// The block in the cluster.
    pub block: u32,
    /// The element in shared memory.
    pub offset: u32,
}

impl Place {
    /// The place that is zero but for one dimension.
    pub fn along(dim: InDim, index: u32) -> Self {
        let mut place = Self::default();
        place[dim] = index;
        place
    }
}

impl Index<InDim> for Place {
    type Output = u32;

    fn index(&self, dim: InDim) -> &u32 {
        match dim {
            InDim::Register => &self.register,
            InDim::Lane => &self.lane,
            InDim::Warp => &self.warp,
            InDim::Block => &self.block,
            InDim::Offset => &self.offset,
        }
    }
}

impl IndexMut<InDim> for Place {
    fn index_mut(&mut self, dim: InDim) -> &mut u32 {
        match dim {
            InDim::Register => &mut self.register,
            InDim::Lane => &mut self.lane,
            InDim::Warp => &mut self.warp,
            InDim::Block => &mut self.block,
            InDim::Offset => &mut self.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, dim) in InDim::ALL.into_iter().enumerate() {
            assert_eq!(InDim::from_name(dim.name()), Some(dim));
            assert_eq!(dim.index(), index);
            assert_eq!(Place::along(dim, 3)[dim], 3);
        }
        assert_eq!(InDim::from_name("thread"), None);
    }
}
