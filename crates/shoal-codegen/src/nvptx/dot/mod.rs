//! Matrix products. The layouts of operands and accumulator say which unit computes them; see the pass `assign_layouts`.

mod fma;
mod mma;
mod operands;
mod wgmma;

use shoal_abi::NvptxArch;
use shoal_ir::op::DotPrecision;
use shoal_ir::{Func, OpId, OpKind, Scalar, Value};
use shoal_layout::{LinearLayout, MmaShape, Operand};

use super::emitter::Emitter;

/// What computes a product.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Unit {
    /// `mma.sync`.
    Mma,
    /// `wgmma`, with so many columns for each instruction.
    Wgmma { columns: u32 },
    /// One fused multiply-add for each product of numbers.
    Fma,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot(&mut self, op: OpId, precision: DotPrecision) {
        match unit(self.func, op, self.arch) {
            Unit::Mma => self.dot_by_mma(op, precision),
            Unit::Wgmma { columns } => self.dot_by_wgmma(op, columns),
            Unit::Fma => self.dot_by_fma(op),
        }
    }
}

/// Whether a function has products that `wgmma` computes.
pub(super) fn uses_wgmma(func: &Func, arch: NvptxArch) -> bool {
    func.walk().into_iter().any(|op| is_wgmma(func, op, arch))
}

/// Whether an operation is a product that `wgmma` computes.
pub(super) fn is_wgmma(func: &Func, op: OpId, arch: NvptxArch) -> bool {
    matches!(func.op(op).kind, OpKind::Dot { .. }) && matches!(unit(func, op, arch), Unit::Wgmma { .. })
}

/// Whether a matrix unit computes a product.
pub(super) fn has_unit(func: &Func, op: OpId, arch: NvptxArch) -> bool {
    unit(func, op, arch) != Unit::Fma
}

fn unit(func: &Func, op: OpId, arch: NvptxArch) -> Unit {
    let data = func.op(op);
    let layout = |index: usize| func.ty(data.operands()[index]).layout();
    let shape = |index: usize| func.ty(data.operands()[index]).shape();
    let (Some(a), Some(b), Some(acc)) = (layout(0), layout(1), layout(2)) else { return Unit::Fma };
    if shape(2).len() != 2 {
        return Unit::Fma;
    }
    let number = func.ty(data.operands()[0]).number().unwrap_or(Scalar::F64);
    let grids = || {
        (0..=5)
            .map(|bit| 1 << bit)
            .filter(|rows| func.gpu.num_warps.is_multiple_of(*rows))
            .map(|rows| [rows, func.gpu.num_warps / rows])
    };
    let width = 32 / number.bits().clamp(8, 32);
    let instruction = if number == Scalar::F64 { MmaShape::M8N8 } else { MmaShape::M16N8 };
    let operand =
        |index, grid: &[u32; 2], which| LinearLayout::mma_operand(shape(index), grid, instruction, which, width).ok();
    let is_mma = |grid: [u32; 2]| {
        LinearLayout::mma_accumulator(shape(2), &grid, instruction).as_ref() == Ok(acc)
            && operand(0, &grid, Operand::A).as_ref() == Some(a)
            && operand(1, &grid, Operand::B).as_ref() == Some(b)
    };
    if grids().any(is_mma) {
        return Unit::Mma;
    }
    if arch == NvptxArch::Sm90a && wgmma::Instruction::of(number, number).is_some() {
        let found = grids().filter(|grid| grid[0] % 4 == 0).find_map(|grid| {
            let columns = (shape(2)[1] / grid[1]).clamp(8, 256);
            let matches = LinearLayout::wgmma_accumulator(shape(2), &grid, columns).as_ref() == Ok(acc);
            matches.then_some(columns)
        });
        if let Some(columns) = found {
            return Unit::Wgmma { columns };
        }
    }
    Unit::Fma
}

/// The accumulator's numbers as `f32`, and back: units have no narrower one here.
impl<'ctx> Emitter<'_, 'ctx> {
    fn accumulator(&mut self, value: Value) -> Vec<crate::shared::llvm::V<'ctx>> {
        let number = self.number(value);
        let numbers = self.numbers(value);
        if number != Scalar::F16 {
            return numbers.to_vec();
        }
        numbers.iter().map(|&v| crate::shared::convert::to_f32(self.llvm, number, v)).collect()
    }

    fn hold_accumulator(&mut self, value: Value, numbers: Vec<crate::shared::llvm::V<'ctx>>) {
        let number = self.number(value);
        let numbers = if number == Scalar::F16 {
            numbers.into_iter().map(|v| crate::shared::convert::from_f32(self.llvm, number, v)).collect()
        } else {
            numbers
        };
        self.hold_tile(value, numbers);
    }
}
