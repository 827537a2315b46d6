//! Ranks that do not launch the same: their programs wait for some that never come.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use shoal::world::launch::Job;
use shoal::world::{Rank, World, WorldOptions};
use shoal::{Device, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::Communicator;
use shoal_kernels::distributed::all_reduce::one_shot_all_reduce;

use super::{library, options};

const RANKS: usize = 3;

/// Rank 0 launches two programs where the others launch one, which then launch again.
fn differ(library: &Library, rank: &Rank) -> Result<(), Error> {
    let comm = Communicator::with_programs(library, rank, if rank.rank() == 0 { 2 } else { 1 })?;
    let x = rank.symm_zeros::<f32>(9001)?;
    let mut out = vec![0.0; 9001];
    one_shot_all_reduce(&comm, &x, &mut out)?;
    one_shot_all_reduce(&comm, &x, &mut out)
}

/// What each process of the tests below runs; started by them alone.
#[test]
#[ignore = "the role of a process in other tests"]
fn role() {
    let options = WorldOptions { timeout: Duration::from_secs(2), ..options() };
    let world = match std::env::var("WORLD_SIZE") {
        Ok(_) => World::from_env_with(&options),
        Err(_) => World::threads_with(RANKS, &options),
    };
    let library = library(Device::cpu());
    let ended = world.expect("a world").run(|rank| differ(&library, rank));
    let error = ended.expect_err("programs wait in vain");
    let mut text = error.to_string();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        text += &format!("\n{source}");
        cause = source;
    }
    println!("\nerror: {text}");
    std::process::exit(7);
}

fn player() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "distributed::deadlock::role", "--ignored", "--nocapture", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Every report says where a program waits, for what, and what is there instead.
fn hold(said: &str) {
    for part in [
        "one_shot_all_reduce",
        "waits at sync.py:",
        "(wait) for 1 at 0x",
        "of the symmetric heap of rank",
        "where 0 is",
    ] {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
}

#[test]
fn threads_tell_what_every_rank_waits_for() {
    let output = player().env_remove("WORLD_SIZE").output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(7), "{said}");
    hold(&said);
    for rank in 0..RANKS {
        assert!(said.contains(&format!("rank {rank}: in kernel `one_shot_all_reduce`: ")), "{said}");
    }
    assert!(said.contains("program (1, 0, 0)"), "{said}");
}

#[test]
fn processes_tell_it_when_a_wait_passes_its_bound() {
    let mut job = Job::start(RANKS, |_| player()).expect("processes start");
    let mut pipes: Vec<_> = job.processes().map(|(_, child)| child.stdout.take().expect("a pipe")).collect();
    while let Some(ended) = job.next_ended(Some(Duration::from_secs(60))) {
        assert_eq!(ended.status.code(), Some(7), "rank {}", ended.rank);
    }
    assert_eq!(job.running(), 0, "a rank hangs");
    let mut all = String::new();
    for pipe in &mut pipes {
        pipe.read_to_string(&mut all).expect("text");
    }
    hold(&all);
    // Whoever gives up first tells what all wait for.
    for rank in 0..RANKS {
        assert!(all.contains(&format!("rank {rank}: in kernel `one_shot_all_reduce`: ")), "{all}");
    }
}
