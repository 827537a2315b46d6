//! `{name = value, …}`, taken apart by name.

use std::str::FromStr;

use shoal_source::{Diagnostic, Span};

use super::lexer::Lexer;
use crate::print::Attr;

pub(super) struct Attrs {
    span: Span,
    entries: Vec<(String, Attr, Span)>,
}

impl Attrs {
    pub(super) fn none(span: Span) -> Attrs {
        Attrs { span, entries: Vec::new() }
    }

    pub(super) fn parse(lexer: &mut Lexer<'_>) -> Result<Attrs, Diagnostic> {
        let mut attrs = Attrs { span: lexer.span(), entries: Vec::new() };
        lexer.expect('{')?;
        while !lexer.accept('}') {
            let span = lexer.span();
            let name = lexer.word()?.to_string();
            if attrs.entries.iter().any(|(n, ..)| *n == name) {
                return Err(Diagnostic::error(span, format!("the attribute `{name}` is given twice")));
            }
            let value = if lexer.accept('=') { Self::value(lexer)? } else { Attr::Flag };
            attrs.entries.push((name, value, span));
            if !lexer.accept(',') {
                lexer.expect('}')?;
                break;
            }
        }
        Ok(attrs)
    }

    fn value(lexer: &mut Lexer<'_>) -> Result<Attr, Diagnostic> {
        if lexer.peek_is('"') {
            return lexer.text().map(Attr::Text);
        }
        if !lexer.accept('[') {
            return lexer.word().map(|w| Attr::Word(w.to_string()));
        }
        let mut list = Vec::new();
        while !lexer.accept(']') {
            let span = lexer.span();
            let word = lexer.word()?;
            list.push(word.parse().map_err(|_| Diagnostic::error(span, format!("`{word}` is not a whole number")))?);
            if !lexer.accept(',') {
                lexer.expect(']')?;
                break;
            }
        }
        Ok(Attr::List(list))
    }

    fn take(&mut self, name: &str) -> Option<(Attr, Span)> {
        let index = self.entries.iter().position(|(n, ..)| n == name)?;
        let (_, value, span) = self.entries.remove(index);
        Some((value, span))
    }

    fn missing(&self, name: &str) -> Diagnostic {
        Diagnostic::error(self.span, format!("the attribute `{name}` is missing"))
    }

    /// A word, read by `read`; `None` if the attribute is not there.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Diagnostic> {
        match self.take(name) {
            None => Ok(None),
            Some((Attr::Word(word), span)) => {
                let value = read(&word);
                value.map(Some).ok_or_else(|| Diagnostic::error(span, format!("`{word}` makes no sense for `{name}`")))
            }
            Some((_, span)) => Err(Diagnostic::error(span, format!("`{name}` takes one word"))),
        }
    }

    /// A word, read by `read`, that must be there.
    pub(super) fn required<T>(&mut self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, Diagnostic> {
        self.optional(name, read)?.ok_or_else(|| self.missing(name))
    }

    /// A number that must be there.
    pub(super) fn number<T: FromStr>(&mut self, name: &str) -> Result<T, Diagnostic> {
        self.required(name, |w| w.parse().ok())
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, Diagnostic> {
        match self.take(name) {
            Some((Attr::Text(text), _)) => Ok(text),
            Some((_, span)) => Err(Diagnostic::error(span, format!("`{name}` takes a string"))),
            None => Err(self.missing(name)),
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<u64>>, Diagnostic> {
        match self.take(name) {
            None => Ok(None),
            Some((Attr::List(list), _)) => Ok(Some(list)),
            Some((_, span)) => Err(Diagnostic::error(span, format!("`{name}` takes a list"))),
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Diagnostic> {
        match self.take(name) {
            None => Ok(false),
            Some((Attr::Flag, _)) => Ok(true),
            Some((_, span)) => Err(Diagnostic::error(span, format!("`{name}` takes no value"))),
        }
    }

    /// Whatever was not taken is not known.
    pub(super) fn finish(self) -> Result<(), Diagnostic> {
        match self.entries.first() {
            None => Ok(()),
            Some((name, _, span)) => Err(Diagnostic::error(*span, format!("there is no attribute `{name}` here"))),
        }
    }
}
