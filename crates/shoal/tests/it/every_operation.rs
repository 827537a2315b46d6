//! Every kind of operation reaches an NVIDIA GPU, or is refused by a diagnostic; none is passed over. (For CPUs see
//! `shoal-codegen/tests/it/every_operation.rs`, for the interpreter `shoal-interp/tests/it/every_operation.rs`.)

use shoal_abi::{NvptxArch, Target};
use shoal_codegen::{Emit, Options};
use shoal_ir::class::{EffectOp, OpClass};
use shoal_ir::{Func, Module};
use shoal_passes::pipeline;
use shoal_source::{Cancellation, SourceMap};

/// One of each kind, in several kernels.
pub(crate) const OPERATIONS: &str = include_str!("../../../shoal-codegen/tests/it/every_operation.tile");

fn module(text: &str, sources: &mut SourceMap) -> Module {
    let file = sources.add("every_operation.tile", text);
    let module = shoal_ir::parse::module(text, file).unwrap_or_else(|d| panic!("{d:?}"));
    shoal_ir::verify(&module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    module
}

/// Whether the backend may refuse a kernel: for what it does not know yet, or for layouts of another machine.
fn may_be_refused(func: &Func) -> bool {
    func.name == "laid_out"
        || func.walk().into_iter().any(|op| match func.op(op).kind.class() {
            OpClass::Effect(effect) => matches!(effect, EffectOp::Assert { .. } | EffectOp::GridWords),
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Comm(_)
            | OpClass::Desc(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => false,
        })
}

/// PTX for each kernel of a text, or why there is none.
fn compile(text: &str, arch: NvptxArch) {
    let mut sources = SourceMap::default();
    let mut module = module(text, &mut sources);
    let target = Target::Nvptx(arch);
    pipeline::optimize(&mut module, &target, &Cancellation::default()).expect("nobody cancels");
    for func in module.kernels() {
        let code = shoal_codegen::emit(&module, &func.name, &target, &sources, &Options::default(), Emit::Object);
        match code {
            Ok(ptx) => assert!(String::from_utf8_lossy(&ptx).contains(&format!(".entry {}", func.name))),
            Err(why) => assert!(may_be_refused(func) && why.to_string().contains("NVIDIA"), "{}: {why}", func.name),
        }
    }
}

#[test]
fn on_nvidia_gpus() {
    for arch in [NvptxArch::Sm80, NvptxArch::Sm90, NvptxArch::Sm90a, NvptxArch::Sm120] {
        compile(OPERATIONS, arch);
        // One refusal hides what else is in a kernel.
        let without: String = (OPERATIONS.lines())
            .filter(|line| !line.trim_start().starts_with("assert "))
            .map(|line| format!("{line}\n"))
            .collect();
        compile(&without, arch);
    }
}
