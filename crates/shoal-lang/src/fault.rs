//! Why lowering stopped.
//!
//! An error is reported once. Code that meets the ruins of an earlier error stops with [`Fault::reported`], which adds
//! nothing to what the user reads.

use shoal_source::{Diagnostic, Span};

/// The reason why a piece of code could not be lowered.
#[derive(Debug, Clone)]
pub struct Fault(Option<Box<Diagnostic>>);

/// A result that may fail with a diagnostic for the user.
pub type Outcome<T> = Result<T, Fault>;

impl Fault {
    /// A fault whose cause was reported before.
    pub fn reported() -> Fault {
        Fault(None)
    }

    /// An error at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Fault {
        Diagnostic::error(span, message).into()
    }

    /// The error to show, unless it was shown before.
    pub fn into_diagnostic(self) -> Option<Diagnostic> {
        self.0.map(|d| *d)
    }

    /// Changes the diagnostic, if there is one.
    #[must_use]
    pub fn map(self, f: impl FnOnce(Diagnostic) -> Diagnostic) -> Fault {
        Fault(self.0.map(|d| Box::new(f(*d))))
    }
}

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Fault {
        Fault(Some(Box::new(diagnostic)))
    }
}
