//! Reductions: within a thread's registers, then between lanes by shuffles, then between warps through shared memory. What
//! does not commute is combined in the order of the elements instead, whatever tells them apart.

use std::collections::HashMap;

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::{OpId, Region};
use shoal_layout::{InDim, LinearLayout, Place};

use super::emitter::{Emitter, Held};
use super::lane_code;
use super::place::{element, registers};
use crate::shared::llvm::V;

/// The bytes of the widest number.
const WIDEST: u32 = 8;

/// For each operand of the reduction, its number: they are combined together.
type Group<'ctx> = Vec<V<'ctx>>;

/// What tells elements along the axis apart, by one bit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Registers whose element has this coordinate along the axis, or not.
    Registers(u32),
    /// A bit of the lane's number.
    Lanes(usize),
    /// A bit of the warp's number.
    Warps(usize),
}

/// What a row of elements along the axis was combined to so far: each part with the coordinate of its first element.
type Row<'ctx> = Vec<(u32, Group<'ctx>)>;

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
        let part = |&(at, register): &(u32, u32)| (at, group(register));
        let mut rows: Vec<Row<'ctx>> = registers.iter().map(|row| row.iter().map(part).collect()).collect();
        let steps = steps_of(&layout, axis, in_order);
        let mut left = &steps[..];
        while let [step, rest @ ..] = left {
            left = rest;
            match *step {
                Step::Registers(bit) => {
                    for row in &mut rows {
                        *row = self.combine_registers(region, row, bit);
                    }
                }
                Step::Lanes(bit) => {
                    for (_, group) in rows.iter_mut().flatten() {
                        *group = self.combine_lanes(region, group, bit, in_order);
                    }
                }
                Step::Warps(_) => {
                    let together =
                        steps.iter().filter_map(|step| if let Step::Warps(bit) = step { Some(*bit) } else { None });
                    let together: Vec<usize> = together.collect();
                    left = &rest[together.len() - 1..];
                    let firsts: Vec<u32> = registers.iter().map(|row| row[0].1).collect();
                    rows = self.combine_warps(op, (&layout, axis), &together, &firsts, rows);
                }
            }
        }
        for (index, &result) in data.results().iter().enumerate() {
            let numbers = rows.iter().map(|row| row[0].1[index]).collect();
            self.hold_numbers(result, numbers);
        }
    }

    /// Combines the parts of a row that one bit of their coordinates tells apart.
    fn combine_registers(&mut self, region: Region, row: &Row<'ctx>, bit: u32) -> Row<'ctx> {
        let low = row.iter().filter(|(at, _)| at & bit == 0);
        low.map(|(at, a)| match row.iter().find(|(other, _)| *other == at | bit) {
            Some((_, b)) => (*at, self.combine_two(region, a, b)),
            None => (*at, a.clone()),
        })
        .collect()
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

    /// Each warp writes what it has, and every thread combines what the warps wrote, in the order of these bits of their
    /// numbers. `registers` has one of each row.
    fn combine_warps(
        &mut self,
        op: OpId,
        (layout, axis): (&LinearLayout, usize),
        along: &[usize],
        registers: &[u32],
        rows: Vec<Row<'ctx>>,
    ) -> Vec<Row<'ctx>> {
        let llvm = self.llvm;
        let func = self.func;
        let data = func.op(op);
        let parts = 1u32 << along.len();
        let in_row = rows.first().map_or(1, Vec::len) as u32;
        let sliced = layout.slice(axis).expect("the axis is one of the tile's");
        let elements = sliced.num_elements() as u32;
        let elems: Vec<_> = data.operands().iter().map(|&v| self.elem(v)).collect();
        // The numbers of each operand begin where the widest may.
        let bytes: Vec<u32> =
            elems.iter().map(|elem| (elem.bytes() * elements * in_row * parts).next_multiple_of(WIDEST)).collect();
        let base = self.use_scratch(bytes.iter().sum());
        // Where each row's parts begin: `row * in_row * parts`, and this warp's part.
        let starts: Vec<IntValue<'ctx>> = {
            let thread = self.thread_number(sliced.flat_bases(InDim::Lane), sliced.flat_bases(InDim::Warp));
            let flat = |&register: &u32| element_without(layout, register, axis);
            registers.iter().map(|register| self.with_constant(thread, flat(register))).collect()
        };
        let columns: Vec<u64> = (0..layout.bases(InDim::Warp).len())
            .map(|bit| along.iter().position(|&other| other == bit).map_or(0, |at| 1 << at))
            .collect();
        let part = self.thread_number(&[], &columns).value;
        let at = |operand: usize, [row, group]: [usize; 2], part: V<'ctx>| {
            let before: u32 = bytes[..operand].iter().sum();
            let scaled = llvm.bin(Op::Mul, starts[row].into(), llvm.const_i32((in_row * parts).into()).into());
            let index = llvm.bin(Op::Add, scaled, part);
            let offset = llvm.bin(Op::Mul, index, llvm.const_i32(elems[operand].bytes().into()).into());
            let within = group as u32 * parts * elems[operand].bytes();
            llvm.bin(Op::Add, offset, llvm.const_i32((base + before + within).into()).into()).into_int_value()
        };
        // Lanes along the axis hold the same; the first of them writes.
        let lane_mask: u32 = layout
            .bases(InDim::Lane)
            .enumerate()
            .filter(|(_, basis)| basis[axis] != 0 || basis.iter().all(|&c| c == 0))
            .fold(0, |mask, (bit, _)| mask | 1 << bit);
        let masked = llvm.bin(Op::And, self.lane.into(), llvm.const_i32(lane_mask.into()).into());
        let first = llvm.icmp(inkwell::IntPredicate::EQ, masked, llvm.const_i32(0).into()).into_int_value();
        self.when(Some(first), |e| {
            for (row, groups) in rows.iter().enumerate() {
                for (group, (_, numbers)) in groups.iter().enumerate() {
                    for (operand, &number) in numbers.iter().enumerate() {
                        e.store_element(elems[operand], number, at(operand, [row, group], part.into()));
                    }
                }
            }
        });
        self.block_barrier();
        self.scratch_is_read();
        let mut combined = Vec::with_capacity(rows.len());
        for (row, groups) in rows.iter().enumerate() {
            let mut found = Vec::with_capacity(groups.len());
            for (group, (coordinate, _)) in groups.iter().enumerate() {
                let read = |e: &Self, part: u32| -> Group<'ctx> {
                    let part = llvm.const_i32(part.into()).into();
                    let load = |operand| e.load_element(elems[operand], at(operand, [row, group], part));
                    (0..elems.len()).map(load).collect()
                };
                let of_warps = (0..parts).map(|part| read(self, part)).collect();
                found.push((*coordinate, self.combine_all(data.regions()[0], of_warps)));
            }
            combined.push(found);
        }
        combined
    }
}

/// The steps that combine the elements along an axis. In order, those of the lowest bits of the coordinate come first;
/// else all that a thread does for itself, then all within a warp. `assign_layouts` sees to it that those of warps stand
/// together, with none of lanes after them.
fn steps_of(layout: &LinearLayout, axis: usize, in_order: bool) -> Vec<Step> {
    let along = |dim: InDim| {
        let bases = layout.bases(dim).map(move |basis| basis[axis]).enumerate();
        bases.filter(|&(_, coordinate)| coordinate != 0)
    };
    let registers = along(InDim::Register).map(|(_, coordinate)| (coordinate, Step::Registers(coordinate)));
    let lanes = along(InDim::Lane).map(|(bit, coordinate)| (coordinate, Step::Lanes(bit)));
    let warps = along(InDim::Warp).map(|(bit, coordinate)| (coordinate, Step::Warps(bit)));
    let mut steps: Vec<(u32, Step)> = registers.chain(lanes).chain(warps).collect();
    if in_order {
        steps.sort_by_key(|&(coordinate, _)| coordinate);
    }
    steps.into_iter().map(|(_, step)| step).collect()
}

/// The registers of each row along `axis`, in the order of the registers of the slice, with their coordinates along it.
fn rows_of(layout: &LinearLayout, axis: usize) -> Vec<Vec<(u32, u32)>> {
    let sliced = layout.slice(axis).expect("the axis is one of the tile's");
    let order: HashMap<u64, usize> =
        (0..registers(&sliced)).rev().map(|register| (element(&sliced, register), register as usize)).collect();
    let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); registers(&sliced) as usize];
    for register in 0..registers(layout) {
        let row = &mut rows[order[&element_without(layout, register, axis)]];
        let at = layout.apply(Place { register, ..Place::default() })[axis];
        // One of those that hold the same element.
        if row.iter().all(|&(other, _)| other != at) {
            row.push((at, register));
        }
    }
    // Registers of the slice that are copies of others have the same rows.
    for register in 0..rows.len() {
        if rows[register].is_empty() {
            rows[register] = rows[order[&element(&sliced, register as u32)]].clone();
        }
    }
    rows
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
