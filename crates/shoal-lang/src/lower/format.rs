//! f-strings.

use super::Lower;
use crate::builtin::describe;
use crate::consts::{MAX_STRING, float_repr};
use crate::lower_error::LowerResult;
use crate::syntax::ast::FStringPart;
use crate::value::{Const, Value};

/// The widest field; wider ones are a mistake.
const MAX_WIDTH: usize = 1000;

impl Lower<'_> {
    /// The text of an f-string.
    pub(super) fn fstring(&mut self, parts: &[FStringPart]) -> LowerResult<Value> {
        let text = self.fstring_text(parts)?;
        if text.len() > MAX_STRING {
            return Err(self.emit.lower_error("the string is too long"));
        }
        self.text_visited(text.len())?;
        Ok(Value::str(&text))
    }

    fn fstring_text(&mut self, parts: &[FStringPart]) -> LowerResult<String> {
        let mut text = String::new();
        for part in parts {
            match part {
                FStringPart::Text(t) => text.push_str(t),
                FStringPart::Field { value, conversion, spec, debug } => {
                    let shown = self.expr(value)?;
                    if shown.is_dynamic() {
                        self.emit.span = value.span;
                        return Err(self
                            .emit
                            .error("an f-string in a kernel shows compile-time values only")
                            .label(format!("this is {}", describe(&shown)))
                            .help("print device values with `tl.device_print(\"text\", value)`")
                            .into());
                    }
                    text.extend(debug.iter().map(|d| d.to_string()));
                    let spec = self.fstring_text(spec)?;
                    let repr = matches!(conversion, Some('r' | 'a')) || (debug.is_some() && conversion.is_none());
                    match (&shown, repr) {
                        (Value::Const(c), true) => text.push_str(&pad(&c.to_string(), &spec)),
                        (Value::Const(c), false) => match format_const(c, &spec) {
                            Some(field) => text.push_str(&field),
                            None => {
                                let message = format!("the format `{spec}` does not fit {}", describe(&shown));
                                return Err(self.emit.lower_error(message));
                            }
                        },
                        _ => text.push_str(&pad(&self.display(&shown), &spec)),
                    }
                }
            }
        }
        Ok(text)
    }
}

/// `[[fill]align][sign][#][0][width][,][.precision][type]`.
#[derive(Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    plus: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    comma: bool,
    precision: Option<usize>,
    kind: Option<char>,
}

fn read_spec(text: &str) -> Option<Spec> {
    let mut spec = Spec::default();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
    if is_align(chars.get(1)) {
        spec.fill = Some(chars[0]);
        spec.align = Some(chars[1]);
        at = 2;
    } else if is_align(chars.first()) {
        spec.align = Some(chars[0]);
        at = 1;
    }
    let mut rest = chars[at..].iter().copied().peekable();
    if let Some(sign) = rest.next_if(|c| matches!(c, '+' | '-' | ' ')) {
        spec.plus = sign == '+';
    }
    spec.alternate = rest.next_if_eq(&'#').is_some();
    spec.zero = rest.next_if_eq(&'0').is_some();
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
        spec.width = spec.width.saturating_mul(10).saturating_add(digit as usize);
        rest.next();
    }
    spec.comma = rest.next_if(|c| matches!(c, ',' | '_')).is_some();
    if rest.next_if_eq(&'.').is_some() {
        let mut precision = 0usize;
        while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
            precision = precision.saturating_mul(10).saturating_add(digit as usize);
            rest.next();
        }
        spec.precision = Some(precision);
    }
    spec.kind = rest.next();
    let too_wide = spec.width > MAX_WIDTH || spec.precision.is_some_and(|p| p > MAX_WIDTH);
    if rest.next().is_some() || too_wide { None } else { Some(spec) }
}

fn pad(text: &str, spec: &str) -> String {
    match read_spec(spec) {
        Some(spec) => aligned(text, &spec, '<'),
        None => text.to_owned(),
    }
}

fn aligned(text: &str, spec: &Spec, default: char) -> String {
    let missing = spec.width.saturating_sub(text.chars().count());
    let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
    let fills = |n: usize| std::iter::repeat_n(fill, n).collect::<String>();
    match spec.align.unwrap_or(if spec.zero { '=' } else { default }) {
        '<' => format!("{text}{}", fills(missing)),
        '^' => format!("{}{text}{}", fills(missing / 2), fills(missing - missing / 2)),
        '=' => {
            let sign = usize::from(text.starts_with(['-', '+']));
            let prefix = if ["0x", "0X", "0b", "0o"].iter().any(|p| text[sign..].starts_with(p)) { 2 } else { 0 };
            let (head, digits) = text.split_at(sign + prefix);
            format!("{head}{}{digits}", fills(missing))
        }
        _ => format!("{}{text}", fills(missing)),
    }
}

fn format_const(value: &Const, spec: &str) -> Option<String> {
    let spec = read_spec(spec)?;
    let plain = match value {
        Const::Str(s) => {
            let cut: String = s.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
            return matches!(spec.kind, None | Some('s')).then(|| aligned(&cut, &spec, '<'));
        }
        Const::None | Const::Ellipsis => return Some(value.to_string()),
        Const::Bool(_) if spec.kind.is_none() => return Some(aligned(&value.to_string(), &spec, '<')),
        Const::Bool(_) | Const::Int(_) => match spec.kind {
            None | Some('d') => value.as_int()?.to_string(),
            Some('x') => radix(value.as_int()?, "0x", &spec, |m| format!("{m:x}")),
            Some('X') => radix(value.as_int()?, "0X", &spec, |m| format!("{m:X}")),
            Some('b') => radix(value.as_int()?, "0b", &spec, |m| format!("{m:b}")),
            Some('o') => radix(value.as_int()?, "0o", &spec, |m| format!("{m:o}")),
            Some(_) => float_text(value.as_float()?, &spec)?,
        },
        Const::Float(f) => float_text(*f, &spec)?,
    };
    let grouped = if spec.comma { group_thousands(&plain) } else { plain };
    let signed = if spec.plus && !grouped.starts_with('-') { format!("+{grouped}") } else { grouped };
    Some(aligned(&signed, &spec, '>'))
}

fn radix(value: i128, prefix: &str, spec: &Spec, digits: impl Fn(u128) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let prefix = if spec.alternate { prefix } else { "" };
    format!("{sign}{prefix}{}", digits(value.unsigned_abs()))
}

fn float_text(f: f64, spec: &Spec) -> Option<String> {
    let precision = spec.precision.unwrap_or(6);
    Some(match spec.kind {
        Some('f' | 'F') => format!("{f:.precision$}"),
        Some('e' | 'E') => {
            let text = format!("{f:.precision$e}");
            let (mantissa, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        Some('%') => format!("{:.precision$}%", f * 100.0),
        None if spec.precision.is_none() => float_repr(f),
        // `g` and a bare precision: that many significant digits, as many as needed.
        None | Some('g' | 'G') => {
            let digits = precision.max(1);
            let rounded: f64 = format!("{f:.*e}", digits - 1).parse().ok()?;
            let text = float_repr(rounded);
            match spec.kind {
                None => text,
                _ => text.strip_suffix(".0").unwrap_or(&text).to_owned(),
            }
        }
        Some(_) => return None,
    })
}

fn group_thousands(text: &str) -> String {
    let (sign, rest) = text.split_at(usize::from(text.starts_with('-')));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(c);
    }
    format!("{sign}{grouped}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_format_as_in_python() {
        let show = |c: Const, spec| format_const(&c, spec);
        assert_eq!(show(Const::Int(255), "x").as_deref(), Some("ff"));
        assert_eq!(show(Const::Int(255), "#06x").as_deref(), Some("0x00ff"));
        assert_eq!(show(Const::Int(1_234_567), ",").as_deref(), Some("1,234,567"));
        assert_eq!(show(Const::Int(-5), "04d").as_deref(), Some("-005"));
        assert_eq!(show(Const::Float(1.5), ".2f").as_deref(), Some("1.50"));
        assert_eq!(show(Const::Float(1234.5), ".3e").as_deref(), Some("1.234e+03"));
        assert_eq!(show(Const::Float(0.25), ".0%").as_deref(), Some("25%"));
        assert_eq!(show(Const::Str("ab".into()), ">4").as_deref(), Some("  ab"));
        assert_eq!(show(Const::Int(7), "^5").as_deref(), Some("  7  "));
        assert_eq!(show(Const::Str("ab".into()), "d"), None);
    }
}
