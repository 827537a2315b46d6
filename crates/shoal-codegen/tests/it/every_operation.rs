//! Every kind of operation is compiled, or refused by a diagnostic; none is passed over.

use std::collections::BTreeSet;

use shoal_abi::CpuTarget;
use shoal_codegen::{Emit, Options, cpu};
use shoal_ir::class::OpClass;
use shoal_ir::{CommOp, Module, OpKind, ShmemOp};
use shoal_source::SourceMap;

const OPERATIONS: &str = include_str!("every_operation.tile");

fn module(sources: &mut SourceMap) -> Module {
    let file = sources.add("every_operation.tile", OPERATIONS);
    let module = shoal_ir::parse::module(OPERATIONS, file).unwrap_or_else(|d| panic!("{d:?}"));
    shoal_ir::verify(&module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    module
}

fn kinds(module: &Module) -> impl Iterator<Item = &OpKind> {
    module.funcs.iter().flat_map(|func| func.walk().into_iter().map(|op| &func.op(op).kind))
}

/// Operations between ranks are one kind with kinds of their own, and so are SHMEM's among those.
#[test]
fn the_table_has_every_kind() {
    let module = module(&mut SourceMap::default());
    let all: Vec<&OpKind> = kinds(&module).collect();
    let comm = || all.iter().filter_map(|kind| if let OpKind::Comm(op) = kind { Some(op) } else { None });
    let shmem = comm().filter_map(|op| if let CommOp::Shmem(op) = op { Some(op) } else { None });
    let names = |names: &[&'static str]| -> BTreeSet<&str> { names.iter().copied().collect() };
    assert_eq!(all.iter().map(|kind| kind.variant()).collect::<BTreeSet<_>>(), names(OpKind::VARIANTS));
    assert_eq!(comm().map(CommOp::variant).collect::<BTreeSet<_>>(), names(CommOp::VARIANTS));
    assert_eq!(shmem.map(ShmemOp::variant).collect::<BTreeSet<_>>(), names(ShmemOp::VARIANTS));
}

#[test]
fn every_kind_is_compiled_or_refused() {
    let mut sources = SourceMap::default();
    let module = module(&mut sources);
    for func in module.funcs.iter().filter(|func| func.kind == shoal_ir::FuncKind::Kernel) {
        let target = CpuTarget::generic();
        let code = cpu::emit(&module, &func.name, &target, &sources, &Options::default(), Emit::LlvmRaw);
        let refused = func.walk().into_iter().any(|op| match func.op(op).kind.class() {
            OpClass::Desc(_) | OpClass::Call(_) => true,
            OpClass::Elementwise(op) => matches!(op, shoal_ir::class::ElementwiseOp::InlineAsm(_)),
            OpClass::Source(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_) => false,
        });
        match code {
            Ok(_) => assert!(!refused, "`{}` has no meaning on a CPU and compiles", func.name),
            Err(why) => assert!(refused && why.to_string().contains("CPU"), "{}: {why}", func.name),
        }
    }
}
