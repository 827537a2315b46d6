//! Comparing what a kernel wrote with its reference.

use shoal::DType;

/// How far a value may lie from its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// In any case.
    pub absolute: f64,
    /// For each unit of the reference.
    pub relative: f64,
}

impl Tolerance {
    /// None: values are the same.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };

    /// `steps` rounding steps of a type, relative to the value and to 1. 16-bit kernels compute in `f32` inside, so
    /// there `steps` is about the final rounding.
    #[must_use]
    pub fn steps(dtype: DType, steps: f64) -> Tolerance {
        let step = match dtype {
            DType::F64 => f64::EPSILON,
            DType::F32 => f64::from(f32::EPSILON),
            DType::F16 => 2f64.powi(-10),
            DType::BF16 => 2f64.powi(-7),
            DType::F8E4M3 | DType::F8E4B15 | DType::F8E4M3Fnuz => 0.125,
            DType::F8E5M2 | DType::F8E5M2Fnuz => 0.25,
            DType::I1
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64 => 0.0,
        };
        Tolerance { absolute: step * steps, relative: step * steps }
    }
}

/// The comparison of one output.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The output's name.
    pub output: &'static str,
    /// The largest distance to the reference; infinite if a value is missing or not a number.
    pub max_error: f64,
    /// The largest distance in units of what is allowed there: at most 1 if all is well.
    pub worst: f64,
    /// The element with the largest distance in those units.
    pub at: usize,
    /// What was found there.
    pub found: f64,
    /// What was expected there.
    pub expected: f64,
}

impl Checked {
    /// Compares.
    #[must_use]
    pub fn new(output: &'static str, found: &[f64], expected: &[f64], tolerance: Tolerance) -> Checked {
        let mut checked = Checked { output, max_error: 0.0, worst: 0.0, at: 0, found: 0.0, expected: 0.0 };
        if found.len() != expected.len() {
            return Checked { max_error: f64::INFINITY, worst: f64::INFINITY, ..checked };
        }
        for (at, (&found, &expected)) in found.iter().zip(expected).enumerate() {
            let error = if found == expected { 0.0 } else { (found - expected).abs() };
            let error = if error.is_nan() { f64::INFINITY } else { error };
            let allowed = tolerance.absolute + tolerance.relative * expected.abs();
            let share = if error == 0.0 { 0.0 } else { error / allowed };
            checked.max_error = checked.max_error.max(error);
            if share > checked.worst {
                checked = Checked { worst: share, at, found, expected, ..checked };
            }
        }
        checked
    }

    /// Whether every element is near enough.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.worst <= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Tolerance = Tolerance { absolute: 0.1, relative: 0.0 };

    #[test]
    fn distances_are_measured_in_units_of_the_tolerance() {
        let checked = Checked::new("x", &[1.0, 2.05], &[1.0, 2.0], TENTH);
        assert!(checked.passed() && checked.at == 1 && (checked.worst - 0.5).abs() < 1e-9);
        assert!(!Checked::new("x", &[1.2], &[1.0], TENTH).passed());
    }

    #[test]
    fn what_was_not_written_does_not_pass() {
        assert!(!Checked::new("x", &[f64::NAN], &[0.0], TENTH).passed());
        assert!(!Checked::new("x", &[], &[0.0], TENTH).passed());
        let exact = Tolerance::steps(DType::I32, 1.0);
        assert!(!Checked::new("x", &[-1.0], &[0.0], exact).passed());
        assert!(Checked::new("x", &[7.0], &[7.0], exact).passed());
    }
}
