//! Words, punctuation and strings of the text format.

use shoal_source::{Diagnostic, FileId, Span};

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// Letters, digits, `_`, `.`, `-`, `+`: names and numbers.
    Word(&'t str),
    /// One character.
    Punct(char),
    /// A quoted string, unescaped.
    Text(String),
    /// Nothing is left.
    End,
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    file: FileId,
    at: usize,
    last_end: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, file: FileId) -> Self {
        let mut lexer = Lexer { text, file, at: 0, last_end: 0 };
        lexer.skip();
        lexer
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Passes white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with(';') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.last_end = self.at;
        self.skip();
    }

    fn span_of(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }

    /// Where the next token stands.
    pub(super) fn span(&self) -> Span {
        let rest = self.rest();
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        self.span_of(self.at, self.at + word.max(first))
    }

    /// Where the last token stood.
    pub(super) fn last_span(&self) -> Span {
        self.span_of(self.last_end, self.last_end)
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn peek_is(&self, c: char) -> bool {
        self.rest().starts_with(c)
    }

    pub(super) fn accept(&mut self, c: char) -> bool {
        let found = self.peek_is(c);
        if found {
            self.advance(c.len_utf8());
        }
        found
    }

    pub(super) fn expect(&mut self, c: char) -> Result<(), Diagnostic> {
        if self.accept(c) { Ok(()) } else { Err(self.unexpected(&format!("`{c}`"))) }
    }

    pub(super) fn accept_arrow(&mut self) -> bool {
        let found = self.rest().starts_with("->");
        if found {
            self.advance(2);
        }
        found
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        if found {
            self.advance(word.len());
        }
        found
    }

    /// The next token, left in place.
    pub(super) fn peek(&self) -> Token<'t> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Token::End };
        if is_word(first) {
            return Token::Word(&rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]);
        }
        if first == '"' { Token::Text(String::new()) } else { Token::Punct(first) }
    }

    pub(super) fn word(&mut self) -> Result<&'t str, Diagnostic> {
        match self.peek() {
            Token::Word(word) => {
                self.advance(word.len());
                Ok(word)
            }
            Token::Punct(_) | Token::Text(_) | Token::End => Err(self.unexpected("a word")),
        }
    }

    /// `%name`.
    pub(super) fn value_name(&mut self) -> Result<(&'t str, Span), Diagnostic> {
        let start = self.at;
        if !self.rest().starts_with('%') {
            return Err(self.unexpected("a value such as `%0`"));
        }
        let name = self.rest()[1..].find(|c| !is_word(c)).map_or(self.rest().len(), |n| n + 1);
        let text = &self.rest()[..name];
        self.advance(name);
        Ok((text, self.span_of(start, start + name)))
    }

    /// A dimension and its `x`: `128x`.
    pub(super) fn accept_dim(&mut self) -> Option<u32> {
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        if !rest[digits..].starts_with('x') {
            return None;
        }
        let dim = rest[..digits].parse().ok()?;
        self.advance(digits + 1);
        Some(dim)
    }

    /// `#layout<…>`, up to its closing `>`.
    pub(super) fn layout(&mut self) -> Result<(&'t str, Span), Diagnostic> {
        let rest = self.rest();
        let end = rest.starts_with('#').then(|| rest.find('>')).flatten();
        let Some(end) = end else { return Err(self.unexpected("a layout such as `#layout<…>`")) };
        let span = self.span_of(self.at, self.at + end + 1);
        self.advance(end + 1);
        Ok((&rest[..=end], span))
    }

    /// A quoted string with Rust's escapes.
    pub(super) fn text(&mut self) -> Result<String, Diagnostic> {
        let start = self.at;
        let bad = |lexer: &Self, why: &str| Err(Diagnostic::error(lexer.span_of(start, lexer.at), why.to_string()));
        let mut chars = self.rest().char_indices().skip(1);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(at + 1);
                    return Ok(text);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('0') => text.push('\0'),
                    Some(c @ ('"' | '\\' | '\'')) => text.push(c),
                    Some('u') => {
                        let code: String = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|&c| c != '}').collect();
                        match u32::from_str_radix(&code, 16).ok().and_then(char::from_u32) {
                            Some(c) => text.push(c),
                            None => return bad(self, "this string has an escape that means no character"),
                        }
                    }
                    Some(_) | None => return bad(self, "this string has an unknown escape"),
                },
                c => text.push(c),
            }
        }
        bad(self, "this string has no end")
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Diagnostic {
        Diagnostic::error(self.span(), format!("expected {wanted}, found {}", self.peek().describe()))
    }
}
