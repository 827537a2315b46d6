//! Launches without a pause between them, with random delays, and ranks that are killed meanwhile.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shoal::world::launch::Job;
use shoal::world::{Rank, World, WorldOptions};
use shoal::{DType, Device, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, RankWorkload, catalog};
use shoal_kernels::random::Random;

use super::{PROGRAMS, library, options};

/// Ranks that launch back to back.
const RANKS: usize = 8;

/// Every so many-th result is compared with its reference.
const COMPARED: usize = 16;

/// Launches a kernel again and again. Before each launch all memory is poisoned, so that a rank that goes on too early,
/// or a signal of an earlier launch, shows in the result.
fn back_to_back(library: &Library, rank: &Rank, item: &RankItem, launches: usize) -> Result<(), Error> {
    let comm = Communicator::with_programs(library, rank, PROGRAMS)?;
    let mut workload = item.workload(rank, item.tests[1], DType::F32)?;
    let mut random = Random::new(rank.rank() as u64 + 77);
    for launch in 0..launches {
        workload.poison()?;
        delay(&mut random);
        workload.write_inputs()?;
        workload.run(&comm)?;
        if launch % COMPARED == 0 || launch + 1 == launches {
            compare(workload.as_ref(), item, rank, launch)?;
        }
        delay(&mut random);
    }
    rank.barrier()?;
    assert_eq!(comm.pad().raised()?, [], "{}: a signal is left in the pad of rank {}", item.name, rank.rank());
    Ok(())
}

fn compare(workload: &dyn RankWorkload, item: &RankItem, rank: &Rank, launch: usize) -> Result<(), Error> {
    for checked in workload.check()? {
        assert!(checked.passed(), "{} on rank {}, launch {launch}: {checked:?}", item.name, rank.rank());
    }
    Ok(())
}

/// Of eight times, once a short sleep and once a longer one.
fn delay(random: &mut Random) {
    match random.bits() % 8 {
        0 => std::thread::sleep(Duration::from_micros(random.bits() % 50)),
        1 => std::thread::sleep(Duration::from_micros(random.bits() % 500)),
        2 => std::thread::yield_now(),
        _ => {}
    }
}

fn back_to_back_on_threads(library: &Library, item: &RankItem, launches: usize) {
    let world = World::threads_with(RANKS, &options()).expect("a world");
    let done = world.run(|rank| back_to_back(library, rank, item, launches));
    done.unwrap_or_else(|error| panic!("{}: {error}", item.name));
}

#[test]
fn launches_without_a_pause_leave_no_signal_behind() {
    let library = library(Device::cpu());
    catalog().iter().for_each(|item| back_to_back_on_threads(&library, item, 60));
}

/// A test for each kernel: they run beside each other, and none takes as long as a test that hangs.
mod ten_thousand_launches {
    use shoal::Device;
    use shoal_kernels::distributed::find;

    macro_rules! tests {
        ($($name:ident)*) => {
            $(
                #[test]
                #[ignore = "all together take minutes"]
                fn $name() {
                    let item = find(stringify!($name)).expect("it is in the catalog");
                    super::back_to_back_on_threads(&super::library(Device::cpu()), item, 10_000);
                }
            )*
        };
    }

    every_kernel!(tests);
}

/// How a rank ends when the world has failed.
const FAILED: i32 = 7;

/// How long the others may take to notice that a rank is gone.
const NOTICED: Duration = Duration::from_secs(20);

/// What each process of the tests below runs; started by them alone.
#[test]
#[ignore = "the role of a process in other tests"]
fn role() {
    let options = WorldOptions { timeout: Duration::from_secs(60), ..options() };
    let world = World::from_env_with(&options).expect("a world");
    let library = Library::on(Device::cpu());
    let ended = world.run(|rank| -> Result<(), Error> {
        for item in catalog() {
            back_to_back(&library, rank, item, 1)?;
        }
        println!("\nready");
        loop {
            for item in catalog() {
                back_to_back(&library, rank, item, 5)?;
            }
        }
    });
    println!("\nerror: {}", ended.expect_err("it ends when a rank is killed"));
    std::process::exit(FAILED);
}

/// Names in shared memory.
fn shared_names() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.to_lowercase().contains("shoal"));
    names.sort();
    names
}

/// Kills a random rank of four while they launch kernels.
fn kill_one(random: &mut Random, cache: &std::path::Path) {
    const RANKS: usize = 4;
    let mut job = Job::start(RANKS, |_| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "distributed::stress::role", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env("SHOAL_CACHE_DIR", cache).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    })
    .expect("processes start");
    let mut pipes: Vec<_> = job.processes().map(|(rank, child)| (rank, child.stdout.take())).collect();
    wait_until_ready(&mut pipes);
    std::thread::sleep(Duration::from_micros(random.bits() % 200_000));
    let victim = (random.bits() % RANKS as u64) as usize;
    let (_, child) = job.processes().find(|(rank, _)| *rank == victim).expect("it runs");
    let pid = child.id();
    child.kill().expect("it is killed");
    let start = Instant::now();
    let mut codes = [None; RANKS];
    while let Some(ended) = job.next_ended(Some(NOTICED)) {
        codes[ended.rank] = ended.status.code();
    }
    assert_eq!(job.running(), 0, "ranks hang after rank {victim} was killed");
    assert!(start.elapsed() < NOTICED, "it took {:?}", start.elapsed());
    for (rank, pipe) in &mut pipes {
        let mut said = String::new();
        pipe.as_mut().expect("a pipe").read_to_string(&mut said).expect("text");
        if *rank != victim {
            assert_eq!(codes[*rank], Some(FAILED), "rank {rank}: {said}");
            assert!(said.contains(&format!("rank {victim} (pid {pid})")), "rank {rank} names another: {said}");
        }
    }
}

/// Reads what ranks print until all are ready.
fn wait_until_ready(pipes: &mut [(usize, Option<std::process::ChildStdout>)]) {
    for (rank, pipe) in pipes {
        let pipe = pipe.as_mut().expect("a pipe");
        let (mut said, mut byte) = (String::new(), [0]);
        while !said.ends_with("ready\n") {
            assert_eq!(pipe.read(&mut byte).expect("text"), 1, "rank {rank} ended: {said}");
            said.push(char::from(byte[0]));
        }
    }
}

fn kill_many(times: usize) {
    let before = shared_names();
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-kill-{}", std::process::id()));
    let mut random = Random::new(u64::from(std::process::id()));
    for _ in 0..times {
        kill_one(&mut random, &cache);
    }
    assert_eq!(shared_names(), before, "something is left in shared memory");
    let _ = std::fs::remove_dir_all(&cache);
}

#[test]
fn ranks_that_are_killed_end_the_others() {
    kill_many(3);
}

#[test]
#[ignore = "takes a minute"]
fn ranks_that_are_killed_twenty_times_end_the_others() {
    kill_many(20);
}
