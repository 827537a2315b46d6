//! What stands between the parentheses: `[pub] mod NAME = "FILE", KERNEL = "SIGNATURE", …`, the name being optional.

use std::iter::Peekable;

use proc_macro::{Span, TokenStream, TokenTree, token_stream};

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// `pub ` or nothing.
    pub(crate) visibility: String,
    /// The module's name, if it is not the file's.
    pub(crate) name: Option<String>,
    /// The file, from the package's folder.
    pub(crate) path: String,
    /// Kernels and their signatures.
    pub(crate) signatures: Vec<(String, String)>,
}

type Wrong = (String, Span);
type Tokens = Peekable<token_stream::IntoIter>;

const FORM: &str = "kernel! takes a file and signatures: kernel!(\"add.py\"), or kernel!(pub mod fast = \"add.py\", add = \
                    \"*kfp32, *kfp32, *fp32, i32, BLOCK=1024\")";

impl Request {
    /// Reads it; the place is that of the file's name.
    pub(crate) fn read(input: TokenStream) -> Result<(Request, Span), Wrong> {
        let mut tokens = input.into_iter().peekable();
        let mut request = Request::default();
        if next_is(&mut tokens, "pub") {
            tokens.next();
            request.visibility = "pub ".into();
        }
        if next_is(&mut tokens, "mod") {
            tokens.next();
            request.name = Some(identifier(&mut tokens)?);
            punctuation(&mut tokens, '=')?;
        }
        let (path, span) = text(&mut tokens)?;
        request.path = path;
        while tokens.peek().is_some() {
            punctuation(&mut tokens, ',')?;
            if tokens.peek().is_none() {
                break;
            }
            let kernel = identifier(&mut tokens)?;
            punctuation(&mut tokens, '=')?;
            request.signatures.push((kernel, text(&mut tokens)?.0));
        }
        Ok((request, span))
    }
}

fn next_is(tokens: &mut Tokens, word: &str) -> bool {
    matches!(tokens.peek(), Some(TokenTree::Ident(ident)) if ident.to_string() == word)
}

fn wrong(found: Option<&TokenTree>) -> Wrong {
    (FORM.to_owned(), found.map_or_else(Span::call_site, TokenTree::span))
}

fn identifier(tokens: &mut Tokens) -> Result<String, Wrong> {
    match tokens.next() {
        Some(TokenTree::Ident(ident)) => Ok(ident.to_string()),
        other => Err(wrong(other.as_ref())),
    }
}

fn punctuation(tokens: &mut Tokens, mark: char) -> Result<(), Wrong> {
    match tokens.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == mark => Ok(()),
        other => Err(wrong(other.as_ref())),
    }
}

fn text(tokens: &mut Tokens) -> Result<(String, Span), Wrong> {
    let token = tokens.next();
    let value = match &token {
        Some(TokenTree::Literal(literal)) => unquoted(&literal.to_string()),
        _ => None,
    };
    match (value, token) {
        (Some(value), Some(token)) => Ok((value, token.span())),
        (_, token) => Err(wrong(token.as_ref())),
    }
}

/// The value of a text as Rust writes it. Paths and signatures need no other escapes than these.
fn unquoted(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let bare = raw.trim_matches('#');
        return bare.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut value = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        value.push(match c {
            '\\' => match chars.next()? {
                escaped @ ('\\' | '"' | '\'') => escaped,
                _ => return None,
            },
            other => other,
        });
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn texts_lose_their_quotes() {
        assert_eq!(unquoted(r#""a/b.py""#).unwrap(), "a/b.py");
        assert_eq!(unquoted(r#""KIND=\"x\"""#).unwrap(), "KIND=\"x\"");
        assert_eq!(unquoted(r##"r#"KIND="x""#"##).unwrap(), "KIND=\"x\"");
        assert!(unquoted("7").is_none() && unquoted(r#""\n""#).is_none());
    }
}
