//! The frame of a kernel: its arguments, the loop over programs, its place in the grid, as [`shoal_abi`] has them.

use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::values::{FunctionValue, InstructionOpcode, PointerValue};
use shoal_abi::{Context, CpuTarget, ParamLayout};
use shoal_ir::source::SourceMap;
use shoal_ir::{Elem, Func, Type};

use super::Options;
use super::emitter::{Emitter, Needs};
use super::isa::Isa;
use super::preempt;
use crate::shared::debug_info::DebugInfo;
use crate::shared::value_type::{from_memory, memory_type};

use crate::shared::llvm::{Llvm, V};

/// Size and alignment of each parameter in the argument block.
pub(super) fn param_layout(func: &Func) -> Vec<ParamLayout> {
    let layout = |ty: &Type| match ty {
        Type::Elem(elem) => ParamLayout { size: elem.bytes() as usize, align: elem.bytes() as usize },
        Type::Tile(_) | Type::Desc(_) | Type::Token => unreachable!("refused before emission"),
    };
    func.params().iter().map(|&p| layout(func.ty(p))).collect()
}

/// Emits the kernel as two functions: the entry point, which loops over programs, and the program itself, to which
/// scratch is memory that nothing else points to.
pub(super) fn emit_kernel<'ctx>(
    llvm: &Llvm<'ctx>,
    func: &Func,
    target: &CpuTarget,
    isa: &Isa,
    sources: &SourceMap,
    options: &Options,
) -> Needs {
    let (ptr, i64) = (llvm.ptr(), llvm.i64());
    let program = add_function(
        llvm,
        target,
        &format!("{}.program", func.name),
        &[ptr.into(), ptr.into(), ptr.into(), i64.into()],
    );
    program.set_linkage(inkwell::module::Linkage::Internal);
    for (index, name) in [(1, "noalias"), (2, "noalias"), (0, "readonly"), (1, "nonnull")] {
        program.add_attribute(AttributeLoc::Param(index), flag(llvm, name));
    }
    program.add_attribute(AttributeLoc::Function, flag(llvm, "noinline"));
    let needs = emit_program(llvm, func, isa, sources, options, program);
    let entry = add_function(llvm, target, &func.name, &[ptr.into(), ptr.into(), i64.into(), i64.into()]);
    emit_entry(llvm, entry, program);
    needs
}

fn flag(llvm: &Llvm<'_>, name: &str) -> Attribute {
    llvm.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0)
}

fn add_function<'ctx>(
    llvm: &Llvm<'ctx>,
    target: &CpuTarget,
    name: &str,
    params: &[inkwell::types::BasicMetadataTypeEnum<'ctx>],
) -> FunctionValue<'ctx> {
    let function = llvm.module.add_function(name, llvm.context.void_type().fn_type(params, false), None);
    let text = |key: &str, value: &str| llvm.context.create_string_attribute(key, value);
    for attribute in [
        text("target-cpu", target.name()),
        text("target-features", target.features()),
        text("prefer-vector-width", "512"),
    ] {
        function.add_attribute(AttributeLoc::Function, attribute);
    }
    function.add_attribute(AttributeLoc::Function, flag(llvm, "nounwind"));
    function
}

fn param<'ctx>(function: FunctionValue<'ctx>, index: u32) -> V<'ctx> {
    function.get_nth_param(index).expect("the function was declared with it")
}

fn emit_entry<'ctx>(llvm: &Llvm<'ctx>, entry: FunctionValue<'ctx>, program: FunctionValue<'ctx>) {
    let block = |name| llvm.context.append_basic_block(entry, name);
    let (start, head, body, end) = (block("entry"), block("programs"), block("program"), block("end"));
    llvm.builder.position_at_end(start);
    llvm.builder.unset_current_debug_location();
    let (args, context) = (param(entry, 0), param(entry, 1));
    let (first, last) = (param(entry, 2), param(entry, 3));
    let at = |offset: usize| llvm.offset(context.into_pointer_value(), llvm.const_i64(offset as i64));
    let scratch = llvm.load(llvm.ptr(), at(Context::SCRATCH_AT), 8);
    llvm.jump(head);
    llvm.builder.position_at_end(head);
    let id = llvm.builder.build_phi(llvm.i64(), "id").expect("a phi");
    id.add_incoming(&[(&first, start)]);
    let more = llvm.icmp(IntPredicate::ULT, id.as_basic_value(), last).into_int_value();
    llvm.branch(more, body, end);
    llvm.builder.position_at_end(body);
    llvm.store(id.as_basic_value(), at(Context::PROGRAM_AT), 8);
    llvm.call(program, &[args, context, scratch, id.as_basic_value()]);
    preempt::emit(llvm, context.into_pointer_value(), end);
    let next = llvm.add64(id.as_basic_value().into_int_value(), llvm.const_i64(1));
    id.add_incoming(&[(&next, llvm.here())]);
    llvm.jump(head);
    llvm.builder.position_at_end(end);
    llvm.builder.build_return(None).expect("a return");
}

fn emit_program<'ctx>(
    llvm: &Llvm<'ctx>,
    func: &Func,
    isa: &Isa,
    sources: &SourceMap,
    options: &Options,
    function: FunctionValue<'ctx>,
) -> Needs {
    let mut debug = if options.debug_info { DebugInfo::new(llvm, func, function, sources) } else { None };
    llvm.builder.position_at_end(llvm.context.append_basic_block(function, "program"));
    if let Some(debug) = &mut debug {
        debug.locate(llvm, func.span, sources);
    }
    let [args, context, scratch] = [0, 1, 2].map(|i| param(function, i).into_pointer_value());
    let id = param(function, 3);
    let at = |offset: usize| llvm.offset(context, llvm.const_i64(offset as i64));
    let grid: [V<'ctx>; 3] = [0, 1, 2].map(|axis| llvm.load(llvm.i32(), at(Context::GRID_AT + 4 * axis), 4));
    let place = place_in_grid(llvm, id, grid);
    let mut emitter = Emitter::new(llvm, isa, func, sources, debug, context, scratch, place, grid);
    if options.checks {
        emitter.check_accesses();
    }
    let mut offset = 0u64;
    for (&value, ParamLayout { size, align }) in func.params().iter().zip(param_layout(func)) {
        offset = offset.next_multiple_of(align as u64);
        let loaded = load_param(llvm, emitter.elem(value), args, offset);
        emitter.scalars.insert(value, loaded);
        offset += size as u64;
    }
    emitter.postpone_products();
    emitter.region_body(func.body());
    if let Some(leave) = emitter.leave {
        llvm.jump(leave);
        llvm.builder.position_at_end(leave);
    }
    if emitter.needs.nontemporal_stores {
        llvm.intrinsic("llvm.x86.sse.sfence", &[], &[]);
    }
    llvm.builder.build_return(None).expect("a return");
    if let Some(debug) = &emitter.debug {
        debug.finish();
    }
    emitter.needs
}

fn load_param<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, args: PointerValue<'ctx>, offset: u64) -> V<'ctx> {
    let at = llvm.offset(args, llvm.const_i64(offset as i64));
    if matches!(elem, Elem::Ptr(_)) {
        return llvm.load(llvm.ptr(), at, 8);
    }
    from_memory(llvm, elem, llvm.load(memory_type(llvm, elem), at, elem.bytes()))
}

/// x runs fastest, then y, then z.
fn place_in_grid<'ctx>(llvm: &Llvm<'ctx>, id: V<'ctx>, grid: [V<'ctx>; 3]) -> [V<'ctx>; 3] {
    let wide = |v: V<'ctx>| llvm.cast(InstructionOpcode::ZExt, v, llvm.i64().into());
    let narrow = |v: V<'ctx>| llvm.cast(InstructionOpcode::Trunc, v, llvm.i32().into());
    let (x, y) = (wide(grid[0]), wide(grid[1]));
    let rows = llvm.bin(InstructionOpcode::UDiv, id, x);
    [
        narrow(llvm.bin(InstructionOpcode::URem, id, x)),
        narrow(llvm.bin(InstructionOpcode::URem, rows, y)),
        narrow(llvm.bin(InstructionOpcode::UDiv, rows, y)),
    ]
}
