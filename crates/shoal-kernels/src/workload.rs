//! A kernel with data to work on.

use shoal::{Error, Tensor};

use crate::check::{Checked, Tolerance};
use crate::library::Library;

/// A tensor that a kernel writes.
#[derive(Debug)]
pub struct Output<'a> {
    /// Its name.
    pub name: &'static str,
    /// What was written.
    pub tensor: &'a Tensor,
    /// How near it must be to the reference.
    pub tolerance: Tolerance,
}

/// How much a kernel has to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// Bytes read and written: what bounds the time of a kernel that computes little.
    Bytes(f64),
    /// Floating-point operations: what bounds the time of a kernel that computes much.
    Operations(f64),
}

impl Work {
    /// The rate, when it takes so many seconds, with its unit.
    #[must_use]
    pub fn rate(self, seconds: f64) -> (f64, &'static str) {
        match self {
            Work::Bytes(bytes) => (bytes / seconds / 1e9, "GB/s"),
            Work::Operations(count) => (count / seconds / 1e9, "GFLOP/s"),
        }
    }
}

/// A kernel with inputs, with outputs that start out poisoned, and with a reference.
pub trait Workload {
    /// Launches the kernel. May be called again.
    ///
    /// # Errors
    /// When it does not compile or fails.
    fn run(&self, library: &Library) -> Result<(), Error>;

    /// What the kernel writes.
    fn outputs(&self) -> Vec<Output<'_>>;

    /// What it should write, in the order of the outputs.
    fn expected(&self) -> Vec<Vec<f64>>;

    /// How much it has to do.
    fn work(&self) -> Work;

    /// Compares all outputs with the reference.
    fn check(&self) -> Vec<Checked> {
        let compare = |(output, expected): (Output<'_>, Vec<f64>)| {
            Checked::new(output.name, &output.tensor.to_f64(), &expected, output.tolerance)
        };
        self.outputs().into_iter().zip(self.expected()).map(compare).collect()
    }
}
