//! Which element a register of this thread holds: linear maps over F2, written as code.

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_layout::{InDim, LinearLayout, Place};

use super::emitter::Emitter;

/// A number that depends on the thread, with the bits that may be set in it.
#[derive(Copy, Clone, Debug)]
pub(super) struct ThreadNumber<'ctx> {
    pub(super) value: IntValue<'ctx>,
    bits: u64,
}

impl ThreadNumber<'_> {
    /// A constant in two parts: bits that may be set in this number too, and the rest.
    pub(super) fn split(self, constant: u64) -> (u64, u64) {
        (constant & self.bits, constant & !self.bits)
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The sum over F2 of the columns whose bit is set in the lane's and the warp's number.
    pub(super) fn thread_number(&self, lane_columns: &[u64], warp_columns: &[u64]) -> ThreadNumber<'ctx> {
        let zero = ThreadNumber { value: self.llvm.const_i32(0), bits: 0 };
        let with_lanes = self.add_columns(zero, self.lane, lane_columns);
        self.add_columns(with_lanes, self.warp, warp_columns)
    }

    /// The sum of the columns whose bit is set in the number of this thread's warp, the same for all of the warp as the
    /// assembler sees it.
    pub(super) fn group_number(&self, warp_columns: &[u64]) -> IntValue<'ctx> {
        let zero = ThreadNumber { value: self.llvm.const_i32(0), bits: 0 };
        self.add_columns(zero, self.uniform_warp, warp_columns).value
    }

    /// The sum over F2 of the columns whose bit is set in a number.
    pub(super) fn column_sum(&self, number: IntValue<'ctx>, columns: &[u64]) -> IntValue<'ctx> {
        self.add_columns(ThreadNumber { value: self.llvm.const_i32(0), bits: 0 }, number, columns).value
    }

    /// Bits that move by the same distance move together.
    fn add_columns(&self, start: ThreadNumber<'ctx>, number: IntValue<'ctx>, columns: &[u64]) -> ThreadNumber<'ctx> {
        let llvm = self.llvm;
        let mut moves: Vec<(i32, u64)> = Vec::new();
        for (bit, &column) in columns.iter().enumerate() {
            for out in (0..64).filter(|out| column >> out & 1 == 1) {
                let distance = out - bit as i32;
                match moves.iter_mut().find(|(known, _)| *known == distance) {
                    Some((_, mask)) => *mask |= 1 << bit,
                    None => moves.push((distance, 1 << bit)),
                }
            }
        }
        let mut sum = start;
        for (distance, mask) in moves {
            let picked = llvm.bin(Op::And, number.into(), llvm.const_i32(mask as i64).into());
            let by = llvm.const_i32(i64::from(distance.unsigned_abs())).into();
            let (moved, bits) = match distance {
                0 => (picked, mask),
                1.. => (llvm.bin(Op::Shl, picked, by), mask << distance),
                _ => (llvm.bin(Op::LShr, picked, by), mask >> -distance),
            };
            sum = self.combine(sum, moved.into_int_value(), bits);
        }
        sum
    }

    fn combine(&self, a: ThreadNumber<'ctx>, b: IntValue<'ctx>, bits: u64) -> ThreadNumber<'ctx> {
        let value = if a.bits == 0 {
            b
        } else if a.bits & bits == 0 {
            self.llvm.builder.build_int_nuw_add(a.value, b, "").expect("integers")
        } else {
            self.llvm.bin(Op::Xor, a.value.into(), b.into()).into_int_value()
        };
        ThreadNumber { value, bits: a.bits | bits }
    }

    /// The number with a constant added over F2.
    pub(super) fn with_constant(&self, number: ThreadNumber<'ctx>, constant: u64) -> IntValue<'ctx> {
        if constant == 0 {
            return number.value;
        }
        let constant_value = self.llvm.const_i32(constant as i64);
        if number.bits == 0 {
            constant_value
        } else if number.bits & constant == 0 {
            // No carry: the sum is an offset that addresses take as it is.
            self.llvm.builder.build_int_nuw_add(number.value, constant_value, "").expect("integers")
        } else {
            self.llvm.bin(Op::Xor, number.value.into(), constant_value.into()).into_int_value()
        }
    }

    /// For each register, the coordinate along `dim` of the element it holds.
    pub(super) fn coordinates(&self, layout: &LinearLayout, dim: usize) -> Vec<IntValue<'ctx>> {
        let columns = |along: InDim| -> Vec<u64> { layout.bases(along).map(|basis| u64::from(basis[dim])).collect() };
        let thread = self.thread_number(&columns(InDim::Lane), &columns(InDim::Warp));
        let at = |register| layout.apply(Place { register, ..Place::default() })[dim];
        (0..registers(layout)).map(|register| self.with_constant(thread, at(register).into())).collect()
    }

    /// For each register, the row-major index of the element it holds.
    pub(super) fn flat_indices(&self, layout: &LinearLayout) -> Vec<IntValue<'ctx>> {
        let thread = self.thread_number(layout.flat_bases(InDim::Lane), layout.flat_bases(InDim::Warp));
        let at = |register| layout.apply_flat(Place { register, ..Place::default() });
        (0..registers(layout)).map(|register| self.with_constant(thread, at(register))).collect()
    }

    /// Whether this thread is the first of those that hold the same elements; `None` if no two do.
    pub(super) fn is_first_holder(&self, layout: &LinearLayout) -> Option<IntValue<'ctx>> {
        let copies = layout.free_variable_masks();
        let llvm = self.llvm;
        let masked = |number: IntValue<'ctx>, mask: u32| {
            (mask != 0).then(|| llvm.bin(Op::And, number.into(), llvm.const_i32(mask.into()).into()))
        };
        let together = match (masked(self.lane, copies.lane), masked(self.warp, copies.warp)) {
            (Some(a), Some(b)) => llvm.bin(Op::Or, a, b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        Some(llvm.icmp(inkwell::IntPredicate::EQ, together, llvm.const_i32(0).into()).into_int_value())
    }
}

/// The registers of one lane.
pub(super) fn registers(layout: &LinearLayout) -> u32 {
    layout.in_size(InDim::Register)
}

/// The element that a register of lane 0 of warp 0 holds.
pub(super) fn element(layout: &LinearLayout, register: u32) -> u64 {
    layout.apply_flat(Place { register, ..Place::default() })
}
