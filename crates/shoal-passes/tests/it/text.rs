//! Modules from text.

use shoal_ir::{Module, parse, verify};
use shoal_source::FileId;

/// Reads a module that keeps all rules.
pub(crate) fn module(text: &str) -> Module {
    let module = parse::module(text, FileId::NONE).unwrap_or_else(|e| panic!("{}\n{text}", e.message));
    verified(&module);
    module
}

/// Checks that a module keeps all rules.
pub(crate) fn verified(module: &Module) {
    if let Err(errors) = verify::verify(module) {
        let messages: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
        panic!("{}\n{module}", messages.join("\n"));
    }
}
