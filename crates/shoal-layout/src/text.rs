//! The text form, which reads back as the same layout.
//!
//! ```text
//! #layout<register=[[0,1],[0,2]], lane=[[1,0],[2,0]], out=[4,8]>
//! ```
//!
//! One line; hardware dimensions without bases are left out; `out` is the shape of the tile. There is no other `<` or
//! `>` in it, so inside `tile<4x8xf32, …>` it ends at the first `>`.

use std::fmt;
use std::str::FromStr;

use crate::{InDim, LayoutError, LinearLayout, ParseLayoutError};

const OPENING: &str = "#layout<";

impl fmt::Display for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OPENING)?;
        for dim in InDim::ALL {
            if self.in_size(dim) > 1 {
                let bases: Vec<String> = self.bases(dim).map(|basis| list(&basis)).collect();
                write!(f, "{dim}=[{}], ", bases.join(","))?;
            }
        }
        write!(f, "out={}>", list(&self.shape()))
    }
}

fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    format!("[{}]", numbers.join(","))
}

impl FromStr for LinearLayout {
    type Err = ParseLayoutError;

    fn from_str(text: &str) -> Result<Self, ParseLayoutError> {
        let (layout, length) = Self::parse_prefix(text)?;
        if text[length..].trim().is_empty() {
            return Ok(layout);
        }
        Err(ParseLayoutError { offset: length, message: "unexpected text after the layout".into() })
    }
}

impl LinearLayout {
    /// Reads the layout that `text` begins with; also gives the number of bytes read. Made for parsers of larger texts.
    pub fn parse_prefix(text: &str) -> Result<(Self, usize), ParseLayoutError> {
        let mut reader = Reader { text, at: 0 };
        let layout = reader.layout()?;
        Ok((layout, reader.at))
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn layout(&mut self) -> Result<LinearLayout, ParseLayoutError> {
        self.expect(OPENING)?;
        let mut bases: Vec<(InDim, Vec<Vec<u32>>)> = Vec::new();
        loop {
            let (name, begin) = self.word();
            if name == "out" {
                break;
            }
            let Some(dim) = InDim::from_name(&name) else {
                return Err(error(begin, "expected `register`, `lane`, `warp`, `block`, `offset` or `out`"));
            };
            if bases.iter().any(|(other, _)| *other == dim) {
                return Err(error(begin, format!("`{dim}` is given twice")));
            }
            self.expect("=")?;
            bases.push((dim, self.list(Self::numbers)?));
            self.expect(",")?;
        }
        self.expect("=")?;
        let begin = self.at;
        let shape = self.numbers()?;
        self.expect(">")?;
        LinearLayout::from_bases(bases, &shape).map_err(|problem: LayoutError| error(begin, problem.to_string()))
    }

    fn numbers(&mut self) -> Result<Vec<u32>, ParseLayoutError> {
        self.list(Self::number)
    }

    /// `[`, items with commas between them, `]`.
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseLayoutError>,
    ) -> Result<Vec<T>, ParseLayoutError> {
        self.expect("[")?;
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat("]") {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn number(&mut self) -> Result<u32, ParseLayoutError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..length].parse().map_err(|_| error(self.at, "expected a number below 2^32"))?;
        self.at += length;
        Ok(number)
    }

    /// The letters that follow, and where they begin.
    fn word(&mut self) -> (String, usize) {
        self.skip_space();
        let begin = self.at;
        let rest = &self.text[begin..];
        let length = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        self.at += length;
        (rest[..length].to_owned(), begin)
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ParseLayoutError> {
        if self.eat(token) { Ok(()) } else { Err(error(self.at, format!("expected `{token}`"))) }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
}

fn error(offset: usize, message: impl Into<String>) -> ParseLayoutError {
    ParseLayoutError { offset, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        text.parse::<LinearLayout>().unwrap_err().to_string()
    }

    #[test]
    fn the_form_is_stable() {
        let text = "#layout<register=[[0,1],[0,2]], lane=[[1,0],[2,0]], warp=[[0,0]], out=[4,4]>";
        assert_eq!(text.parse::<LinearLayout>().unwrap().to_string(), text);
        assert_eq!(LinearLayout::empty().to_string(), "#layout<out=[]>");
    }

    #[test]
    fn space_is_free() {
        let text = " #layout<\n lane = [ [ 1 ] , [2] ],\tout=[ 4 ] > ";
        assert_eq!(text.parse::<LinearLayout>().unwrap(), LinearLayout::identity1d(4, InDim::Lane, 0));
    }

    #[test]
    fn a_prefix_ends_at_the_bracket() {
        let text = "#layout<lane=[[1]], out=[2]>>, i32";
        let (layout, length) = LinearLayout::parse_prefix(text).unwrap();
        assert_eq!((layout.shape(), &text[length..]), (vec![2], ">, i32"));
    }

    #[test]
    fn errors_say_what_and_where() {
        assert_eq!(problem("layout"), "expected `#layout<` (at byte 0 of the layout)");
        assert_eq!(
            problem("#layout<thread=[[1]], out=[2]>"),
            "expected `register`, `lane`, `warp`, `block`, `offset` or `out` (at byte 8 of the layout)"
        );
        assert_eq!(
            problem("#layout<lane=[[1]], lane=[[1]], out=[2]>"),
            "`lane` is given twice (at byte 20 of the layout)"
        );
        assert_eq!(problem("#layout<lane=[[1] [1]], out=[2]>"), "expected `,` (at byte 18 of the layout)");
        assert_eq!(problem("#layout<lane=[[x]], out=[2]>"), "expected a number below 2^32 (at byte 15 of the layout)");
        assert_eq!(
            problem("#layout<lane=[[2]], out=[2]>"),
            "the lane basis [2] lies outside the tile (at byte 24 of the layout)"
        );
        assert_eq!(problem("#layout<out=[3]>"), "the size 3 is not a power of two (at byte 12 of the layout)");
        assert_eq!(problem("#layout<out=[2]> x"), "unexpected text after the layout (at byte 16 of the layout)");
        assert_eq!(problem("#layout<out=[2]"), "expected `>` (at byte 15 of the layout)");
    }
}
