//! What is printed reads back as what it was.

use proptest::prelude::*;
use shoal_ir::{Module, parse, verify};
use shoal_source::FileId;

use crate::filetests;
use crate::random_modules;

/// What the verifier says, without places.
fn said(module: &Module) -> Vec<String> {
    verify(module).err().unwrap_or_default().into_iter().map(|e| e.message).collect()
}

fn reads_back(module: &Module) {
    let text = module.to_string();
    let again = parse::module(&text, FileId::from_index(0))
        .unwrap_or_else(|e| panic!("what is printed parses: {} at {:?}\n{text}", e.message, e.span));
    assert_eq!(again.to_string(), text);
    assert_eq!(said(&again), said(module), "{text}");
    for (a, b) in module.funcs.iter().zip(&again.funcs) {
        let kinds = |f: &shoal_ir::Func| f.walk().into_iter().map(|op| f.op(op).kind.clone()).collect::<Vec<_>>();
        assert_eq!(kinds(a), kinds(b), "{text}");
        assert_eq!((&a.name, a.kind, a.noinline, &a.results), (&b.name, b.kind, b.noinline, &b.results));
    }
}

#[test]
fn the_modules_of_the_file_tests_read_back() {
    for file in filetests::tile_files("passes").into_iter().chain(filetests::tile_files("verify")) {
        let text = filetests::read(&file);
        let module =
            parse::module(&text, FileId::from_index(0)).unwrap_or_else(|e| panic!("{}: {}", file.display(), e.message));
        reads_back(&module);
    }
}

/// A module that shows itself as text when a test fails.
struct Shown(Module);

impl Shown {
    fn new(choices: Vec<u64>) -> Shown {
        Shown(random_modules::module(choices))
    }
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_modules_read_back(module in proptest::collection::vec(any::<u64>(), 1..600).prop_map(Shown::new)) {
        reads_back(&module.0);
    }
}
