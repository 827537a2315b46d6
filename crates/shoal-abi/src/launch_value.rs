//! Numbers that whoever launches a kernel computes from its arguments.
//!
//! The text form is the list of steps of a stack machine, each behind a dot: `a3.a4.mul.i32` is the product of the
//! arguments 3 and 4, as an `i32`.

use std::fmt;
use std::str::FromStr;

/// One step: what it does with the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaunchStep {
    /// Puts a number there.
    Number(i64),
    /// Puts an argument there, by its position among the run-time parameters; sign-extended.
    Argument(u32),
    /// The same, zero-extended.
    UnsignedArgument(u32),
    /// Replaces two numbers by their sum.
    Add,
    /// … by the first less the second.
    Sub,
    /// … by their product.
    Mul,
    /// … by the lesser one.
    Min,
    /// … by the greater one.
    Max,
    /// Wraps a number to 32 bits and extends its sign.
    ToI32,
}

/// A number that is computed from a launch's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchValue(Vec<LaunchStep>);

impl LaunchValue {
    /// One step.
    #[must_use]
    pub fn of(step: LaunchStep) -> LaunchValue {
        LaunchValue(vec![step])
    }

    /// A step with what two values leave on the stack.
    #[must_use]
    pub fn combined(mut self, other: LaunchValue, step: LaunchStep) -> LaunchValue {
        self.0.extend(other.0);
        self.then(step)
    }

    /// A further step.
    #[must_use]
    pub fn then(mut self, step: LaunchStep) -> LaunchValue {
        self.0.push(step);
        self
    }

    /// How many steps it takes.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.0.len()
    }

    /// The number, where `argument` reads an argument's bits, zero-extended, and says how many there are. `None` if the
    /// steps do not fit together or there is no such argument.
    pub fn compute(&self, argument: impl Fn(u32) -> Option<(u64, u32)>) -> Option<i64> {
        let mut stack: Vec<i64> = Vec::with_capacity(4);
        for &step in &self.0 {
            let value = match step {
                LaunchStep::Number(number) => number,
                LaunchStep::Argument(index) => {
                    let (bits, count) = argument(index)?;
                    let unused = 64u32.checked_sub(count).filter(|unused| *unused < 64)?;
                    (bits << unused).cast_signed() >> unused
                }
                LaunchStep::UnsignedArgument(index) => argument(index)?.0.cast_signed(),
                LaunchStep::ToI32 => i64::from(stack.pop()? as i32),
                LaunchStep::Add | LaunchStep::Sub | LaunchStep::Mul | LaunchStep::Min | LaunchStep::Max => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    combine(step, a, b)?
                }
            };
            stack.push(value);
        }
        match stack[..] {
            [number] => Some(number),
            _ => None,
        }
    }
}

fn combine(step: LaunchStep, a: i64, b: i64) -> Option<i64> {
    Some(match step {
        LaunchStep::Add => a.wrapping_add(b),
        LaunchStep::Sub => a.wrapping_sub(b),
        LaunchStep::Mul => a.wrapping_mul(b),
        LaunchStep::Min => a.min(b),
        LaunchStep::Max => a.max(b),
        LaunchStep::Number(_) | LaunchStep::Argument(_) | LaunchStep::UnsignedArgument(_) | LaunchStep::ToI32 => {
            return None;
        }
    })
}

impl fmt::Display for LaunchValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            match step {
                LaunchStep::Number(number) => write!(f, "{number}")?,
                LaunchStep::Argument(index) => write!(f, "a{index}")?,
                LaunchStep::UnsignedArgument(index) => write!(f, "u{index}")?,
                LaunchStep::Add => f.write_str("add")?,
                LaunchStep::Sub => f.write_str("sub")?,
                LaunchStep::Mul => f.write_str("mul")?,
                LaunchStep::Min => f.write_str("min")?,
                LaunchStep::Max => f.write_str("max")?,
                LaunchStep::ToI32 => f.write_str("i32")?,
            }
        }
        Ok(())
    }
}

/// A text is no list of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchValueError;

impl FromStr for LaunchValue {
    type Err = LaunchValueError;

    fn from_str(text: &str) -> Result<LaunchValue, LaunchValueError> {
        text.split('.').map(step).collect::<Option<Vec<_>>>().map(LaunchValue).ok_or(LaunchValueError)
    }
}

fn step(text: &str) -> Option<LaunchStep> {
    Some(match text {
        "add" => LaunchStep::Add,
        "sub" => LaunchStep::Sub,
        "mul" => LaunchStep::Mul,
        "min" => LaunchStep::Min,
        "max" => LaunchStep::Max,
        "i32" => LaunchStep::ToI32,
        _ => match (text.strip_prefix('a'), text.strip_prefix('u')) {
            (Some(index), _) => LaunchStep::Argument(index.parse().ok()?),
            (None, Some(index)) => LaunchStep::UnsignedArgument(index.parse().ok()?),
            (None, None) => LaunchStep::Number(text.parse().ok()?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_their_text_and_are_computed() {
        let arguments = |index: u32| [(7, 32), (0xffff_fffe, 32), (0xffff_fffe, 32)].get(index as usize).copied();
        for (text, expected) in [
            ("12", Some(12)),
            ("-12", Some(-12)),
            ("a0.a1.mul", Some(-14)),
            ("a0.u2.add", Some(0x1_0000_0005)),
            ("a0.u2.add.i32", Some(5)),
            ("a0.3.sub.9.max.8.min", Some(8)),
            ("a3", None),
            ("a0.a1", None),
            ("mul", None),
        ] {
            let value: LaunchValue = text.parse().unwrap();
            assert_eq!(value.to_string(), text);
            assert_eq!(value.compute(arguments), expected, "{text}");
        }
        assert!("a".parse::<LaunchValue>().is_err() && "".parse::<LaunchValue>().is_err());
    }
}
