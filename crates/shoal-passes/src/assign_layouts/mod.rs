//! **What.** Gives every tile of a kernel a layout: which register of which lane of which warp holds which element.
//!
//! ```text
//! %4 = load (%3) : tile<1024xf32>                   %4 = load (%3) : tile<1024xf32, #blocked>
//! %5 = add (%4, %4) : tile<1024xf32>         ==>    %5 = add (%4, %4) : tile<1024xf32, #blocked>
//! %6 = dot (%a, %b, %c) : tile<64x64xf32>           %7 = convert_layout (%a) : tile<64x32xf16, #operand>
//!                                                   %6 = dot (%7, %8, %9) : tile<64x64xf32, #mma>
//! ```
//!
//! **Why here.** For GPUs, after everything that changes what is computed, and before code is made.
//!
//! A few operations decide: accesses to memory want neighbouring lanes at neighbouring addresses (`coalesce`), matrix
//! products want what the matrix instructions want (`product`), what is combined in order wants its elements in order
//! (`ordered`). What they decide flows forward through whatever computes
//! with it (`natural`). Values made of nothing but constants, indices and scalars have no layout of their own: they are
//! computed where they are needed, in the layout that is needed there, once for each (`rewrite`). Only where two decisions
//! meet is a `convert_layout` left.

mod coalesce;
mod natural;
mod ordered;
mod product;
mod rewrite;

use shoal_abi::{NvptxArch, Target};
use shoal_ir::effects::CallEffects;
use shoal_ir::{FuncKind, Module};

use crate::contiguity;
use crate::dce::remove_dead;

/// What layouts are chosen for.
#[derive(Copy, Clone, Debug)]
struct Hardware {
    warps: u32,
    arch: NvptxArch,
}

/// The lanes of a warp.
const LANES: u32 = 32;

/// Gives tiles layouts in every kernel, for an NVIDIA GPU; other targets have none.
pub fn assign_layouts(module: &mut Module, target: &Target) {
    let arch = match target {
        Target::Nvptx(arch) => *arch,
        Target::Cpu(_) | Target::Amdgpu(_) => return,
    };
    // What was inlined everywhere is not called any more.
    module.funcs.retain(|func| func.kind == FuncKind::Kernel);
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        let hardware = Hardware { warps: func.gpu.num_warps, arch };
        product::widen_small_floats(func, hardware);
        let infos = contiguity::analyze(func);
        let naturals = natural::analyze(func, &infos, hardware);
        rewrite::rewrite(func, &infos, naturals, hardware);
        remove_dead(func, &calls);
    }
}
