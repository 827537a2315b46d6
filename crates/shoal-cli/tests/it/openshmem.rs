//! Ranks of Open MPI's `oshrun` from the command line. Without Open MPI these tests say so and pass.

use std::process::Command;

use crate::shoal::Workplace;

fn is_missing() -> bool {
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
    let said = place.fails(&["launch", "--engine", "threads", "-n", "2", "--", "true"]);
    assert_eq!(said, "error: --engine threads: a program makes ranks that are threads by itself\n");
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
