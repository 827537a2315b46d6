//! Reductions: within a thread's registers, then between lanes by shuffles, then between warps through shared memory. What
//! does not commute comes in a layout in which that is the order of the elements.

use std::collections::{BTreeMap, HashMap};

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::{Elem, OpId, Region};
use shoal_layout::{InDim, LinearLayout, Place};

use super::emitter::{Emitter, Held};
use super::lane_code;
use super::place::{element, registers};
use crate::shared::llvm::V;

/// The bytes of the widest number.
const WIDEST: u32 = 8;

/// How many operations of a function are as good as one shuffle.
const SHUFFLE_COSTS: usize = 2;

/// For each operand of a reduction or scan, its number: they are combined together.
pub(super) type Group<'ctx> = Vec<V<'ctx>>;

/// Which of the lanes along an axis speaks for its warp.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    First,
    Last,
}

/// What warps have written for each other to read.
pub(super) struct Told<'ctx> {
    /// How many of them share a row.
    parts: u32,
    /// The type of each operand, and where its numbers begin.
    operands: Vec<(Elem, u32)>,
    /// Each row's place among all rows. The parts of a row follow each other.
    starts: Vec<IntValue<'ctx>>,
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
        let lanes = bits_along(&layout, axis, InDim::Lane);
        self.combine_lanes(region, &mut rows, &lanes, in_order);
        if !bits_along(&layout, axis, InDim::Warp).is_empty() {
            let firsts: Vec<u32> = registers.iter().map(|row| row[0]).collect();
            let told = self.tell_warps(op, (&layout, axis), Speaker::First, &firsts, &rows);
            rows = self.combine_warps(region, &told, &lanes, in_order);
        } else if in_order {
            self.take_from_first(&mut rows, &lanes);
        }
        for (index, &result) in data.results().iter().enumerate() {
            let numbers = rows.iter().map(|row| row[index]).collect();
            self.hold_numbers(result, numbers);
        }
    }

    /// Combines what the lanes have whose numbers differ in these bits. All of them get it; in order, the first does, and what
    /// others compute is not used.
    fn combine_lanes(&mut self, region: Region, rows: &mut [Group<'ctx>], lane_bits: &[usize], in_order: bool) {
        let mode = if in_order { "down" } else { "bfly" };
        for bit in lane_bits {
            let by = self.llvm.const_i32(1 << bit).into();
            for mine in &mut *rows {
                let other = self.shuffle_group(mode, mine, by);
                *mine = self.combine_two(region, mine, &other);
            }
        }
    }

    /// Gives lanes whose numbers differ in these bits what the first of them has.
    fn take_from_first(&self, rows: &mut [Group<'ctx>], lane_bits: &[usize]) {
        if lane_bits.is_empty() {
            return;
        }
        let mask = lane_bits.iter().fold(0, |mask, bit| mask | 1i64 << bit);
        let first = self.llvm.bin(Op::And, self.lane.into(), self.llvm.const_i32(!mask).into());
        for mine in rows {
            *mine = self.shuffle_group("idx", mine, first);
        }
    }

    pub(super) fn shuffle_group(&self, mode: &str, group: &[V<'ctx>], by: V<'ctx>) -> Group<'ctx> {
        group.iter().map(|&v| self.shuffle_bits(v, |e, word| e.shuffle_word(mode, word, by))).collect()
    }

    /// Combines what the warps have told: each thread all of it, or each lane along the axis a part where that is less work.
    fn combine_warps(
        &mut self,
        region: Region,
        told: &Told<'ctx>,
        lane_bits: &[usize],
        in_order: bool,
    ) -> Vec<Group<'ctx>> {
        let steps = told.parts.ilog2() as usize;
        let operations = self.func.region(region).ops().len() - 1;
        let saved = (told.parts as usize - 1 - steps) * operations;
        let shuffles = (steps + usize::from(in_order)) * told.operands.len();
        if self.is_single(region) || lane_bits.len() < steps || saved <= SHUFFLE_COSTS * shuffles {
            let heard: Vec<_> = (0..told.starts.len()).map(|row| self.hear_all(told, row)).collect();
            return heard.iter().map(|of_warps| self.combine_all(region, of_warps)).collect();
        }
        let lane_bits = &lane_bits[..steps];
        let mut columns = vec![0; lane_bits[steps - 1] + 1];
        for (at, &bit) in lane_bits.iter().enumerate() {
            columns[bit] = 1 << at;
        }
        let part = self.thread_number(&columns, &[]).value;
        let mut rows: Vec<Group<'ctx>> = (0..told.starts.len()).map(|row| self.hear(told, row, part)).collect();
        self.combine_lanes(region, &mut rows, lane_bits, in_order);
        if in_order {
            self.take_from_first(&mut rows, lane_bits);
        }
        rows
    }

    /// Combines what this thread holds. A single operation is a chain: what an element is made of is not needed any more when
    /// the next one's turn comes, and a sum takes products along.
    fn combine_own(&mut self, region: Region, groups: Vec<Group<'ctx>>) -> Group<'ctx> {
        if !self.is_single(region) {
            return self.combine_all(region, &groups);
        }
        groups.into_iter().reduce(|a, b| self.combine_two(region, &a, &b)).expect("at least one element")
    }

    /// Whether a function is one operation.
    fn is_single(&self, region: Region) -> bool {
        self.func.region(region).ops().len() <= 2
    }

    /// Combines one half, then the other, then both: a short chain of dependent operations, with few of the results waiting.
    fn combine_all(&mut self, region: Region, groups: &[Group<'ctx>]) -> Group<'ctx> {
        if let [only] = groups {
            return only.clone();
        }
        let (first, second) = groups.split_at(groups.len() / 2);
        let (first, second) = (self.combine_all(region, first), self.combine_all(region, second));
        self.combine_two(region, &first, &second)
    }

    pub(super) fn combine_two(&mut self, region: Region, a: &[V<'ctx>], b: &[V<'ctx>]) -> Group<'ctx> {
        let args: Vec<V<'ctx>> = a.iter().chain(b).copied().collect();
        self.apply_region(region, &args)
    }

    /// Each warp writes what it has of each row along an axis, for all threads to hear. `registers` has one of each row.
    pub(super) fn tell_warps(
        &mut self,
        op: OpId,
        (layout, axis): (&LinearLayout, usize),
        speaker: Speaker,
        registers: &[u32],
        rows: &[Group<'ctx>],
    ) -> Told<'ctx> {
        let func = self.func;
        let data = func.op(op);
        let parts = 1u32 << bits_along(layout, axis, InDim::Warp).len();
        let sliced = layout.slice(axis).expect("the axis is one of the tile's");
        let elements = sliced.num_elements() as u32;
        let elems: Vec<_> = data.operands().iter().map(|&v| self.elem(v)).collect();
        // The numbers of each operand begin where the widest may.
        let bytes: Vec<u32> =
            elems.iter().map(|elem| (elem.bytes() * elements * parts).next_multiple_of(WIDEST)).collect();
        let mut at = self.use_scratch(bytes.iter().sum());
        let mut operands = Vec::with_capacity(elems.len());
        for (elem, bytes) in elems.into_iter().zip(bytes) {
            operands.push((elem, at));
            at += bytes;
        }
        let starts: Vec<IntValue<'ctx>> = {
            let thread = self.thread_number(sliced.flat_bases(InDim::Lane), sliced.flat_bases(InDim::Warp));
            let flat = |&register: &u32| element_without(layout, register, axis);
            registers.iter().map(|register| self.with_constant(thread, flat(register))).collect()
        };
        let told = Told { parts, operands, starts };
        let part = self.part_of_warp(layout, axis);
        let first = self.speaks(layout, axis, speaker);
        self.when(Some(first), |e| {
            for (row, numbers) in rows.iter().enumerate() {
                for (operand, &number) in numbers.iter().enumerate() {
                    e.store_element(told.operands[operand].0, number, e.told_at(&told, operand, row, part));
                }
            }
        });
        self.block_barrier();
        self.scratch_is_read();
        told
    }

    /// What all warps have told of a row, in their order.
    pub(super) fn hear_all(&self, told: &Told<'ctx>, row: usize) -> Vec<Group<'ctx>> {
        (0..told.parts).map(|part| self.hear(told, row, self.llvm.const_i32(part.into()))).collect()
    }

    /// What one of the warps has told of a row.
    fn hear(&self, told: &Told<'ctx>, row: usize, part: IntValue<'ctx>) -> Group<'ctx> {
        let number =
            |operand: usize| self.load_element(told.operands[operand].0, self.told_at(told, operand, row, part));
        (0..told.operands.len()).map(number).collect()
    }

    fn told_at(&self, told: &Told<'ctx>, operand: usize, row: usize, part: IntValue<'ctx>) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let (elem, base) = told.operands[operand];
        let scaled = llvm.bin(Op::Mul, told.starts[row].into(), llvm.const_i32(told.parts.into()).into());
        let index = llvm.bin(Op::Add, scaled, part.into());
        let offset = llvm.bin(Op::Mul, index, llvm.const_i32(elem.bytes().into()).into());
        llvm.bin(Op::Add, offset, llvm.const_i32(base.into()).into()).into_int_value()
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
