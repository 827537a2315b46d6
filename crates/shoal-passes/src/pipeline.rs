//! Which passes there are, and in which order they run.

use std::time::{Duration, Instant};

use shoal_abi::Target;
use shoal_ir::Module;
use shoal_ir::source::Cancellation;

use crate::accumulate_products::accumulate_products;
use crate::annotate_contiguity::annotate_contiguity;
use crate::assign_layouts::assign_layouts;
use crate::canonicalize::canonicalize;
use crate::cse::cse;
use crate::dce::dce;
use crate::expand_math::expand_math;
use crate::inline::inline;
use crate::inline_all::inline_all;
use crate::licm::licm;
use crate::lower_descriptors::lower_descriptors;
use crate::reduce_early::reduce_early;
use crate::split_induction::split_induction;
use crate::unroll::unroll;

/// A pass.
#[derive(Copy, Clone, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// Does it, for a target.
    pub run: fn(&mut Module, &Target),
    /// What it does, in a line.
    pub doc: &'static str,
}

macro_rules! passes {
    ($($name:ident: $doc:literal,)*) => {
        /// Every pass, by name.
        pub static PASSES: &[Pass] = &[
            $(Pass { name: stringify!($name), run: |module, _| $name(module), doc: $doc },)*
            Pass { name: "assign_layouts", run: assign_layouts, doc: "spread tiles over registers, lanes and warps" },
            Pass { name: "expand_math", run: expand_math, doc: "write functions of mathematics as arithmetic" },
            Pass {
                name: "lower_descriptors",
                run: lower_descriptors,
                doc: "turn tensor descriptors into pointers and masks",
            },
        ];
    };
}

passes! {
    accumulate_products: "add to sums in the products that are added to them",
    annotate_contiguity: "write what is known of runs of equal or consecutive elements into the values' facts",
    canonicalize: "fold constants, apply identities, take apart control flow whose course is known",
    cse: "compute once what is computed twice",
    dce: "remove what nobody needs",
    inline: "replace calls by the bodies of their functions",
    inline_all: "replace all calls by the bodies of their functions, those marked `noinline` too",
    licm: "compute before a loop what does not change in it",
    reduce_early: "add up sums in a loop instead of tiles that are summed after it",
    split_induction: "carry how far a tile has moved instead of the tile",
    unroll: "do several trips of a loop in one, where asked for",
}

/// The passes for every target.
pub static COMMON: &[&str] = &["inline", "canonicalize", "cse", "unroll", "licm", "canonicalize", "cse", "dce"];

/// The passes for CPUs, after the common ones.
pub static CPU: &[&str] = &[
    "inline_all",
    "lower_descriptors",
    "canonicalize",
    "cse",
    "licm",
    "split_induction",
    "expand_math",
    "canonicalize",
    "cse",
    "licm",
    "dce",
    "accumulate_products",
    "reduce_early",
    "annotate_contiguity",
];

/// The passes for NVIDIA GPUs, after the common ones.
pub static NVPTX: &[&str] = &[
    "inline_all",
    "lower_descriptors",
    "canonicalize",
    "cse",
    "licm",
    "split_induction",
    "expand_math",
    "canonicalize",
    "cse",
    "licm",
    "dce",
    "accumulate_products",
    "assign_layouts",
    "cse",
    "annotate_contiguity",
];

/// The pass of that name.
pub fn by_name(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|pass| pass.name == name)
}

/// Sees the module after each pass, and how long the pass took.
pub type Observer<'o> = &'o mut dyn FnMut(&'static Pass, &Module, Duration);

/// The host asked to end the compilation; the module is between two passes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Runs passes in the order given.
///
/// # Errors
/// When `cancellation` says so, which is asked before each pass.
///
/// # Panics
/// In debug builds, if a pass breaks a rule of the IR.
pub fn run(
    module: &mut Module,
    target: &Target,
    passes: &[&'static Pass],
    cancellation: &Cancellation,
    observer: Observer<'_>,
) -> Result<(), Cancelled> {
    for &pass in passes {
        if cancellation.is_requested() {
            return Err(Cancelled);
        }
        let start = Instant::now();
        (pass.run)(module, target);
        let took = start.elapsed();
        check(module, pass);
        observer(pass, module, took);
    }
    Ok(())
}

#[cfg(debug_assertions)]
fn check(module: &Module, pass: &Pass) {
    if let Err(errors) = shoal_ir::verify::verify(module) {
        let messages: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
        panic!("`{}` left a module that breaks rules:\n{}\n\n{module}", pass.name, messages.join("\n"));
    }
}

#[cfg(not(debug_assertions))]
fn check(_module: &Module, _pass: &Pass) {}

/// The passes of these names.
///
/// # Panics
/// If there is no such pass.
fn listed(names: &[&str]) -> Vec<&'static Pass> {
    names.iter().map(|name| by_name(name).expect("the lists name passes")).collect()
}

/// The passes for a target, in order.
pub fn passes_for(target: &Target) -> Vec<&'static Pass> {
    let own: &[&str] = match target {
        Target::Cpu(_) => CPU,
        Target::Nvptx(_) => NVPTX,
        // Its backend brings the list of what it needs.
        Target::Amdgpu(_) => &[],
    };
    listed(COMMON).into_iter().chain(listed(own)).collect()
}

/// Optimises a module for a target and prepares it for its backend.
///
/// # Errors
/// As [`run`].
pub fn optimize(module: &mut Module, target: &Target, cancellation: &Cancellation) -> Result<(), Cancelled> {
    run(module, target, &passes_for(target), cancellation, &mut |_, _, _| {})
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use shoal_abi::CpuTarget;

    use super::*;

    #[test]
    fn the_host_is_asked_before_each_pass() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let cancellation = Cancellation::new(move || count.fetch_add(1, Ordering::Relaxed) == 3);
        let mut seen = 0;
        let target = Target::Cpu(CpuTarget::generic());
        let passes = passes_for(&target);
        let done = run(&mut Module::default(), &target, &passes, &cancellation, &mut |_, _, _| seen += 1);
        assert_eq!((done, seen, asked.load(Ordering::Relaxed)), (Err(Cancelled), 3, 4));
    }
}
