//! Ranks of Open MPI's `oshrun` from the command line. Without Open MPI these tests say so and pass.

use std::process::{Command, Stdio};

use crate::shoal::Workplace;
use crate::two_hosts::TwoHosts;

pub(crate) fn is_missing() -> bool {
    let is_missing = Command::new("oshrun").arg("--version").output().is_err();
    if is_missing {
        println!("skipped: Open MPI's oshrun is not installed (Debian: openmpi-bin libopenmpi-dev)");
    }
    is_missing
}

/// The library's kernels that are run on this engine.
const KERNELS: [(&str, &str, &str); 6] = [
    ("one_shot_all_reduce", "2", "1001"),
    ("two_shot_all_reduce", "4", "1001"),
    ("all_gather_ring", "3", "777"),
    ("reduce_scatter", "4", "130"),
    ("all_to_all", "4", "7,33"),
    ("all_gather_matmul", "2", "40,33,20"),
];

#[test]
fn library_kernels_run_on_ranks_of_oshrun() {
    if is_missing() {
        return;
    }
    let place = Workplace::new();
    for (kernel, ranks, size) in KERNELS {
        let start = ["run", kernel, "--ranks", ranks, "--engine", "openshmem", "--size", size, "--repeat", "2"];
        let called = place.ok(&start);
        assert!(called.out.contains(&format!("on {ranks} ranks (openshmem), cpu")), "{}", called.out);
        let outputs = if ["all_to_all", "all_gather_matmul"].contains(&kernel) { 2 } else { 1 };
        let expected = ranks.parse::<usize>().expect("a number") * outputs;
        assert_eq!(called.out.matches(" ok\n").count(), expected, "{kernel}: {}", called.out);
    }
}

/// The library's kernels that run between hosts, and how many outputs each has.
const BETWEEN_HOSTS: [(&str, &str, usize); 9] = [
    ("all_gather_put", "777", 1),
    ("all_gather_put_ring", "777", 1),
    ("broadcast_put", "1001", 1),
    ("reduce_scatter_put", "130", 1),
    ("all_reduce_put", "1001", 1),
    ("all_to_all_put", "7,33", 2),
    ("all_gather_with_progress", "777", 1),
    ("all_gather_matmul", "40,33,20", 2),
    ("gemm_reduce_scatter_ce_persistent", "40,33,20", 1),
];

#[test]
fn library_kernels_run_without_shared_memory() {
    if is_missing() {
        return;
    }
    let place = Workplace::new();
    let network = [("UCX_TLS", "tcp,self")];
    for (at, (kernel, size, outputs)) in BETWEEN_HOSTS.into_iter().enumerate() {
        let ranks = 2 + at % 3;
        let start = ["run", kernel, "--ranks", &ranks.to_string(), "--engine", "openshmem"];
        let called = place.call_with(&[&start[..], &["--size", size, "--repeat", "2"]].concat(), &network);
        assert!(called.success, "{kernel} on {ranks} ranks: {}\n{}", called.out, called.err);
        assert_eq!(called.out.matches(" ok\n").count(), ranks * outputs, "{kernel}: {}", called.out);
    }
}

#[test]
fn kernels_that_need_shared_memory_are_refused_without() {
    if is_missing() {
        return;
    }
    let place = Workplace::new();
    for kernel in ["one_shot_all_reduce", "two_shot_all_reduce"] {
        let start = ["run", kernel, "--ranks", "2", "--engine", "openshmem", "--size", "9"];
        let called = place.call_with(&start, &[("UCX_TLS", "tcp,self")]);
        assert!(!called.success, "{}", called.out);
        let told = format!(
            "{kernel} loads and stores other ranks' memory, and rank 1 cannot be reached so from rank 0; between hosts there \
             are all_gather_with_progress, "
        );
        assert!(called.err.contains(&told) && called.err.contains(", all_reduce_put, "), "{}", called.err);
    }
}

#[test]
fn library_kernels_run_in_two_network_namespaces() {
    if is_missing() {
        return;
    }
    let hosts = match TwoHosts::new() {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: no network namespaces here: {why}"),
    };
    let place = Workplace::new();
    for (kernel, size, outputs) in BETWEEN_HOSTS {
        let mut command = Command::new("timeout");
        let oshrun = hosts.oshrun();
        command.arg("100").arg(oshrun.get_program()).args(oshrun.get_args());
        command.args(["-n", "4", "-x", "SHOAL_ENGINE", "-x", "SHOAL_CACHE_DIR", env!("CARGO_BIN_EXE_shoal")]);
        command.args(["run", kernel, "--role", "--ranks", "1", "--size", size, "--repeat", "2"]);
        command.env("SHOAL_ENGINE", "openshmem").env("SHOAL_CACHE_DIR", place.path().join("cache"));
        let output = command.stdin(Stdio::null()).output().expect("timeout starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{kernel}: {out}\n{err}");
        assert_eq!(out.matches(" ok\n").count(), 4 * outputs, "{kernel}: {out}\n{err}");
    }
}

/// Runs a kernel where `/dev/shm` has no room; nothing where that cannot be made.
fn without_shared_memory(place: &Workplace, engine: &str) -> Option<std::process::Output> {
    let script = "mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77; exec timeout 90 \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_shoal"), "run", "ring_put"]);
    command.args(["--ranks", "2", "--size", "9", "--repeat", "1", "--engine", engine]);
    command.env("SHOAL_CACHE_DIR", place.path().join("cache")).stdin(Stdio::null());
    let output = command.output().ok()?;
    let cannot = output.status.code() == Some(77) || String::from_utf8_lossy(&output.stderr).starts_with("unshare: ");
    (!cannot).then_some(output)
}

#[test]
fn ranks_need_no_room_in_dev_shm_or_say_so() {
    let place = Workplace::new();
    let Some(output) = without_shared_memory(&place, "processes") else {
        return println!("skipped: no mounts of one's own here");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if is_missing() {
        return;
    }
    let output = without_shared_memory(&place, "openshmem").expect("as before");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code().is_some_and(|code| code != 0 && code != 124), "{said}");
    assert!(said.contains("error: rank "), "{said}");
}

#[test]
fn jobs_of_both_kinds_start_each_other() {
    if is_missing() {
        return;
    }
    let place = Workplace::new();
    let shoal = env!("CARGO_BIN_EXE_shoal");
    let inner =
        |engine: &'static str| ["run", "ring_put", "--ranks", "2", "--size", "9", "--repeat", "1", "--engine", engine];
    for (outer, within) in [("processes", "openshmem"), ("openshmem", "processes"), ("openshmem", "openshmem")] {
        let start = ["launch", "--engine", outer, "-n", "1", "--", shoal];
        let called = place.ok(&[&start[..], &inner(within)].concat());
        assert_eq!(called.out.matches(" ok\n").count(), 2, "{within} in {outer}: {}\n{}", called.out, called.err);
    }
}

#[test]
fn launch_starts_oshrun_and_labels_lines() {
    if is_missing() {
        return;
    }
    let place = Workplace::new();
    let script = "echo $SHOAL_ENGINE $OMPI_COMM_WORLD_SIZE; echo warning >&2";
    let called = place.ok(&["launch", "--engine", "openshmem", "-n", "3", "--", "sh", "-c", script]);
    let mut lines: Vec<&str> = called.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] openshmem 3", "[1] openshmem 3", "[2] openshmem 3"]);
    assert_eq!(called.err.matches("] warning\n").count(), 3, "{}", called.err);
}

#[test]
fn a_rank_of_oshrun_that_fails_is_named() {
    if is_missing() {
        return;
    }
    let place = Workplace::new();
    for (how, told, code) in [
        ("exit 42", "error: rank 1 exited with status 42\n", 42),
        ("kill -9 $$", "error: rank 1 was killed by SIGKILL\n", 137),
    ] {
        let script = format!("if [ $OMPI_COMM_WORLD_RANK = 1 ]; then {how}; fi; exec sleep 100");
        let called = place.call(&["launch", "--engine", "openshmem", "-n", "2", "--", "sh", "-c", &script]);
        assert_eq!(called.code, Some(code), "{}", called.err);
        assert!(called.err.ends_with(told), "{}", called.err);
    }
}

#[test]
fn the_doctor_says_whether_openshmem_is_there() {
    let called = Workplace::new().ok(&["doctor"]);
    let line = called.out.lines().find(|line| line.starts_with("openshmem ")).expect("a line");
    match is_missing() {
        true => assert!(line.contains("not there"), "{line}"),
        false => assert!(line.contains("OpenSHMEM 1.") && line.contains("oshrun"), "{line}"),
    }
}
