//! Worlds of processes that Open MPI's `oshrun` has started. The test program has itself started, in a role. Without
//! Open MPI these tests say so and pass.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use shoal_world::World;

use crate::processes::{FAILED, ROLE, play};
use crate::two_hosts::TwoHosts;
use crate::worlds::small;

/// How ranks reach each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// By shared memory.
    Memory,
    /// By TCP alone, as between hosts.
    Tcp,
}

#[test]
#[ignore = "the role of a process that other tests start"]
fn role() {
    let role = std::env::var(ROLE).expect("a role");
    let rank: usize = std::env::var("OMPI_COMM_WORLD_RANK").unwrap().parse().unwrap();
    let mut options = small();
    match role.as_str() {
        "another heap" if rank == 1 => options.heap_bytes *= 2,
        "impatient" => options.timeout = Duration::from_secs(3),
        _ => {}
    }
    if role == "impatient" && rank == 1 {
        std::thread::sleep(Duration::from_secs(20));
        return;
    }
    let (role, worlds) = match role.strip_prefix("twice ") {
        Some(role) => (role, 2),
        None => (role.as_str(), 1),
    };
    for _ in 0..worlds {
        if let Err(error) = World::from_env_with(&options).and_then(|world| play(role, &world, &options)) {
            // The test runner has begun a line.
            println!("\nerror: {error}");
            if role == "impatient" {
                println!("error: {}", World::from_env_with(&options).expect_err("nobody else is there"));
            }
            std::process::exit(FAILED);
        }
    }
}

/// Why these tests cannot run here.
pub(crate) fn missing() -> Option<&'static str> {
    let found = Command::new("oshrun").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_err().then_some("Open MPI's oshrun is not installed (Debian: openmpi-bin libopenmpi-dev)")
}

/// `oshrun` with the options that every machine needs.
fn oshrun(ranks: usize) -> Command {
    let mut command = Command::new("oshrun");
    if geteuid().is_root() {
        command.arg("--allow-run-as-root");
    }
    command.args(["--oversubscribe", "-n", &ranks.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn play_role(command: &mut Command, role: &str, network: Network) {
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", "openshmem::role", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role);
    if network == Network::Tcp {
        command.env("UCX_TLS", "tcp,self");
    }
}

/// How a job ended, and what it printed.
pub(crate) struct Ending {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

impl Ending {
    pub(crate) fn errors(&self) -> Vec<&str> {
        self.said.lines().filter(|line| line.starts_with("error: ")).collect()
    }
}

/// Waits for a job; one that hangs is ended.
fn end(mut child: Child) -> Ending {
    let mut pipes = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        // What is not text belongs to nobody here.
        let _ = pipes.0.read_to_string(&mut said);
        let mut errors = String::new();
        let _ = pipes.1.read_to_string(&mut errors);
        let _ = write!(said, "{errors}");
        said
    });
    let until = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(status) = child.try_wait().expect("our child") {
            return Ending { code: status.code(), said: reader.join().expect("text") };
        }
        if Instant::now() > until {
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            panic!("the job hangs: {}", reader.join().expect("text"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn run(ranks: usize, role: &str, network: Network) -> Ending {
    let mut command = oshrun(ranks);
    play_role(&mut command, role, network);
    end(command.spawn().expect("oshrun starts"))
}

#[test]
fn processes_of_oshrun_are_a_world() {
    if let Some(why) = missing() {
        return println!("skipped: {why}");
    }
    for (ranks, network) in [(2, Network::Memory), (4, Network::Memory), (2, Network::Tcp), (3, Network::Tcp)] {
        let ending = run(ranks, "everything", network);
        assert_eq!(ending.code, Some(0), "{ranks} ranks: {}", ending.said);
    }
}

#[test]
fn one_world_after_the_other() {
    if let Some(why) = missing() {
        return println!("skipped: {why}");
    }
    let ending = run(2, "twice everything", Network::Tcp);
    assert_eq!(ending.code, Some(0), "{}", ending.said);
}

#[test]
fn a_rank_that_misbehaves_is_named() {
    if let Some(why) = missing() {
        return println!("skipped: {why}");
    }
    for (role, network, reason) in [
        ("exit early", Network::Memory, ") exited without leaving the world"),
        ("exit early", Network::Tcp, ") exited without leaving the world"),
        ("leave early", Network::Tcp, ") left the world while rank "),
        ("fail", Network::Tcp, ") failed: no luck"),
        ("another heap", Network::Memory, ") wants a heap of 2097152 bytes, rank 0 one of 1048576"),
    ] {
        let ending = run(3, role, network);
        assert_ne!(ending.code, Some(0), "{role}: {}", ending.said);
        let errors = ending.errors();
        let told = errors.iter().filter(|line| line.contains("rank 1 (pid ") && line.contains(reason)).count();
        assert!(told >= 2, "{role}: {}", ending.said);
    }
}

#[test]
fn a_rank_that_never_comes_ends_the_others() {
    if let Some(why) = missing() {
        return println!("skipped: {why}");
    }
    let ending = run(2, "impatient", Network::Memory);
    assert_eq!(ending.code, Some(FAILED), "{}", ending.said);
    let why = "this process cannot join a world of `oshrun` again: a call of the OpenSHMEM library that waits for all ranks \
               has no end";
    let first = format!("error: rank 0 waited 3 s for all of 2 ranks to join the world; {why}");
    // A second attempt does not wait for the first.
    assert_eq!(ending.errors(), [first, format!("error: {why}")], "{}", ending.said);
}

#[test]
fn a_killed_rank_is_named_by_oshrun() {
    if let Some(why) = missing() {
        return println!("skipped: {why}");
    }
    for (network, signal, told) in [
        (Network::Memory, Signal::KILL, "exited on signal 9 (Killed)"),
        (Network::Tcp, Signal::KILL, "exited on signal 9 (Killed)"),
        (Network::Memory, Signal::TERM, "exited on signal 15 (Terminated)"),
    ] {
        let mut command = oshrun(3);
        play_role(&mut command, "barriers for ever", network);
        let mut job = command.spawn().expect("oshrun starts");
        let mut out = BufReader::new(job.stdout.take().expect("a pipe"));
        let mut pids: Vec<i32> = Vec::new();
        let mut line = String::new();
        while pids.len() < 3 {
            line.clear();
            assert!(out.read_line(&mut line).expect("text") > 0, "the ranks ended too early");
            pids.extend(line.strip_prefix("ready ").and_then(|pid| pid.trim().parse::<i32>().ok()));
        }
        kill_process(Pid::from_raw(pids[1]).expect("a pid"), signal).expect("the rank runs");
        job.stdout = Some(out.into_inner());
        let ending = end(job);
        assert_ne!(ending.code, Some(0), "{}", ending.said);
        assert!(ending.said.contains(told), "{}", ending.said);
        let until = Instant::now() + Duration::from_secs(30);
        for pid in pids {
            // Who has ended is gone, or a zombie that nobody has waited for.
            while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
                assert!(Instant::now() < until, "rank with pid {pid} outlives its job");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

#[test]
fn ranks_in_two_network_namespaces_are_a_world() {
    if let Some(why) = missing() {
        return println!("skipped: {why}");
    }
    let hosts = match TwoHosts::new() {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: no network namespaces here: {why}"),
    };
    let mut command = hosts.oshrun();
    command.args(["-n", "4", "-x", ROLE]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    play_role(&mut command, "everything on two hosts", Network::Memory);
    let ending = end(command.spawn().expect("ip starts"));
    assert_eq!(ending.code, Some(0), "{}", ending.said);
}
