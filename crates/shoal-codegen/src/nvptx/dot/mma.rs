//! Products by `mma.sync`: each warp multiplies 16 × K by K × 8, for `f64` 8 × 4 by 4 × 8, with operands in its registers.

use std::collections::HashMap;

use inkwell::values::InstructionOpcode as Op;
use shoal_ir::op::DotPrecision;
use shoal_ir::{OpId, Scalar};
use shoal_layout::{LinearLayout, Place};

use super::super::emitter::Emitter;
use super::super::inline_ptx::{Does, operand_list};
use super::super::place::registers;
use super::super::words::pack;
use crate::shared::llvm::V;

/// The registers of an operand, by the element at which an instruction's part begins.
struct Fragments<'ctx> {
    /// The words of each part.
    words: HashMap<[u32; 2], Vec<V<'ctx>>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_by_mma(&mut self, op: OpId, precision: DotPrecision) {
        let func = self.func;
        let data = func.op(op);
        let [left, right, start] = [0, 1, 2].map(|index| data.operands()[index]);
        let number = self.number(left);
        let double = number == Scalar::F64;
        let depth = if double { 4 } else { 256 / number.bits() };
        let split = number == Scalar::F32 && !matches!(precision, DotPrecision::Tf32);
        let (a, a_rest) = self.fragments(left, 4, split);
        let (b, b_rest) = self.fragments(right, 2, split);
        let acc_layout = self.layout(start).clone();
        let mut acc = self.accumulator(start);
        let inner = func.ty(left).shape()[1];
        let text = instruction(number, self.number(data.operands()[1]));
        let each = if double { 2 } else { 4 };
        let groups = registers(&acc_layout) / each;
        for k in (0..inner).step_by(depth as usize) {
            for group in 0..groups {
                let at = acc_layout.apply(Place { register: group * each, ..Place::default() });
                let (a_key, b_key) = ([at[0], k], [k, at[1]]);
                let own = (group * each) as usize..((group + 1) * each) as usize;
                let mut sums: Vec<V<'ctx>> = acc[own.clone()].to_vec();
                // The small parts first: they would be lost next to the large ones.
                if let (Some(a_rest), Some(b_rest)) = (&a_rest, &b_rest) {
                    sums = self.multiply(&text, &sums, &a_rest.words[&a_key], &b.words[&b_key]);
                    sums = self.multiply(&text, &sums, &a.words[&a_key], &b_rest.words[&b_key]);
                }
                let sums = self.multiply(&text, &sums, &a.words[&a_key], &b.words[&b_key]);
                acc[own].copy_from_slice(&sums);
            }
        }
        self.hold_accumulator(data.result(), acc);
    }

    fn multiply(&self, text: &str, sums: &[V<'ctx>], a: &[V<'ctx>], b: &[V<'ctx>]) -> Vec<V<'ctx>> {
        let types: Vec<_> = sums.iter().map(|v| v.get_type()).collect();
        let operands: Vec<V<'ctx>> = a.iter().chain(b).copied().collect();
        self.llvm.ptx(text, &types, sums, &operands, Does::Exchange)
    }

    /// An operand's registers as words, `words` for each instruction; and, if it is to be split, what rounding to tf32
    /// leaves.
    fn fragments(
        &mut self,
        value: shoal_ir::Value,
        words: u32,
        split: bool,
    ) -> (Fragments<'ctx>, Option<Fragments<'ctx>>) {
        let layout: LinearLayout = self.layout(value).clone();
        let elem = self.elem(value);
        let numbers = self.numbers(value);
        let each = (words * 4 / elem.bytes()).min(if elem.bytes() == 8 { 1 } else { u32::MAX });
        let (mut main, mut rest) = (HashMap::new(), HashMap::new());
        for first in (0..registers(&layout)).step_by(each as usize) {
            let at = layout.apply(Place { register: first, ..Place::default() });
            let part = &numbers[first as usize..(first + each) as usize];
            let key = [at[0], at[1]];
            if elem.scalar() == Some(Scalar::F64) {
                main.insert(key, part.to_vec());
                continue;
            }
            if elem.scalar() != Some(Scalar::F32) {
                main.insert(key, pack(self.llvm, elem, part, 32));
                continue;
            }
            let rounded: Vec<V<'ctx>> = part.iter().map(|&v| self.to_tf32(v)).collect();
            if split {
                let left = |(&whole, &high): (&V<'ctx>, &V<'ctx>)| {
                    let high = self.llvm.cast(Op::BitCast, high, self.llvm.f32().into());
                    self.to_tf32(self.llvm.bin(Op::FSub, whole, high))
                };
                rest.insert(key, part.iter().zip(&rounded).map(left).collect());
            }
            main.insert(key, rounded);
        }
        (Fragments { words: main }, split.then_some(Fragments { words: rest }))
    }

    fn to_tf32(&self, value: V<'ctx>) -> V<'ctx> {
        self.llvm.ptx_value("cvt.rna.tf32.f32 $0, $1;", self.llvm.i32().into(), &[value])
    }
}

/// The instruction for operands of a type: four words of A, two of B, four sums; for `f64` one, one and two numbers.
fn instruction(a: Scalar, b: Scalar) -> String {
    if a == Scalar::F64 {
        return "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$0, $1};".to_owned();
    }
    let (depth, left, right, sum) = match a {
        Scalar::F16 => (16, "f16", "f16", "f32"),
        Scalar::BF16 => (16, "bf16", "bf16", "f32"),
        Scalar::I8 => (32, "s8", "s8", "s32"),
        Scalar::U8 => (32, "u8", "u8", "s32"),
        Scalar::I1
        | Scalar::I16
        | Scalar::I32
        | Scalar::I64
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64
        | Scalar::F8E4M3
        | Scalar::F8E5M2
        | Scalar::F8E4B15
        | Scalar::F8E4M3Fnuz
        | Scalar::F8E5M2Fnuz
        | Scalar::F32
        | Scalar::F64 => (8, "tf32", "tf32", "f32"),
    };
    debug_assert_eq!(a, b, "both operands have one type");
    format!(
        "mma.sync.aligned.m16n8k{depth}.row.col.{sum}.{left}.{right}.{sum} {}, {}, {}, {};",
        operand_list(0, 4),
        operand_list(4, 4),
        operand_list(8, 2),
        operand_list(0, 4),
    )
}
