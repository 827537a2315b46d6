//! Scans: within a thread's run, then between lanes by shuffles. The pass gives a layout in which no two warps share a
//! run, each lane has one, and neighbouring lanes have neighbouring ones.

use std::collections::BTreeMap;

use inkwell::values::InstructionOpcode as Op;
use shoal_ir::OpId;
use shoal_layout::{InDim, Place};

use super::emitter::Emitter;
use super::place::registers;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn scan(&mut self, op: OpId, axis: usize, reverse: bool) {
        let func = self.func;
        let data = func.op(op);
        let region = data.regions()[0];
        let layout = self.layout(data.operands()[0]).clone();
        let mut lists: Vec<Vec<V<'ctx>>> = data.operands().iter().map(|&v| self.numbers(v).to_vec()).collect();
        // Registers of one row, in the order of the scan.
        let mut rows: BTreeMap<Vec<u32>, Vec<(u32, u32)>> = BTreeMap::new();
        for register in 0..registers(&layout) {
            let mut at = layout.apply(Place { register, ..Place::default() });
            let along = std::mem::take(&mut at[axis]);
            rows.entry(at).or_default().push((along, register));
        }
        let lane_bits: Vec<u32> = (0..5)
            .filter(|&bit| layout.bases(InDim::Lane).nth(bit as usize).is_some_and(|basis| basis[axis] != 0))
            .collect();
        for row in rows.values_mut() {
            row.sort_unstable();
            if reverse {
                row.reverse();
            }
            let row: Vec<usize> = row.iter().map(|&(_, register)| register as usize).collect();
            for pair in row.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|at| lists.iter().map(|list| list[at]).collect::<Vec<_>>());
                let combined = self.combine_two(region, &a, &b);
                for (list, value) in lists.iter_mut().zip(combined) {
                    list[pair[1]] = value;
                }
            }
            let last = *row.last().expect("a row has an element");
            let total: Vec<V<'ctx>> = lists.iter().map(|list| list[last]).collect();
            let Some((before, exists)) = self.scan_lanes(region, &total, &lane_bits, reverse) else { continue };
            for &at in &row {
                let own: Vec<V<'ctx>> = lists.iter().map(|list| list[at]).collect();
                let combined = self.combine_two(region, &before, &own);
                for ((list, value), own) in lists.iter_mut().zip(combined).zip(own) {
                    list[at] = self.llvm.select(exists, value, own);
                }
            }
        }
        for (&result, numbers) in data.results().iter().zip(lists) {
            self.hold_tile(result, numbers);
        }
    }

    /// What all lanes before this one hold together, and whether there are any; `None` if a row has one lane.
    fn scan_lanes(
        &mut self,
        region: shoal_ir::Region,
        total: &[V<'ctx>],
        lane_bits: &[u32],
        reverse: bool,
    ) -> Option<(Vec<V<'ctx>>, V<'ctx>)> {
        let (&first, last) = (lane_bits.first()?, *lane_bits.last()?);
        debug_assert_eq!(last - first + 1, lane_bits.len() as u32, "lanes of a row are neighbours");
        let llvm = self.llvm;
        let lanes = 1i64 << lane_bits.len();
        let shifted = llvm.bin(Op::LShr, self.lane.into(), llvm.const_i32(first.into()).into());
        let position = llvm.bin(Op::And, shifted, llvm.const_i32(lanes - 1).into());
        let mode = if reverse { "down" } else { "up" };
        let has = |distance: i64| {
            let (predicate, bound) = if reverse {
                (inkwell::IntPredicate::ULT, lanes - distance)
            } else {
                (inkwell::IntPredicate::UGE, distance)
            };
            llvm.icmp(predicate, position, llvm.const_i32(bound).into())
        };
        let mut sums = total.to_vec();
        for step in 0..lane_bits.len() {
            let by: V<'ctx> = llvm.const_i32(1 << (step as u32 + first)).into();
            let other: Vec<V<'ctx>> =
                sums.iter().map(|&v| self.shuffle_bits(v, |e, word| e.shuffle_word(mode, word, by))).collect();
            let combined = self.combine_two(region, &other, &sums);
            let there = has(1 << step);
            sums = combined.into_iter().zip(sums).map(|(new, old)| llvm.select(there, new, old)).collect();
        }
        let by: V<'ctx> = llvm.const_i32(1 << first).into();
        let before = sums.iter().map(|&v| self.shuffle_bits(v, |e, word| e.shuffle_word(mode, word, by))).collect();
        Some((before, has(1)))
    }
}
