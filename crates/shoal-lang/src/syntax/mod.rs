//! From text to our own syntax tree.
//!
//! The rest of the crate sees only [`ast`]. The Python parser we use has an unstable interface, so [`parse`] is the one
//! file that names its types.

pub(crate) mod ast;
pub(crate) mod parse;
pub(crate) mod scan;

pub(crate) use parse::parse_file;
