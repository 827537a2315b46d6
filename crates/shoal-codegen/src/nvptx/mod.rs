//! Tile IR to PTX for NVIDIA GPUs.
//!
//! A program is a block of threads. A tile is spread over their registers as its layout says: each thread has a short list
//! of numbers, one for each register of the layout, and elementwise code works on that list. What moves between threads
//! goes by shuffles or through shared memory, as `shoal_layout`'s plans say. Scalars are the same in every thread.
//!
//! | file | idea |
//! |---|---|
//! | `function` | the frame of a kernel: parameters, attributes, its place in the grid |
//! | `emitter` | what each value is held in, and the operations of a region |
//! | `place` | which element a register of this thread holds |
//! | `words` | numbers as the words that instructions move |
//! | `inline_ptx` | PTX where LLVM has no instruction |
//! | `elementwise`, `math` | elementwise operations; see also `shared` |
//! | `math_library` | functions of mathematics that are called |
//! | `shape` | operations that move elements between registers of a thread |
//! | `convert` | conversions between layouts |
//! | `shared_memory` | who uses shared memory, and when threads must wait for each other |
//! | `shared_tile` | how tiles lie in shared memory |
//! | `memory`, `atomic` | accesses to global memory |
//! | `access_order` | where threads wait for each other between them |
//! | `tensor_copy` | blocks of tensors through the copy engine |
//! | `reduce`, `scan`, `gather` | what combines elements of several threads |
//! | `print` | `device_print` |
//! | `comm`, `shmem` | operations between ranks; SHMEM's |
//! | `nvshmem` | the same by functions of NVSHMEM |
//! | `give_up` | how a program ends that cannot go on; assertions |
//! | `check` | accesses that are checked |
//! | `dot` | matrix products |
//! | `control`, `pipeline` | control flow; loads that run ahead of a loop |
//! | `lane_code` | branches and loops that each thread takes for itself |
//! | `effort` | how much LLVM does with a kernel |
//! | `refuse` | what this backend cannot do, said before any code is made |

mod access_order;
mod atomic;
mod check;
mod comm;
mod control;
mod convert;
mod dot;
mod effort;
mod elementwise;
mod emitter;
mod function;
mod gather;
mod give_up;
mod inline_ptx;
mod lane_code;
mod math;
mod math_library;
mod memory;
mod nvshmem;
mod pipeline;
mod place;
mod print;
mod reduce;
mod refuse;
mod scan;
mod shape;
mod shared_memory;
mod shared_tile;
mod shmem;
mod target;
mod tensor_copy;
mod unread_loads;
mod words;

use inkwell::context::Context;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use shoal_abi::{KernelDescription, NvptxArch, NvptxNeeds, TableUse, TargetNeeds, Waits};
use shoal_ir::source::{Diagnostics, SourceMap};
use shoal_ir::tensor_map::tensor_map;
use shoal_ir::{Func, Module, OpKind, effects};

use self::target::LinkedWith;
use crate::shared::failure::{self, find, one};
use crate::shared::link;
use crate::shared::llvm::Llvm;
use crate::{Compiled, Emit, Linked, Options};

/// Compiles a kernel to PTX.
pub fn compile(
    module: &Module,
    kernel: &str,
    arch: NvptxArch,
    sources: &SourceMap,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    let func = find(module, kernel)?;
    let context = Context::create();
    let Built { llvm, machine, resources, linked } = build(&context, func, arch, sources, options, Emit::Asm)?;
    let text = assembly(&llvm, &machine, func)?;
    let tensor_maps = tensor_copy::mapped(func).into_iter().filter_map(|op| tensor_map(func, op)).collect();
    let (function::Resources { shared_bytes, threads }, table) = (resources, comm::table_use(func, options));
    let needs = NvptxNeeds { arch, threads, shared_bytes, table, checks: options.checks, tensor_maps };
    let description = KernelDescription {
        name: func.name.clone(),
        params: function::param_layout(func),
        waits: if effects::may_wait(module, func) { Waits::MayWait } else { Waits::Never },
        can_fail: options.checks || give_up::asserts(func),
        needs: TargetNeeds::Nvptx(needs),
    };
    // The text says what a launch must know, so that nothing else need travel with it.
    let object = [format!("// {description}\n").into_bytes(), text].concat();
    Ok(Compiled { object, description, linked })
}

/// A kernel in one of the forms it has on its way to PTX.
pub fn emit(
    module: &Module,
    kernel: &str,
    arch: NvptxArch,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<Vec<u8>, Diagnostics> {
    let func = find(module, kernel)?;
    let context = Context::create();
    match what {
        Emit::LlvmRaw | Emit::Llvm => {
            let llvm = build(&context, func, arch, sources, options, what)?.llvm;
            Ok(llvm.module.print_to_string().to_string().into_bytes())
        }
        Emit::Asm | Emit::Object => Ok(compile(module, kernel, arch, sources, options)?.object),
    }
}

fn assembly(llvm: &Llvm<'_>, machine: &TargetMachine, func: &Func) -> Result<Vec<u8>, Diagnostics> {
    let buffer = machine
        .write_to_memory_buffer(&llvm.module, FileType::Assembly)
        .map_err(|why| broken(func, &why.to_string()))?;
    // With line tables LLVM asks for code that a debugger can step through, which the assembler then does not optimise.
    let text = String::from_utf8_lossy(buffer.as_slice());
    Ok(text.trim_end_matches('\0').replacen(", debug\n", "\n", 1).into_bytes())
}

struct Built<'ctx> {
    llvm: Llvm<'ctx>,
    machine: TargetMachine,
    resources: function::Resources,
    linked: Vec<Linked>,
}

fn build<'ctx>(
    context: &'ctx Context,
    func: &Func,
    arch: NvptxArch,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<Built<'ctx>, Diagnostics> {
    let refused = refuse::refusals(func, arch, options);
    if !refused.is_empty() {
        return Err(refused.into());
    }
    let by_nvshmem = options.nvshmem.as_deref().filter(|_| comm::table_use(func, options) == TableUse::Ranks);
    let has_assembly = control::any_inside(func, func.body(), |kind| matches!(kind, OpKind::InlineAsm(_)));
    let with = if by_nvshmem.is_some() || has_assembly { LinkedWith::Newer } else { LinkedWith::Anything };
    let machine = target::machine(arch, effort::of_code_generator(func, arch), with).map_err(one)?;
    let llvm = Llvm::new(context, &func.name).with_bf16_instructions();
    llvm.module.set_triple(&machine.get_triple());
    llvm.module.set_data_layout(&machine.get_target_data().get_data_layout());
    let mut linked = Vec::new();
    for (library, span) in link::extern_libraries(func, options) {
        linked.push(link::link(&llvm, library, span).map_err(one)?);
    }
    let resources = function::emit_kernel(&llvm, func, arch, sources, options).map_err(one)?;
    math_library::link(&llvm).map_err(|why| broken(func, &why))?;
    if let Some(path) = by_nvshmem {
        linked.push(nvshmem::link(&llvm, path, func.span).map_err(one)?);
    }
    if cfg!(debug_assertions) {
        llvm.module.verify().map_err(|why| broken(func, &format!("{why}\n{}", llvm.module.print_to_string())))?;
    }
    if what != Emit::LlvmRaw {
        if by_nvshmem.is_some() {
            llvm.module
                .run_passes(nvshmem::FIRST_PASSES, &machine, PassBuilderOptions::create())
                .map_err(|why| broken(func, &why.to_string()))?;
        }
        llvm.module
            .run_passes(effort::passes(&llvm.module), &machine, PassBuilderOptions::create())
            .map_err(|why| broken(func, &why.to_string()))?;
        unread_loads::fence_instead(&llvm);
    }
    Ok(Built { llvm, machine, resources, linked })
}

/// A bug in this backend.
fn broken(func: &Func, why: &str) -> Diagnostics {
    failure::broken("NVIDIA", func, why)
}
