//! A kernel of several ranks with data to work on.

use shoal::Error;

use super::communicator::Communicator;
use crate::check::{Checked, Tolerance};
use crate::workload::Work;

/// What a rank has after a run.
#[derive(Debug)]
pub struct RankOutput {
    /// Its name.
    pub name: &'static str,
    /// What is there.
    pub found: Vec<f64>,
    /// What should be.
    pub expected: Vec<f64>,
    /// How near it must be.
    pub tolerance: Tolerance,
}

impl RankOutput {
    /// Compares what is there with what should be.
    #[must_use]
    pub fn check(&self) -> Checked {
        Checked::new(self.name, &self.found, &self.expected, self.tolerance)
    }
}

/// A rank's share of a kernel of several ranks: inputs, outputs and a reference. All ranks call its functions together.
pub trait RankWorkload {
    /// Poisons the outputs and all symmetric memory: whoever still reads it, or reads it too early, is found out.
    ///
    /// # Errors
    /// When the world fails.
    fn poison(&mut self) -> Result<(), Error>;

    /// Writes the inputs.
    ///
    /// # Errors
    /// When the world fails.
    fn write_inputs(&mut self) -> Result<(), Error>;

    /// Makes all as it is before the first run.
    ///
    /// # Errors
    /// When the world fails.
    fn reset(&mut self) -> Result<(), Error> {
        self.poison()?;
        self.write_inputs()
    }

    /// Launches. May be called again, with whatever the last run left.
    ///
    /// # Errors
    /// When a kernel does not compile or fails, or the world does.
    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error>;

    /// The outputs of a run after [`RankWorkload::reset`], with references in `f64` that all ranks make together.
    ///
    /// # Errors
    /// When there is not enough memory, or the world fails.
    fn outputs(&self) -> Result<Vec<RankOutput>, Error>;

    /// How much this rank has to do.
    fn work(&self) -> Work;

    /// Compares all outputs with their references.
    ///
    /// # Errors
    /// When there is not enough memory, or the world fails.
    fn check(&self) -> Result<Vec<Checked>, Error> {
        Ok(self.outputs()?.iter().map(RankOutput::check).collect())
    }
}
