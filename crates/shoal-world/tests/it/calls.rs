//! Ranks that call different things are told so.

use std::time::Duration;

use shoal_world::{CallLog, Rank, SameCall, World, WorldError, WorldOptions};

use crate::openshmem::{self, Network};
use crate::processes::{self, FAILED};
use crate::worlds::{small, threads};

/// Many calls that are the same, then one in which rank 1 has other sizes, then a barrier that not all come to.
pub(crate) fn differ(rank: &Rank) -> Result<(), WorldError> {
    let log = CallLog::new(rank)?;
    for n in 0..100 {
        log.call(&SameCall { name: "sum(n)", element: "float32", sizes: &[n % 7] })?;
    }
    // Who has not come yet cannot be compared with.
    std::thread::sleep(Duration::from_millis(20 * (rank.rank() as u64 % 3)));
    let n = if rank.rank() == 1 { 200 } else { 100 };
    log.call(&SameCall { name: "sum(n)", element: "float32", sizes: &[n] })?;
    rank.barrier()
}

/// What each of so many ranks is told.
fn told(ranks: usize) -> String {
    let others = match ranks {
        2 => "rank 0".to_owned(),
        3 => "ranks 0, 2".to_owned(),
        4 => "ranks 0, 2, 3".to_owned(),
        _ => format!("ranks 0, 2 to {}", ranks - 1),
    };
    let (many, one) = (format!("{others}: sum(n = 100) of float32"), "rank 1: sum(n = 200) of float32");
    let (first, last) = if ranks > 2 { (one, many.as_str()) } else { (many.as_str(), one) };
    format!("the ranks make different calls: {first}; {last}")
}

#[test]
fn the_same_calls_of_threads_pass() {
    for ranks in [1, 2, 3, 7] {
        let calls = |rank: &Rank| {
            let log = CallLog::new(rank)?;
            for n in 0..10_000 {
                log.call(&SameCall { name: "sum(n)", element: "float32", sizes: &[n] })?;
            }
            log.call(&SameCall { name: "sum(n)", element: "float8_e4m3b11fnuz", sizes: &[1] })
        };
        threads(ranks).run(calls).unwrap();
    }
}

#[test]
fn different_calls_of_threads_are_told() {
    for ranks in [2, 3, 7] {
        let error = threads(ranks).run(differ).unwrap_err().to_string();
        assert!(error.starts_with("rank 1: ") && error.ends_with(&told(ranks)), "{error}");
    }
}

#[test]
fn other_types_and_other_functions_are_told() {
    for (name, element) in [("sum(n)", "float16"), ("max(n)", "float32")] {
        let error = threads(3).run(|rank| {
            let log = CallLog::new(rank)?;
            let (name, element) = if rank.rank() == 2 { (name, element) } else { ("sum(n)", "float32") };
            log.call(&SameCall { name, element, sizes: &[5] })?;
            rank.barrier()
        });
        let (error, function) = (error.unwrap_err().to_string(), name.trim_end_matches("(n)"));
        let told = format!("rank 2: {function}(n = 5) of {element}; ranks 0, 1: sum(n = 5) of float32");
        assert!(error.ends_with(&told), "{error}");
    }
}

#[test]
fn a_rank_that_runs_ahead_of_a_difference_is_found_out() {
    // Nobody waits here, so that rank 0 may be far ahead.
    let options = WorldOptions { timeout: Duration::from_secs(20), ..small() };
    let world = World::threads_with(2, &options).unwrap();
    let error = world.run(|rank| {
        let log = CallLog::new(rank)?;
        if rank.rank() == 1 {
            std::thread::sleep(Duration::from_millis(50));
        }
        for call in 0..40 {
            let n = if rank.rank() == 1 && call == 3 { 200 } else { 100 };
            log.call(&SameCall { name: "sum(n)", element: "float32", sizes: &[n] })?;
        }
        rank.barrier()
    });
    assert!(error.unwrap_err().to_string().contains("different calls"));
}

#[test]
fn different_calls_of_processes_are_told() {
    for ranks in [2, 3, 7] {
        let ending = processes::run(ranks, "different calls");
        assert_eq!(ending.codes, vec![Some(FAILED); ranks], "{:?}", ending.said);
        for said in &ending.said {
            assert!(said.ends_with(&told(ranks)), "{said}");
        }
        assert_eq!(ending.reported.map(|failure| failure.rank), Some(1));
    }
}

#[test]
fn different_calls_of_ranks_of_oshrun_are_told() {
    if let Some(why) = openshmem::missing() {
        return println!("skipped: {why}");
    }
    for (ranks, network) in
        [(2, Network::Memory), (3, Network::Memory), (7, Network::Memory), (2, Network::Tcp), (3, Network::Tcp)]
    {
        let ending = openshmem::run(ranks, "different calls", network);
        assert_ne!(ending.code, Some(0), "{}", ending.said);
        let errors = ending.errors();
        assert!(errors.iter().any(|error| error.ends_with(&told(ranks))), "{}", ending.said);
    }
}
