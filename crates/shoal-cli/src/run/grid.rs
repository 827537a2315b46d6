//! Grids of the command line: numbers and arguments, multiplied, and divided with rounding up.

use shoal::Arg;

use super::{Named, data::Value};
use crate::failure::Failure;

/// Reads one to three extents such as `8`, `4,2` or `(M/BLOCK_M)*(N/BLOCK_N), heads`.
pub(crate) fn read(text: &str, values: &[Named]) -> Result<[u64; 3], Failure> {
    let wrong = |why: String| Failure::usage(format!("--grid {text}: {why}"));
    let mut extents = [1; 3];
    let mut reader = Reader { rest: text, values };
    for (place, extent) in extents.iter_mut().enumerate() {
        if place > 0 && !reader.eat(',') {
            break;
        }
        *extent = reader.extent().map_err(wrong)?;
    }
    if reader.eat(',') {
        return Err(wrong("a grid has at most three extents".into()));
    }
    match reader.rest.trim() {
        "" => Ok(extents),
        rest => Err(wrong(format!("`{rest}` is too much"))),
    }
}

struct Reader<'a> {
    rest: &'a str,
    values: &'a [Named],
}

impl Reader<'_> {
    fn eat(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Factors from left to right, as Python reads them.
    fn extent(&mut self) -> Result<u64, String> {
        let mut extent = self.factor()?;
        loop {
            if self.eat('*') {
                extent = extent.checked_mul(self.factor()?).ok_or("too large")?;
            } else if self.eat('/') {
                match self.factor()? {
                    0 => return Err("division by zero".into()),
                    divisor => extent = extent.div_ceil(divisor),
                }
            } else {
                return Ok(extent);
            }
        }
    }

    fn factor(&mut self) -> Result<u64, String> {
        if self.eat('(') {
            let inner = self.extent()?;
            return if self.eat(')') { Ok(inner) } else { Err("a `)` is missing".into()) };
        }
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        if let Ok(number) = word.parse() {
            return Ok(number);
        }
        match self.values.iter().find(|named| named.name == word).map(|named| &named.value) {
            Some(Value::Constant(Arg::Int(value))) => u64::try_from(*value).map_err(|_| format!("`{word}` is {value}")),
            Some(_) => Err(format!("`{word}` is not an integer")),
            None if word.is_empty() => Err("a number is missing".into()),
            None => Err(format!("`{word}` is neither a number nor an argument")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_computed() {
        let constant = |name: &str, value| Named { name: name.into(), value: Value::Constant(Arg::Int(value)) };
        let values = [constant("n", 1000), constant("BLOCK", 256)];
        assert_eq!(read("8", &values).unwrap(), [8, 1, 1]);
        assert_eq!(read("n/BLOCK, 2*BLOCK", &values).unwrap(), [4, 512, 1]);
        assert_eq!(read("(n/BLOCK) * (n/100), 2, 3", &values).unwrap(), [40, 2, 3]);
        assert_eq!(read("n/10*3", &values).unwrap(), [300, 1, 1]);
        for wrong in ["m", "n/0", "1,2,3,4", "-1", "", "(1", "1 2"] {
            assert!(read(wrong, &values).is_err(), "{wrong}");
        }
    }
}
