//! All problems of one stage.

use std::fmt;

use crate::{Diagnostic, Severity, SourceMap, Style, render};

/// All problems of one stage, in the order of being found; an [`Error`](std::error::Error) as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// No problems.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether any of them stops the compilation.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    /// How many have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.0.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The problems in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Puts the problems in the order of the source and drops those said twice. Those without a place come last.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.start));
        self.0.dedup();
    }

    /// `value` if nothing stops the compilation, else all problems.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }

    /// Renders all of them on the user's lines, an empty line between two.
    pub fn render(&self, sources: &SourceMap, style: Style) -> String {
        let rendered: Vec<String> = self.0.iter().map(|diagnostic| render(sources, diagnostic, style)).collect();
        rendered.join("\n")
    }
}

/// The messages without the source, one after the other.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no problems");
        }
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self(diagnostics)
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.0.extend(diagnostics);
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileId, Span};

    #[test]
    fn warnings_alone_stop_nothing() {
        let mut all = Diagnostics::from(Diagnostic::warning(Span::NONE, "slow"));
        assert_eq!(all.clone().into_result(7), Ok(7));
        all.push(Diagnostic::error(Span::NONE, "wrong"));
        assert!(all.has_errors());
        assert_eq!((all.count(Severity::Error), all.count(Severity::Warning), all.len()), (1, 1, 2));
        assert_eq!(all.to_string(), "warning: slow\nerror: wrong");
        assert!(all.into_result(7).is_err());
    }

    #[test]
    fn sorting_follows_the_source() {
        let file = FileId::from_index(0);
        let at = |start| Diagnostic::error(Span::new(file, start, start + 1), format!("at {start}"));
        let mut all: Diagnostics =
            [Diagnostic::error(Span::NONE, "nowhere"), at(9), at(2), at(9)].into_iter().collect();
        all.sort();
        let order: Vec<&str> = all.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(order, ["at 2", "at 9", "nowhere"]);
    }
}
