//! Applying a region to many lanes: as vectors where they can be, one after another where it cannot.

use shoal_ir::Region;

use crate::control::Vals;
use crate::error::Error;
use crate::machine::Machine;
use crate::program::{Program, Site};
use crate::value::Val;
use crate::vector_region::Lanes;

/// A region and how it is applied.
pub(crate) enum Combiner<'p> {
    AtOnce(Lanes<'p>),
    /// The outputs of the latest application.
    Stepwise(Region, Vec<Vec<u64>>),
}

impl<'p> Combiner<'p> {
    /// For the region that an operation owns.
    pub(crate) fn new(program: &Program<'p>, site: Site<'p>) -> Combiner<'p> {
        let region = site.op.regions()[0];
        match site.plan.vector_region(region) {
            Some(vectors) => {
                Combiner::AtOnce(Lanes::new(vectors, vectors.outer().map(|v| program.val(v).scalar()).collect()))
            }
            None => Combiner::Stepwise(region, Vec::new()),
        }
    }

    /// Applies the region to `lanes` lanes of inputs.
    pub(crate) fn run<'a>(
        &mut self,
        program: &mut Program<'p>,
        machine: &mut Machine<'_>,
        lanes: usize,
        inputs: impl Iterator<Item = &'a [u64]>,
    ) -> Result<(), Error> {
        match self {
            Combiner::AtOnce(function) => function.run(lanes, inputs),
            Combiner::Stepwise(region, outputs) => {
                let inputs: Vec<&[u64]> = inputs.collect();
                outputs.clear();
                for lane in 0..lanes {
                    let args: Vals = inputs.iter().map(|input| Val::Scalar(input[lane])).collect();
                    let results = program.apply(machine, *region, args)?;
                    outputs.resize(results.len(), Vec::new());
                    outputs.iter_mut().zip(&results).for_each(|(out, result)| out.push(result.scalar()));
                }
            }
        }
        Ok(())
    }

    /// An output of the latest application, one element for each lane.
    pub(crate) fn output(&self, index: usize) -> &[u64] {
        match self {
            Combiner::AtOnce(function) => function.output(index),
            Combiner::Stepwise(_, outputs) => &outputs[index],
        }
    }
}
