//! Scans: within a thread's run, then between lanes by shuffles, then between warps through shared memory. The pass gives a
//! layout in which that is the order of the elements, and lanes along the axis are neighbours.

use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode as Op;
use shoal_ir::{OpId, Region};
use shoal_layout::{InDim, LinearLayout};

use super::emitter::Emitter;
use super::reduce::{Group, Speaker, bits_along, rows_of};
use crate::shared::llvm::V;

/// What comes before something, if there is anything.
struct Before<'ctx> {
    total: Group<'ctx>,
    exists: V<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn scan(&mut self, op: OpId, axis: usize, reverse: bool) {
        let func = self.func;
        let data = func.op(op);
        let region = data.regions()[0];
        let layout = self.layout(data.operands()[0]).clone();
        let mut lists: Vec<Vec<V<'ctx>>> = data.operands().iter().map(|&v| self.numbers(v).to_vec()).collect();
        let mut rows = rows_of(&layout, axis);
        let lanes = bits_along(&layout, axis, InDim::Lane);
        let (mut totals, mut before_lanes) = (Vec::new(), Vec::new());
        for row in &mut rows {
            if reverse {
                row.reverse();
            }
            let total = self.scan_registers(region, row, &mut lists);
            let (total, before) = self.scan_lanes(region, total, &lanes, reverse);
            totals.push(total);
            before_lanes.push(before);
        }
        let before_warps = self.scan_warps(op, (&layout, axis), &rows, &totals, reverse);
        for ((row, lanes), warps) in rows.iter().zip(before_lanes).zip(before_warps) {
            let Some(before) = self.both_before(region, warps, lanes) else { continue };
            for &at in row {
                let own: Group<'ctx> = lists.iter().map(|list| list[at as usize]).collect();
                let combined = self.combine_two(region, &before.total, &own);
                for ((list, value), own) in lists.iter_mut().zip(combined).zip(own) {
                    list[at as usize] = self.llvm.select(before.exists, value, own);
                }
            }
        }
        for (&result, numbers) in data.results().iter().zip(lists) {
            self.hold_tile(result, numbers);
        }
    }

    /// Scans what this thread holds of a row; gives the last.
    fn scan_registers(&mut self, region: Region, row: &[u32], lists: &mut [Vec<V<'ctx>>]) -> Group<'ctx> {
        let group =
            |lists: &[Vec<V<'ctx>>], at: u32| lists.iter().map(|list| list[at as usize]).collect::<Group<'ctx>>();
        let mut last = group(lists, row[0]);
        for &at in &row[1..] {
            last = self.combine_two(region, &last, &group(lists, at));
            for (list, &value) in lists.iter_mut().zip(&last) {
                list[at as usize] = value;
            }
        }
        last
    }

    /// What the lanes up to this one hold together, and what those before it do; nothing if a row has one lane.
    fn scan_lanes(
        &mut self,
        region: Region,
        total: Group<'ctx>,
        lane_bits: &[usize],
        reverse: bool,
    ) -> (Group<'ctx>, Option<Before<'ctx>>) {
        let (Some(&first), Some(&last)) = (lane_bits.first(), lane_bits.last()) else { return (total, None) };
        debug_assert_eq!(last - first + 1, lane_bits.len(), "lanes of a row are neighbours");
        let llvm = self.llvm;
        let lanes = 1i64 << lane_bits.len();
        let shifted = llvm.bin(Op::LShr, self.lane.into(), llvm.const_i32(first as i64).into());
        let position = llvm.bin(Op::And, shifted, llvm.const_i32(lanes - 1).into());
        let mode = if reverse { "down" } else { "up" };
        let has = |distance: i64| {
            let (predicate, bound) =
                if reverse { (IntPredicate::ULT, lanes - distance) } else { (IntPredicate::UGE, distance) };
            llvm.icmp(predicate, position, llvm.const_i32(bound).into())
        };
        let mut sums = total;
        for step in 0..lane_bits.len() {
            let by: V<'ctx> = llvm.const_i32(1 << (step + first)).into();
            let other = self.shuffle_group(mode, &sums, by);
            let combined = self.combine_two(region, &other, &sums);
            let there = has(1 << step);
            sums = combined.into_iter().zip(sums).map(|(new, old)| llvm.select(there, new, old)).collect();
        }
        let by: V<'ctx> = llvm.const_i32(1 << first).into();
        let before = self.shuffle_group(mode, &sums, by);
        (sums, Some(Before { total: before, exists: has(1) }))
    }

    /// For each row, what the warps before this one hold together; nothing if no two warps share a row.
    fn scan_warps(
        &mut self,
        op: OpId,
        (layout, axis): (&LinearLayout, usize),
        rows: &[Vec<u32>],
        totals: &[Group<'ctx>],
        reverse: bool,
    ) -> Vec<Option<Before<'ctx>>> {
        let llvm = self.llvm;
        if bits_along(layout, axis, InDim::Warp).is_empty() {
            return rows.iter().map(|_| None).collect();
        }
        let region = self.func.op(op).regions()[0];
        let firsts: Vec<u32> = rows.iter().map(|row| row[0]).collect();
        let speaker = if reverse { Speaker::First } else { Speaker::Last };
        let told = self.tell_warps(op, (layout, axis), speaker, &firsts, totals);
        let own: V<'ctx> = self.part_of_warp(layout, axis).into();
        let mut found = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            let mut of_warps = self.hear_all(&told, row);
            let mut parts: Vec<i64> = (0..of_warps.len() as i64).collect();
            if reverse {
                of_warps.reverse();
                parts.reverse();
            }
            let mut so_far = of_warps[0].clone();
            let mut before = so_far.clone();
            for (at, &part) in parts.iter().enumerate().skip(2) {
                so_far = self.combine_two(region, &so_far, &of_warps[at - 1]);
                let is_own = llvm.icmp(IntPredicate::EQ, own, llvm.const_i32(part).into());
                before = so_far.iter().zip(before).map(|(&new, old)| llvm.select(is_own, new, old)).collect();
            }
            let exists = llvm.icmp(IntPredicate::NE, own, llvm.const_i32(parts[0]).into());
            found.push(Some(Before { total: before, exists }));
        }
        found
    }

    /// What the warps before this one and then its lanes before this one hold.
    fn both_before(
        &mut self,
        region: Region,
        warps: Option<Before<'ctx>>,
        lanes: Option<Before<'ctx>>,
    ) -> Option<Before<'ctx>> {
        let (warps, lanes) = match (warps, lanes) {
            (Some(warps), Some(lanes)) => (warps, lanes),
            (one, other) => return one.or(other),
        };
        let llvm = self.llvm;
        let both = self.combine_two(region, &warps.total, &lanes.total);
        let pick = |((both, warp), lane): ((V<'ctx>, V<'ctx>), V<'ctx>)| {
            llvm.select(warps.exists, llvm.select(lanes.exists, both, warp), lane)
        };
        let total = both.into_iter().zip(warps.total).zip(lanes.total).map(pick).collect();
        Some(Before { total, exists: llvm.bin(Op::Or, warps.exists, lanes.exists) })
    }
}
