//! The bridge to a live host program.
//!
//! From a file, Shoal resolves everything by itself and no host is needed. When kernels come from a running Python
//! program, names that the source does not define are asked of it through [`HostBridge`].

use crate::dtype;
use crate::module::{KnownModule, ModuleRef};
use crate::syntax::ast::Name;
use crate::value::{Const, Dtype, Value};

/// Answers names that a kernel's source does not define.
pub trait HostBridge: Send + Sync {
    /// The value of a module-level name, as the host sees it from this file.
    fn global(&self, file: &str, name: &str) -> Option<HostValue>;

    /// The source of an imported module that defines kernels: its file name and its text. `level` counts the leading
    /// dots of a relative import.
    fn module_source(&self, importing_file: &str, module: &str, level: u32) -> Option<(String, String)>;
}

/// A host that knows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl HostBridge for NoHost {
    fn global(&self, _file: &str, _name: &str) -> Option<HostValue> {
        None
    }

    fn module_source(&self, _importing_file: &str, _module: &str, _level: u32) -> Option<(String, String)> {
        None
    }
}

/// A value of the host program that kernels can use.
#[derive(Debug, Clone, PartialEq)]
pub enum HostValue {
    /// `None`
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Str(String),
    /// A dtype by its name in `shoal.language`.
    Dtype(String),
    /// A tuple.
    Tuple(Vec<HostValue>),
    /// A value wrapped in `constexpr`.
    Constexpr(Box<HostValue>),
    /// A module by its dotted name.
    Module(String),
    /// Anything else, by its type's name.
    Opaque(String),
}

/// The front end's view of a host value, and whether it is a `constexpr`.
pub(crate) fn to_value(value: &HostValue) -> (Value, bool) {
    let plain = |v| (v, false);
    match value {
        HostValue::None => plain(Value::NONE),
        HostValue::Bool(b) => plain(Value::bool(*b)),
        HostValue::Int(i) => plain(Value::int(*i)),
        HostValue::Float(f) => plain(Value::Const(Const::Float(*f))),
        HostValue::Str(s) => plain(Value::str(s)),
        HostValue::Dtype(name) => plain(match dtype::from_language_name(name) {
            Some(scalar) => Value::Dtype(Dtype::scalar(scalar)),
            None => Value::Host(Name::from(name.as_str())),
        }),
        HostValue::Tuple(items) => plain(Value::tuple(items.iter().map(|v| to_value(v).0).collect())),
        HostValue::Constexpr(inner) => (to_value(inner).0, true),
        HostValue::Module(path) => plain(Value::Module(match KnownModule::from_path(path) {
            Some(known) => ModuleRef::Known(known),
            None => ModuleRef::Host(Name::from(path.as_str())),
        })),
        HostValue::Opaque(name) => plain(Value::Host(Name::from(name.as_str()))),
    }
}
