//! What a kernel wrote, for people.

use shoal::{Tensor, dtype_name};

use super::{Named, data::Value};
use crate::numbers::digits;
use crate::table::{Align, Table};

/// Shows the tensors that the kernel changed.
pub(crate) fn changed(values: &[Named], before: &[Vec<u8>]) {
    let mut table = Table::new(&[
        ("changed", Align::Left),
        ("type", Align::Left),
        ("shape", Align::Left),
        ("min", Align::Right),
        ("mean", Align::Right),
        ("max", Align::Right),
        ("not a number", Align::Right),
        ("first elements", Align::Left),
    ]);
    for (named, before) in values.iter().zip(before) {
        if let Value::Tensor(tensor) = &named.value
            && tensor.bytes() != before.as_slice()
        {
            table.row(summary(&named.name, tensor));
        }
    }
    if table.is_empty() {
        outln!("the kernel changed no tensor");
    } else {
        out!("{table}");
    }
}

fn summary(name: &str, tensor: &Tensor) -> [String; 8] {
    let all = tensor.to_f64();
    let numbers: Vec<f64> = all.iter().copied().filter(|v| !v.is_nan()).collect();
    let shown = |value: f64| if numbers.is_empty() { "–".to_owned() } else { digits(value) };
    let first: Vec<String> = all.iter().take(4).map(|v| digits(*v)).collect();
    [
        name.to_owned(),
        dtype_name(tensor.dtype()).to_owned(),
        format!("{:?}", tensor.shape()),
        shown(numbers.iter().copied().fold(f64::INFINITY, f64::min)),
        shown(numbers.iter().sum::<f64>() / numbers.len() as f64),
        shown(numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        (all.len() - numbers.len()).to_string(),
        first.join(" "),
    ]
}

/// Prints all elements, a row to a line.
pub(crate) fn elements(name: &str, tensor: &Tensor) {
    outln!("{name} = {} {:?}", dtype_name(tensor.dtype()), tensor.shape());
    let row = tensor.shape().last().copied().unwrap_or(1).max(1);
    for row in tensor.to_f64().chunks(row) {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        outln!("  {}", cells.join(" "));
    }
}

/// Shows how far the tensors of two runs differ; returns the largest difference, relative to the larger of value and 1.
pub(crate) fn differences(first: &[Named], second: &[Named]) -> f64 {
    let mut table = Table::new(&[
        ("tensor", Align::Left),
        ("elements", Align::Right),
        ("different", Align::Right),
        ("largest difference", Align::Right),
    ]);
    let mut worst: f64 = 0.0;
    for (a, b) in first.iter().zip(second) {
        let (Value::Tensor(x), Value::Tensor(y)) = (&a.value, &b.value) else { continue };
        let (x, y) = (x.to_f64(), y.to_f64());
        let same = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan());
        let different = x.iter().zip(&y).filter(|(x, y)| !same(**x, **y)).count();
        let far = |(x, y): (&f64, &f64)| {
            let distance = (x - y).abs() / x.abs().max(y.abs()).max(1.0);
            if same(*x, *y) {
                0.0
            } else if distance.is_nan() {
                f64::INFINITY
            } else {
                distance
            }
        };
        let largest = x.iter().zip(&y).map(far).fold(0.0, f64::max);
        worst = worst.max(largest);
        table.row([a.name.clone(), x.len().to_string(), different.to_string(), digits(largest)]);
    }
    out!("{table}");
    worst
}
