//! A product as a function of its own, for measuring and testing it apart from kernels.

use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::module::Module;

use super::plan::{DotPlan, Problem};
use super::{DotPointers, Operand};
use crate::cpu::isa::Isa;
use crate::shared::llvm::Llvm;

/// A module with one function, `dot(a, b, c, scratch)`: `c += a @ b`.
pub struct DotFunction<'ctx> {
    /// Holds the function `dot`, which takes four pointers and returns nothing.
    pub module: Module<'ctx>,
    /// Bytes that `scratch` must have, aligned to 64.
    pub scratch_bytes: u64,
    /// Whether the process must ask the operating system for AMX first.
    pub uses_amx: bool,
}

impl<'ctx> DotFunction<'ctx> {
    /// For sizes `[m, n, k]`, powers of two, on a CPU with these features in LLVM's spelling (`+avx2,+fma`).
    pub fn new(
        context: &'ctx Context,
        features: &str,
        [m, n, k]: [u32; 3],
        [a, b, c]: [Operand; 3],
    ) -> DotFunction<'ctx> {
        let isa = Isa::from_features(features);
        let plan = DotPlan::new(&isa, Problem { m, n, k, a, b, c });
        let llvm = Llvm::new(context, "dot");
        let ty = context.void_type().fn_type(&[llvm.ptr().into(); 4], false);
        let function = llvm.module.add_function("dot", ty, None);
        let attribute = context.create_string_attribute("target-features", features);
        function.add_attribute(AttributeLoc::Function, attribute);
        llvm.builder.position_at_end(context.append_basic_block(function, "entry"));
        let pointer = |i| function.get_nth_param(i).expect("four parameters").into_pointer_value();
        plan.emit(
            &llvm,
            DotPointers {
                a: pointer(0),
                b: pointer(1),
                a_stride: None,
                b_stride: None,
                a_whole: None,
                b_whole: None,
                c: pointer(2),
                scratch: pointer(3),
            },
        );
        llvm.builder.build_return(None).expect("well-typed LLVM IR");
        DotFunction { module: llvm.module, scratch_bytes: plan.scratch_bytes(), uses_amx: plan.uses_amx() }
    }
}
