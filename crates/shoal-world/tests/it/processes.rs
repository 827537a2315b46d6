//! Worlds of processes. The test program starts itself again, in a role.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};
use shoal_world::launch::Job;
use shoal_world::{Compare, Failure, Place, Rank, Value, World, WorldError, WorldOptions};

use crate::calls::differ;
use crate::collectives::messages;
use crate::heap::everybody_writes_everywhere;
use crate::streams::ring_all_gather;
use crate::teams::teams_of_a_world;
use crate::worlds::small;

pub(crate) const ROLE: &str = "SHOAL_TEST_ROLE";
/// How a role ends when the world has failed.
pub(crate) const FAILED: i32 = 7;

#[test]
#[ignore = "the role of a process that other tests start"]
fn role() {
    let role = std::env::var(ROLE).expect("a role");
    let rank: usize = std::env::var("RANK").unwrap().parse().unwrap();
    let mut options = small();
    match role.as_str() {
        "another heap" if rank == 1 => options.heap_bytes *= 2,
        "another pad" if rank == 2 => options.pad_slots += 1,
        "give up a barrier" | "give up a word" => options.timeout = Duration::from_secs(2),
        "impatient" => options.timeout = Duration::from_millis(700),
        "stop" => options.timeout = Duration::from_secs(2),
        _ => {}
    }
    if let Err(error) = World::from_env_with(&options).and_then(|world| play(&role, &world, &options)) {
        // The test runner has begun a line.
        println!("\nerror: {error}");
        std::process::exit(FAILED);
    }
}

pub(crate) fn play(role: &str, world: &World, options: &WorldOptions) -> Result<(), WorldError> {
    let rank = &world.local_ranks()[0];
    match role {
        "everything" => everything(world).map(drop),
        "everything on two hosts" => {
            // Two ranks on each: what is near is loaded and stored, the rest is carried.
            let near: Vec<bool> = (0..4).map(|peer| rank.base(peer).is_ok()).collect();
            let expected = if rank.rank() < 2 { [true, true, false, false] } else { [false, false, true, true] };
            assert_eq!(near, expected);
            assert_eq!(rank.node().members(), if rank.rank() < 2 { [0, 1] } else { [2, 3] });
            everything(world)
        }
        "another world" => {
            everything(world)?;
            everything(&World::from_env_with(options)?)
        }
        "barriers for ever" => {
            rank.barrier()?;
            println!("\nready {}", std::process::id());
            loop {
                rank.barrier()?;
            }
        }
        "exit early" => {
            rank.barrier()?;
            if rank.rank() == 1 {
                std::process::exit(0);
            }
            rank.barrier()
        }
        "leave early" => {
            rank.barrier()?;
            if rank.rank() == 1 { Ok(()) } else { rank.barrier() }
        }
        "different calls" => differ(rank),
        "fail" => world
            .run(|rank| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
                if rank.rank() == 1 { Err("no luck".into()) } else { Ok(rank.barrier()?) }
            })
            .map(drop),
        "panic" => world
            .run(|rank| {
                assert!(rank.rank() != 1, "no luck");
                rank.barrier()
            })
            .map(drop),
        "stop" => {
            rank.barrier()?;
            if rank.rank() == 1 {
                kill_process(getpid(), Signal::STOP).expect("this process");
                // Another thread may take the signal, and stop this one a moment later.
                std::thread::sleep(Duration::from_secs(1));
            }
            rank.barrier()
        }
        "give up a barrier" => give_up(rank, Rank::barrier),
        "give up a word" => give_up(rank, wait_for_a_word),
        "a word to the right" => {
            let x = rank.symm_zeros::<u64>(1)?;
            x.write_to((rank.rank() + 1) % rank.size(), 0, &[rank.rank() as u64 + 1])?;
            rank.barrier()?;
            let left = (rank.rank() + rank.size() - 1) % rank.size();
            assert_eq!(x.read()?, [left as u64 + 1]);
            let all = rank.world().all_gather(&[rank.rank() as u8])?;
            assert!(all.iter().enumerate().all(|(from, byte)| *byte == [from as u8]));
            rank.barrier()
        }
        "a job in a job" => {
            if rank.rank() == 1 {
                let inner = run(2, "everything");
                assert_eq!(inner.codes, [Some(0); 2], "{:?}", inner.said);
            }
            rank.barrier()
        }
        "no room" => {
            let told = rank.symm_empty::<u8>(options.heap_bytes + 1).map(drop).expect_err("it does not fit");
            assert!(told.to_string().starts_with("the symmetric heap has no room for 1048577 bytes"), "{told}");
            // Nothing is lost by that.
            rank.symm_zeros::<u8>(options.heap_bytes / 2).map(drop)?;
            let asked = if rank.rank() == 1 { options.heap_bytes } else { 16 };
            let told = rank.symm_empty::<u8>(asked).map(drop).expect_err("they ask for different sizes");
            assert!(told.to_string().contains("disagree on a symmetric allocation: "), "{told}");
            rank.barrier()
        }
        other => rank.barrier().map(|()| println!("{other}")),
    }
}

/// Rank 0 gives up while the others wait on their hosts and in their streams.
fn give_up(rank: &Rank, first: impl FnOnce(&Rank) -> Result<(), WorldError>) -> Result<(), WorldError> {
    let slot = rank.symm_zeros::<u32>(1)?;
    let stream = rank.stream()?;
    rank.barrier()?;
    if rank.rank() > 0 {
        std::thread::sleep(Duration::from_millis(800));
    }
    match rank.rank() {
        0 => first(rank),
        1 => wait_for_a_word(rank),
        2 => rank.wait_signal(&Place::symm(&slot, 2, ..)?, None),
        _ => {
            stream.call(|| {
                std::thread::sleep(Duration::from_secs(3));
                Ok(())
            });
            stream.record().wait(rank)
        }
    }
}

/// A stream waits for a word that nobody writes.
fn wait_for_a_word(rank: &Rank) -> Result<(), WorldError> {
    let stream = rank.stream()?;
    stream.wait_value(Place::segment(rank, rank.rank(), 12, 4)?, Compare::GreaterOrEqual, Value::U32(9))?;
    stream.synchronize()
}

pub(crate) fn everything(world: &World) -> Result<(), WorldError> {
    world
        .run(|rank: &Rank| {
            messages(rank)?;
            everybody_writes_everywhere(rank)?;
            teams_of_a_world(rank)?;
            ring_all_gather(rank)?;
            assert_eq!(rank.signal_pad().raised()?, []);
            rank.barrier()
        })
        .map(drop)
}

/// A command that plays a role when it is given a rank.
pub(crate) fn player(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "processes::role", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// How the ranks of a job ended.
pub(crate) struct Ending {
    pub(crate) codes: Vec<Option<i32>>,
    /// The first line of their errors.
    pub(crate) said: Vec<String>,
    /// The lines after it.
    pub(crate) waits: Vec<String>,
    /// What the ranks have reported to who started them.
    pub(crate) reported: Option<Failure>,
}

/// Waits for the end of all ranks; they print less than a pipe holds.
pub(crate) fn end(mut job: Job) -> Ending {
    let mut pipes: Vec<Option<ChildStdout>> = job.processes().map(|(_, child)| child.stdout.take()).collect();
    let mut codes = vec![None; pipes.len()];
    while let Some(ended) = job.next_ended(Some(Duration::from_secs(50))) {
        codes[ended.rank] = ended.status.code();
    }
    assert_eq!(job.processes().count(), 0, "a rank hangs");
    let errors = pipes.iter_mut().map(|pipe| {
        let mut text = String::new();
        if let Some(pipe) = pipe {
            pipe.read_to_string(&mut text).expect("text");
        }
        let mut lines = text.lines().skip_while(|line| !line.starts_with("error: "));
        (lines.next().unwrap_or_default().to_owned(), lines.collect::<Vec<_>>().join("\n"))
    });
    let (said, waits) = errors.unzip();
    Ending { codes, said, waits, reported: job.reported_failure().cloned() }
}

pub(crate) fn run(ranks: usize, role: &str) -> Ending {
    end(Job::start(ranks, |_| player(role)).expect("processes start"))
}

#[test]
fn processes_are_a_world() {
    for n in [1, 2, 3, 8] {
        let ending = run(n, "everything");
        assert_eq!(ending.codes, vec![Some(0); n], "{:?}", ending.said);
    }
}

#[test]
fn more_processes_than_handles_fit_into_a_message() {
    let ending = run(70, "a barrier");
    assert_eq!(ending.codes, vec![Some(0); 70], "{:?}", ending.said);
}

#[test]
fn a_process_can_join_one_world_after_the_other() {
    assert_eq!(run(3, "another world").codes, [Some(0); 3]);
}

#[test]
fn a_torchrun_environment_suffices() {
    let job = Job::start(2, |_| {
        // The launcher's token is replaced by none.
        let mut command = Command::new("env");
        let player = player("everything");
        command.args(["-u", "SHOAL_TOKEN"]).arg(player.get_program()).args(player.get_args());
        command.env(ROLE, "everything").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    });
    let ending = end(job.expect("processes start"));
    assert_eq!(ending.codes, [Some(0); 2], "{:?}", ending.said);
}

/// Names in the places where shared memory and sockets could be left.
pub(crate) fn leftovers() -> BTreeSet<String> {
    let places = ["/dev/shm".into(), std::env::temp_dir()];
    let entries = places.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("shoal-heap") || name.contains("shoal-world")).collect()
}

#[test]
fn a_killed_rank_ends_the_others_and_leaves_nothing() {
    for round in 0..20 {
        let n = 2 + round % 3;
        let victim = round % n;
        let mut job = Job::start(n, |_| player("barriers for ever")).expect("processes start");
        let pids: Vec<u32> = job.processes().map(|(_, child)| child.id()).collect();
        let mut pipes = Vec::new();
        for (_, child) in job.processes() {
            let mut pipe = BufReader::new(child.stdout.take().expect("a pipe"));
            let mut line = String::new();
            while !line.contains("ready") {
                line.clear();
                assert!(pipe.read_line(&mut line).expect("text") > 0, "a rank ended too early");
            }
            pipes.push(pipe);
        }
        std::thread::sleep(Duration::from_micros(300 * round as u64));
        let pid = Pid::from_raw(pids[victim] as i32).expect("a pid");
        kill_process(pid, Signal::KILL).expect("the rank runs");

        let mut codes = vec![None; n];
        while let Some(ended) = job.next_ended(Some(Duration::from_secs(30))) {
            codes[ended.rank] = ended.status.code();
        }
        for (rank, mut pipe) in pipes.into_iter().enumerate().filter(|(rank, _)| *rank != victim) {
            let mut said = String::new();
            pipe.read_to_string(&mut said).expect("text");
            assert_eq!(codes[rank], Some(FAILED), "round {round}, rank {rank}: {said}");
            let expected = format!(
                "error: rank {rank}, in barrier of the world: rank {victim} (pid {}) died, or exited without leaving the world",
                pids[victim]
            );
            assert!(said.contains(&expected), "round {round}, rank {rank}: {said}");
        }
    }
    assert_eq!(leftovers(), BTreeSet::new());
}

/// What ranks 0 and 2 say when rank 1 misbehaves.
fn said_by_others(role: &str) -> [String; 2] {
    let ending = run(3, role);
    assert_eq!([ending.codes[0], ending.codes[2]], [Some(FAILED); 2], "{role}");
    let told = ending.reported.expect("a launcher hears why");
    assert_eq!(told.rank, 1, "{role}");
    for rank in [0, 2] {
        assert!(ending.said[rank].ends_with(&told.reason), "{role}: {told}\n{}", ending.said[rank]);
    }
    [ending.said[0].clone(), ending.said[2].clone()]
}

#[test]
fn a_rank_that_exits_early_is_named() {
    for said in said_by_others("exit early") {
        assert!(said.contains("in barrier of the world: rank 1 (pid "), "{said}");
        assert!(said.ends_with("died, or exited without leaving the world"), "{said}");
    }
}

#[test]
fn a_rank_that_leaves_early_is_named() {
    for said in said_by_others("leave early") {
        assert!(said.contains("in barrier of the world: rank 1 (pid "), "{said}");
        assert!(said.contains("left the world while rank "), "{said}");
    }
}

#[test]
fn a_rank_that_fails_tells_the_others_why() {
    for (role, reason) in [("fail", "no luck"), ("panic", "it panicked")] {
        for said in said_by_others(role) {
            assert!(said.contains(": rank 1 (pid "), "{said}");
            assert!(said.ends_with(&format!(") failed: {reason}")), "{said}");
        }
    }
}

#[test]
fn whoever_gives_up_tells_what_streams_and_hosts_of_others_wait_for() {
    for (role, first) in [("give up a barrier", "in barrier of the world"), ("give up a word", ">= 9 (it is 0)")] {
        let ending = run(4, role);
        assert_eq!(ending.codes, [Some(FAILED); 4], "{role}: {:?}", ending.said);
        let waits = &ending.waits[0];
        let all = format!("{}\n{waits}", ending.said[0]);
        assert!(ending.said[0].contains(first), "{role}: {all}");
        for told in [
            "rank 1: waiting for the word at offset 12 of rank 1 >= 9 (it is 0)",
            "rank 2: waiting for the signal at ",
            "rank 3: waiting for an event of a stream",
        ] {
            assert!(waits.contains(told), "{role}: {all}");
        }
    }
}

#[test]
fn ranks_with_other_settings_are_refused() {
    for (role, rank, reason) in [
        ("another heap", 1, "wants a heap of 2097152 bytes, rank 0 one of 1048576"),
        ("another pad", 2, "wants a signal pad of 257 slots, rank 0 one of 256"),
    ] {
        let ending = run(3, role);
        assert_eq!(ending.codes, [Some(FAILED); 3], "{:?}", ending.said);
        let expected = format!("error: rank {rank} (pid ");
        let host = &ending.said[0];
        assert!(host.starts_with(&expected) && host.ends_with(reason), "{host}");
        assert_eq!(ending.said[rank], *host);
    }
}

#[test]
fn a_rank_that_never_comes_is_named() {
    let job = Job::start(3, |rank| match rank {
        2 => {
            let mut command = Command::new("sleep");
            command.arg("2").stdout(Stdio::piped());
            command
        }
        _ => player("impatient"),
    });
    let ending = end(job.expect("processes start"));
    assert_eq!(ending.codes, [Some(FAILED), Some(FAILED), Some(0)]);
    let reason = "rank 2 did not join the world: rank 0 waited 700 ms".to_owned();
    assert_eq!(ending.said[0], format!("error: {reason}"));
    assert_eq!(ending.said[1], ending.said[0]);
    assert_eq!(ending.reported, Some(Failure { rank: 2, reason }));
}

#[test]
fn a_rank_that_exits_before_it_joins_is_named_at_once() {
    for absent in 0..2 {
        let job = Job::start(2, |rank| {
            let mut command = if rank == absent { Command::new("true") } else { player("patient") };
            command.stdout(Stdio::piped());
            command
        });
        let ending = end(job.expect("processes start"));
        assert_eq!((ending.codes[absent], ending.codes[1 - absent]), (Some(0), Some(FAILED)));
        let Some(Failure { rank, reason }) = ending.reported else { panic!("{:?}", ending.said) };
        let begin = format!("rank {absent} (pid ");
        assert!(reason.starts_with(&begin) && reason.ends_with(") exited with status 0 before it joined the world"));
        assert_eq!((rank, &ending.said[1 - absent]), (absent, &format!("error: {reason}")));
    }
}

#[test]
fn without_rank_0_the_others_give_up() {
    let job = Job::start(2, |rank| match rank {
        0 => {
            let mut command = Command::new("sleep");
            command.arg("2").stdout(Stdio::piped());
            command
        }
        _ => player("impatient"),
    });
    let ending = end(job.expect("processes start"));
    assert_eq!(ending.codes, [Some(0), Some(FAILED)]);
    let reason = "rank 0 did not start: rank 1 waited 700 ms for it".to_owned();
    assert_eq!(ending.said[1], format!("error: {reason}"));
    assert_eq!(ending.reported, Some(Failure { rank: 0, reason }));
}
