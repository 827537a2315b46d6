//! What goes wrong around worlds: ranks that stop, jobs in jobs and beside each other, variables of other jobs; and
//! worlds as large as they get on one host.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shoal_world::launch::Job;

use crate::processes::{FAILED, end, everything, leftovers, player, run};
use crate::worlds::threads;

#[test]
fn a_rank_that_is_stopped_is_named_by_the_others() {
    let mut job = Job::start(3, |_| player("stop")).expect("processes start");
    let begun = Instant::now();
    let mut codes = [None; 3];
    for _ in 0..2 {
        let ended = job.next_ended(Some(Duration::from_secs(40))).expect("the others end");
        codes[ended.rank] = ended.status.code();
    }
    assert_eq!(codes, [Some(FAILED), None, Some(FAILED)]);
    assert!(begun.elapsed() >= Duration::from_secs(2), "they waited for it");
    // A stopped process is killed like any other.
    drop(job);
    assert_eq!(leftovers(), BTreeSet::new());
}

#[test]
fn a_job_can_be_started_from_a_job() {
    let ending = run(2, "a job in a job");
    assert_eq!(ending.codes, [Some(0); 2], "{:?}", ending.said);
}

#[test]
fn two_jobs_at_once_do_not_meet() {
    let jobs = [0, 1].map(|_| Job::start(3, |_| player("everything")).expect("processes start"));
    for job in jobs {
        let ending = end(job);
        assert_eq!(ending.codes, [Some(0); 3], "{:?}", ending.said);
    }
}

#[test]
fn a_heap_without_room_is_an_error_that_changes_nothing() {
    let ending = run(3, "no room");
    assert_eq!(ending.codes, [Some(0); 3], "{:?}", ending.said);
}

#[test]
fn variables_of_a_job_that_has_ended_find_nobody() {
    let mut command = player("impatient");
    command.env("RANK", "1").env("WORLD_SIZE", "2").env("SHOAL_TOKEN", "of a job that has ended");
    command.env_remove("LOCAL_RANK").env_remove("LOCAL_WORLD_SIZE");
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(FAILED), "{said}");
    assert!(said.contains("error: rank 0 did not start: rank 1 waited 700 ms for it"), "{said}");
}

#[test]
fn variables_of_oshrun_without_oshrun_are_refused() {
    if Command::new("oshrun").arg("--version").output().is_err() {
        return println!("skipped: Open MPI's oshrun is not installed (Debian: openmpi-bin libopenmpi-dev)");
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "openshmem::role", "--ignored", "--nocapture", "--test-threads=1"]);
    command
        .env(crate::processes::ROLE, "everything")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.env_remove("RANK").env("OMPI_COMM_WORLD_RANK", "1").env("OMPI_COMM_WORLD_SIZE", "4");
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(FAILED), "{said}");
    let told = "error: OMPI_COMM_WORLD_SIZE=4: with OMPI_COMM_WORLD_RANK=1, but the OpenSHMEM library says that this \
                process is rank 0 of 1";
    assert!(said.contains(told), "{said}");
}

#[test]
fn threads_are_worlds_of_up_to_sixty_four() {
    for n in [7, 33, 64] {
        everything(&threads(n)).unwrap_or_else(|error| panic!("{n} ranks: {error}"));
    }
}

#[test]
fn sixty_four_processes_are_a_world() {
    let ending = run(64, "a word to the right");
    assert_eq!(ending.codes, vec![Some(0); 64], "{:?}", ending.said);
    assert_eq!(leftovers(), BTreeSet::new());
}
