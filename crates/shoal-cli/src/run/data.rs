//! Arguments of the command line: tensors and values.

use std::path::Path;

use shoal::{Arg, DType, Tensor, dtype_from_name};
use shoal_kernels::random::{Random, element_count};

use super::npy;
use crate::failure::{Failure, read as read_file};

/// An argument.
pub(crate) enum Value {
    Tensor(Tensor),
    Constant(Arg<'static>),
}

/// Reads an argument; see the help of `shoal run`.
pub(crate) fn read(name: &str, text: &str, seed: u64) -> Result<Value, Failure> {
    if let Some(file) = text.strip_prefix('@') {
        let content = read_file(Path::new(file))?;
        return Ok(Value::Tensor(npy::read(&content).map_err(|why| Failure::new(format!("{file}: {why}")))?));
    }
    if let Some((fill, shape)) = text.split_once(':')
        && let Some((dtype, shape)) = shape.split_once('[')
    {
        return tensor(name, fill, dtype, shape, seed).map(Value::Tensor);
    }
    let constant = Arg::parse_constant(text).filter(|arg| !matches!(arg, Arg::Function(_)) || !text.contains(' '));
    constant.map(Value::Constant).ok_or_else(|| {
        Failure::usage(format!("--arg {name}={text}: not a value; `shoal run --help` shows what can be passed"))
    })
}

fn tensor(name: &str, fill: &str, dtype: &str, shape: &str, seed: u64) -> Result<Tensor, Failure> {
    let wrong = |why: String| Failure::usage(format!("--arg {name}: {why}"));
    let dtype = dtype_from_name(dtype.trim()).ok_or_else(|| {
        let known: Vec<&str> = DType::ALL.into_iter().map(shoal::signature_name).collect();
        wrong(format!("there is no type `{dtype}`; there are {}", known.join(", ")))
    })?;
    let sides = shape.trim().strip_suffix(']').ok_or_else(|| wrong("a shape ends with `]`".into()))?;
    let shape: Vec<usize> = sides
        .split(',')
        .filter(|side| !side.trim().is_empty())
        .map(|side| side.trim().parse().map_err(|_| wrong(format!("`{side}` is not a size"))))
        .collect::<Result<_, _>>()?;
    let count = element_count(&shape).map_err(|error| wrong(error.to_string()))?;
    let mut random = Random::new(seed);
    let filled = |mut element: Box<dyn FnMut(usize) -> f64 + '_>| {
        let values: Vec<f64> = (0..count).map(&mut *element).collect();
        Tensor::from_f64(dtype, &shape, &values)
    };
    Ok(match fill.trim() {
        "randn" => random.tensor(dtype, &shape)?,
        "rand" => filled(Box::new(|_| random.uniform()))?,
        "zeros" => Tensor::zeros(dtype, &shape)?,
        "ones" => filled(Box::new(|_| 1.0))?,
        "arange" => filled(Box::new(|at| at as f64))?,
        "empty" => Tensor::poisoned(dtype, &shape)?,
        other => {
            let known = "randn, rand, zeros, ones, arange and empty";
            return Err(wrong(format!("nothing is filled with `{other}`; there are {known}")));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match read("x", text, 0) {
            Ok(Value::Tensor(tensor)) => format!("{:?} {} {:?}", tensor.shape(), tensor.dtype(), tensor.to_f64()),
            Ok(Value::Constant(constant)) => format!("{constant:?}"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn tensors_and_values() {
        assert_eq!(shown("arange:i32[2, 2]"), "[2, 2] i32 [0.0, 1.0, 2.0, 3.0]");
        assert_eq!(shown("ones:fp16[2]"), "[2] f16 [1.0, 1.0]");
        assert_eq!(shown("empty:f32[1]"), "[1] f32 [NaN]");
        assert_eq!(shown("1024"), "Int(1024)");
        assert_eq!(shown("True"), "Bool(true)");
        assert_eq!(shown("None"), "None");
    }

    #[test]
    fn mistakes_are_named() {
        assert!(shown("randn:f33[2]").starts_with("--arg x: there is no type `f33`; there are u1, i8"));
        assert_eq!(shown("randn:f32[2"), "--arg x: a shape ends with `]`");
        assert_eq!(shown("randn:f32[a]"), "--arg x: `a` is not a size");
        for fill in ["randn", "rand", "zeros", "ones", "arange", "empty"] {
            let said = shown(&format!("{fill}:f32[99999999999, 99999999999]"));
            assert_eq!(said, "--arg x: a tensor of shape [99999999999, 99999999999] is too large");
        }
        assert!(shown("junk:f32[2]").contains("nothing is filled with `junk`"));
        assert!(shown("@does-not-exist.npy").starts_with("cannot read does-not-exist.npy"));
    }
}
