//! The value of a chunk of a tile: one number, numbers in even steps, or a vector.

use inkwell::values::{InstructionOpcode, IntValue, PointerValue, VectorValue};
use shoal_ir::Elem;

use super::index::{Index, LaneBits};
use crate::shared::llvm::{Llvm, V, pointer_as_int, vector_type};
use crate::shared::value_type::{from_memory, memory_type, to_memory};

/// Chunks whose lanes lie within this many vectors are shuffled out of them.
const MOST_SHUFFLED: i64 = 4;

/// What the lanes of a chunk hold. Keeping the first two forms as long as possible is what turns address arithmetic
/// into scalar code and loads into vector loads.
#[derive(Copy, Clone, Debug)]
pub(super) enum Chunk<'ctx> {
    /// The same in every lane.
    Uniform(V<'ctx>),
    /// `base + lane * step`: integers, or pointers with a step in bytes.
    Affine { base: V<'ctx>, step: i64 },
    /// Pointers are held as 64-bit integers.
    Vector(VectorValue<'ctx>),
}

impl<'ctx> Chunk<'ctx> {
    /// As a vector of `lanes`.
    pub(super) fn widen(self, llvm: &Llvm<'ctx>, lanes: u32) -> VectorValue<'ctx> {
        match self {
            Chunk::Vector(v) => v,
            Chunk::Uniform(v) => llvm.splat(pointer_as_int(llvm, v), lanes),
            Chunk::Affine { base, step } => {
                let base = pointer_as_int(llvm, base);
                let splat = llvm.splat(base, lanes);
                let steps = llvm.const_vector(base.get_type().into_int_type(), (0..i64::from(lanes)).map(|l| l * step));
                let V::VectorValue(v) = llvm.bin(InstructionOpcode::Add, splat.into(), steps.into()) else {
                    unreachable!("a sum of vectors is a vector")
                };
                v
            }
        }
    }

    /// Every lane of a chunk of one lane.
    pub(super) fn single(self, llvm: &Llvm<'ctx>, elem: Elem) -> V<'ctx> {
        match self {
            Chunk::Uniform(v) | Chunk::Affine { base: v, .. } => v,
            Chunk::Vector(v) => match (elem, llvm.extract(v, 0)) {
                (Elem::Ptr(_), V::IntValue(address)) => llvm.int_to_ptr(address).into(),
                (_, value) => value,
            },
        }
    }
}

/// How a tile lies in scratch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The last dimension is the fastest.
    RowMajor,
    /// The last two dimensions are swapped.
    ColumnMajor,
}

impl Order {
    /// A list with an entry for each dimension, as it lies in memory; and back.
    pub(super) fn swap<T>(self, dims: &mut [T]) {
        let n = dims.len();
        if self == Order::ColumnMajor && n >= 2 {
            dims.swap(n - 2, n - 1);
        }
    }
}

/// A tile in scratch.
#[derive(Clone, Debug)]
pub(super) struct Buffer<'ctx> {
    pub(super) base: PointerValue<'ctx>,
    pub(super) elem: Elem,
    pub(super) shape: shoal_ir::Shape,
    pub(super) order: Order,
}

impl<'ctx> Buffer<'ctx> {
    /// The place of an index in memory, in elements.
    fn linear(&self, llvm: &Llvm<'ctx>, index: &Index<'ctx>) -> super::index::Dim<'ctx> {
        let (mut index, mut shape) = (index.clone(), self.shape.clone());
        self.order.swap(&mut index.dims);
        self.order.swap(&mut shape);
        index.linear(llvm, &shape)
    }

    /// The address of an element.
    pub(super) fn address(&self, llvm: &Llvm<'ctx>, linear: IntValue<'ctx>) -> PointerValue<'ctx> {
        llvm.offset(self.base, llvm.mul64(linear, llvm.const_i64(i64::from(self.elem.bytes()))))
    }

    /// The lanes at an index.
    pub(super) fn read(&self, llvm: &Llvm<'ctx>, index: &Index<'ctx>) -> Chunk<'ctx> {
        let linear = self.linear(llvm, index);
        let address = self.address(llvm, linear.base);
        let (memory, bytes) = (memory_type(llvm, self.elem), self.elem.bytes());
        if linear.lanes.is_empty() {
            return Chunk::Uniform(from_memory(llvm, self.elem, llvm.load(memory, address, bytes)));
        }
        let value = if in_order(&linear.lanes, index.log_lanes) {
            llvm.load(vector_type(memory, index.lanes()), address, bytes)
        } else {
            self.read_scattered(llvm, address, &linear.lanes, index.log_lanes)
        };
        Chunk::Vector(from_memory(llvm, self.elem, value).into_vector_value())
    }

    /// Lanes at constant distances. Where few vectors hold them all, those are loaded and shuffled; others are loaded
    /// one by one, which is cheaper than a hardware gather for the few lanes of a chunk.
    fn read_scattered(&self, llvm: &Llvm<'ctx>, base: PointerValue<'ctx>, lanes: &LaneBits, log_lanes: u8) -> V<'ctx> {
        let offsets: Vec<i64> = Index::lane_offsets(lanes, log_lanes).collect();
        let reach = offsets.iter().max().map_or(1, |last| last + 1);
        let count = 1i64 << log_lanes;
        if reach <= MOST_SHUFFLED * count {
            self.read_shuffled(llvm, base, &offsets, reach, count)
        } else {
            self.read_one_by_one(llvm, base, &offsets)
        }
    }

    /// Loads whole vectors, none of which goes beyond the last lane's element, and picks the lanes from them.
    fn read_shuffled(
        &self,
        llvm: &Llvm<'ctx>,
        base: PointerValue<'ctx>,
        offsets: &[i64],
        reach: i64,
        count: i64,
    ) -> V<'ctx> {
        let (memory, bytes) = (memory_type(llvm, self.elem), self.elem.bytes());
        let width = count.min(1 << (63 - reach.leading_zeros()));
        let starts: Vec<i64> = (0..reach).step_by(width as usize).map(|at| at.min(reach - width)).collect();
        let load = |&start: &i64| {
            let at = llvm.offset(base, llvm.const_i64(start * i64::from(bytes)));
            llvm.load(vector_type(memory, width as u32), at, bytes).into_vector_value()
        };
        let vectors: Vec<VectorValue<'ctx>> = starts.iter().map(load).collect();
        // Each pair of vectors gives the lanes that lie in it; the lanes of later pairs replace those of earlier ones.
        let pairs = starts.chunks(2).zip(vectors.chunks(2)).map(|(starts, vectors)| {
            let pick = |&offset: &i64| {
                let inside = |start: i64| (start..start + width).contains(&offset).then(|| (offset - start) as u32);
                let second = || Some(inside(*starts.get(1)?)? + width as u32);
                inside(starts[0]).or_else(second)
            };
            let picks: Vec<Option<u32>> = offsets.iter().map(pick).collect();
            let filled: Vec<u32> = picks.iter().map(|pick| pick.unwrap_or(0)).collect();
            let second = vectors.get(1).copied().unwrap_or(vectors[0]);
            (picks, llvm.shuffle(vectors[0], second, &filled))
        });
        let merged = pairs.reduce(|(known, a), (picks, b)| {
            let blend: Vec<u32> =
                (0..count as u32).map(|i| if picks[i as usize].is_some() { i + count as u32 } else { i }).collect();
            let both = known.iter().zip(&picks).map(|(a, b)| b.or(*a)).collect();
            (both, llvm.shuffle(a, b, &blend))
        });
        merged.expect("a chunk has a lane").1.into()
    }

    fn read_one_by_one(&self, llvm: &Llvm<'ctx>, base: PointerValue<'ctx>, offsets: &[i64]) -> V<'ctx> {
        let (memory, bytes) = (memory_type(llvm, self.elem), self.elem.bytes());
        let V::VectorValue(mut vector) = llvm.undef(vector_type(memory, offsets.len() as u32)) else {
            unreachable!("a vector")
        };
        let mut seen: Vec<(i64, V<'ctx>)> = Vec::new();
        for (lane, &offset) in offsets.iter().enumerate() {
            let value = match seen.iter().find(|(o, _)| *o == offset) {
                Some((_, value)) => *value,
                None => {
                    let at = llvm.offset(base, llvm.const_i64(offset * i64::from(bytes)));
                    let value = llvm.load(memory, at, bytes);
                    seen.push((offset, value));
                    value
                }
            };
            vector = llvm.insert(vector, value, lane as u64);
        }
        vector.into()
    }

    /// Writes the lanes at an index.
    pub(super) fn write(&self, llvm: &Llvm<'ctx>, index: &Index<'ctx>, chunk: Chunk<'ctx>) {
        let linear = self.linear(llvm, index);
        let address = self.address(llvm, linear.base);
        let bytes = self.elem.bytes();
        if index.log_lanes == 0 {
            llvm.store(to_memory(llvm, self.elem, chunk.single(llvm, self.elem)), address, bytes);
            return;
        }
        let vector = to_memory(llvm, self.elem, chunk.widen(llvm, index.lanes()).into());
        if in_order(&linear.lanes, index.log_lanes) {
            llvm.store(vector, address, bytes);
            return;
        }
        for (lane, offset) in Index::lane_offsets(&linear.lanes, index.log_lanes).enumerate() {
            let V::VectorValue(vector) = vector else { unreachable!("a vector") };
            let at = llvm.offset(address, llvm.const_i64(offset * i64::from(bytes)));
            llvm.store(llvm.extract(vector, lane as u64), at, bytes);
        }
    }
}

fn in_order(lanes: &LaneBits, log_lanes: u8) -> bool {
    lanes.len() == usize::from(log_lanes) && lanes.iter().enumerate().all(|(i, &bit)| bit == (i as u8, i as u8))
}
