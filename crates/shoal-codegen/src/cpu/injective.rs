//! Whether the addresses of a tile are all different: whether the map from elements to memory is injective.
//!
//! A loop may load each element just before it stores it only if no later element is loaded from where an earlier one
//! was stored: even if loads and stores have the same addresses, those must differ among themselves.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue};
use shoal_ir::Value;

use super::emitter::Emitter;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether the compiler can see that no two elements of a tile of addresses share memory.
    pub(super) fn is_injective(&self, pointers: Value) -> bool {
        let shape = self.shape(pointers);
        let bytes = u64::from(self.pointee_bytes(pointers));
        let facts = &self.func.value(pointers).facts;
        if let ([size], [run]) = (shape, &facts.contiguous[..])
            && *run >= u64::from(*size)
        {
            return true;
        }
        let Some(steps) = self.affine.steps(pointers) else { return false };
        let mut dims: Vec<(u64, u64)> =
            steps.iter().zip(shape).filter(|(_, d)| **d > 1).map(|(s, &d)| (s.unsigned_abs(), u64::from(d))).collect();
        dims.sort_unstable();
        let mut reach = 0u64;
        dims.iter().all(|&(step, size)| {
            let clear = step >= reach.saturating_add(bytes);
            reach = reach.saturating_add(step.saturating_mul(size - 1));
            clear
        })
    }

    /// The same, found out when the code runs: for tiles that change by a fixed amount along each dimension, from the
    /// addresses at their corners, and for rows or columns that lie one after another.
    pub(super) fn is_injective_at_run_time(&self, pointers: Value, corners: &[IntValue<'ctx>]) -> V<'ctx> {
        let llvm = self.llvm;
        let shape = self.shape(pointers);
        let bytes = llvm.const_i64(i64::from(self.pointee_bytes(pointers)));
        let in_order = |dims: &mut dyn Iterator<Item = usize>| -> V<'ctx> {
            let mut reach = llvm.const_i64(0);
            let mut clear: V<'ctx> = llvm.i1().const_int(1, false).into();
            for d in dims.filter(|&d| shape[d] > 1) {
                let along = llvm.bin(InstructionOpcode::Sub, corners[1 << d].into(), corners[0].into());
                let flag = llvm.i1().const_zero().into();
                let span = llvm.intrinsic("llvm.abs", &[llvm.i64().into()], &[along, flag]).expect("a value");
                let least = llvm.mul64(llvm.add64(reach, bytes), llvm.const_i64(i64::from(shape[d]) - 1));
                clear = llvm.bin(InstructionOpcode::And, clear, llvm.icmp(IntPredicate::UGE, span, least.into()));
                reach = llvm.add64(reach, span.into_int_value());
            }
            clear
        };
        let rows = in_order(&mut (0..shape.len()).rev());
        let columns = in_order(&mut (0..shape.len()));
        llvm.bin(InstructionOpcode::Or, rows, columns)
    }

    fn pointee_bytes(&self, pointers: Value) -> u32 {
        self.elem(pointers).ptr().expect("a pointer").element().bytes()
    }
}
