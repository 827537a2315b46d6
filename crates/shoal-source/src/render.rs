//! A diagnostic as text, in the shape that users of rustc and ruff know.
//!
//! Promise: no diagnostic panics here, whatever its spans and its text. `annotate-snippets` does the drawing and
//! does not make that promise, so every range it sees has been clamped by the source map first.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use crate::{CallFrame, Diagnostic, FileId, Label, Severity, SourceMap, Span};

/// How many calls are drawn at either end of a long chain; the middle is counted.
const FRAMES_AT_EACH_END: usize = 3;

/// Whether to use terminal colours.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// Text only: files, logs, tests.
    #[default]
    Plain,
    /// With ANSI escape codes: a terminal.
    Colour,
}

/// Draws the diagnostic on the user's lines; ends with a line break.
pub fn render(sources: &SourceMap, diagnostic: &Diagnostic, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    let mut groups = vec![primary_group(sources, diagnostic)];
    groups.extend(call_groups(sources, &diagnostic.frames));
    let mut text = renderer.render(&groups);
    text.push('\n');
    text
}

fn primary_group<'a>(sources: &'a SourceMap, diagnostic: &'a Diagnostic) -> Group<'a> {
    let title = level(diagnostic.severity).primary_title(printable(&diagnostic.message));
    let mut group = Group::with_title(title);
    for file in files_to_show(sources, diagnostic) {
        group = group.element(snippet(sources, diagnostic, file));
    }
    for text in messages_without_place(sources, diagnostic) {
        group = group.element(Level::NOTE.message(printable(text)));
    }
    for text in &diagnostic.notes {
        group = group.element(Level::NOTE.message(printable(text)));
    }
    for text in &diagnostic.helps {
        group = group.element(Level::HELP.message(printable(text)));
    }
    group
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    }
}

/// The primary file first, then each further file in the order of its first label.
fn files_to_show(sources: &SourceMap, diagnostic: &Diagnostic) -> Vec<FileId> {
    let mut files = Vec::new();
    let spans = std::iter::once(diagnostic.span).chain(diagnostic.labels.iter().map(|label| label.span));
    for span in spans {
        if sources.byte_range(span).is_some() && !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    files
}

fn snippet<'a>(sources: &'a SourceMap, diagnostic: &'a Diagnostic, file: FileId) -> Snippet<'a, Annotation<'a>> {
    let mut snippet = text_of(sources, file);
    if diagnostic.span.file == file {
        snippet = annotate(snippet, sources, AnnotationKind::Primary, diagnostic.span, &diagnostic.label);
    }
    for Label { span, text } in &diagnostic.labels {
        if span.file == file {
            snippet = annotate(snippet, sources, AnnotationKind::Context, *span, text);
        }
    }
    snippet
}

fn text_of(sources: &SourceMap, file: FileId) -> Snippet<'_, Annotation<'_>> {
    Snippet::source(sources.text(file)).path(sources.name(file)).line_start(sources.first_line(file) as usize)
}

fn annotate<'a>(
    snippet: Snippet<'a, Annotation<'a>>,
    sources: &SourceMap,
    kind: AnnotationKind,
    span: Span,
    label: &'a str,
) -> Snippet<'a, Annotation<'a>> {
    let Some(range) = sources.byte_range(span) else { return snippet };
    let annotation = kind.span(range);
    snippet.annotation(if label.is_empty() { annotation } else { annotation.label(printable(label)) })
}

/// Labels whose place is not in the source map would be lost; they are said as notes instead.
fn messages_without_place<'a>(sources: &SourceMap, diagnostic: &'a Diagnostic) -> Vec<&'a str> {
    let primary = (diagnostic.span, diagnostic.label.as_str());
    let others = diagnostic.labels.iter().map(|label| (label.span, label.text.as_str()));
    std::iter::once(primary)
        .chain(others)
        .filter(|(span, text)| sources.byte_range(*span).is_none() && !text.is_empty())
        .map(|(_, text)| text)
        .collect()
}

fn call_groups<'a>(sources: &'a SourceMap, frames: &'a [CallFrame]) -> Vec<Group<'a>> {
    let hidden = frames.len().saturating_sub(2 * FRAMES_AT_EACH_END);
    if hidden < 2 {
        return frames.iter().map(|frame| call_group(sources, frame)).collect();
    }
    let (first, rest) = frames.split_at(FRAMES_AT_EACH_END);
    let (_, last) = rest.split_at(hidden);
    let mut groups: Vec<Group<'a>> = first.iter().map(|frame| call_group(sources, frame)).collect();
    groups.push(Group::with_title(Level::NOTE.secondary_title(format!("{hidden} more calls are not shown"))));
    groups.extend(last.iter().map(|frame| call_group(sources, frame)));
    groups
}

fn call_group<'a>(sources: &'a SourceMap, frame: &'a CallFrame) -> Group<'a> {
    let title = Level::NOTE.secondary_title(format!("in this call to `{}`", printable(&frame.function)));
    let group = Group::with_title(title);
    if sources.byte_range(frame.span).is_none() {
        return group;
    }
    let file = frame.span.file;
    let snippet = text_of(sources, file);
    group.element(annotate(snippet, sources, AnnotationKind::Primary, frame.span, ""))
}

/// Control characters in names and strings of the user's source must not reach the terminal.
fn printable(text: &str) -> String {
    let keep = |c: char| c == '\n' || !c.is_control();
    text.chars()
        .map(|c| {
            if keep(c) {
                c
            } else if c == '\t' {
                ' '
            } else {
                '\u{fffd}'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(printable("a\x1b[31m\tb\nc"), "a\u{fffd}[31m b\nc");
    }
}
