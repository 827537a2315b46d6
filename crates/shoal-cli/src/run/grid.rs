//! Grids of the command line: numbers and arguments, multiplied, and divided with rounding up.

use shoal::Arg;

use super::{Named, data::Value};
use crate::failure::Failure;

/// Reads one to three extents such as `8`, `4,2` or `heads*rows/BLOCK`.
pub(crate) fn read(text: &str, values: &[Named]) -> Result<[u64; 3], Failure> {
    let mut extents = [1; 3];
    let items: Vec<&str> = text.trim_matches(['(', ')']).split(',').collect();
    if items.len() > 3 {
        return Err(Failure::new(format!("--grid {text}: a grid has at most three extents")));
    }
    for (extent, item) in extents.iter_mut().zip(items) {
        *extent = one(item, values).map_err(|why| Failure::new(format!("--grid {text}: {why}")))?;
    }
    Ok(extents)
}

fn one(text: &str, values: &[Named]) -> Result<u64, String> {
    let mut parts = text.split('/');
    let mut extent = product(parts.next().unwrap_or(""), values)?;
    for divisor in parts {
        let divisor = product(divisor, values)?;
        if divisor == 0 {
            return Err("division by zero".into());
        }
        extent = extent.div_ceil(divisor);
    }
    Ok(extent)
}

fn product(text: &str, values: &[Named]) -> Result<u64, String> {
    text.split('*')
        .map(|factor| number(factor.trim(), values))
        .try_fold(1u64, |product, factor| product.checked_mul(factor?).ok_or_else(|| "too large".to_owned()))
}

fn number(text: &str, values: &[Named]) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match values.iter().find(|named| named.name == text).map(|named| &named.value) {
        Some(Value::Constant(Arg::Int(value))) => u64::try_from(*value).map_err(|_| format!("`{text}` is {value}")),
        Some(_) => Err(format!("`{text}` is not an integer")),
        None => Err(format!("`{text}` is neither a number nor an argument")),
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
        assert_eq!(read("(1, 2, 3)", &values).unwrap(), [1, 2, 3]);
        for wrong in ["m", "n/0", "1,2,3,4", "-1", ""] {
            assert!(read(wrong, &values).is_err(), "{wrong}");
        }
    }
}
