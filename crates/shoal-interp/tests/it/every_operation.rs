//! Every kind of operation is run, or refused by an error that says why; none is passed over.

use shoal_interp::{Arg, Error, Memory, Options, run};
use shoal_ir::{Const, Elem, Func, Type};

use crate::support::module;

const OPERATIONS: &str = include_str!("../../../shoal-codegen/tests/it/every_operation.tile");

/// An argument for each parameter: memory that a small kernel does not leave, and the number two.
fn arguments(kernel: &Func, memory: &mut Memory) -> Vec<Arg> {
    let argument = |&param| match kernel.ty(param) {
        Type::Elem(Elem::Ptr(_)) => Arg::Pointer(memory.alloc(1 << 12)),
        Type::Elem(Elem::Scalar(ty)) => Arg::Scalar(Const::from_i64(*ty, 2)),
        Type::Desc(_) | Type::Tile(_) | Type::Token => unreachable!("no kernel of the table has such a parameter"),
    };
    kernel.params().iter().map(argument).collect()
}

#[test]
fn every_kind_is_run_or_refused() {
    let module = module(OPERATIONS);
    for kernel in module.kernels() {
        let mut memory = Memory::new();
        let args = arguments(kernel, &mut memory);
        let options = Options { max_steps: 100_000, ..Options::default() };
        let outcome = run(&module, &kernel.name, [1, 1, 1], &args, &mut memory, &options);
        match (kernel.name.as_str(), outcome) {
            ("numbers", Err(Error::ExternFunction { symbol, .. })) => assert_eq!(symbol, "f"),
            ("assembly", Err(Error::InlineAsm { .. })) => {}
            // There is no other rank, and none of the memory is symmetric.
            ("ranks" | "shmem" | "shmem_of_lanes", Err(why)) => assert!(!why.to_string().is_empty()),
            (name, outcome) => assert!(outcome.is_ok(), "{name}: {outcome:?}"),
        }
    }
}
