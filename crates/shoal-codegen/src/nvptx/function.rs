//! The frame of a kernel: its parameters, its attributes, and shared memory.

use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::{AnyType, BasicMetadataTypeEnum};
use inkwell::values::FunctionValue;
use shoal_abi::{NvptxArch, ParamLayout, TableUse, rank_table};
use shoal_ir::source::{Diagnostic, SourceMap};
use shoal_ir::{Func, Type};

use super::check::Checks;
use super::emitter::{Emitter, Held};
use super::{Options, comm, tensor_copy};
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

/// What a program needs.
pub(super) struct Resources {
    /// Bytes of shared memory.
    pub(super) shared_bytes: u32,
    /// Threads.
    pub(super) threads: u32,
}

/// Emits the kernel; gives what a program needs.
pub(super) fn emit_kernel<'ctx>(
    llvm: &Llvm<'ctx>,
    func: &Func,
    arch: NvptxArch,
    sources: &SourceMap,
    options: &Options,
) -> Result<Resources, Diagnostic> {
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
        // All of it can be read, so that what a loop reads of it is read once, ahead of the loop.
        for (name, value) in [("dereferenceable", rank_table::TEAMS_AT), ("align", 8)] {
            let kind = Attribute::get_named_enum_kind_id(name);
            function.add_attribute(AttributeLoc::Param(count), llvm.context.create_enum_attribute(kind, value));
        }
        emitter.ranks = Some(table.into_pointer_value());
        emitter.by_nvshmem = options.nvshmem.is_some();
    }
    if options.checks {
        let word = |at: u32| function.get_nth_param(count + 1 + at).expect("two for each parameter");
        emitter.checks = Some(Checks { bounds: (0..count).map(|at| [word(2 * at), word(2 * at + 1)]).collect() });
    }
    let maps = first_map(func, options);
    for (index, op) in tensor_copy::mapped(func).into_iter().enumerate() {
        let map = function.get_nth_param(maps + index as u32).expect("the function was declared with it");
        emitter.tensor_maps.insert(op, map.into_pointer_value());
    }
    emitter.plan_specialised();
    let threads = 32 * (func.gpu.num_warps + emitter.specialised.warps());
    add_attributes(llvm, func, function, threads, options);
    if emitter.specialised.warps() == 0 {
        emitter.region_body(func.body());
    } else {
        part_ways(&mut emitter);
    }
    llvm.builder.build_return(None).expect("a return");
    if let Some(debug) = &emitter.debug {
        debug.finish();
    }
    Ok(Resources { shared_bytes: emitter.finish()?, threads })
}

/// The program's own warps run the kernel, and the others feed its loops.
fn part_ways(emitter: &mut Emitter<'_, '_>) {
    let llvm = emitter.llvm;
    let start = llvm.here();
    let (own, feeding) = (llvm.new_block("own"), llvm.new_block("feeding"));
    let params = emitter.held.clone();
    llvm.builder.position_at_end(own);
    emitter.begin_own_warps();
    emitter.region_body(emitter.func.body());
    llvm.builder.build_return(None).expect("a return");
    llvm.builder.position_at_end(start);
    emitter.make_ring_barriers();
    let limit = llvm.const_i32((32 * emitter.func.gpu.num_warps).into()).into();
    let is_own = llvm.icmp(inkwell::IntPredicate::ULT, emitter.thread.into(), limit);
    llvm.branch(is_own.into_int_value(), own, feeding);
    llvm.builder.position_at_end(feeding);
    emitter.feed_loops(params);
}

/// The position of the first tensor map among the parameters.
fn first_map(func: &Func, options: &Options) -> u32 {
    let params = func.params().len() as u32;
    let bounds = if options.checks { 2 * params } else { 0 };
    params + u32::from(comm::table_use(func, options) != TableUse::None) + bounds
}

/// Lets a parameter be a tensor map that stays where the launch put it: 128 bytes, aligned to 64.
fn pass_by_value<'ctx>(llvm: &Llvm<'ctx>, function: FunctionValue<'ctx>, index: u32) {
    let number = |name, value| llvm.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value);
    let map = llvm.i8().array_type(128).as_any_type_enum();
    let by_value = llvm.context.create_type_attribute(Attribute::get_named_enum_kind_id("byval"), map);
    let constant = llvm.context.create_string_attribute("nvvm.grid_constant", "");
    for attribute in [by_value, number("align", 64), constant] {
        function.add_attribute(AttributeLoc::Param(index), attribute);
    }
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
    let maps = tensor_copy::mapped(func).len();
    params.extend((0..maps).map(|_| BasicMetadataTypeEnum::from(llvm.ptr())));
    let function = llvm.module.add_function(&func.name, llvm.context.void_type().fn_type(&params, false), None);
    function.set_call_conventions(PTX_KERNEL);
    for index in 0..maps as u32 {
        pass_by_value(llvm, function, first_map(func, options) + index);
    }
    function
}

fn add_attributes<'ctx>(
    llvm: &Llvm<'ctx>,
    func: &Func,
    function: FunctionValue<'ctx>,
    threads: u32,
    options: &Options,
) {
    let mut attributes = vec![("nvvm.reqntid".to_owned(), threads.to_string())];
    let has_feeders = threads > 32 * func.gpu.num_warps;
    if (comm::table_use(func, options) == TableUse::Ranks || has_feeders) && func.gpu.max_registers.is_none() {
        // Programs that wait for other ranks are few, and each has a multiprocessor to itself: registers are there to have
        // many loads under way. Registers can be handed over only where it is known how many there are.
        attributes.push(("nvvm.minctasm".to_owned(), "1".to_owned()));
    }
    if let Some(registers) = func.gpu.max_registers {
        attributes.push(("nvvm.maxnreg".to_owned(), registers.to_string()));
    }
    for (name, value) in attributes {
        function.add_attribute(AttributeLoc::Function, llvm.context.create_string_attribute(&name, &value));
    }
}
