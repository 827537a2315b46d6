//! Tile IR to native code for CPUs.
//!
//! A program instance becomes one native function. Tiles are never unrolled into huge vectors: operations that *run*
//! (stores, reductions, dots; see `fusion`) become loops over their tile in chunks of one vector, and everything they
//! need is computed on the way, chunk by chunk (see `emitter`). What several loops need is materialised in scratch, which stays
//! in the nearest caches. Code size and compile time do not depend on the number of elements.
//!
//! | file | idea |
//! |---|---|
//! | `fusion` | which tiles are materialised, and which are fused into loops |
//! | `index` | which elements a chunk is about: bits of coordinates |
//! | `chunk` | what its lanes hold: one number, even steps, a vector |
//! | `emitter` | the value of any chunk of any tile |
//! | `tile_loops`, `tile_queue` | loops over a tile, and what is materialised on the way |
//! | `elementwise`, `arith`, `exponential`, `convert` | elementwise operations and number formats |
//! | `nontemporal`, `prefetch` | stores past the caches, and loads ahead of time |
//! | `addressing`, `affine` | which integers become addresses, and which addresses are evenly spaced |
//! | `alias_guard`, `injective` | loads and stores of memory that may be the same |
//! | `memory`, `atomic`, `reduce`, `control`, `product`, `runtime_calls` | operations that run |
//! | `dot`, `isa` | matrix micro-kernels |
//! | `check`, `provenance` | accesses that are checked, and the arguments their addresses were computed from |
//! | `preempt` | looking up from loops, whether the launch is to end |
//! | `function` | the frame of a kernel |

mod addressing;
mod affine;
mod alias_guard;
mod arith;
mod atomic;
mod check;
mod chunk;
mod control;
mod convert;
mod debug_info;
pub mod dot;
mod elementwise;
mod emitter;
mod exponential;
mod function;
mod fusion;
mod index;
mod injective;
mod isa;
mod memory;
mod nontemporal;

mod preempt;
mod prefetch;
mod product;
mod provenance;
mod reduce;
mod refuse;
mod region;
mod runtime_calls;
mod target;
mod tile_loops;
mod tile_queue;

use std::path::{Path, PathBuf};

use inkwell::OptimizationLevel;
use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module as LlvmModule;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use inkwell::values::InstructionOpcode;
use shoal_ir::op::OpKind;
use shoal_ir::source::{Diagnostic, Diagnostics, SourceMap, Span};
use shoal_ir::{Func, Module, effects};

use crate::llvm::Llvm;
use isa::Isa;
pub use target::Target;

/// How code is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// With line tables for debuggers.
    pub debug_info: bool,
    /// With a check of every access to memory, for kernels that are being debugged.
    pub checks: bool,
    /// Bitcode files with functions that kernels call by `extern_elementwise`.
    pub extern_libs: Vec<PathBuf>,
}

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// A relocatable object.
    pub object: Vec<u8>,
    /// The symbol of its entry point.
    pub entry: String,
    /// How much scratch a program needs.
    pub scratch_bytes: u64,
    /// Whether a program may wait for another.
    pub may_wait: bool,
    /// Whether a program may fail.
    pub can_fail: bool,
    /// Whether AMX must be enabled.
    pub uses_amx: bool,
    /// Size and alignment of each parameter in the argument block.
    pub params: Vec<(u32, u32)>,
}

/// What [`emit`] writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Emit {
    /// LLVM IR as this backend makes it.
    LlvmRaw,
    /// LLVM IR after LLVM's passes.
    Llvm,
    /// Assembly.
    Asm,
    /// A relocatable object.
    Object,
}

/// LLVM's passes: enough to clean up what chunk-by-chunk emission leaves behind, and no more, since every pass is paid
/// for at each compilation. (Unrolling, GVN and loop rotation were tried: longer compilations, no faster kernels.)
const PASSES: &str =
    "function(early-cse,loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/// Compiles a kernel to an object.
pub fn compile(
    module: &Module,
    kernel: &str,
    target: &Target,
    sources: &SourceMap,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    let func = find(module, kernel)?;
    let context = Context::create();
    let (llvm, machine, needs) = build(&context, func, target, sources, options, Emit::Object)?;
    let object =
        machine.write_to_memory_buffer(&llvm.module, FileType::Object).map_err(|why| broken(func, &why.to_string()))?;
    Ok(Compiled {
        object: bytes(&object),
        entry: func.name.clone(),
        scratch_bytes: needs.scratch_bytes,
        may_wait: effects::may_wait(module, func),
        can_fail: needs.can_fail,
        uses_amx: needs.uses_amx,
        params: function::param_layout(func),
    })
}

/// A kernel in one of the forms it has on its way to an object.
pub fn emit(
    module: &Module,
    kernel: &str,
    target: &Target,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<Vec<u8>, Diagnostics> {
    let func = find(module, kernel)?;
    let context = Context::create();
    let (llvm, machine, _) = build(&context, func, target, sources, options, what)?;
    let file_type = match what {
        Emit::LlvmRaw | Emit::Llvm => return Ok(llvm.module.print_to_string().to_string().into_bytes()),
        Emit::Asm => FileType::Assembly,
        Emit::Object => FileType::Object,
    };
    let buffer =
        machine.write_to_memory_buffer(&llvm.module, file_type).map_err(|why| broken(func, &why.to_string()))?;
    Ok(bytes(&buffer))
}

fn build<'ctx>(
    context: &'ctx Context,
    func: &Func,
    target: &Target,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<(Llvm<'ctx>, TargetMachine, emitter::Needs), Diagnostics> {
    let refused = refuse::refusals(func);
    if !refused.is_empty() {
        return Err(refused.into());
    }
    let machine = target.machine(OptimizationLevel::Default).map_err(one)?;
    let llvm = Llvm::new(context, &func.name);
    llvm.module.set_triple(&machine.get_triple());
    llvm.module.set_data_layout(&machine.get_target_data().get_data_layout());
    for (library, span) in extern_libraries(func, options) {
        link(&llvm, &library, span).map_err(one)?;
    }
    let isa = Isa::of_cpu(target.cpu(), target.features());
    let needs = function::emit_kernel(&llvm, func, target, &isa, sources, options);
    if cfg!(debug_assertions) {
        llvm.module.verify().map_err(|why| broken(func, &format!("{why}\n{}", llvm.module.print_to_string())))?;
    }
    if what != Emit::LlvmRaw {
        llvm.module
            .run_passes(PASSES, &machine, PassBuilderOptions::create())
            .map_err(|why| broken(func, &why.to_string()))?;
    }
    let machine = if longest_access_run(&llvm.module) > MOST_SCHEDULED {
        target.machine(OptimizationLevel::None).map_err(one)?
    } else {
        machine
    };
    Ok((llvm, machine, needs))
}

/// Accesses to memory in one block of code that LLVM may still order. It compares each with many others, so that tens of
/// thousands, which only `static_range` makes, would take minutes.
const MOST_SCHEDULED: usize = 1 << 12;

/// The most accesses to memory that one block of the code has.
fn longest_access_run(module: &LlvmModule<'_>) -> usize {
    use InstructionOpcode::{Call, Load, Store};
    let accesses = |block: BasicBlock<'_>| {
        block.get_instructions().filter(|i| matches!(i.get_opcode(), Call | Load | Store)).count()
    };
    module.get_functions().flat_map(|f| f.get_basic_block_iter()).map(accesses).max().unwrap_or(0)
}

fn find<'m>(module: &'m Module, kernel: &str) -> Result<&'m Func, Diagnostics> {
    module.func(kernel).ok_or_else(|| one(Diagnostic::error(Span::NONE, format!("there is no kernel `{kernel}`"))))
}

/// The bitcode files that a kernel's functions come from, with the place that asks for each.
fn extern_libraries(func: &Func, options: &Options) -> Vec<(PathBuf, Span)> {
    let mut libraries: Vec<(PathBuf, Span)> =
        options.extern_libs.iter().map(|path| (path.clone(), func.span)).collect();
    for op in func.walk() {
        let OpKind::Extern(function) = &func.op(op).kind else { continue };
        let known = libraries.iter().any(|(path, _)| path.as_os_str() == function.library.as_str());
        if !function.library.is_empty() && !known {
            libraries.push((PathBuf::from(&function.library), func.op(op).span));
        }
    }
    libraries
}

/// Links user bitcode into the module.
fn link(llvm: &Llvm<'_>, library: &Path, span: Span) -> Result<(), Diagnostic> {
    let refuse = |why: String| {
        Diagnostic::error(span, format!("cannot link `{}`", library.display()))
            .note(why)
            .help("`extern_elementwise` takes a file of LLVM bitcode, such as `clang -O2 -emit-llvm -c` writes")
    };
    let buffer = MemoryBuffer::create_from_file(library).map_err(|why| refuse(why.to_string()))?;
    let other = LlvmModule::parse_bitcode_from_buffer(&buffer, llvm.context).map_err(|why| refuse(why.to_string()))?;
    other.set_triple(&llvm.module.get_triple());
    other.set_data_layout(&llvm.module.get_data_layout());
    llvm.module.link_in_module(other).map_err(|why| refuse(why.to_string()))
}

fn one(diagnostic: Diagnostic) -> Diagnostics {
    vec![diagnostic].into()
}

/// A bug in this backend, told as what it is.
fn broken(func: &Func, why: &str) -> Diagnostics {
    one(Diagnostic::error(func.span, format!("the CPU backend made code for `{}` that LLVM refuses: {why}", func.name))
        .help("this is a bug in Shoal, not in the kernel: please report it with the kernel"))
}

fn bytes(buffer: &MemoryBuffer) -> Vec<u8> {
    buffer.as_slice().to_vec()
}
