//! Products without a matrix instruction: operands in shared memory, one fused multiply-add for each pair of numbers,
//! in the order of K.

use std::collections::HashMap;

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::op::Rounding;
use shoal_ir::{Elem, OpId, Scalar};
use shoal_layout::Place;

use super::super::emitter::Emitter;
use super::super::place::registers;
use crate::shared::convert;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_by_fma(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let [left, right, start] = [0, 1, 2].map(|index| data.operands()[index]);
        let (a_elem, b_elem) = (self.elem(left), self.elem(right));
        let (a_shape, b_shape) = (func.ty(left).shape(), func.ty(right).shape());
        let rank = a_shape.len();
        let inner = a_shape[rank - 1];
        let bytes_of = |shape: &[u32], elem: Elem| shape.iter().product::<u32>() * elem.bytes();
        let a_bytes = bytes_of(a_shape, a_elem).next_multiple_of(16);
        let (a_numbers, b_numbers) = (self.numbers(left), self.numbers(right));
        let a_base = self.use_scratch(a_bytes + bytes_of(b_shape, b_elem));
        self.write_rows(left, &a_numbers, a_base);
        self.write_rows(right, &b_numbers, a_base + a_bytes);
        self.block_barrier();
        self.scratch_may_be_busy();

        let layout = self.layout(start).clone();
        let coordinates: Vec<Vec<IntValue<'ctx>>> = (0..rank).map(|dim| self.coordinates(&layout, dim)).collect();
        let constant = |register: u32| layout.apply(Place { register, ..Place::default() });
        // Where the rows of A and the columns of B begin that each register needs; many need the same.
        let (mut rows, mut columns) = (HashMap::new(), HashMap::new());
        let mut pairs = Vec::new();
        for register in 0..registers(&layout) {
            let at = constant(register);
            let (mut row_key, mut column_key) = (at.clone(), at);
            row_key[rank - 1] = 0;
            column_key[rank - 2] = 0;
            let own = |dim: usize| coordinates[dim][register as usize];
            let row = rows.len();
            let row = *rows.entry(row_key).or_insert_with(|| {
                let dims: Vec<_> = (0..rank - 1).map(|dim| (own(dim), a_shape[dim])).collect();
                let flat = self.flat(&dims);
                (row, self.scaled(flat, inner * a_elem.bytes(), a_base))
            });
            let column = columns.len();
            let column = *columns.entry(column_key).or_insert_with(|| {
                let dims: Vec<_> = (0..rank - 2).map(|dim| (own(dim), b_shape[dim])).collect();
                let batch = self.scaled(self.flat(&dims), inner * b_shape[rank - 1] * b_elem.bytes(), a_base + a_bytes);
                let inside = self.scaled(own(rank - 1), b_elem.bytes(), 0);
                (column, llvm.bin(Op::Add, batch.into(), inside.into()).into_int_value())
            });
            pairs.push((row.0, column.0));
        }
        let in_order = |map: HashMap<Vec<u32>, (usize, IntValue<'ctx>)>| {
            let mut list: Vec<(usize, IntValue<'ctx>)> = map.into_values().collect();
            list.sort_by_key(|(at, _)| *at);
            list.into_iter().map(|(_, place)| place).collect::<Vec<_>>()
        };
        let (rows, columns) = (in_order(rows), in_order(columns));
        let acc_number = if self.number(start) == Scalar::F16 { Scalar::F32 } else { self.number(start) };
        let b_step = b_shape[rank - 1] * b_elem.bytes();
        let acc = self.accumulator(start);
        let unroll = if inner % 4 == 0 { 4 } else { 1 };
        let sums = llvm.counted_loop(inner.into(), unroll, &acc, &mut |k, carried| {
            let k = llvm.cast(Op::Trunc, k.into(), llvm.i32().into());
            let mut sums = carried.to_vec();
            for step in 0..unroll {
                let k = llvm.bin(Op::Add, k, llvm.const_i32(step as i64).into());
                let load = |place: IntValue<'ctx>, step_bytes: u32, elem: Elem| {
                    let offset = llvm.bin(Op::Mul, k, llvm.const_i32(step_bytes.into()).into());
                    let at = llvm.bin(Op::Add, place.into(), offset).into_int_value();
                    let number = self.load_element(elem, at);
                    convert::cast(llvm, elem, acc_number.into(), Rounding::Nearest, number)
                };
                let a: Vec<V<'ctx>> = rows.iter().map(|&row| load(row, a_elem.bytes(), a_elem)).collect();
                let b: Vec<V<'ctx>> = columns.iter().map(|&column| load(column, b_step, b_elem)).collect();
                for (sum, &(row, column)) in sums.iter_mut().zip(&pairs) {
                    *sum = if acc_number.is_float() {
                        llvm.intrinsic("llvm.fma", &[sum.get_type()], &[a[row], b[column], *sum]).expect("a value")
                    } else {
                        llvm.bin(Op::Add, *sum, llvm.bin(Op::Mul, a[row], b[column]))
                    };
                }
            }
            sums
        });
        self.hold_accumulator(data.result(), sums);
    }

    /// Writes a tile to shared memory in row-major order.
    fn write_rows(&mut self, value: shoal_ir::Value, numbers: &[V<'ctx>], base: u32) {
        let layout = self.layout(value).clone();
        let elem = self.elem(value);
        let places: Vec<IntValue<'ctx>> =
            self.flat_indices(&layout).into_iter().map(|flat| self.scaled(flat, elem.bytes(), base)).collect();
        let first = self.is_first_holder(&layout);
        self.when(first, |e| {
            for (&number, &place) in numbers.iter().zip(&places) {
                e.store_element(elem, number, place);
            }
        });
    }

    /// `number * by + base`.
    fn scaled(&self, number: IntValue<'ctx>, by: u32, base: u32) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let product = llvm.bin(Op::Mul, number.into(), llvm.const_i32(by.into()).into());
        llvm.bin(Op::Add, product, llvm.const_i32(base.into()).into()).into_int_value()
    }

    /// The row-major index of these coordinates, each with its dimension's size.
    fn flat(&self, dims: &[(IntValue<'ctx>, u32)]) -> IntValue<'ctx> {
        let llvm = self.llvm;
        dims.iter().fold(llvm.const_i32(0), |flat, &(coordinate, size)| {
            let scaled = llvm.bin(Op::Mul, flat.into(), llvm.const_i32(size.into()).into());
            llvm.bin(Op::Add, scaled, coordinate.into()).into_int_value()
        })
    }
}
