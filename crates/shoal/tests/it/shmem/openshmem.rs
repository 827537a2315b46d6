//! A part of the names between ranks of Open MPI's `oshrun`, by shared memory and as between hosts. The test program
//! has itself started as the ranks. Without Open MPI the tests say so and pass.

use std::process::{Command, Output, Stdio};

use super::processes::ROLE;

/// What `oshrun` leaves, with the program in a role as its ranks; `None` without Open MPI.
fn oshrun(ranks: usize, role: &str, transports: Option<&str>) -> Option<Output> {
    let mut command = Command::new("timeout");
    command.args(["100", "oshrun", "--oversubscribe", "--bind-to", "none", "-n", &ranks.to_string()]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", "shmem::processes::role", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).stdin(Stdio::null());
    if let Some(transports) = transports {
        command.env("UCX_TLS", transports);
    }
    let is_there = Command::new("oshrun").arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: Open MPI's oshrun is not installed (Debian: openmpi-bin libopenmpi-dev)");
    }
    is_there.then(|| command.output().expect("timeout starts"))
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn ranks_of_oshrun_meet_and_copy() {
    for (ranks, transports) in [(2, None), (4, None), (2, Some("tcp,self")), (4, Some("tcp,self"))] {
        let Some(output) = oshrun(ranks, "names", transports) else { return };
        assert!(output.status.success(), "{ranks} ranks by {transports:?}: {}", said(&output));
    }
}

#[test]
fn ranks_between_hosts_notify_and_wait() {
    let Some(output) = oshrun(3, "notify", Some("tcp,self")) else { return };
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn loads_between_hosts_are_refused_by_name() {
    let Some(output) = oshrun(2, "symm_at", Some("tcp,self")) else { return };
    let said = said(&output);
    assert!(!output.status.success(), "{said}");
    // Who is the first to fail ends the other.
    let told = |rank: usize, peer: usize| {
        said.contains(&format!(
            "rank {peer} cannot be reached by load and store from rank {rank}; use put, get and signals"
        ))
    };
    assert!(told(0, 1) || told(1, 0), "{said}");
}

#[test]
fn a_wait_in_vain_by_shared_memory_tells_who_wrote_last() {
    let Some(output) = oshrun(2, "another", None) else { return };
    let said = said(&output);
    assert!(!output.status.success(), "{said}");
    for (rank, peer) in [(0, 1), (1, 0)] {
        assert!(said.contains(&format!("rank {rank}: in kernel `kernel`: 1 program waits")), "{said}");
        let told = 3 + peer;
        let writer = format!("where {told} is; rank {peer}, program (0, 0, 0) set it to {told} last, at kernel.py:");
        assert!(said.contains(&writer), "{writer}: {said}");
    }
}

#[test]
fn ranks_at_a_barrier_are_in_the_report_of_oshrun() {
    let Some(output) = oshrun(2, "apart", Some("tcp,self")) else { return };
    let said = said(&output);
    assert!(said.contains("rank 0: in kernel `kernel`: 1 program waits"), "{said}");
    assert!(said.contains("rank 1: in barrier of the world"), "{said}");
}

#[test]
fn a_wait_in_vain_between_hosts_is_reported() {
    let Some(output) = oshrun(2, "in vain", Some("tcp,self")) else { return };
    let said = said(&output);
    assert!(!output.status.success(), "{said}");
    for rank in 0..2 {
        assert!(said.contains(&format!("rank {rank}: in kernel `kernel`: 1 program waits")), "{said}");
    }
    assert!(said.contains("signal_wait_until"), "{said}");
    assert!(said.contains("for 5 at ") && said.contains(", where 0 is"), "{said}");
}
