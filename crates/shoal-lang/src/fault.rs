//! Why lowering stopped.
//!
//! An error is reported once. Code that meets the ruins of an earlier error stops with [`Fault::reported`], which adds
//! nothing to what the user reads.

use shoal_source::{Diagnostic, Span};

/// The reason why a piece of code could not be lowered.
#[derive(Debug, Clone)]
pub struct Fault {
    diagnostic: Option<Box<Diagnostic>>,
    reach: Reach,
}

/// How much is lost by a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The statement; the next one is looked at.
    Statement,
    /// The rest of the function: a failed `static_assert` guards what follows.
    Function,
}

/// A result that may fail with a diagnostic for the user.
pub(crate) type Outcome<T> = Result<T, Fault>;

impl Fault {
    /// A fault whose cause was reported before.
    pub fn reported() -> Fault {
        Fault { diagnostic: None, reach: Reach::Statement }
    }

    /// An error at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Fault {
        Diagnostic::error(span, message).into()
    }

    /// The error to show, unless it was shown before.
    pub fn into_diagnostic(self) -> Option<Diagnostic> {
        self.diagnostic.map(|d| *d)
    }

    /// The same fault, ending the function instead of the statement.
    #[must_use]
    pub fn ending_function(self) -> Fault {
        Fault { reach: Reach::Function, ..self }
    }

    /// How much is lost.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Changes the diagnostic, if there is one.
    #[must_use]
    pub fn map(self, f: impl FnOnce(Diagnostic) -> Diagnostic) -> Fault {
        Fault { diagnostic: self.diagnostic.map(|d| Box::new(f(*d))), reach: self.reach }
    }
}

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Fault {
        Fault { diagnostic: Some(Box::new(diagnostic)), reach: Reach::Statement }
    }
}
