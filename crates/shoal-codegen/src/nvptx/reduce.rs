//! Reductions: within a thread's registers, then between lanes by shuffles, then between warps through shared memory.

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

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn reduce(&mut self, op: OpId, axis: usize) {
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
        let rows = rows_of(&layout, axis);
        let mut totals: Vec<Group<'ctx>> = Vec::with_capacity(rows.len());
        for row in &rows {
            let group = |register: u32| -> Group<'ctx> { sources.iter().map(|s| s[register as usize]).collect() };
            let groups = row.iter().map(|&register| group(register)).collect();
            totals.push(self.combine_all(region, groups));
        }
        for (bit, basis) in layout.bases(InDim::Lane).enumerate() {
            if basis[axis] == 0 {
                continue;
            }
            let by = self.llvm.const_i32(1 << bit).into();
            for total in &mut totals {
                let other: Group<'ctx> =
                    total.iter().map(|&v| self.shuffle_bits(v, |e, word| e.shuffle_word("bfly", word, by))).collect();
                *total = self.combine_two(region, total, &other);
            }
        }
        let totals = self.reduce_warps(op, &layout, axis, &rows, totals);
        for (index, &result) in data.results().iter().enumerate() {
            let numbers = totals.iter().map(|total| total[index]).collect();
            self.hold_numbers(result, numbers);
        }
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

    /// Each warp writes what it has, and every thread combines what the warps wrote.
    fn reduce_warps(
        &mut self,
        op: OpId,
        layout: &LinearLayout,
        axis: usize,
        rows: &[Vec<u32>],
        totals: Vec<Group<'ctx>>,
    ) -> Vec<Group<'ctx>> {
        let along: Vec<usize> =
            layout.bases(InDim::Warp).enumerate().filter(|(_, basis)| basis[axis] != 0).map(|(bit, _)| bit).collect();
        if along.is_empty() {
            return totals;
        }
        let llvm = self.llvm;
        let func = self.func;
        let data = func.op(op);
        let parts = 1u32 << along.len();
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
            let flat = |row: &Vec<u32>| element_without(layout, row[0], axis);
            rows.iter().map(|row| self.with_constant(thread, flat(row))).collect()
        };
        let columns: Vec<u64> = (0..layout.bases(InDim::Warp).len())
            .map(|bit| along.iter().position(|&other| other == bit).map_or(0, |at| 1 << at))
            .collect();
        let part = self.thread_number(&[], &columns).value;
        let at = |e: &Self, operand: usize, row: usize, part: V<'ctx>| {
            let before: u32 = bytes[..operand].iter().sum();
            let scaled = llvm.bin(Op::Mul, starts[row].into(), llvm.const_i32(parts.into()).into());
            let index = llvm.bin(Op::Add, scaled, part);
            let offset = llvm.bin(Op::Mul, index, llvm.const_i32(elems[operand].bytes().into()).into());
            let _ = e;
            llvm.bin(Op::Add, offset, llvm.const_i32((base + before).into()).into()).into_int_value()
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
            for (row, total) in totals.iter().enumerate() {
                for (operand, &number) in total.iter().enumerate() {
                    let place = at(e, operand, row, part.into());
                    e.store_element(elems[operand], number, place);
                }
            }
        });
        self.block_barrier();
        self.scratch_is_read();
        let mut combined = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            let groups = (0..parts)
                .map(|part| {
                    let part = llvm.const_i32(part.into()).into();
                    (0..elems.len())
                        .map(|operand| self.load_element(elems[operand], at(self, operand, row, part)))
                        .collect()
                })
                .collect();
            combined.push(self.combine_all(data.regions()[0], groups));
        }
        combined
    }
}

/// The registers of each row along `axis`, in the order of the registers of the slice.
fn rows_of(layout: &LinearLayout, axis: usize) -> Vec<Vec<u32>> {
    let sliced = layout.slice(axis).expect("the axis is one of the tile's");
    let order: HashMap<u64, usize> =
        (0..registers(&sliced)).rev().map(|register| (element(&sliced, register), register as usize)).collect();
    let mut rows = vec![Vec::new(); registers(&sliced) as usize];
    for register in 0..registers(layout) {
        rows[order[&element_without(layout, register, axis)]].push(register);
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
