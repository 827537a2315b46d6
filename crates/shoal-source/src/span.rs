//! A place in the source: a file and a range of bytes in it.

use std::fmt;

/// A file of a [`SourceMap`](crate::SourceMap), numbered in the order of being added.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl FileId {
    /// The file of [`Span::NONE`]; no source map holds it.
    pub const NONE: Self = Self(u32::MAX);

    /// The file added as number `index`, counted from zero.
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The file's number in its source map, counted from zero.
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// A half-open range of bytes in one file, or [`Span::NONE`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// The span of code that nobody wrote.
    pub const NONE: Self = Self { file: FileId::NONE, start: 0, end: 0 };

    /// The bytes `start..end` of `file`.
    pub const fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// Whether this is the span of code that nobody wrote.
    pub fn is_none(self) -> bool {
        self.file == FileId::NONE
    }

    /// The smallest span that covers both. [`Span::NONE`] adds nothing; spans of two files cannot be joined, and the
    /// first is kept.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.is_none() {
            return other;
        }
        if self.file != other.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl Default for Span {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("Span::NONE");
        }
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FileId = FileId::from_index(0);
    const B: FileId = FileId::from_index(1);

    #[test]
    fn joining_covers_both() {
        assert_eq!(Span::new(A, 4, 6).to(Span::new(A, 1, 5)), Span::new(A, 1, 6));
    }

    #[test]
    fn joining_with_nothing_changes_nothing() {
        let span = Span::new(A, 4, 6);
        assert_eq!(span.to(Span::NONE), span);
        assert_eq!(Span::NONE.to(span), span);
        assert_eq!(Span::default(), Span::NONE);
    }

    #[test]
    fn joining_across_files_keeps_the_first() {
        let span = Span::new(A, 4, 6);
        assert_eq!(span.to(Span::new(B, 0, 100)), span);
    }

    #[test]
    fn debug_is_short() {
        assert_eq!(format!("{:?} {:?}", Span::new(B, 2, 3), Span::NONE), "1:2..3 Span::NONE");
    }
}
