//! The frame of a kernel: its parameters, its attributes, and shared memory.

use inkwell::AddressSpace;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::FunctionValue;
use shoal_abi::{NvptxArch, ParamLayout, TableUse};
use shoal_ir::source::{Diagnostic, SourceMap};
use shoal_ir::{Func, Type};

use super::check::Checks;
use super::emitter::{Emitter, Held};
use super::{Options, comm};
use crate::shared::debug_info::DebugInfo;
use crate::shared::llvm::Llvm;
use crate::shared::value_type::{from_memory, memory_type};

/// LLVM's number for the calling convention of kernels.
const PTX_KERNEL: u32 = 71;

/// Size and alignment of each parameter: they are passed one by one, each at its own alignment.
pub(super) fn param_layout(func: &Func) -> Vec<ParamLayout> {
    let layout = |ty: &Type| {
        let bytes = ty.elem().map_or(0, shoal_ir::Elem::bytes) as usize;
        ParamLayout { size: bytes, align: bytes.max(1) }
    };
    func.params().iter().map(|&p| layout(func.ty(p))).collect()
}

/// Emits the kernel; gives the bytes of shared memory that a program needs.
pub(super) fn emit_kernel<'ctx>(
    llvm: &Llvm<'ctx>,
    func: &Func,
    arch: NvptxArch,
    sources: &SourceMap,
    options: &Options,
) -> Result<u32, Diagnostic> {
    let function = declare(llvm, func, options);
    let shared = llvm.module.add_global(llvm.i8().array_type(0), Some(AddressSpace::from(3)), "shared_memory");
    shared.set_linkage(Linkage::External);
    shared.set_alignment(1024);
    let mut debug = if options.debug_info { DebugInfo::new(llvm, func, function, sources) } else { None };
    llvm.builder.position_at_end(llvm.context.append_basic_block(function, "program"));
    if let Some(debug) = &mut debug {
        debug.locate(llvm, func.span, sources);
    }
    let mut emitter = Emitter::new(llvm, func, arch, sources, debug, shared.as_pointer_value());
    for (index, &value) in func.params().iter().enumerate() {
        let elem = emitter.elem(value);
        let passed = function.get_nth_param(index as u32).expect("the function was declared with it");
        let number = if elem.ptr().is_some() { passed } else { from_memory(llvm, elem, passed) };
        emitter.hold(value, Held::Scalar(number));
    }
    let count = func.params().len() as u32;
    if comm::table_use(func, options) != TableUse::None {
        let table = function.get_nth_param(count).expect("the parameter behind all others");
        emitter.ranks = Some(table.into_pointer_value());
    }
    if options.checks {
        let word = |at: u32| function.get_nth_param(count + 1 + at).expect("two for each parameter");
        emitter.checks = Some(Checks { bounds: (0..count).map(|at| [word(2 * at), word(2 * at + 1)]).collect() });
    }
    emitter.region_body(func.body());
    llvm.builder.build_return(None).expect("a return");
    if let Some(debug) = &emitter.debug {
        debug.finish();
    }
    emitter.finish()
}

fn declare<'ctx>(llvm: &Llvm<'ctx>, func: &Func, options: &Options) -> FunctionValue<'ctx> {
    let mut params: Vec<BasicMetadataTypeEnum<'ctx>> = func
        .params()
        .iter()
        .map(|&param| match func.ty(param).elem() {
            Some(elem) if elem.ptr().is_some() => llvm.ptr().into(),
            Some(elem) => memory_type(llvm, elem).into(),
            None => llvm.i64().into(),
        })
        .collect();
    if comm::table_use(func, options) != TableUse::None {
        params.push(llvm.ptr().into());
    }
    if options.checks {
        params.resize(params.len() + 2 * func.params().len(), llvm.i64().into());
    }
    let function = llvm.module.add_function(&func.name, llvm.context.void_type().fn_type(&params, false), None);
    function.set_call_conventions(PTX_KERNEL);
    let threads = 32 * func.gpu.num_warps;
    let mut attributes = vec![("nvvm.reqntid".to_owned(), threads.to_string())];
    if comm::table_use(func, options) == TableUse::Ranks && func.gpu.max_registers.is_none() {
        // Programs that wait for other ranks are few, and each has a multiprocessor to itself: registers are there to have
        // many loads under way.
        attributes.push(("nvvm.minctasm".to_owned(), "1".to_owned()));
    }
    if let Some(registers) = func.gpu.max_registers {
        attributes.push(("nvvm.maxnreg".to_owned(), registers.to_string()));
    }
    for (name, value) in attributes {
        function.add_attribute(AttributeLoc::Function, llvm.context.create_string_attribute(&name, &value));
    }
    function
}
