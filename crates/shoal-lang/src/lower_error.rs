//! Why lowering stopped.
//!
//! An error is reported once. Code that uses a poisoned value ([`Value::Invalid`](crate::value::Value::Invalid)) stops
//! with [`LowerError::reported`], which adds no diagnostic of its own.

use shoal_source::{Diagnostic, Span};

/// The reason why a piece of code could not be lowered.
#[derive(Debug, Clone)]
pub struct LowerError {
    diagnostic: Option<Box<Diagnostic>>,
    scope: ErrorScope,
}

/// How much is lost by a error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorScope {
    /// The statement; the next one is looked at.
    Statement,
    /// The rest of the function: a failed `static_assert` guards what follows.
    Function,
}

/// A result that may fail with a diagnostic for the user.
pub(crate) type LowerResult<T> = Result<T, LowerError>;

impl LowerError {
    /// A error whose cause was reported before.
    pub fn reported() -> LowerError {
        LowerError { diagnostic: None, scope: ErrorScope::Statement }
    }

    /// An error at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> LowerError {
        Diagnostic::error(span, message).into()
    }

    /// The error to show, unless it was shown before.
    pub fn into_diagnostic(self) -> Option<Diagnostic> {
        self.diagnostic.map(|d| *d)
    }

    /// The same error, ending the function instead of the statement.
    #[must_use]
    pub fn ending_function(self) -> LowerError {
        LowerError { scope: ErrorScope::Function, ..self }
    }

    /// How much is lost.
    #[must_use]
    pub fn scope(&self) -> ErrorScope {
        self.scope
    }

    /// Changes the diagnostic, if there is one.
    #[must_use]
    pub fn map(self, f: impl FnOnce(Diagnostic) -> Diagnostic) -> LowerError {
        LowerError { diagnostic: self.diagnostic.map(|d| Box::new(f(*d))), scope: self.scope }
    }
}

impl From<Diagnostic> for LowerError {
    fn from(diagnostic: Diagnostic) -> LowerError {
        LowerError { diagnostic: Some(Box::new(diagnostic)), scope: ErrorScope::Statement }
    }
}
