//! The files of one compilation, and the way from a span back to names, lines and text.

use std::ops::Range;
use std::sync::Arc;

use crate::{FileId, Span};

/// The files of one compilation. Cloning shares the texts.
#[derive(Default, Clone, Debug)]
pub struct SourceMap {
    files: Vec<Arc<File>>,
}

#[derive(Debug)]
struct File {
    name: String,
    text: String,
    /// The number of the text's first line; not 1 when the text is a part of a file.
    first_line: u32,
    /// The offset at which each line begins; the first is always zero.
    line_starts: Vec<usize>,
}

impl File {
    fn new(name: String, first_line: u32, text: String) -> Self {
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { name, text, first_line, line_starts }
    }
}

impl SourceMap {
    /// Adds a file. `name` is what diagnostics print: the path as the user gave it.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.add_part(name, 1, text)
    }

    /// Adds a part of a file, whose first line is number `first_line` there.
    pub fn add_part(&mut self, name: impl Into<String>, first_line: u32, text: impl Into<String>) -> FileId {
        let id = FileId::from_index(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(Arc::new(File::new(name.into(), first_line, text.into())));
        id
    }

    /// All files, in the order of being added.
    pub fn files(&self) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId::from_index)
    }

    /// The file's name, or `<unknown>` for a file of another map.
    pub fn name(&self, file: FileId) -> &str {
        self.file(file).map_or("<unknown>", |file| &file.name)
    }

    /// The file's text; empty for a file of another map.
    pub fn text(&self, file: FileId) -> &str {
        self.file(file).map_or("", |file| &file.text)
    }

    /// The number of the line that the file's text begins with: 1, unless it is a part of a file.
    pub fn first_line(&self, file: FileId) -> u32 {
        self.file(file).map_or(1, |file| file.first_line)
    }

    /// Line and column, both counted from one, of where the span begins. Columns count characters.
    pub fn line_col(&self, span: Span) -> Option<(u32, u32)> {
        let file = self.file(span.file)?;
        let start = floor_char_boundary(&file.text, span.start as usize);
        let line = file.line_starts.partition_point(|&begin| begin <= start);
        let begin = file.line_starts[line - 1];
        let column = file.text[begin..start].chars().count() + 1;
        Some((file.first_line.saturating_sub(1).saturating_add(line as u32), column as u32))
    }

    /// The text under the span; empty for [`Span::NONE`].
    pub fn slice(&self, span: Span) -> &str {
        self.byte_range(span).map_or("", |range| &self.text(span.file)[range])
    }

    /// The span as a range that is in bounds, not reversed, and on character boundaries; `None` if its file is not
    /// here.
    pub(crate) fn byte_range(&self, span: Span) -> Option<Range<usize>> {
        let text = &self.file(span.file)?.text;
        let start = floor_char_boundary(text, span.start as usize);
        let end = ceil_char_boundary(text, span.end as usize).max(start);
        Some(start..end)
    }

    fn file(&self, file: FileId) -> Option<&File> {
        self.files.get(file.index() as usize).map(Arc::as_ref)
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (SourceMap, FileId) {
        let mut map = SourceMap::default();
        let file = map.add("k.py", text);
        (map, file)
    }

    #[test]
    fn files_are_numbered_in_order() {
        let mut map = SourceMap::default();
        let a = map.add("a.py", "1");
        let b = map.add("b.py", "2");
        assert_eq!(map.files().collect::<Vec<_>>(), [a, b]);
        assert_eq!((map.name(a), map.text(b)), ("a.py", "2"));
    }

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let (map, file) = one("ab\nπ = x\r\n\tz");
        let at = |start| map.line_col(Span::new(file, start, start));
        assert_eq!(at(0), Some((1, 1)));
        assert_eq!(at(2), Some((1, 3)));
        assert_eq!(at(3), Some((2, 1)));
        assert_eq!(at(5), Some((2, 2)), "π is one column, two bytes");
        assert_eq!(at(4), Some((2, 1)), "the middle of π is π");
        assert_eq!(at(12), Some((3, 2)));
        assert_eq!(at(13), Some((3, 3)));
    }

    #[test]
    fn a_part_of_a_file_keeps_its_lines() {
        let mut map = SourceMap::default();
        let part = map.add_part("k.py", 40, "def f():\n    pass\n");
        assert_eq!(map.line_col(Span::new(part, 0, 1)), Some((40, 1)));
        assert_eq!(map.line_col(Span::new(part, 13, 17)), Some((41, 5)));
        assert_eq!((map.first_line(part), map.first_line(FileId::from_index(9))), (40, 1));
    }

    #[test]
    fn spans_outside_the_text_move_to_its_end() {
        let (map, file) = one("ab\n");
        assert_eq!(map.line_col(Span::new(file, 900, 901)), Some((2, 1)));
        assert_eq!(map.slice(Span::new(file, 1, 900)), "b\n");
        assert_eq!(map.slice(Span::new(file, 900, 1)), "");
        assert_eq!(map.slice(Span::new(file, 2, 1)), "");
    }

    #[test]
    fn a_cut_character_is_taken_whole() {
        let (map, file) = one("aπb");
        assert_eq!(map.slice(Span::new(file, 2, 2)), "π");
        assert_eq!(map.slice(Span::new(file, 0, 2)), "aπ");
    }

    #[test]
    fn an_empty_file_has_one_line() {
        let (map, file) = one("");
        assert_eq!(map.line_col(Span::new(file, 0, 0)), Some((1, 1)));
        assert_eq!(map.slice(Span::new(file, 0, 5)), "");
    }

    #[test]
    fn unknown_files_are_no_panic() {
        let (map, _) = one("a");
        assert_eq!(map.line_col(Span::NONE), None);
        assert_eq!(map.slice(Span::NONE), "");
        assert_eq!(map.name(FileId::from_index(7)), "<unknown>");
        assert_eq!(map.text(FileId::from_index(7)), "");
    }

    #[test]
    fn clones_share_and_then_part() {
        let (map, file) = one("a");
        let mut longer = map.clone();
        longer.add("more.py", "b");
        assert_eq!(map.files().len(), 1);
        assert_eq!(longer.text(file).as_ptr(), map.text(file).as_ptr());
    }
}
