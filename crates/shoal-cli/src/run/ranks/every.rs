//! `shoal run all --ranks N`: every kernel of several ranks, at every size that it is tested with, or at one if runs are
//! repeated. Two backends are compared bit by bit.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use shoal::world::Rank;
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, RankOutput, catalog};

use super::{Plan, backends, engine, library, library_of, names, program};
use crate::command_line::{BackendName, RunOptions};
use crate::failure::{Failure, instead_of};
use crate::launch::{self, Lines};
use crate::numbers::seconds;
use crate::ranks::{Engine, as_process, on_gpu, on_threads};

/// What a rank has after a run: a hash of the bits of all outputs, and what is wrong with them.
#[derive(Serialize, Deserialize)]
struct Outcome {
    bits: u64,
    wrong: Option<String>,
}

pub(super) fn run(options: &RunOptions, plan: &Plan<'_>, ranks: usize, command: &[OsString]) -> Result<(), Failure> {
    let filter = options.filter.as_str();
    if !names().any(|name| name.contains(filter)) {
        let instead = instead_of(filter, names());
        return Err(Failure::usage(format!("the name of no kernel of several ranks contains `{filter}`; {instead}")));
    }
    if options.role {
        return run_as_process(options, plan);
    }
    if let Some(backend) = backends(options).next()
        && let engine @ (Engine::Processes | Engine::Openshmem | Engine::Nvshmem) = engine(options, backend)
    {
        // One job for all kernels: processes take longer to start than kernels to run.
        let program = program(plan, options, backend, command);
        return launch::start(engine, ranks, Some(backend), &program, Lines::AsTheyAre);
    }
    let mut failed = 0;
    for (plan, name) in plans(options, plan, ranks) {
        let start = Instant::now();
        let outcome = outcome(options, &plan, ranks);
        failed += usize::from(!tell(&name, &outcome, start));
    }
    told(failed)
}

/// Every kernel at every size, and what to call it.
fn plans<'a>(
    options: &'a RunOptions,
    plan: &'a Plan<'_>,
    ranks: usize,
) -> impl Iterator<Item = (Plan<'static>, String)> + use<'a> {
    let dtype = plan.dtype;
    let chosen = |item: &&RankItem| item.name.contains(options.filter.as_str());
    catalog().iter().filter(chosen).flat_map(move |item| {
        let sizes = if options.repeat > 0 { &item.tests[1..2] } else { item.tests };
        sizes.iter().map(move |sizes| {
            let name = format!("{} {sizes:?} {} on {ranks} ranks", item.name, shoal::dtype_name(dtype));
            (Plan::test(item, sizes, dtype, options.repeat), name)
        })
    })
}

/// Says how a run went, and whether it was right.
fn tell(name: &str, outcome: &Result<String, Failure>, start: Instant) -> bool {
    let took = seconds(start.elapsed().as_secs_f64());
    match outcome {
        Ok(said) => outln!("ok     {name}: {said}, {took}"),
        Err(why) => outln!("WRONG  {name}: {why}"),
    }
    outcome.is_ok()
}

fn told(failed: usize) -> Result<(), Failure> {
    match failed {
        0 => Ok(()),
        wrong => Err(Failure::new(format!("{wrong} of the runs are wrong"))),
    }
}

/// Runs all as one rank of a world of processes. Rank 0 runs what it is compared with, and tells.
fn run_as_process(options: &RunOptions, plan: &Plan<'_>) -> Result<(), Failure> {
    let Some(backend) = backends(options).next() else { return Ok(()) };
    let wrong = std::sync::atomic::AtomicUsize::new(0);
    as_process(|rank| {
        let library = library_of(options, backend, rank)?;
        for (plan, name) in plans(options, plan, rank.size()) {
            let start = Instant::now();
            let outcomes = gather(rank, &on_rank(&plan, &library, rank)?)?;
            if rank.rank() == 0 {
                let outcome = compared(options, &plan, outcomes);
                wrong.fetch_add(usize::from(!tell(&name, &outcome, start)), std::sync::atomic::Ordering::Relaxed);
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    told(wrong.into_inner())
}

/// Everybody's outcomes, in the order of the ranks. Collective over the world.
fn gather(rank: &Rank, outcome: &Outcome) -> Result<Vec<Outcome>, Failure> {
    let unreadable = |why: serde_json::Error| Failure::new(format!("a rank's outcome cannot be read: {why}"));
    let bytes = serde_json::to_vec(outcome).map_err(unreadable)?;
    let all = rank.world().all_gather(&bytes)?;
    all.iter().map(|bytes| serde_json::from_slice(bytes).map_err(unreadable)).collect()
}

/// Runs on each backend; says how the results compare.
fn outcome(options: &RunOptions, plan: &Plan<'_>, ranks: usize) -> Result<String, Failure> {
    let Some(backend) = backends(options).next() else { return Ok(String::new()) };
    compared(options, plan, here(options, plan, backend, ranks)?)
}

/// Compares what ranks have with their references, and with what another backend has.
fn compared(options: &RunOptions, plan: &Plan<'_>, first: Vec<Outcome>) -> Result<String, Failure> {
    let mut results = vec![first];
    for backend in backends(options).skip(1) {
        results.push(here(options, plan, backend, results[0].len())?);
    }
    if let Some(wrong) = results.iter().flatten().find_map(|outcome| outcome.wrong.clone()) {
        return Err(Failure::new(wrong));
    }
    let [first, second] = results.as_slice() else { return Ok("near the reference".to_owned()) };
    let same = first.iter().zip(second).all(|(one, other)| one.bits == other.bits);
    Ok(if same { "the same bits on both".to_owned() } else { "near the reference on both".to_owned() })
}

/// Runs on ranks of this process.
fn here(options: &RunOptions, plan: &Plan<'_>, backend: BackendName, ranks: usize) -> Result<Vec<Outcome>, Failure> {
    let library = library(options, backend)?;
    let on_rank = |rank: &Rank| on_rank(plan, &library, rank);
    match backend {
        BackendName::Cuda => on_gpu(ranks, on_rank),
        BackendName::Cpu | BackendName::Interp => on_threads(ranks, on_rank),
    }
}

/// Two runs: what the first leaves behind must not change the second. In between come as many more as are asked for, one
/// right after the other.
fn on_rank(plan: &Plan<'_>, library: &Library, rank: &Rank) -> Result<Outcome, Failure> {
    let comm = Communicator::new(library, rank)?;
    let mut workload = plan.item.workload(rank, &plan.sizes, plan.dtype)?;
    let mut outcome = Outcome { bits: 0, wrong: None };
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
        let outputs = workload.outputs()?;
        for checked in outputs.iter().map(RankOutput::check).filter(|checked| !checked.passed()) {
            outcome.wrong = Some(format!(
                "`{}` of rank {} is wrong at element {}: {} instead of {}",
                checked.output,
                rank.rank(),
                checked.at,
                checked.found,
                checked.expected
            ));
        }
        let mut hasher = DefaultHasher::new();
        for output in &outputs {
            output.found.iter().for_each(|value| value.to_bits().hash(&mut hasher));
        }
        outcome.bits = hasher.finish();
        rank.barrier()?;
    }
    let raised = comm.pad().raised()?;
    if let Some((slot, value)) = raised.first() {
        outcome.wrong = Some(format!("slot {slot} of the pad of rank {} is {value}, not 0", rank.rank()));
    }
    Ok(outcome)
}
