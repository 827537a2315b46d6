//! The bridge to a live host program.
//!
//! A program from a file resolves everything by itself. A program from a host is one live function: its text is parsed
//! alone, and everything that the text does not define is asked of the host, as Python would look it up. Functions that
//! it reaches are units of the same kind, each with names of its own.

use std::fmt;
use std::sync::Arc;

use crate::consts::float_repr;
use crate::module::{FunctionKind, JitOptions};

/// A live object of the host program. Equal numbers are the same object, or objects that never change and are equal;
/// the host keeps the object alive as long as the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostObject(pub u64);

/// A live function and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSource {
    /// The function: what its free names are asked of, and what is called when it runs at compile time.
    pub object: HostObject,
    /// Its name.
    pub name: String,
    /// The file it stands in, as messages should show it.
    pub file: String,
    /// The line of the file on which `text` begins, counted from one.
    pub first_line: u32,
    /// Its text from `def` on, without the indentation of its first line. Decorators may be there and say nothing.
    pub text: Arc<str>,
    /// How it runs: [`FunctionKind::Jit`] is compiled; the others are called in the host when a kernel is compiled.
    pub kind: FunctionKind,
    /// What its decorator says.
    pub options: JitOptions,
}

/// A `NamedTuple` class.
#[derive(Debug, Clone, PartialEq)]
pub struct HostNamedTuple {
    /// The class.
    pub object: HostObject,
    /// Its name.
    pub name: String,
    /// Its fields in order, with their defaults.
    pub fields: Vec<(String, Option<HostValue>)>,
}

/// An enumeration.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEnum {
    /// The class.
    pub object: HostObject,
    /// Its name.
    pub name: String,
    /// Its members in order, with their values.
    pub members: Vec<(String, HostValue)>,
}

/// An aggregate class.
#[derive(Debug, Clone, PartialEq)]
pub struct HostAggregate {
    /// The class.
    pub object: HostObject,
    /// Its name.
    pub name: String,
    /// Its fields in order, those of its bases first.
    pub fields: Vec<HostField>,
    /// Its methods, inherited ones included: `@jit` functions, `@constexpr_function`s, and plain ones such as
    /// `__init__`. Each resolves names in its own scope.
    pub methods: Vec<(String, Arc<HostSource>)>,
    /// Its static methods, which get no `self`.
    pub statics: Vec<(String, Arc<HostSource>)>,
}

/// A field of an aggregate class.
#[derive(Debug, Clone, PartialEq)]
pub struct HostField {
    /// Its name.
    pub name: String,
    /// Whether it is declared `constexpr`.
    pub constexpr: bool,
    /// Its default.
    pub default: Option<HostValue>,
}

/// A value of the host program.
#[derive(Debug, Clone, PartialEq)]
pub enum HostValue {
    /// `None`
    None,
    /// A truth value.
    Bool(bool),
    /// An integer. Those beyond 127 bits are passed as [`HostValue::Object`].
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Str(String),
    /// `...`
    Ellipsis,
    /// A tuple or a list.
    Tuple(Vec<HostValue>),
    /// A dictionary, in its order.
    Dict(Vec<(HostValue, HostValue)>),
    /// A dtype: `float32` or `fp32`; pointers are `*fp32`, those to constant memory `*kfp32`.
    Dtype(String),
    /// A value wrapped in `constexpr`.
    Constexpr(Box<HostValue>),
    /// A module, function or class that the compiler knows by its dotted path: `shoal.language`,
    /// `triton.language.load`, `shoal.language.constexpr`, `builtins.range`, `math`.
    Language(String),
    /// A function with source.
    Function(Arc<HostSource>),
    /// An aggregate class.
    AggregateClass(Arc<HostAggregate>),
    /// A `NamedTuple` class.
    NamedTupleClass(Arc<HostNamedTuple>),
    /// An instance of a `NamedTuple`.
    NamedTuple(Arc<HostNamedTuple>, Vec<HostValue>),
    /// An enumeration.
    EnumClass(Arc<HostEnum>),
    /// A member of an enumeration, by name.
    Member(Arc<HostEnum>, String),
    /// A module, or anything else: kernels can take its attributes, call it, and compare it with itself.
    Object {
        /// The object.
        object: HostObject,
        /// What `str` gives for it, or its type's name: for messages and `static_print`.
        shown: String,
    },
}

/// As messages show it.
impl fmt::Display for HostValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[HostValue]| {
            f.write_str("(")?;
            for (i, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
            }
            f.write_str(")")
        };
        match self {
            HostValue::None => f.write_str("None"),
            HostValue::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            HostValue::Int(i) => i.fmt(f),
            HostValue::Float(x) => f.write_str(&float_repr(*x)),
            HostValue::Str(s) => write!(f, "{s:?}"),
            HostValue::Ellipsis => f.write_str("..."),
            HostValue::Tuple(items) => list(f, items),
            HostValue::Dict(pairs) => write!(f, "a dictionary of {}", pairs.len()),
            HostValue::Dtype(name) => f.write_str(name),
            HostValue::Constexpr(inner) => inner.fmt(f),
            HostValue::Language(path) => f.write_str(path),
            HostValue::Function(source) => write!(f, "@{}", source.name),
            HostValue::AggregateClass(class) => f.write_str(&class.name),
            HostValue::NamedTupleClass(class) => f.write_str(&class.name),
            HostValue::NamedTuple(class, items) => {
                f.write_str(&class.name)?;
                list(f, items)
            }
            HostValue::EnumClass(class) => f.write_str(&class.name),
            HostValue::Member(class, name) => write!(f, "{}.{name}", class.name),
            HostValue::Object { shown, .. } => f.write_str(shown),
        }
    }
}

/// Answers what a kernel's source does not define.
///
/// Kernels are compiled by several threads at once, and each of them may ask. The front end holds no lock of its own
/// while it asks, so an implementation may wait for a lock, such as Python's. A name's answer is kept for the life of
/// the program, so the host knows by what it was asked which of its globals are compiled in; "not there" is asked
/// again.
pub trait HostBridge: Send + Sync {
    /// A free name of a function: from its closure, its module's globals, or Python's builtins (these as
    /// [`HostValue::Language`] `builtins.…`).
    fn name(&self, function: HostObject, name: &str) -> Option<HostValue>;

    /// A free name in the annotation or the default of a parameter. The host evaluated it when it defined the function,
    /// so what becomes of the name later does not matter.
    fn signature_name(&self, function: HostObject, name: &str) -> Option<HostValue> {
        self.name(function, name)
    }

    /// The annotation of a parameter whose text has none: decorators add some to the function.
    fn added_annotation(&self, _function: HostObject, _parameter: &str) -> Option<HostValue> {
        None
    }

    /// The text of the file that a function stands in, where the host has it: messages call the package what it does.
    fn file_text(&self, _function: HostObject) -> Option<String> {
        None
    }

    /// `object.name`.
    fn attribute(&self, object: HostObject, name: &str) -> Option<HostValue>;

    /// `object(*args, **named)`. Values that were `constexpr` arrive without their wrapping.
    ///
    /// # Errors
    /// What the host raised, in words: `ValueError: too large`.
    fn call(&self, object: HostObject, args: &[HostValue], named: &[(String, HostValue)]) -> Result<HostValue, String>;
}
