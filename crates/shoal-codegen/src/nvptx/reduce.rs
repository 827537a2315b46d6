//! Reductions: within a thread's registers, then between lanes by shuffles, then between warps through shared memory. What
//! does not commute comes in a layout in which that is the order of the elements.

use std::collections::{BTreeMap, HashMap};

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::{OpId, Region};
use shoal_layout::{InDim, LinearLayout, Place};

use super::emitter::{Emitter, Held};
use super::lane_code;
use super::place::{element, registers};
use crate::shared::llvm::V;

/// The bytes of the widest number.
const WIDEST: u32 = 8;

/// For each operand of a reduction or scan, its number: they are combined together.
pub(super) type Group<'ctx> = Vec<V<'ctx>>;

/// Which of the lanes along an axis speaks for its warp.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    First,
    Last,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn reduce(&mut self, op: OpId, axis: usize, in_order: bool) {
        let func = self.func;
        let data = func.op(op);
        if lane_code::is_any(func, op) {
            let truths = self.numbers(data.operands()[0]);
            let mine = truths.iter().copied().reduce(|a, b| self.llvm.bin(Op::Or, a, b)).expect("at least one element");
            let any = self.in_any_thread(mine);
            self.hold(data.result(), Held::Scalar(any.into()));
            return;
        }
        let region = data.regions()[0];
        let layout = self.layout(data.operands()[0]).clone();
        let sources: Vec<_> = data.operands().iter().map(|&v| self.numbers(v)).collect();
        let registers = rows_of(&layout, axis);
        let group = |register: u32| -> Group<'ctx> { sources.iter().map(|s| s[register as usize]).collect() };
        let mut rows: Vec<Group<'ctx>> = Vec::with_capacity(registers.len());
        for row in &registers {
            rows.push(self.combine_own(region, row.iter().map(|&register| group(register)).collect()));
        }
        for bit in bits_along(&layout, axis, InDim::Lane) {
            for group in &mut rows {
                *group = self.combine_lanes(region, group, bit, in_order);
            }
        }
        if !bits_along(&layout, axis, InDim::Warp).is_empty() {
            let firsts: Vec<u32> = registers.iter().map(|row| row[0]).collect();
            let told = self.tell_warps(op, (&layout, axis), Speaker::First, &firsts, &rows);
            rows = told.into_iter().map(|of_warps| self.combine_all(region, of_warps)).collect();
        }
        for (index, &result) in data.results().iter().enumerate() {
            let numbers = rows.iter().map(|row| row[index]).collect();
            self.hold_numbers(result, numbers);
        }
    }

    /// Combines what this lane has with what another one has; both get the same.
    fn combine_lanes(&mut self, region: Region, mine: &[V<'ctx>], bit: usize, in_order: bool) -> Group<'ctx> {
        let llvm = self.llvm;
        let by: V<'ctx> = llvm.const_i32(1 << bit).into();
        let other: Group<'ctx> =
            mine.iter().map(|&v| self.shuffle_bits(v, |e, word| e.shuffle_word("bfly", word, by))).collect();
        if !in_order {
            return self.combine_two(region, mine, &other);
        }
        let masked = llvm.bin(Op::And, self.lane.into(), by);
        let is_first = llvm.icmp(inkwell::IntPredicate::EQ, masked, llvm.const_i32(0).into());
        let pick = |a: &[V<'ctx>], b: &[V<'ctx>]| -> Group<'ctx> {
            a.iter().zip(b).map(|(&a, &b)| llvm.select(is_first, a, b)).collect()
        };
        let (first, second) = (pick(mine, &other), pick(&other, mine));
        self.combine_two(region, &first, &second)
    }

    /// Combines what this thread holds. A single operation is a chain: what an element is made of is not needed any more when
    /// the next one's turn comes, and a sum takes products along.
    fn combine_own(&mut self, region: Region, groups: Vec<Group<'ctx>>) -> Group<'ctx> {
        if self.func.region(region).ops().len() > 2 {
            return self.combine_all(region, groups);
        }
        groups.into_iter().reduce(|a, b| self.combine_two(region, &a, &b)).expect("at least one element")
    }

    /// Combines neighbours, then neighbours of those: a short chain of dependent operations.
    fn combine_all(&mut self, region: Region, mut groups: Vec<Group<'ctx>>) -> Group<'ctx> {
        while groups.len() > 1 {
            let mut next = Vec::with_capacity(groups.len().div_ceil(2));
            for pair in groups.chunks(2) {
                next.push(match pair {
                    [a, b] => self.combine_two(region, a, b),
                    rest => rest[0].clone(),
                });
            }
            groups = next;
        }
        groups.pop().expect("at least one element")
    }

    pub(super) fn combine_two(&mut self, region: Region, a: &[V<'ctx>], b: &[V<'ctx>]) -> Group<'ctx> {
        let args: Vec<V<'ctx>> = a.iter().chain(b).copied().collect();
        self.apply_region(region, &args)
    }

    /// Each warp writes what it has of each row along an axis, and every thread reads what the warps wrote, in their order.
    /// `registers` has one of each row.
    pub(super) fn tell_warps(
        &mut self,
        op: OpId,
        (layout, axis): (&LinearLayout, usize),
        speaker: Speaker,
        registers: &[u32],
        rows: &[Group<'ctx>],
    ) -> Vec<Vec<Group<'ctx>>> {
        let llvm = self.llvm;
        let func = self.func;
        let data = func.op(op);
        let parts = 1u32 << bits_along(layout, axis, InDim::Warp).len();
        let sliced = layout.slice(axis).expect("the axis is one of the tile's");
        let elements = sliced.num_elements() as u32;
        let elems: Vec<_> = data.operands().iter().map(|&v| self.elem(v)).collect();
        // The numbers of each operand begin where the widest may.
        let bytes: Vec<u32> =
            elems.iter().map(|elem| (elem.bytes() * elements * parts).next_multiple_of(WIDEST)).collect();
        let base = self.use_scratch(bytes.iter().sum());
        // Where each row's parts begin: `row * parts`, and this warp's part.
        let starts: Vec<IntValue<'ctx>> = {
            let thread = self.thread_number(sliced.flat_bases(InDim::Lane), sliced.flat_bases(InDim::Warp));
            let flat = |&register: &u32| element_without(layout, register, axis);
            registers.iter().map(|register| self.with_constant(thread, flat(register))).collect()
        };
        let part = self.part_of_warp(layout, axis);
        let at = |operand: usize, row: usize, part: V<'ctx>| {
            let before: u32 = bytes[..operand].iter().sum();
            let scaled = llvm.bin(Op::Mul, starts[row].into(), llvm.const_i32(parts.into()).into());
            let index = llvm.bin(Op::Add, scaled, part);
            let offset = llvm.bin(Op::Mul, index, llvm.const_i32(elems[operand].bytes().into()).into());
            llvm.bin(Op::Add, offset, llvm.const_i32((base + before).into()).into()).into_int_value()
        };
        let first = self.speaks(layout, axis, speaker);
        self.when(Some(first), |e| {
            for (row, numbers) in rows.iter().enumerate() {
                for (operand, &number) in numbers.iter().enumerate() {
                    e.store_element(elems[operand], number, at(operand, row, part.into()));
                }
            }
        });
        self.block_barrier();
        self.scratch_is_read();
        let read = |row: usize, part: u32| -> Group<'ctx> {
            let part = llvm.const_i32(part.into()).into();
            (0..elems.len()).map(|operand| self.load_element(elems[operand], at(operand, row, part))).collect()
        };
        (0..rows.len()).map(|row| (0..parts).map(|part| read(row, part)).collect()).collect()
    }

    /// The place of this thread's warp among those along an axis.
    pub(super) fn part_of_warp(&self, layout: &LinearLayout, axis: usize) -> IntValue<'ctx> {
        let along = bits_along(layout, axis, InDim::Warp);
        let column = |bit: usize| along.iter().position(|&other| other == bit).map_or(0, |at| 1 << at);
        let columns: Vec<u64> = (0..layout.bases(InDim::Warp).len()).map(column).collect();
        self.thread_number(&[], &columns).value
    }

    /// Whether this lane is the one of those along an axis that speaks, and the first of those that hold the same.
    fn speaks(&self, layout: &LinearLayout, axis: usize, speaker: Speaker) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let mask = |wanted: &dyn Fn(&[u32]) -> bool| -> i64 {
            let bases = layout.bases(InDim::Lane).enumerate().filter(|(_, basis)| wanted(basis));
            bases.fold(0, |mask, (bit, _)| mask | 1 << bit)
        };
        let along = mask(&|basis| basis[axis] != 0);
        let copies = mask(&|basis| basis.iter().all(|&coordinate| coordinate == 0));
        let masked = llvm.bin(Op::And, self.lane.into(), llvm.const_i32(along | copies).into());
        let wanted = match speaker {
            Speaker::First => 0,
            Speaker::Last => along,
        };
        llvm.icmp(inkwell::IntPredicate::EQ, masked, llvm.const_i32(wanted).into()).into_int_value()
    }
}

/// The bits of the lane's or the warp's number that tell elements along an axis apart.
pub(super) fn bits_along(layout: &LinearLayout, axis: usize, dim: InDim) -> Vec<usize> {
    layout.bases(dim).enumerate().filter(|(_, basis)| basis[axis] != 0).map(|(bit, _)| bit).collect()
}

/// The registers of each row along `axis` in the order of their coordinates, the rows in the order of the registers of the
/// slice.
pub(super) fn rows_of(layout: &LinearLayout, axis: usize) -> Vec<Vec<u32>> {
    let sliced = layout.slice(axis).expect("the axis is one of the tile's");
    let order: HashMap<u64, usize> =
        (0..registers(&sliced)).rev().map(|register| (element(&sliced, register), register as usize)).collect();
    let mut rows: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); registers(&sliced) as usize];
    for register in 0..registers(layout) {
        let row = &mut rows[order[&element_without(layout, register, axis)]];
        // One of those that hold the same element.
        row.entry(layout.apply(Place { register, ..Place::default() })[axis]).or_insert(register);
    }
    // Registers of the slice that are copies of others have the same rows.
    let row = |register: u32| rows[order[&element(&sliced, register)]].values().copied().collect();
    (0..registers(&sliced)).map(row).collect()
}

/// The row-major index, in the tile without `axis`, of the element that a register of lane 0 of warp 0 holds.
fn element_without(layout: &LinearLayout, register: u32, axis: usize) -> u64 {
    let at = layout.apply(Place { register, ..Place::default() });
    let shape = layout.shape();
    at.iter()
        .zip(&shape)
        .enumerate()
        .filter(|(dim, _)| *dim != axis)
        .fold(0, |flat, (_, (&coordinate, &size))| flat * u64::from(size) + u64::from(coordinate))
}
