//! Operands of `wgmma` in shared memory: how the hardware is told of them, and how they get there.

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::{OpId, Value};
use shoal_layout::{LinearLayout, Major, TmaSwizzle};

use super::super::emitter::{Emitter, Held, SharedTile, Slot};
use super::super::shared_tile::{behind_transposes, swizzle_of, swizzled_buffer};
use super::is_wgmma;
use crate::shared::llvm::V;

/// An operand in shared memory, as a descriptor of the hardware says it.
pub(super) struct Described<'ctx> {
    base: IntValue<'ctx>,
    slot: Option<Slot<'ctx>>,
    swizzle: TmaSwizzle,
    /// K is the contiguous dimension.
    pub(super) along_k: bool,
    /// The sizes along M (or N) and along K.
    outer: u32,
    inner: u32,
    /// The bytes of an element.
    element: u32,
}

/// Which operand of a product.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Both operands in shared memory; those that are not there as the hardware can read them are written. A may stay in
    /// registers.
    pub(super) fn described(
        &mut self,
        left: Value,
        right: Value,
        a_in_registers: bool,
    ) -> Option<(Option<Described<'ctx>>, Described<'ctx>)> {
        let mut found = [(left, Side::Left), (right, Side::Right)].map(|(value, side)| self.in_place(value, side));
        let wanted =
            |side: Side, found: &Option<Described<'ctx>>| found.is_none() && !(side == Side::Left && a_in_registers);
        let missing: Vec<(Value, Side)> = [(left, Side::Left), (right, Side::Right)]
            .into_iter()
            .zip(&found)
            .filter(|((_, side), found)| wanted(*side, found))
            .map(|(missing, _)| missing)
            .collect();
        if !missing.is_empty() {
            self.shared.floor = self.shared.floor.next_multiple_of(1024);
            let lists: Vec<_> = missing.iter().map(|&(value, side)| (value, side, self.numbers(value))).collect();
            let total = missing.iter().map(|&(value, _)| self.buffer_bytes(value)).sum();
            let mut at = self.use_scratch(total);
            for (value, side, numbers) in lists {
                let tile = self.write_operand(value, side, &numbers, at)?;
                found[usize::from(side == Side::Right)] = describe(&tile, side, self.elem(value).bytes());
                at += self.buffer_bytes(value);
            }
            self.llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
            self.block_barrier();
            self.scratch_may_be_busy();
        }
        let [a, b] = found;
        let a = if a_in_registers { None } else { Some(a?) };
        Some((a, b?))
    }

    /// An operand that the hardware can read where it lies.
    fn in_place(&self, value: Value, side: Side) -> Option<Described<'ctx>> {
        match &self.held[&value] {
            Held::Shared(tile) => describe(tile, side, self.elem(value).bytes()),
            Held::Scalar(_) | Held::Tile(_) => None,
        }
    }

    /// The bytes of a buffer for a tile.
    fn buffer_bytes(&self, value: Value) -> u32 {
        let tile = self.func.ty(value).as_tile().expect("operands are tiles");
        (tile.len() as u32 * tile.elem.bytes()).next_multiple_of(1024)
    }

    /// Writes an operand so that the hardware can read it; the caller sees to barriers.
    fn write_operand(&mut self, value: Value, side: Side, numbers: &[V<'ctx>], at: u32) -> Option<SharedTile<'ctx>> {
        let (layout, elem) = (self.layout(value).clone(), self.elem(value));
        let memory = readable_buffer(self.func.ty(value).shape(), elem.bytes(), side)?;
        let base = self.llvm.const_i32(at.into());
        self.write_shared(numbers, &layout, &memory, base, elem);
        Some(SharedTile { base, memory, slot: None })
    }

    /// Writes operands of a loop's products that do not change in it to shared memory, where they stay until the loop
    /// ends; gives how they were held before.
    pub(in super::super) fn keep_operands(&mut self, op: OpId) -> Vec<(Value, Held<'ctx>)> {
        let func = self.func;
        let body = func.op(op).regions()[0];
        let mut inside = Vec::new();
        func.walk_region(body, &mut inside);
        let arch = self.arch;
        let mut before = Vec::new();
        for product in inside.into_iter().filter(|&op| is_wgmma(func, op, arch)) {
            for (index, &operand) in func.op(product).operands()[..2].iter().enumerate() {
                let (source, flipped) = behind_transposes(func, operand);
                let outside = !func.is_inside(func.defining_region(source), body);
                let in_registers = matches!(self.held.get(&source), Some(Held::Tile(_)));
                let stays = index == 0 && self.is_wgmma_operand_layout(operand);
                if !outside || !in_registers || stays {
                    continue;
                }
                let side = if (index == 0) != flipped { Side::Left } else { Side::Right };
                let at = self.shared.floor.next_multiple_of(1024);
                let end = at + self.buffer_bytes(source);
                // Rings that have their place leave the rest to this.
                let limit = if self.specialised.top() > 0 { self.shared.limit } else { self.shared.limit / 2 };
                if end > limit {
                    continue;
                }
                let numbers = self.numbers(source);
                if before.is_empty() {
                    // Whoever used this memory before must be done with it.
                    self.block_barrier();
                }
                let Some(tile) = self.write_operand(source, side, &numbers, at) else { continue };
                self.shared.floor = end;
                self.shared.needed = self.shared.needed.max(end);
                before.push((source, self.held[&source].clone()));
                self.hold(source, Held::Shared(tile));
            }
        }
        if !before.is_empty() {
            self.llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
            self.block_barrier();
        }
        before
    }

    /// The descriptor of an operand from `part` along M (or N). What does not change in a loop comes first, so that a trip
    /// adds only its slot: instructions in the threads' registers would hold the matrix unit up.
    pub(super) fn descriptor(&self, tile: &Described<'ctx>, part: IntValue<'ctx>) -> Descriptor<'ctx> {
        let llvm = self.llvm;
        let chunk = tile.swizzle.chunk_bytes();
        let (moved, leading) = if tile.along_k {
            (llvm.bin(Op::Mul, part.into(), llvm.const_i32(chunk.into()).into()), 1)
        } else {
            // A chunk is so many elements wide; a group may begin inside of one.
            let (wide, across) = (chunk / tile.element, tile.inner * chunk);
            let chunks = llvm.bin(Op::LShr, part.into(), llvm.const_i32(wide.ilog2().into()).into());
            let inside = llvm.bin(Op::And, part.into(), llvm.const_i32(i64::from(wide) - 1).into());
            let chunks = llvm.bin(Op::Mul, chunks, llvm.const_i32(across.into()).into());
            let inside = llvm.bin(Op::Mul, inside, llvm.const_i32(tile.element.into()).into());
            (llvm.bin(Op::Add, chunks, inside), across)
        };
        let start = tile.slot.map_or(tile.base, |slot| llvm.const_i32(slot.first.into()));
        let address = llvm.bin(Op::Add, self.shared_address(start), moved);
        // No block has as much shared memory as the field for addresses can say.
        let words = llvm.bin(Op::LShr, address, llvm.const_i32(4).into());
        let leading = (leading.div_ceil(16) & 0x3fff) << 16;
        let mut low = llvm.bin(Op::Or, words, llvm.const_i32(leading.into()).into());
        if let Some(slot) = tile.slot {
            let words = llvm.const_i32(i64::from(slot.bytes / 16));
            low = llvm.bin(Op::Add, low, llvm.bin(Op::Mul, slot.index.into(), words.into()));
        }
        let swizzle: u64 = match tile.swizzle {
            TmaSwizzle::None => 0,
            TmaSwizzle::B128 => 1,
            TmaSwizzle::B64 => 2,
            TmaSwizzle::B32 => 3,
        };
        let stride = u64::from(8 * chunk / 16);
        Descriptor { low, high: stride << 32 | swizzle << 62 }
    }

    /// A descriptor moved to `first` along M (or N) and `k` along K.
    pub(super) fn moved_descriptor(
        &self,
        tile: &Described<'ctx>,
        start: Descriptor<'ctx>,
        first: u32,
        k: u32,
    ) -> V<'ctx> {
        let chunk = tile.swizzle.chunk_bytes();
        let bytes = if tile.along_k {
            let in_row = k * tile.element;
            in_row / chunk * tile.outer * chunk + in_row % chunk + first * chunk
        } else {
            let (wide, across) = (chunk / tile.element, tile.inner * chunk);
            first / wide * across + first % wide * tile.element + k * chunk
        };
        let llvm = self.llvm;
        let low = llvm.bin(Op::Add, start.low, llvm.const_i32(i64::from(bytes / 16)).into());
        let low = llvm.cast(Op::ZExt, low, llvm.i64().into());
        llvm.bin(Op::Or, low, llvm.i64().const_int(start.high, false).into())
    }
}

/// A descriptor: the word that says where, and the one that says how.
#[derive(Copy, Clone)]
pub(super) struct Descriptor<'ctx> {
    low: V<'ctx>,
    high: u64,
}

/// A buffer that the hardware can read an operand from: rows along N as they come, or along K, which is all that it can
/// do with elements of 8 bits.
fn readable_buffer(shape: &[u32], element: u32, side: Side) -> Option<LinearLayout> {
    let along_k = if side == Side::Left { Major::Row } else { Major::Column };
    [Major::Row, Major::Column].into_iter().filter(|&major| element == 2 || major == along_k).find_map(|major| {
        swizzled_buffer(shape, element * 8, major).filter(|memory| swizzle_of(memory, element * 8).is_some())
    })
}

/// How the hardware would read a tile; `None` if it cannot.
fn describe<'ctx>(tile: &SharedTile<'ctx>, side: Side, element: u32) -> Option<Described<'ctx>> {
    let shape = tile.memory.shape();
    let &[rows, columns] = &shape[..] else { return None };
    let (outer, inner) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
    let (swizzle, major) = swizzle_of(&tile.memory, element * 8)?;
    let along_k = (major == Major::Row) == (side == Side::Left);
    (along_k || element == 2).then_some(Described {
        base: tile.base,
        slot: tile.slot,
        swizzle,
        along_k,
        outer,
        inner,
        element,
    })
}
