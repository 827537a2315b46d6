//! `shoal run all --ranks N`: every kernel of several ranks, at every size that it is tested with. Two backends are
//! compared bit by bit.

use std::time::Instant;

use shoal::world::Rank;
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, catalog};

use super::{Plan, backends, engine, library};
use crate::command_line::RunOptions;
use crate::failure::Failure;
use crate::numbers::seconds;
use crate::ranks::{Engine, on_gpu, on_threads};

/// What a rank has after a run: the bits of all outputs, and what is wrong with them.
struct Outcome {
    bits: Vec<u64>,
    wrong: Option<String>,
}

pub(super) fn run(options: &RunOptions, plan: &Plan<'_>, ranks: usize) -> Result<(), Failure> {
    let mut failed = Vec::new();
    let chosen = |item: &&RankItem| item.name.contains(options.filter.as_str());
    for item in catalog().iter().filter(chosen) {
        for sizes in item.tests {
            let plan = plan.at(item, sizes, options.repeat);
            let start = Instant::now();
            let outcome = outcome(options, &plan, ranks);
            let took = seconds(start.elapsed().as_secs_f64());
            let name = format!("{} {sizes:?} {} on {ranks} ranks", item.name, shoal::dtype_name(plan.dtype));
            match outcome {
                Ok(said) => outln!("ok     {name}: {said}, {took}"),
                Err(why) => {
                    outln!("WRONG  {name}: {why}");
                    failed.push(name);
                }
            }
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        wrong => Err(Failure::new(format!("{} of the runs are wrong", wrong.len()))),
    }
}

/// Runs on each backend; says how the results compare.
fn outcome(options: &RunOptions, plan: &Plan<'_>, ranks: usize) -> Result<String, Failure> {
    let mut results: Vec<Vec<Outcome>> = Vec::new();
    for backend in backends(options) {
        let library = library(options, backend)?;
        let on_rank = |rank: &Rank| on_rank(plan, &library, rank);
        let outcomes = match engine(options, backend) {
            Engine::Cuda => on_gpu(ranks, on_rank)?,
            Engine::Threads | Engine::Processes | Engine::Openshmem => on_threads(ranks, on_rank)?,
        };
        if let Some(wrong) = outcomes.iter().find_map(|outcome| outcome.wrong.clone()) {
            return Err(Failure::new(wrong));
        }
        results.push(outcomes);
    }
    let [first, second] = results.as_slice() else { return Ok("near the reference".to_owned()) };
    let same = first.iter().zip(second).all(|(one, other)| one.bits == other.bits);
    Ok(if same { "the same bits on both".to_owned() } else { "near the reference on both".to_owned() })
}

/// Two runs: what the first leaves behind must not change the second. In between come as many more as are asked for, one
/// right after the other.
fn on_rank(plan: &Plan<'_>, library: &Library, rank: &Rank) -> Result<Outcome, Failure> {
    let comm = Communicator::new(library, rank)?;
    let mut workload = plan.item.workload(rank, &plan.sizes, plan.dtype)?;
    let mut outcome = Outcome { bits: Vec::new(), wrong: None };
    for round in 0..2 {
        if round == 1 {
            for _ in 0..plan.repeat {
                workload.run(&comm)?;
            }
        }
        workload.reset()?;
        rank.barrier()?;
        workload.run(&comm)?;
        rank.barrier()?;
        for checked in workload.check()?.iter().filter(|checked| !checked.passed()) {
            outcome.wrong = Some(format!(
                "`{}` of rank {} is wrong at element {}: {} instead of {}",
                checked.output,
                rank.rank(),
                checked.at,
                checked.found,
                checked.expected
            ));
        }
        outcome.bits =
            workload.outputs()?.iter().flat_map(|output| output.found.iter().map(|value| value.to_bits())).collect();
        rank.barrier()?;
    }
    let raised = comm.pad().raised();
    if let Some((slot, value)) = raised.first() {
        outcome.wrong = Some(format!("slot {slot} of the pad of rank {} is {value}, not 0", rank.rank()));
    }
    Ok(outcome)
}
