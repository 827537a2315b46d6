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
//! | `elementwise`, `math`, `exponential`, `extreme`, `avx512` | elementwise operations; see also `shared` |
//! | `nontemporal`, `prefetch` | stores past the caches, and loads ahead of time |
//! | `addressing`, `affine` | which integers become addresses, and which addresses are evenly spaced |
//! | `alias_guard`, `injective` | loads and stores of memory that may be the same |
//! | `memory`, `atomic`, `reduce`, `control`, `product`, `runtime_calls` | operations that run |
//! | `comm`, `shmem` | operations between ranks |
//! | `dot`, `isa` | matrix micro-kernels |
//! | `whole` | loads that turn out to be of whole matrices |
//! | `postpone`, `finish` | products of several rounds of a loop at once, and stores of their sums |
//! | `check` | accesses that are checked |
//! | `preempt` | looking up from loops, whether the launch is to end |
//! | `locate` | the line that code belongs to |
//! | `function` | the frame of a kernel |

mod addressing;
mod affine;
mod alias_guard;
mod atomic;
mod avx512;
mod check;
mod chunk;
mod comm;
mod control;
pub mod dot;
mod elementwise;
mod emitter;
mod exponential;
mod extreme;
mod finish;
mod function;
mod fusion;
mod index;
mod injective;
mod isa;
mod locate;
mod math;
mod memory;
mod nontemporal;
mod postpone;
mod preempt;
mod prefetch;
mod product;
mod reduce;
mod refuse;
mod region;
mod runtime_calls;
mod shmem;
mod target;
mod tile_loops;
mod tile_queue;
mod whole;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use shoal_abi::{CpuNeeds, CpuTarget, KernelDescription, TargetNeeds, Waits};
use shoal_ir::source::{Diagnostics, SourceMap};
use shoal_ir::{Func, Module, effects};

use crate::shared::code_size::{BlockSize, has_long_block, has_many_blocks};
use crate::shared::failure::{self, find, one};
use crate::shared::link;
use crate::shared::llvm::Llvm;
use crate::{Compiled, Emit, Linked, Options};
use isa::Isa;
pub use target::host;

/// LLVM's passes: enough to clean up what chunk-by-chunk emission leaves behind, and no more, since every pass is paid
/// for at each compilation. (Unrolling, GVN and loop rotation were tried: longer compilations, no faster kernels.)
const PASSES: &str =
    "function(early-cse,loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/// The same for code with long blocks, where `instcombine` takes quadratic time.
const PASSES_FOR_LONG_BLOCKS: &str = "function(early-cse,loop-mssa(licm),early-cse<memssa>,instsimplify,simplifycfg)";

/// Blocks up to this size are combined and scheduled. Only `static_range` over scalars makes longer ones: the bodies of
/// loops over tiles are split.
const LONG_BLOCK: BlockSize = BlockSize { instructions: 1 << 13, accesses: 1 << 12 };

/// Up to so many blocks, loops are strength-reduced: some hundred loops over tiles.
const MANY_BLOCKS: usize = 1536;

/// Compiles a kernel to an object.
pub fn compile(
    module: &Module,
    kernel: &str,
    target: &CpuTarget,
    sources: &SourceMap,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    let func = find(module, kernel)?;
    let context = Context::create();
    let Built { llvm, machine, needs, linked } = build(&context, func, target, sources, options, Emit::Object)?;
    let object =
        machine.write_to_memory_buffer(&llvm.module, FileType::Object).map_err(|why| broken(func, &why.to_string()))?;
    let cpu = CpuNeeds {
        scratch_bytes: usize::try_from(needs.scratch_bytes).unwrap_or(usize::MAX),
        uses_amx: needs.uses_amx,
        features: target.required().into_iter().map(str::to_owned).collect(),
    };
    let description = KernelDescription {
        name: func.name.clone(),
        params: function::param_layout(func),
        waits: if effects::may_wait(module, func) { Waits::MayWait } else { Waits::Never },
        can_fail: needs.can_fail,
        needs: TargetNeeds::Cpu(cpu),
    };
    Ok(Compiled { object: bytes(&object), description, linked })
}

/// A kernel in one of the forms it has on its way to an object.
pub fn emit(
    module: &Module,
    kernel: &str,
    target: &CpuTarget,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<Vec<u8>, Diagnostics> {
    let func = find(module, kernel)?;
    let context = Context::create();
    let Built { llvm, machine, .. } = build(&context, func, target, sources, options, what)?;
    let file_type = match what {
        Emit::LlvmRaw | Emit::Llvm => return Ok(llvm.module.print_to_string().to_string().into_bytes()),
        Emit::Asm => FileType::Assembly,
        Emit::Object => FileType::Object,
    };
    let buffer =
        machine.write_to_memory_buffer(&llvm.module, file_type).map_err(|why| broken(func, &why.to_string()))?;
    Ok(bytes(&buffer))
}

/// A module of LLVM and what is known of it.
struct Built<'ctx> {
    llvm: Llvm<'ctx>,
    machine: TargetMachine,
    needs: emitter::Needs,
    linked: Vec<Linked>,
}

fn build<'ctx>(
    context: &'ctx Context,
    func: &Func,
    target: &CpuTarget,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<Built<'ctx>, Diagnostics> {
    let refused = refuse::refusals(func);
    if !refused.is_empty() {
        return Err(refused.into());
    }
    let machine = target::machine(target, OptimizationLevel::Default).map_err(one)?;
    let llvm = Llvm::new(context, &func.name);
    llvm.module.set_triple(&machine.get_triple());
    llvm.module.set_data_layout(&machine.get_target_data().get_data_layout());
    let mut linked = Vec::new();
    for (library, span) in link::extern_libraries(func, options) {
        linked.push(link::link(&llvm, library, span).map_err(one)?);
    }
    let isa = Isa::of(target);
    let needs = function::emit_kernel(&llvm, func, target, &isa, sources, options);
    if cfg!(debug_assertions) {
        llvm.module.verify().map_err(|why| broken(func, &format!("{why}\n{}", llvm.module.print_to_string())))?;
    }
    if !linked.is_empty() {
        let removed = llvm.module.run_passes("globaldce", &machine, PassBuilderOptions::create());
        removed.map_err(|why| broken(func, &why.to_string()))?;
        link::refuse_instructions_of_gpus(&llvm, func).map_err(one)?;
    }
    if what != Emit::LlvmRaw {
        let passes = if has_long_block(&llvm.module, LONG_BLOCK) { PASSES_FOR_LONG_BLOCKS } else { PASSES };
        llvm.module
            .run_passes(passes, &machine, PassBuilderOptions::create())
            .map_err(|why| broken(func, &why.to_string()))?;
    }
    let machine = if has_long_block(&llvm.module, LONG_BLOCK) || has_many_blocks(&llvm.module, MANY_BLOCKS) {
        target::machine(target, OptimizationLevel::None).map_err(one)?
    } else {
        machine
    };
    Ok(Built { llvm, machine, needs, linked })
}

/// A bug in this backend.
fn broken(func: &Func, why: &str) -> Diagnostics {
    failure::broken("CPU", func, why)
}

fn bytes(buffer: &MemoryBuffer) -> Vec<u8> {
    buffer.as_slice().to_vec()
}
