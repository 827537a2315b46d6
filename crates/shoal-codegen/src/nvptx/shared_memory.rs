//! Shared memory: a part that stays (the rings of pipelined loops), and above it scratch that operations use one after
//! another. Threads wait for each other only where one would otherwise overwrite what another still reads.

use inkwell::types::BasicType;
use inkwell::values::{IntValue, PointerValue};
use shoal_abi::NvptxArch;

use super::emitter::Emitter;
use crate::shared::llvm::{Llvm, V};

/// What is known of a block's shared memory.
pub(super) struct SharedMemory<'ctx> {
    memory: PointerValue<'ctx>,
    /// Its address, as instructions take it.
    pub(super) address: IntValue<'ctx>,
    /// Where scratch begins.
    pub(super) floor: u32,
    /// The bytes that are needed in all.
    pub(super) needed: u32,
    /// The bytes that a block may have.
    pub(super) limit: u32,
    /// What of scratch some thread may still read.
    busy: Busy,
    /// What the last use took.
    last: (u32, u32),
}

/// A part of scratch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Busy {
    /// None of it.
    Free,
    /// From one byte to another.
    Part(u32, u32),
    /// Any of it.
    All,
}

impl Busy {
    /// This part and another.
    fn with(self, (from, to): (u32, u32)) -> Busy {
        match self {
            Busy::Free => Busy::Part(from, to),
            Busy::Part(start, end) => Busy::Part(start.min(from), end.max(to)),
            Busy::All => Busy::All,
        }
    }
}

/// Uses up to this size go beside what is still read, so that nobody waits.
const SMALL: u32 = 512;
/// Where they begin.
const SMALL_ALIGNMENT: u32 = 128;

/// The most that one block may have.
fn limit(arch: NvptxArch) -> u32 {
    match arch {
        NvptxArch::Sm80 | NvptxArch::Sm87 => 163 << 10,
        NvptxArch::Sm86 | NvptxArch::Sm89 | NvptxArch::Sm120 | NvptxArch::Sm120a => 99 << 10,
        NvptxArch::Sm90
        | NvptxArch::Sm90a
        | NvptxArch::Sm100
        | NvptxArch::Sm100a
        | NvptxArch::Sm103
        | NvptxArch::Sm103a => 227 << 10,
    }
}

impl<'ctx> SharedMemory<'ctx> {
    pub(super) fn new(llvm: &Llvm<'ctx>, memory: PointerValue<'ctx>, arch: NvptxArch) -> Self {
        let address = llvm.builder.build_ptr_to_int(memory, llvm.i32(), "").expect("an address");
        SharedMemory { memory, address, floor: 0, needed: 0, limit: limit(arch), busy: Busy::Free, last: (0, 0) }
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// All threads of the block wait for each other.
    pub(super) fn block_barrier(&mut self) {
        match self.specialised.warps() {
            0 => self.llvm.ptx_act("bar.sync 0;", &[]),
            // Those that feed loops have nothing to do with it.
            _ => self.llvm.ptx_act(&format!("bar.sync 1, {};", 32 * self.func.gpu.num_warps), &[]),
        }
        self.shared.busy = Busy::Free;
        self.open_accesses.clear();
    }

    /// All threads have waited for each other in another way than by [`Self::block_barrier`].
    pub(super) fn scratch_is_free(&mut self) {
        self.shared.busy = Busy::Free;
    }

    /// The threads of this warp wait for each other.
    pub(super) fn warp_barrier(&self) {
        self.llvm.ptx_act("bar.warp.sync 0xffffffff;", &[]);
    }

    /// Begins to use so many bytes of scratch; gives where they begin. Until the next use they are this one's.
    pub(super) fn use_scratch(&mut self, bytes: u32) -> u32 {
        let at = self.beside_busy(bytes).unwrap_or_else(|| {
            if self.shared.busy != Busy::Free {
                self.block_barrier();
            }
            self.shared.floor
        });
        self.shared.needed = self.shared.needed.max(at + bytes);
        self.shared.last = (at, at + bytes);
        self.shared.busy = self.shared.busy.with(self.shared.last);
        at
    }

    /// A place for so many bytes beside what may still be read.
    fn beside_busy(&self, bytes: u32) -> Option<u32> {
        let Busy::Part(from, to) = self.shared.busy else { return None };
        let behind = to.next_multiple_of(SMALL_ALIGNMENT);
        let at = if self.shared.floor + bytes <= from { self.shared.floor } else { behind };
        (bytes <= SMALL && at >= self.shared.floor && at + bytes <= self.shared.limit).then_some(at)
    }

    /// What the last use took is being read, and nothing else of scratch is.
    pub(super) fn scratch_is_read(&mut self) {
        self.shared.busy = self.shared.busy.with(self.shared.last);
    }

    /// Other code may have left scratch in use: at the start of a region, and after one.
    pub(super) fn scratch_may_be_busy(&mut self) {
        self.shared.busy = Busy::All;
    }

    /// A place in shared memory, so many bytes from its start.
    pub(super) fn shared_at(&self, bytes: IntValue<'ctx>) -> PointerValue<'ctx> {
        self.llvm.offset(self.shared.memory, bytes)
    }

    /// The address of such a place, as instructions take it.
    pub(super) fn shared_address(&self, bytes: IntValue<'ctx>) -> V<'ctx> {
        self.llvm.builder.build_int_add(self.shared.address, bytes, "").expect("integers").into()
    }

    pub(super) fn load_shared(&self, ty: impl BasicType<'ctx>, bytes: IntValue<'ctx>, align: u32) -> V<'ctx> {
        self.llvm.load(ty, self.shared_at(bytes), align)
    }

    pub(super) fn store_shared(&self, value: V<'ctx>, bytes: IntValue<'ctx>, align: u32) {
        self.llvm.store(value, self.shared_at(bytes), align);
    }

    /// Emits `body` for the threads for which a condition holds.
    pub(super) fn when(&mut self, condition: Option<IntValue<'ctx>>, body: impl FnOnce(&mut Self)) {
        let Some(condition) = condition else { return body(self) };
        let (then, after) = (self.llvm.new_block("some"), self.llvm.new_block("all"));
        self.llvm.branch(condition, then, after);
        self.llvm.builder.position_at_end(then);
        body(self);
        self.llvm.jump(after);
        self.llvm.builder.position_at_end(after);
    }
}
