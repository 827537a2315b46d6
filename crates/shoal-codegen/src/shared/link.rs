//! Bitcode: which files of the user's a kernel's functions come from, and linking them.

use std::path::PathBuf;

use inkwell::llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module as LlvmModule};
use inkwell::values::BasicValue;
use shoal_ir::Func;
use shoal_ir::op::OpKind;
use shoal_ir::source::{Diagnostic, Span};

use super::llvm::Llvm;
use crate::{Linked, Options};

/// The bitcode files that a kernel's functions come from, with the place that asks for each. A kernel that calls none
/// needs no file: host programs also name `libdevice`, whose functions are the language's own.
pub(crate) fn extern_libraries(func: &Func, options: &Options) -> Vec<(PathBuf, Span)> {
    let mut libraries: Vec<(PathBuf, Span)> = Vec::new();
    for op in func.walk() {
        let OpKind::Extern(function) = &func.op(op).kind else { continue };
        if libraries.is_empty() {
            libraries.extend(options.extern_libs.iter().map(|path| (path.clone(), func.span)));
        }
        let known = libraries.iter().any(|(path, _)| path.as_os_str() == function.library.as_str());
        if !function.library.is_empty() && !known {
            libraries.push((PathBuf::from(&function.library), func.op(op).span));
        }
    }
    libraries
}

/// Links user bitcode into the module.
pub(crate) fn link(llvm: &Llvm<'_>, path: PathBuf, span: Span) -> Result<Linked, Diagnostic> {
    let refuse = |why: String| {
        Diagnostic::error(span, format!("cannot link `{}`", path.display()))
            .note(why)
            .help("`extern_elementwise` takes a file of LLVM bitcode, such as `clang -O2 -emit-llvm -c` writes")
    };
    // Read once, so that what is said to be linked is what was.
    let bitcode = std::fs::read(&path).map_err(|why| refuse(why.to_string()))?;
    let buffer = MemoryBuffer::create_from_memory_range_copy(&bitcode, "bitcode");
    let other = LlvmModule::parse_bitcode_from_buffer(&buffer, llvm.context).map_err(|why| refuse(why.to_string()))?;
    other.set_triple(&llvm.module.get_triple());
    other.set_data_layout(&llvm.module.get_data_layout());
    let defined: Vec<_> = (other.get_functions())
        .filter(|function| !function.as_global_value().is_declaration())
        .map(|function| function.get_name().to_owned())
        .collect();
    llvm.module.link_in_module(other).map_err(|why| refuse(why.to_string()))?;
    // The kernel is all that others call: what it does not need is removed.
    for name in defined {
        if let Some(function) = name.to_str().ok().and_then(|name| llvm.module.get_function(name)) {
            function.set_linkage(Linkage::Internal);
        }
    }
    Ok(Linked { path, bitcode })
}

/// Says that bitcode is for GPUs: LLVM ends the process when it meets their instructions in code for a CPU.
pub(crate) fn refuse_instructions_of_gpus(llvm: &Llvm<'_>, func: &Func) -> Result<(), Diagnostic> {
    let foreign = llvm.module.get_functions().find_map(|function| {
        let name = function.get_name().to_string_lossy().into_owned();
        let used = function.as_global_value().as_pointer_value().get_first_use().is_some();
        (used && (name.starts_with("llvm.nvvm.") || name.starts_with("llvm.amdgcn."))).then_some(name)
    });
    foreign.map_or(Ok(()), |instruction| {
        Err(Diagnostic::error(func.span, "this kernel calls a function that is for GPUs")
            .note(format!("the bitcode that is linked uses `{instruction}`"))
            .help("link bitcode for this machine, or use the functions of the language"))
    })
}

/// A module whose functions are read when they are linked: libraries have many, and kernels call a few.
pub(crate) fn read_as_needed<'ctx>(llvm: &Llvm<'ctx>, bitcode: &[u8]) -> Option<LlvmModule<'ctx>> {
    // LLVM ends the process when the first bytes are wrong.
    if !bitcode.starts_with(b"BC\xc0\xde") {
        return None;
    }
    let buffer = MemoryBuffer::create_from_memory_range_copy(bitcode, "bitcode");
    let mut module = std::ptr::null_mut();
    // SAFETY: the context and the buffer live; the pointer is to a local.
    let failed = unsafe { LLVMGetBitcodeModuleInContext2(llvm.context.raw(), buffer.as_mut_ptr(), &raw mut module) };
    if failed != 0 || module.is_null() {
        return None;
    }
    // The module has taken it over.
    std::mem::forget(buffer);
    // SAFETY: a module of the context, which nobody else owns.
    Some(unsafe { LlvmModule::new(module) })
}
