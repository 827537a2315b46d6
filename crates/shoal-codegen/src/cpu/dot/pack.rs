//! Packing: an operand's units, written one after the other as the kernel reads them.

use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue, VectorValue};

use super::unit::{Run, Source};
use crate::cpu::isa::Isa;
use crate::shared::llvm::{Llvm, V};

/// Where packed units go: panels of rows.
#[derive(Copy, Clone)]
pub(super) struct Target<'ctx> {
    pub(super) base: PointerValue<'ctx>,
    /// Panels follow each other along `run` of the source.
    pub(super) panels: u32,
    /// From one panel to the next.
    pub(super) panel_bytes: u64,
    /// The dimension along which units of a row follow each other.
    pub(super) run: Run,
    /// Units in a row.
    pub(super) row: u32,
    /// Rows in a panel.
    pub(super) rows: u32,
    /// From one row to the next.
    pub(super) row_bytes: u64,
}

impl<'ctx> Target<'ctx> {
    /// One panel of rows one after the other.
    pub(super) fn rows(base: PointerValue<'ctx>, run: Run, row: u32, rows: u32, unit_bytes: u32) -> Target<'ctx> {
        let row_bytes = u64::from(row) * u64::from(unit_bytes);
        Target { base, panels: 1, panel_bytes: u64::from(rows) * row_bytes, run, row, rows, row_bytes }
    }
}

/// Emits code that writes the units of `source` to `target`.
pub(super) fn pack<'ctx>(llvm: &Llvm<'ctx>, isa: &Isa, source: Source<'ctx>, target: Target<'ctx>) {
    let unit_bytes = source.arithmetic.unit_bytes();
    let across = match target.run {
        Run::K => Run::Outer,
        Run::Outer => Run::K,
    };
    // A transposition works on squares that fill the 128-bit lanes of a register: no unit crosses them, which is fast.
    let square = 16 / unit_bytes;
    let lanes = isa.lanes(unit_bytes * 8).min(target.row);
    let packer = Packer { llvm, isa, source, target, across, lanes, unit_bytes };
    if source.is_contiguous(target.run) {
        packer.copy();
    } else if source.is_contiguous(across) && square <= lanes.min(target.rows) {
        packer.transpose(square);
    } else {
        Packer { lanes: 1, ..packer }.copy();
    }
}

struct Packer<'a, 'ctx> {
    llvm: &'a Llvm<'ctx>,
    isa: &'a Isa,
    source: Source<'ctx>,
    target: Target<'ctx>,
    /// The dimension that changes from one row of the target to the next.
    across: Run,
    /// Units stored at once.
    lanes: u32,
    unit_bytes: u32,
}

/// Stores in a loop's body.
const UNROLL: u32 = 4;

impl<'ctx> Packer<'_, 'ctx> {
    /// The source's units lie as the target wants them, or are taken one by one.
    fn copy(&self) {
        let llvm = self.llvm;
        let run = if self.lanes == 1 { Run::Outer } else { self.target.run };
        let chunks = self.target.row / self.lanes;
        let unrolled = chunks.min(UNROLL);
        // Along the source's memory.
        each(llvm, self.target.rows, |row| {
            each(llvm, self.target.panels, |panel| {
                each(llvm, chunks / unrolled, |chunk| {
                    let from = self.from(panel, row, 1, chunk, unrolled * self.lanes);
                    let to = self.to(panel, row, 1, chunk, unrolled * self.lanes);
                    for i in 0..unrolled {
                        let from = self.beside(from, i * self.lanes);
                        let units = self.source.units(llvm, self.isa, &self.source.load(llvm, from, self.lanes, run));
                        let to = further(llvm, to, u64::from(i * self.lanes * self.unit_bytes));
                        llvm.store(units.into(), to, self.unit_bytes);
                    }
                });
            });
        });
    }

    /// The source's units follow each other along the target's columns.
    fn transpose(&self, square: u32) {
        let llvm = self.llvm;
        each(llvm, self.target.panels, |panel| {
            each(llvm, self.target.row / self.lanes, |chunk| {
                each(llvm, self.target.rows / square, |rows| {
                    let from = self.from(panel, rows, square, chunk, self.lanes);
                    let to = self.to(panel, rows, square, chunk, self.lanes);
                    let columns: Vec<_> = (0..self.lanes)
                        .map(|i| self.source.load(llvm, self.beside(from, i), square, self.across))
                        .collect();
                    let columns = (0..square as usize).map(|i| self.squares(&columns[i..], square)).collect();
                    for (i, row) in (0u64..).zip(transpose_squares(llvm, columns)) {
                        let to = further(llvm, to, i * self.target.row_bytes);
                        llvm.store(row.into(), to, self.unit_bytes);
                    }
                });
            });
        });
    }

    /// The units of the first of `columns` and each `square`th after it, one after the other. They are put together as
    /// they are stored, so that whole vectors of them are converted.
    fn squares(&self, columns: &[Vec<VectorValue<'ctx>>], square: u32) -> VectorValue<'ctx> {
        let parts = columns[0].len();
        let stored: Vec<_> = (0..parts)
            .map(|part| {
                let pieces: Vec<_> = columns.iter().step_by(square as usize).map(|column| column[part]).collect();
                concatenate(self.llvm, &pieces)
            })
            .collect();
        self.source.units(self.llvm, self.isa, &stored)
    }

    /// The address in the source of a panel's `row * rows`th row and `chunk * width`th column.
    fn from(&self, panel: Index<'ctx>, row: Index<'ctx>, rows: u32, chunk: Index<'ctx>, width: u32) -> Address<'ctx> {
        let llvm = self.llvm;
        let steps = |at, index: Index<'ctx>, run, count: u32| {
            if index.is_null() {
                return at;
            }
            llvm.offset(at, llvm.mul64(index, self.source.steps(llvm, run, count.into())))
        };
        let at = steps(self.source.base, panel, self.target.run, self.target.row);
        let at = steps(at, row, self.across, rows);
        steps(at, chunk, self.target.run, width)
    }

    /// The address in the source `count` columns of the target further.
    fn beside(&self, from: Address<'ctx>, count: u32) -> Address<'ctx> {
        if count == 0 {
            return from;
        }
        self.llvm.offset(from, self.source.steps(self.llvm, self.target.run, count.into()))
    }

    /// The address of the same place in the target.
    fn to(&self, panel: Index<'ctx>, row: Index<'ctx>, rows: u32, chunk: Index<'ctx>, width: u32) -> Address<'ctx> {
        let at = stepped(self.llvm, self.target.base, panel, self.target.panel_bytes);
        let at = stepped(self.llvm, at, row, u64::from(rows) * self.target.row_bytes);
        stepped(self.llvm, at, chunk, u64::from(width) * u64::from(self.unit_bytes))
    }
}

type Index<'ctx> = IntValue<'ctx>;
type Address<'ctx> = PointerValue<'ctx>;

/// A loop over `0..count`.
pub(super) fn each<'ctx>(llvm: &Llvm<'ctx>, count: u32, mut body: impl FnMut(Index<'ctx>)) {
    llvm.counted_loop(count.into(), 1, &[], &mut |i, _| {
        body(i);
        Vec::new()
    });
}

/// A loop over `0..count`, where `count` is above zero.
pub(super) fn each_of<'ctx>(llvm: &Llvm<'ctx>, count: Index<'ctx>, mut body: impl FnMut(Index<'ctx>)) {
    each_of_carrying(llvm, count, &[], |i, _| {
        body(i);
        Vec::new()
    });
}

/// The same with values that are carried from round to round; gives those after the last.
pub(super) fn each_of_carrying<'ctx>(
    llvm: &Llvm<'ctx>,
    count: Index<'ctx>,
    carried: &[V<'ctx>],
    mut body: impl FnMut(Index<'ctx>, &[V<'ctx>]) -> Vec<V<'ctx>>,
) -> Vec<V<'ctx>> {
    let (before, head, after) = (llvm.here(), llvm.new_block("loop"), llvm.new_block("after"));
    llvm.jump(head);
    llvm.builder.position_at_end(head);
    let counter = llvm.builder.build_phi(llvm.i64(), "i").expect("a phi");
    let i = counter.as_basic_value().into_int_value();
    let phis: Vec<_> = carried.iter().map(|v| llvm.builder.build_phi(v.get_type(), "").expect("a phi")).collect();
    let inside: Vec<_> = phis.iter().map(|phi| phi.as_basic_value()).collect();
    let next = body(i, &inside);
    let following = llvm.add64(i, llvm.const_i64(1));
    let latch = llvm.here();
    counter.add_incoming(&[(&llvm.const_i64(0), before), (&following, latch)]);
    for ((phi, first), next) in phis.iter().zip(carried).zip(&next) {
        phi.add_incoming(&[(first, before), (next, latch)]);
    }
    let again = llvm.icmp(IntPredicate::ULT, following.into(), count.into()).into_int_value();
    llvm.branch(again, head, after);
    llvm.builder.position_at_end(after);
    next
}

/// The address of element `index` of a row with this stride.
pub(super) fn stepped<'ctx>(llvm: &Llvm<'ctx>, base: Address<'ctx>, index: Index<'ctx>, bytes: u64) -> Address<'ctx> {
    if index.is_null() { base } else { llvm.offset(base, llvm.mul64(index, llvm.const_i64(bytes as i64))) }
}

/// The address `bytes` further.
pub(super) fn further<'ctx>(llvm: &Llvm<'ctx>, base: Address<'ctx>, bytes: u64) -> Address<'ctx> {
    if bytes == 0 { base } else { llvm.offset(base, llvm.const_i64(bytes as i64)) }
}

/// One vector after the other; their number is a power of two.
fn concatenate<'ctx>(llvm: &Llvm<'ctx>, parts: &[VectorValue<'ctx>]) -> VectorValue<'ctx> {
    match parts {
        [part] => *part,
        parts => {
            let (low, high) = parts.split_at(parts.len() / 2);
            let (low, high) = (concatenate(llvm, low), concatenate(llvm, high));
            let picks: Vec<u32> = (0..2 * low.get_type().get_size()).collect();
            llvm.shuffle(low, high, &picks)
        }
    }
}

/// Transposes the squares that stand next to each other in as many vectors as a square has rows.
fn transpose_squares<'ctx>(llvm: &Llvm<'ctx>, mut rows: Vec<VectorValue<'ctx>>) -> Vec<VectorValue<'ctx>> {
    let square = rows.len() as u32;
    let lanes = rows[0].get_type().get_size();
    // Lane `i` of a row, interleaved with the same of the row half a square below.
    let interleaved = |first: u32| -> Vec<u32> {
        let starts = (0..lanes).step_by(square as usize);
        starts
            .flat_map(|start| (start + first..start + first + square / 2).flat_map(|lane| [lane, lanes + lane]))
            .collect()
    };
    let (low, high) = (interleaved(0), interleaved(square / 2));
    // Each round is a perfect shuffle of the square's elements; as many as the side has bits make its transposition.
    for _ in 0..square.trailing_zeros() {
        let half = rows.len() / 2;
        rows = (0..half)
            .flat_map(|i| [llvm.shuffle(rows[i], rows[i + half], &low), llvm.shuffle(rows[i], rows[i + half], &high)])
            .collect();
    }
    rows
}
