//! The parameters of a kernel, as far as a launch must know them.

use shoal_lang::Access;
use shoal_source::Span;

use crate::DType;
use crate::arg::Arg;

/// A parameter of a kernel.
#[derive(Debug, Clone)]
pub struct Param {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) kind: ParamKind,
    pub(crate) default: Option<Arg<'static>>,
    pub(crate) variadic: bool,
    pub(crate) value: Specialise,
    pub(crate) alignment: Specialise,
}

/// What a parameter's annotation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// Nothing: the argument decides.
    Open,
    /// `constexpr`: compiled in.
    Constexpr,
    /// A number of this type.
    Number(DType),
    /// A pointer to this type.
    Pointer(DType, Access),
    /// A pointer to whatever the argument holds, not written through.
    Const,
}

/// Whether something about an argument is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Specialise {
    Yes,
    No,
}

impl Param {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its annotation says.
    #[must_use]
    pub fn kind(&self) -> ParamKind {
        self.kind
    }
}
