//! No text and no span makes the source map or the renderer panic.

use proptest::prelude::*;
use shoal_source::{Diagnostic, FileId, SourceMap, Span, Style, render};

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("\t"),
        Just("π"),
        Just("名"),
        Just("👩‍🚀"),
        Just("\u{200b}"),
        Just("\u{1b}[31m"),
        Just("\0"),
        Just("x = 1"),
        Just("    "),
        Just("e\u{301}"),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn offset() -> impl Strategy<Value = u32> {
    prop_oneof![9 => 0u32..80, 1 => any::<u32>()]
}

fn span() -> impl Strategy<Value = Span> {
    (0u32..4, offset(), offset()).prop_map(|(file, start, end)| Span::new(FileId::from_index(file), start, end))
}

proptest! {
    #[test]
    fn rendering_never_panics(
        texts in prop::collection::vec(text(), 0..3),
        primary in span(),
        labels in prop::collection::vec((span(), text()), 0..4),
        frames in prop::collection::vec((span(), text()), 0..9),
        message in text(),
    ) {
        let mut sources = SourceMap::default();
        for (index, text) in texts.into_iter().enumerate() {
            sources.add(format!("{index}.py"), text);
        }
        let mut problem = Diagnostic::error(primary, message.clone()).label(message.clone()).note(message);
        for (span, text) in labels {
            problem = problem.with_label(span, text);
        }
        for (span, function) in frames {
            problem = problem.in_call(span, function);
        }
        prop_assert!(render(&sources, &problem, Style::Plain).starts_with("error"));
        prop_assert!(render(&sources, &problem, Style::Colour).contains("error"));
    }

    #[test]
    fn places_are_in_the_text(text in text(), start in offset(), end in offset()) {
        let mut sources = SourceMap::default();
        let file = sources.add("t.py", text.clone());
        let span = Span::new(file, start, end);
        let (line, column) = sources.line_col(span).expect("the file is known");
        prop_assert!(line as usize <= text.matches('\n').count() + 1);
        prop_assert!(column as usize <= text.chars().count() + 1);
        prop_assert!(text.contains(sources.slice(span)));
    }
}
