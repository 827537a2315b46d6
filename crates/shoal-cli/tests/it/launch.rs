//! `shoal launch`, with shell scripts as ranks.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shoal::{Called, Workplace};

fn launch(ranks: &str, script: &str) -> Called {
    Workplace::new().call(&["launch", "-n", ranks, "--", "sh", "-c", script])
}

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn ranks_get_their_environment_and_lines_their_rank() {
    let script = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR; echo warning $RANK >&2; \
                  test ${#SHOAL_TOKEN} = 64 && test $MASTER_PORT -gt 0 && printf 'no end'";
    let called = launch("3", script);
    assert_eq!(called.code, Some(0), "{}", called.err);
    let expected = ["[0] 0/3 0/3 127.0.0.1", "[0] no end", "[1] 1/3 1/3 127.0.0.1", "[1] no end"];
    assert_eq!(lines(&called.out)[..4], expected);
    assert_eq!(lines(&called.err), ["[0] warning 0", "[1] warning 1", "[2] warning 2"]);
}

#[test]
fn ranks_are_told_their_device_and_engine() {
    let said = |options: &[&str]| {
        let script = ["-n", "1", "--", "sh", "-c", "echo on ${SHOAL_DEVICE:-any} by ${SHOAL_ENGINE:-any}"];
        Workplace::new().call(&[&["launch"], options, &script].concat())
    };
    assert_eq!(said(&["--device", "cpu"]).out, "[0] on cpu by processes\n");
    match shoal::cuda::CudaDevice::new(0) {
        Ok(_) => {
            assert_eq!(said(&["--device", "cuda"]).out, "[0] on cuda by processes\n");
            assert_eq!(said(&["--engine", "nvshmem"]).out, "[0] on any by nvshmem\n");
        }
        Err(why) => {
            let why = format!("error: {why}\n");
            assert_eq!([said(&["--device", "cuda"]).err, said(&["--engine", "nvshmem"]).err], [why.clone(), why]);
        }
    }
    assert!(said(&["--device", "interp"]).err.contains("[possible values: cpu, cuda]"));
    assert!(said(&["--engine", "threads"]).err.contains("[possible values: processes, openshmem, nvshmem]"));
    assert!(said(&["--device", "cuda", "--engine", "openshmem"]).err.contains("has its memory on the host"));
    assert!(said(&["--device", "cpu", "--engine", "nvshmem"]).err.contains("has its memory on GPUs"));
}

#[test]
fn prefixes_are_aligned() {
    let called = launch("11", "echo hello");
    assert!(called.out.contains("[ 3] hello\n") && called.out.contains("[10] hello\n"), "{}", called.out);
}

#[test]
fn a_failing_rank_ends_the_others_and_is_named() {
    let called = launch("3", "if [ $RANK = 1 ]; then exit 42; fi; exec sleep 100");
    assert_eq!(called.code, Some(42));
    assert!(called.err.contains("rank 1 (pid ") && called.err.contains(") exited with status 42"), "{}", called.err);
    assert_eq!(called.err.matches("; ending the others").count(), 1, "said before, not after: {}", called.err);
}

#[test]
fn a_killed_rank_is_named_with_its_signal() {
    let called = launch("3", "if [ $RANK = 2 ]; then kill -9 $$; fi; exec sleep 100");
    assert_eq!(called.code, Some(128 + 9));
    assert!(called.err.contains("rank 2 (pid ") && called.err.contains(") was killed by SIGKILL"), "{}", called.err);
}

#[test]
fn ranks_that_ignore_the_request_are_killed() {
    let called = launch("2", "if [ $RANK = 1 ]; then exit 3; fi; trap '' TERM; while :; do sleep 1; done");
    assert_eq!(called.code, Some(3), "{}", called.err);
}

#[test]
fn mistakes_are_told() {
    let place = Workplace::new();
    for ranks in ["0", "99999999999"] {
        let said = place.fails(&["launch", "-n", ranks, "--", "true"]);
        assert!(said.contains("a world has from 1 to 4096 ranks"), "{said}");
    }
    let said = place.fails(&["launch", "-n", "2", "--nnodes", "2", "--", "true"]);
    assert!(said.starts_with("error: --nnodes 2: this command starts ranks on one host; start those of"), "{said}");
    let said = place.fails(&["launch", "-n", "2", "--", "/no/such/program"]);
    assert!(said.starts_with("error: cannot start `/no/such/program` as rank 0: No such file"), "{said}");
    assert!(place.fails(&["launch", "-n", "2"]).contains("<PROGRAM>"));
    let called = place.call(&["launch", "-n", "2", "--engin", "processes", "true"]);
    assert!(called.code == Some(2) && called.err.contains("unexpected argument '--engin'"), "{}", called.err);
    assert_eq!(place.ok(&["launch", "-n", "1", "echo", "--engin", "-n", "7"]).out, "[0] --engin -n 7\n");
}

#[test]
fn a_file_for_python_is_no_program() {
    let place = Workplace::new();
    place.write("train.py", "#!/bin/sh\necho hello\n");
    for file in ["train.py", "./train.py"] {
        let said = place.fails(&["launch", "-n", "2", "--", file, "--steps", "3"]);
        let told = format!("`{file}` is a Python file, not a program: `shoal launch -n 2 -- python3 {file} --steps 3`");
        assert_eq!(said, format!("error: {told}\n"));
    }
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("train.py"), executable).expect("a file of ours");
    assert_eq!(place.ok(&["launch", "-n", "1", "--", "./train.py"]).out, "[0] hello\n");
}

#[test]
fn settings_that_no_rank_could_use_are_told_once() {
    for (name, value) in [
        ("SHOAL_TIMEOUT", "abc"),
        ("SHOAL_HEAP_BYTES", "1X"),
        ("SHOAL_HEAP_BYTES", "0"),
        ("SHOAL_ENGINE", "foo"),
        ("SHOAL_DEVICE", "foo"),
        ("SHOAL_PAD_SLOTS", "-1"),
        ("SHOAL_PAD_SLOTS", "0"),
        ("SHOAL_PAD_SLOTS", "268435457"),
        ("SHOAL_WAIT_TIMEOUT", "soon"),
        ("SHOAL_WAIT_TIMEOUT", "-1"),
        ("SHOAL_WAIT_TIMEOUT", "0"),
        ("SHOAL_CPU_THREADS", "0"),
        ("SHOAL_DEVICE", "cuda:first"),
    ] {
        let mut launcher = Command::new(env!("CARGO_BIN_EXE_shoal"));
        let called = launcher.args(["launch", "-n", "3", "--", "echo", "started"]).env(name, value).output();
        let called = called.expect("the command starts");
        let said = String::from_utf8_lossy(&called.stderr);
        assert!(!called.status.success() && called.stdout.is_empty(), "{said}");
        assert!(said.starts_with(&format!("error: {name}={value}")) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn heaps_without_addresses_are_told_once() {
    for (bytes, told) in [
        ("4611686018427387904", "error: a heap of 4611686018427387904 bytes is too large\n"),
        ("70368744177664", "error: cannot reserve address space for 3 heaps of "),
    ] {
        let mut launcher = Command::new(env!("CARGO_BIN_EXE_shoal"));
        launcher.args(["launch", "-n", "3", "--", "echo", "started"]).env("SHOAL_HEAP_BYTES", bytes);
        let called = launcher.output().expect("the command starts");
        let said = String::from_utf8_lossy(&called.stderr);
        assert!(said.starts_with(told) && said.lines().count() == 1 && called.stdout.is_empty(), "{said}");
    }
}

#[test]
fn the_environment_chooses_the_engine_unless_a_job_has_set_it() {
    let said = |token: &str| {
        let mut launcher = Command::new(env!("CARGO_BIN_EXE_shoal"));
        launcher.args(["launch", "-n", "1", "--", "sh", "-c", "echo by $SHOAL_ENGINE"]);
        let called = launcher.env("SHOAL_ENGINE", "openshmem").env("SHOAL_TOKEN", token).output();
        String::from_utf8_lossy(&called.expect("the command starts").stdout).into_owned()
    };
    assert_eq!(said("of a job around"), "[0] by processes\n");
    let here = said("");
    assert!(here == "[0] by openshmem\n" || here.is_empty() && crate::openshmem::is_missing(), "{here}");
}

/// Waits until the processes are gone whose numbers end these lines.
fn all_end(pids: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    for pid in pids.lines().filter_map(|line| line.split_whitespace().last()) {
        // Who has ended is gone, or a zombie that nobody has waited for.
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < until, "process {pid} outlives its job");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn what_ranks_have_started_ends_with_the_job() {
    // The child holds none of the rank's pipes, so nothing but its group shows it.
    let child = "sleep 100 </dev/null >/dev/null 2>&1 & echo $!;";
    let called = launch("2", &format!("{child} if [ $RANK = 1 ]; then kill -9 $$; fi"));
    assert_eq!(called.code, Some(128 + 9), "{}", called.err);
    assert_eq!(called.out.lines().count(), 2);
    all_end(&called.out);
    let called = launch("2", child);
    assert_eq!(called.code, Some(0), "{}", called.err);
    all_end(&called.out);
}

#[test]
fn a_rank_that_was_stopped_ends_when_it_is_asked_to() {
    let begun = Instant::now();
    // Rank 0 is killed after 5 seconds if it does not end by itself.
    let called = launch("2", "test $RANK = 1 && sleep 0.2 && exit 7; kill -STOP $$; echo on");
    assert_eq!(called.code, Some(7), "{}", called.err);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(called.out, "", "it does not go on");
}

#[test]
fn what_ranks_have_started_ends_with_a_launcher_that_is_killed() {
    for engine in ["processes", "openshmem"] {
        if engine == "openshmem" && crate::openshmem::is_missing() {
            return;
        }
        let script = "sleep 100 </dev/null >/dev/null 2>&1 & echo ready $!; sleep 100";
        let (mut launcher, _, said) = started_by(engine, script);
        send("-KILL", launcher.id());
        launcher.wait().expect("it ends");
        all_end(&said);
    }
}

/// A launcher whose ranks have said that they are ready, and what they said.
fn started(script: &str) -> (Child, BufReader<ChildStdout>, String) {
    started_by("processes", script)
}

fn started_by(engine: &str, script: &str) -> (Child, BufReader<ChildStdout>, String) {
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_shoal"))
        .args(["launch", "--engine", engine, "-n", "2", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut out = BufReader::new(launcher.stdout.take().expect("a pipe"));
    let mut said = String::new();
    for _ in 0..2 {
        out.read_line(&mut said).expect("text");
    }
    assert_eq!(said.matches("ready").count(), 2, "{said}");
    (launcher, out, said)
}

fn send(signal: &str, process: u32) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

#[test]
fn what_ranks_print_arrives_or_they_end() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let output = Command::new(env!("CARGO_BIN_EXE_shoal"))
        .args(["launch", "-n", "2", "--", "sh", "-c", "echo hello; sleep 20"])
        .stdout(full)
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot pass on what ranks print"), "{said}");
    let (mut launcher, out, _) = started("echo ready; while sleep 0.05; do echo more; done");
    drop(out);
    assert_eq!(launcher.wait().expect("it ends").code(), Some(141));
}

#[test]
fn signals_are_passed_on() {
    let script = "trap 'echo got usr1' USR1; trap 'echo got int; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let (mut launcher, mut out, _) = started(script);
    send("-USR1", launcher.id());
    let mut heard = String::new();
    for _ in 0..2 {
        out.read_line(&mut heard).expect("text");
    }
    assert_eq!(lines(&heard), ["[0] got usr1", "[1] got usr1"]);
    send("-INT", launcher.id());
    let status = launcher.wait().expect("it ends");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(lines(&rest), ["[0] got int", "[1] got int"]);
    assert_eq!(status.code(), Some(128 + 2));
}

#[test]
fn ranks_end_with_a_launcher_that_is_killed() {
    let (mut launcher, _, said) = started("echo ready $$; exec sleep 100");
    send("-KILL", launcher.id());
    launcher.wait().expect("it ends");
    all_end(&said);
}
