//! Products by `wgmma`: four warps together multiply 64 rows with operands that lie in shared memory. A may also be in
//! registers.

use inkwell::values::IntValue;
use shoal_ir::{OpId, Scalar, Value};
use shoal_layout::{InDim, LinearLayout, Place};

use super::super::emitter::{Emitter, Held};
use super::super::inline_ptx::{Does, operand_list};
use super::super::place::registers;
use super::super::shared_tile::is_zero;
use super::super::words::pack;
use crate::shared::llvm::V;

/// The instruction for operands of some types.
#[derive(Copy, Clone, Debug)]
pub(super) struct Instruction {
    /// Its K.
    depth: u32,
    left: &'static str,
    right: &'static str,
    sum: &'static str,
}

impl Instruction {
    /// The instruction for such operands; `None` where there is none.
    pub(super) fn of(left: Scalar, right: Scalar) -> Option<Instruction> {
        let word = |number: Scalar| -> Option<(u32, &'static str, &'static str)> {
            Some(match number {
                Scalar::F16 => (16, "f16", "f32"),
                Scalar::BF16 => (16, "bf16", "f32"),
                Scalar::F8E4M3 => (32, "e4m3", "f32"),
                Scalar::F8E5M2 => (32, "e5m2", "f32"),
                Scalar::I8 => (32, "s8", "s32"),
                Scalar::U8 => (32, "u8", "s32"),
                // Of each number the unit looks at the leading bits alone.
                Scalar::F32 => (8, "tf32", "f32"),
                Scalar::I1
                | Scalar::I16
                | Scalar::I32
                | Scalar::I64
                | Scalar::U16
                | Scalar::U32
                | Scalar::U64
                | Scalar::F8E4B15
                | Scalar::F8E4M3Fnuz
                | Scalar::F8E5M2Fnuz
                | Scalar::F64 => return None,
            })
        };
        let ((depth, left_word, sum), (_, right_word, right_sum)) = (word(left)?, word(right)?);
        let same = left == right || left.is_fp8() && right.is_fp8();
        (same && sum == right_sum).then_some(Instruction { depth, left: left_word, right: right_word, sum })
    }

    /// What follows the operands: signs of both, and which are not contiguous along K.
    fn flags(self, a_along_k: Option<bool>, b_along_k: bool) -> String {
        let turned = |along_k: bool| format!(", {}", u8::from(!along_k));
        match (self.sum, self.depth) {
            ("s32", _) => String::new(),
            (_, 16) => format!(", 1, 1{}{}", a_along_k.map_or_else(String::new, turned), turned(b_along_k)),
            _ => ", 1, 1".to_owned(),
        }
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_by_wgmma(&mut self, op: OpId, columns: u32) {
        let func = self.func;
        let data = func.op(op);
        let [left, right, start] = [0, 1, 2].map(|index| data.operands()[index]);
        let instruction = Instruction::of(self.number(left), self.number(right));
        let sums = instruction.and_then(|instruction| self.begin_product(op, instruction, columns));
        let Some(sums) = sums else {
            self.fail(op, "the operands of this product cannot be read by the matrix unit");
            let numbers = self.numbers(start).to_vec();
            return self.hold_tile(data.result(), numbers);
        };
        self.copy_after(op);
        let unfinished = self.pipelines.last().and_then(|(_, pipeline)| pipeline.unfinished());
        let sums = match unfinished.filter(|unfinished| unfinished.product == op) {
            Some(unfinished) if unfinished.only_adds => {
                // The one before is over then.
                self.llvm.ptx_act("wgmma.wait_group.sync.aligned 1;", &[]);
                sums
            }
            Some(_) if self.pending.is_none() => sums,
            Some(_) | None => self.finish_pending(&sums),
        };
        self.hold_accumulator(data.result(), sums);
    }

    /// Begins a product; gives its sums, which are to be waited for.
    fn begin_product(&mut self, op: OpId, instruction: Instruction, columns: u32) -> Option<Vec<V<'ctx>>> {
        let func = self.func;
        let data = func.op(op);
        let [left, right, start] = [0, 1, 2].map(|index| data.operands()[index]);
        let Instruction { depth, left: left_word, right: right_word, sum, .. } = instruction;
        let acc_layout = self.layout(start).clone();
        let in_shared = matches!(self.held[&left], Held::Shared(_));
        let a_in_registers = !in_shared && self.is_wgmma_operand_layout(left);
        let (a, b) = self.described(left, right, a_in_registers)?;
        let acc = self.accumulator(start);
        let from_zero = is_zero(func, start);
        let a_words = if a_in_registers { self.a_fragments(left) } else { Vec::new() };
        let (row_part, column_part) = self.group_place(&acc_layout);
        let each = (columns / 2) as usize;
        let mut operands: Vec<V<'ctx>> = Vec::new();
        let mut lines = vec!["wgmma.fence.sync.aligned;".to_owned()];
        let flags = instruction.flags(a.as_ref().map(|a| a.along_k), b.along_k);
        let a_start = a.as_ref().map(|a| self.descriptor(a, row_part));
        let b_start = self.descriptor(&b, column_part);
        // All of K for one part of the sums, then for the next: the unit goes on with what it has.
        for group in 0..registers(&acc_layout) as usize / each {
            let at = acc_layout.apply(Place { register: (group * each) as u32, ..Place::default() });
            for k in (0..func.ty(left).shape()[1]).step_by(depth as usize) {
                let mut push = |value: V<'ctx>| {
                    operands.push(value);
                    format!("${}", acc.len() + operands.len() - 1)
                };
                let a_text = match (&a, a_start) {
                    (Some(a), Some(start)) => push(self.moved_descriptor(a, start, at[0], k)),
                    _ => {
                        let words = &a_words.iter().find(|(place, _)| *place == [at[0], k]).expect("its rows").1;
                        format!("{{{}}}", words.iter().map(|&word| push(word)).collect::<Vec<_>>().join(", "))
                    }
                };
                let b_text = push(self.moved_descriptor(&b, b_start, at[1], k));
                lines.push(format!(
                    "wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{sum}.{left_word}.{right_word} {}, {a_text}, \
                     {b_text}, {}{flags};",
                    operand_list(group * each, each),
                    if from_zero && k == 0 { "none" } else { "more" },
                ));
            }
        }
        lines.push("wgmma.commit_group.sync.aligned;".to_owned());
        let predicates = ".reg .pred more, none;\nsetp.ne.b32 more, 1, 0;\nsetp.ne.b32 none, 0, 0;";
        let text = format!("{{\n{predicates}\n{}\n}}", lines.join("\n"));
        let types: Vec<_> = acc.iter().map(|v| v.get_type()).collect();
        let tied = if from_zero { &[] } else { &acc[..] };
        Some(self.llvm.ptx(&text, &types, tied, &operands, Does::Act))
    }

    /// Waits for all products: those that were begun just now, whose sums these are, and one of the last trip. Gives the
    /// sums.
    pub(in super::super) fn finish_pending(&mut self, sums: &[V<'ctx>]) -> Vec<V<'ctx>> {
        let Some(value) = self.pending.take() else { return self.finish_products(sums) };
        let carried = self.numbers(value);
        let all: Vec<V<'ctx>> = sums.iter().chain(carried.iter()).copied().collect();
        let mut finished = self.finish_products(&all);
        let carried = finished.split_off(sums.len());
        self.hold_tile(value, carried);
        finished
    }

    /// Waits for all products, whose sums these are.
    pub(in super::super) fn finish_products(&mut self, sums: &[V<'ctx>]) -> Vec<V<'ctx>> {
        let types: Vec<_> = sums.iter().map(|v| v.get_type()).collect();
        self.llvm.ptx("wgmma.wait_group.sync.aligned 0;", &types, sums, &[], Does::Act)
    }

    /// Whether a tile is laid out as A in registers.
    pub(in super::super) fn is_wgmma_operand_layout(&self, value: Value) -> bool {
        let layout = self.layout(value);
        let warps = self.func.gpu.num_warps;
        let mut grids =
            (2..=5).map(|bit| 1 << bit).filter(|rows| warps.is_multiple_of(*rows)).map(|rows| [rows, warps / rows]);
        let shape = self.func.ty(value).shape();
        let width = 32 / self.number(value).bits().clamp(8, 32);
        grids.any(|grid| LinearLayout::wgmma_operand(shape, &grid, width).as_ref() == Ok(layout))
    }

    /// A's registers as words, four for each instruction, by the element they begin at.
    fn a_fragments(&mut self, value: Value) -> Vec<([u32; 2], Vec<V<'ctx>>)> {
        let layout = self.layout(value).clone();
        let elem = self.elem(value);
        let numbers = self.numbers(value);
        let each = 16 / elem.bytes();
        (0..registers(&layout))
            .step_by(each as usize)
            .map(|first| {
                let at = layout.apply(Place { register: first, ..Place::default() });
                ([at[0], at[1]], pack(self.llvm, elem, &numbers[first as usize..(first + each) as usize], 32))
            })
            .collect()
    }

    /// Which rows and columns this warp's group begins at, beyond those of the first group.
    fn group_place(&self, layout: &LinearLayout) -> (IntValue<'ctx>, IntValue<'ctx>) {
        let part = |dim: usize| {
            let columns: Vec<u64> = layout
                .bases(InDim::Warp)
                .enumerate()
                .map(|(bit, basis)| if bit < 2 { 0 } else { u64::from(basis[dim]) })
                .collect();
            self.group_number(&columns)
        };
        (part(0), part(1))
    }
}
