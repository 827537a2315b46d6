//! One problem, as data: what is wrong, where, and the way out.

use std::fmt;

use crate::Span;

/// How bad it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Something the user may want to know.
    Note,
    /// Something that is allowed but probably not meant.
    Warning,
    /// Nothing is compiled or launched.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// What sort of problem it is, for hosts that treat some apart: Python has an exception class for each.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Any other.
    #[default]
    Other,
    /// An assertion that is checked at compile time does not hold.
    Assertion,
    /// The language has no such construct.
    Unsupported,
    /// A number does not fit.
    OutOfRange,
    /// The host asked to end the compilation; the code is not to blame.
    Cancelled,
}

/// A second place that helps to understand the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What to see there.
    pub text: String,
}

/// A call that led to the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFrame {
    /// The call, in the caller.
    pub span: Span,
    /// The name of the function called.
    pub function: String,
}

/// One problem: the user's words, the place, the way out.
///
/// Messages begin in lower case and carry no full stop; names from the user's source stand in backticks. They never
/// name a type or a file of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What sort of problem it is.
    pub kind: Kind,
    /// What is wrong, in one line.
    pub message: String,
    /// Where. [`Span::NONE`] when no source line is to blame.
    pub span: Span,
    /// The words under the span's underline; may be empty.
    pub label: String,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// Facts that explain.
    pub notes: Vec<String>,
    /// What to do about it.
    pub helps: Vec<String>,
    /// The calls that led here, the innermost first.
    pub frames: Vec<CallFrame>,
}

impl Diagnostic {
    /// A problem of the given severity.
    pub fn new(severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity,
            kind: Kind::Other,
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message)
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message)
    }

    /// Says what sort of problem it is.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the words under the underline.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Points at a second place.
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact that explains.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds a way out.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }

    /// Adds the call that led here; called once per call on the way out, so the innermost comes first.
    pub fn in_call(mut self, span: Span, function: impl Into<String>) -> Self {
        self.frames.push(CallFrame { span, function: function.into() });
        self
    }

    /// Whether this stops the compilation.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The message without the source, for logs and for errors that have lost their source map.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)?;
        if !self.label.is_empty() {
            write!(f, ": {}", self.label)?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        for help in &self.helps {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_needs_no_source() {
        let problem = Diagnostic::warning(Span::NONE, "the cache is not writable")
            .label("permission denied")
            .note("kernels are compiled again each time")
            .help("set `SHOAL_CACHE_DIR`");
        insta::assert_snapshot!(problem, @r"
        warning: the cache is not writable: permission denied
          note: kernels are compiled again each time
          help: set `SHOAL_CACHE_DIR`
        ");
        assert!(!problem.is_error());
    }

    #[test]
    fn severities_are_ordered() {
        assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
    }
}
