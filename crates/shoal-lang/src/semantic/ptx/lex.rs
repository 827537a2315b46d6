//! The words of PTX.

/// A word of PTX.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name with its dots: `add.s32`, `%tid.x`, `.reg`.
    Word(String),
    /// `$0`, `${0}`
    Argument(usize),
    /// A number as it is written.
    Number(String),
    /// One of `;:,[]{}+-@!|<>=`.
    Sign(char),
}

/// Splits text into words; the message says what cannot be read.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        match rest[0] {
            c if c.is_whitespace() => at += 1,
            '/' if rest.get(1) == Some(&'/') => at += rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
            '/' if rest.get(1) == Some(&'*') => {
                let end = rest.windows(2).skip(2).position(|w| w == ['*', '/']);
                at += end.ok_or("a comment has no end")? + 4;
            }
            '$' => {
                let (number, length) = argument(rest)?;
                found.push(Token::Argument(number));
                at += length;
            }
            c if c.is_ascii_digit() => {
                let length = number(rest);
                found.push(Token::Number(rest[..length].iter().collect()));
                at += length;
            }
            c if is_name(c) || c == '.' => {
                let length = rest.iter().position(|&c| !(is_name(c) || c == '.' || c == ':')).unwrap_or(rest.len());
                let length = name_length(&rest[..length]);
                found.push(Token::Word(rest[..length].iter().collect()));
                at += length;
            }
            c if ";:,[]{}+-@!|<>=".contains(c) => {
                found.push(Token::Sign(c));
                at += 1;
            }
            c => return Err(format!("`{c}` has no meaning in PTX")),
        }
    }
    Ok(found)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '%')
}

/// A word may contain `::`, as in `.L2::cache_hint`, but a single colon ends a label.
fn name_length(chars: &[char]) -> usize {
    let mut at = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            (':', Some(':')) => at += 2,
            (':', _) => break,
            _ => at += 1,
        }
    }
    at
}

/// The length of a number: digits, letters of its base or exponent, and a sign after the exponent.
fn number(chars: &[char]) -> usize {
    let prefixed = chars.get(1).is_some_and(|c| matches!(c, 'x' | 'X' | 'f' | 'F' | 'd' | 'D' | 'b' | 'B'));
    let mut at = 1;
    while let Some(&c) = chars.get(at) {
        let exponent = !prefixed && matches!(c, '+' | '-') && matches!(chars[at - 1], 'e' | 'E');
        if !(c.is_ascii_alphanumeric() || c == '.' || exponent) {
            break;
        }
        at += 1;
    }
    at
}

/// The number of an operand of the assembly, and how many characters name it.
fn argument(chars: &[char]) -> Result<(usize, usize), String> {
    let braced = chars.get(1) == Some(&'{');
    let from = if braced { 2 } else { 1 };
    let digits: String = chars[from..].iter().take_while(|c| c.is_ascii_digit()).take(4).collect();
    let number = digits.parse().map_err(|_| "`$` must be followed by the number of an operand".to_owned())?;
    let mut length = from + digits.len();
    if braced {
        // `${0:w}` names a part of an operand elsewhere; here all of it.
        let end = chars[length..].iter().take(4).position(|&c| c == '}');
        length += end.ok_or("`${` has no `}`")? + 1;
    }
    Ok((number, length))
}
