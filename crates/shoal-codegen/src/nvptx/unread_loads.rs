//! Loads that acquire and whose result nobody reads, as fences.
//!
//! `ptxas` drops such a load, keeps what makes it acquire under the predicate of its branch, and in large kernels drops the
//! comparison that the predicate comes from: threads then branch by whatever the register held. A fence stays a branch of
//! its own. Only LLVM knows in the end which results are read, so this comes after its passes. Loads whose result is read,
//! such as those of waits, stay as they are: a fence would also wait for the thread's stores.

use std::ffi::c_char;

use inkwell::llvm_sys::core::{LLVMGetCalledValue, LLVMGetInlineAsmAsmString, LLVMIsAInlineAsm};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{AsValueRef, InstructionOpcode, InstructionValue};

use super::inline_ptx::Does;
use crate::shared::llvm::{Llvm, V};

/// Puts a relaxed load and a fence in the place of each acquiring load without readers.
pub(super) fn fence_instead(llvm: &Llvm<'_>) {
    let functions = llvm.module.get_functions();
    let instructions = functions.flat_map(|f| f.get_basic_block_iter()).flat_map(|block| block.get_instructions());
    let unread: Vec<_> = instructions
        .filter(|i| i.get_opcode() == InstructionOpcode::Call && i.get_first_use().is_none())
        .filter_map(|call| Some((call, BasicTypeEnum::try_from(call.get_type()).ok()?, relaxed(assembly(call)?)?)))
        .collect();
    for (call, result, text) in unread {
        llvm.builder.position_before(&call);
        // The last operand is the assembly itself.
        let operands: Vec<V<'_>> = (0..call.get_num_operands() - 1)
            .map(|at| call.get_operand(at).and_then(|operand| operand.value()).expect("an operand"))
            .collect();
        llvm.ptx(&text, &[result], &[], &operands, Does::Act);
        call.erase_from_basic_block();
    }
}

/// The text of the assembly that an instruction calls, if it calls any.
fn assembly<'ctx>(call: InstructionValue<'ctx>) -> Option<&'ctx str> {
    let mut length = 0;
    // SAFETY: a call has a callee, which is asked for its text only if it is assembly; the text lives as long as the context.
    let text = unsafe {
        let callee = LLVMIsAInlineAsm(LLVMGetCalledValue(call.as_value_ref()));
        if callee.is_null() {
            return None;
        }
        let text: *const c_char = LLVMGetInlineAsmAsmString(callee, &mut length);
        std::slice::from_raw_parts(text.cast(), length)
    };
    std::str::from_utf8(text).ok()
}

/// A load that acquires, as one that does not and a fence.
fn relaxed(text: &str) -> Option<String> {
    let is_one = text.starts_with("ld.") && text.matches(';').count() == 1;
    let scope =
        ["cta", "cluster", "gpu", "sys"].into_iter().find(|scope| text.contains(&format!(".acquire.{scope}.")))?;
    is_one.then(|| format!("{} fence.acq_rel.{scope};", text.replacen(".acquire.", ".relaxed.", 1)))
}
