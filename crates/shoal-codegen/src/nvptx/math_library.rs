//! The functions of mathematics that GPUs have no instructions for: the code that CPUs call and the interpreter runs
//! (`shoal_abi::math`, compiled to bitcode by `build.rs`), so all three give the same results.

use std::collections::HashSet;
use std::sync::LazyLock;

use inkwell::attributes::AttributeLoc;
use inkwell::llvm_sys::core::LLVMSetPersonalityFn;
use inkwell::module::Linkage;
use inkwell::values::{AsValueRef, FunctionValue};
use shoal_abi::math::FUNCTIONS;
use shoal_abi::math_symbol::{FloatWidth, symbol};

use crate::shared::link::read_as_needed;
use crate::shared::llvm::Llvm;

/// The functions that kernels call, and `libm`, which those call.
const LIBRARY: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/shoal_device_math.bc")),
    include_bytes!(concat!(env!("OUT_DIR"), "/libm.bc")),
];

/// Links those functions that the kernel calls.
pub(super) fn link(llvm: &Llvm<'_>) -> Result<(), String> {
    /// The names of all functions that kernels call.
    static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| {
        FUNCTIONS.iter().flat_map(|known| FloatWidth::ALL.map(|width| symbol(known.name, width))).collect()
    });
    let names = llvm.module.get_functions().map(|function| name_of(&function));
    let (called, before): (HashSet<String>, HashSet<String>) = names.partition(|name| KNOWN.contains(name));
    if called.is_empty() {
        return Ok(());
    }
    for bitcode in LIBRARY {
        let library = read_as_needed(llvm, bitcode).ok_or("the library of mathematics is no bitcode")?;
        library.set_triple(&llvm.module.get_triple());
        library.set_data_layout(&llvm.module.get_data_layout());
        // Functions that may be left out are, unless something calls them.
        for function in library.get_functions().filter(is_defined) {
            if function.get_linkage() == Linkage::External {
                function.set_linkage(Linkage::LinkOnceODR);
            }
        }
        llvm.module.link_in_module(library).map_err(|why| why.to_string())?;
    }
    for function in llvm.module.get_functions().filter(|function| !before.contains(&name_of(function))) {
        // Nothing calls what unwinds stacks, and functions no longer name it.
        if function.get_intrinsic_id() != 0 || name_of(&function) == "rust_eh_personality" {
            continue;
        }
        // What is left to declare are reports of panics.
        if !is_defined(&function) {
            end_program(llvm, function);
        }
        function.set_linkage(Linkage::Internal);
        // What they say of the machine that they were compiled for.
        if function.has_personality_function() {
            // SAFETY: a function of this module; null stands for none.
            unsafe { LLVMSetPersonalityFn(function.as_value_ref(), std::ptr::null_mut()) };
        }
        for name in ["target-cpu", "target-features", "probe-stack"] {
            function.remove_string_attribute(AttributeLoc::Function, name);
        }
    }
    Ok(())
}

fn name_of(function: &FunctionValue<'_>) -> String {
    function.get_name().to_string_lossy().into_owned()
}

fn is_defined(function: &FunctionValue<'_>) -> bool {
    !function.as_global_value().is_declaration()
}

/// Gives a function that reports a panic a body. None is reached: the functions are total, and the compiler could not see it.
fn end_program<'ctx>(llvm: &Llvm<'ctx>, function: FunctionValue<'ctx>) {
    let here = llvm.builder.get_insert_block();
    llvm.builder.position_at_end(llvm.context.append_basic_block(function, ""));
    llvm.intrinsic("llvm.trap", &[], &[]);
    llvm.builder.build_unreachable().expect("an end");
    if let Some(here) = here {
        llvm.builder.position_at_end(here);
    }
}
