//! A part of the names between processes. The test program starts itself again, as a rank.

use std::process::{Command, Stdio};
use std::time::Duration;

use shoal::world::launch::Job;
use shoal::world::{World, WorldOptions};
use shoal::{Error, args};

use super::harness::{kernel, text};

pub(super) const ROLE: &str = "SHOAL_SHMEM_TEST_RANK";

/// Copies, signals, collectives and many meetings; ends with a number that every rank can check.
const BODY: &str = "total = 0
for i in range(50):
    shm.int_p(y, me * 100 + i, peer)
    shm.barrier_all_block()
    total += tl.load(y)
    shm.sync_all_block()
shm.putmem_signal_block(y + 1, x, 8, flags, 1, shm.NVSHMEM_SIGNAL_ADD, peer)
shm.signal_wait_until(flags, shm.NVSHMEM_CMP_EQ, 1)
total += tl.load(y + 1) + tl.load(y + 2)
shm.getmem_nbi_block(y + 3, x + 1, 4, peer)
shm.quiet()
total += tl.load(y + 3)
shm.barrier_all_block()
shm.fcollect_block(shm.NVSHMEM_TEAM_WORLD, y, x, 2)
shm.broadcastmem_block(number, y + 2 * n, x, 4, n - 1)
for i in range(2 * n + 1):
    total += tl.load(y + i)
tl.store(x + 2, total)";

/// What the body leaves in `x[2]`, where `x` begins with `10 * rank, 10 * rank + 1`.
fn expected(rank: i32, ranks: i32) -> i32 {
    let (source, peer) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let meetings = 50 * source * 100 + 49 * 50 / 2;
    let copies = 2 * 10 * source + 1 + 10 * peer + 1;
    let collected: i32 = (0..ranks).map(|rank| 20 * rank + 1).sum();
    meetings + copies + collected + 10 * (ranks - 1)
}

/// Signals of the language itself go round; ends with the sum of all ranks.
const NOTIFY: &str = "for i in range(20):
    dl.notify(flags + i % 2, peer, signal=i + 1)
    token = dl.wait(flags + i % 2, 1, 'sys', 'acquire', waitValue=i + 1)
    shm.barrier_all_block()
for i in range(10):
    dl.notify(flags + 2, 0, signal=1, sig_op='add')
shm.barrier_all_block()
if me == 0:
    dl.wait(flags + 2, 1, 'sys', 'acquire', waitValue=10 * n)
tl.store(x + 2, me)";

const SYMM_AT: &str = "tl.store(dl.symm_at(x, peer), 1)";

/// Everybody is told another number than it waits for.
const ANOTHER: &str = "dl.notify(flags, peer, signal=3 + me)
shm.signal_wait_until(flags, shm.NVSHMEM_CMP_EQ, 9)";

/// The same by an atomic operation on the other's memory.
const ATOMIC: &str = "tl.atomic_xchg(dl.symm_at(x, peer), 7, sem='release', scope='sys')
dl.wait(x, 1, 'sys', 'acquire', waitValue=9)";

const IN_VAIN: &str = "shm.signal_wait_until(flags, shm.NVSHMEM_CMP_EQ, 5)";

/// Rank 0 waits in a kernel, rank 1 at a barrier.
fn apart() -> Result<(), Box<dyn std::error::Error>> {
    let options = WorldOptions { heap_bytes: 1 << 20, timeout: Duration::from_secs(60), ..WorldOptions::default() };
    let kernel = kernel(IN_VAIN);
    World::from_env_with(&options)?.run(|rank| -> Result<(), Error> {
        let (x, flags) = (rank.symm_zeros::<i32>(8)?, rank.symm_zeros::<i64>(4)?);
        if rank.rank() == 0 {
            kernel.clone().on_rank(rank)?.launch(1, args!(&x, &x, &flags, 0))?;
        }
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// Plays another role than the names.
fn as_player(body: &str, timeout: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let options = WorldOptions { heap_bytes: 1 << 20, timeout, ..WorldOptions::default() };
    let kernel = kernel(body);
    World::from_env_with(&options)?.run(|rank| -> Result<(), Error> {
        let (x, y) = (rank.symm_zeros::<i32>(8)?, rank.symm_zeros::<i32>(32)?);
        let flags = rank.symm_zeros::<i64>(4)?;
        rank.barrier()?;
        kernel.clone().on_rank(rank)?.launch(1, args!(&x, &y, &flags, 0))?;
        assert_eq!(x.read()?[2], rank.rank() as i32);
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

fn as_rank() -> Result<(), Box<dyn std::error::Error>> {
    let options = WorldOptions { heap_bytes: 1 << 20, timeout: Duration::from_secs(60), ..WorldOptions::default() };
    let kernel = kernel(BODY);
    World::from_env_with(&options)?.run(|rank| -> Result<(), Error> {
        let (x, y) = (rank.symm_zeros::<i32>(8)?, rank.symm_zeros::<i32>(32)?);
        let flags = rank.symm_zeros::<i64>(1)?;
        let me = rank.rank() as i32;
        x.write(&[10 * me, 10 * me + 1, 0, 0, 0, 0, 0, 0])?;
        let team = rank.world().split(Some(0), 0)?.expect("all ranks");
        rank.barrier()?;
        kernel.clone().on_rank(rank)?.launch(1, args!(&x, &y, &flags, team.handle()))?;
        assert_eq!(x.read()?[2], expected(me, rank.size() as i32), "rank {me}");
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

#[test]
#[ignore = "the role of a process that another test starts"]
fn role() {
    let minute = Duration::from_secs(60);
    let played = match std::env::var(ROLE).expect("this is no test of its own").as_str() {
        "notify" => as_player(NOTIFY, minute),
        "symm_at" => as_player(SYMM_AT, minute),
        "in vain" => as_player(IN_VAIN, minute),
        "another" => as_player(ANOTHER, minute),
        "atomic" => as_player(ATOMIC, minute),
        "apart" => apart(),
        _ => as_rank(),
    };
    if let Err(error) = played {
        println!("\nerror: {}", text(&*error));
        std::process::exit(7);
    }
}

/// What two processes say in a role in which they wait in vain.
fn said_in_vain(role: &str) -> String {
    let mut job = Job::start(2, |_| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "shmem::processes::role", "--ignored", "--nocapture"]);
        command.env(ROLE, role).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.env("SHOAL_DEBUG", if role == "atomic" { "1" } else { "0" });
        command
    })
    .expect("processes start");
    let mut pipes: Vec<_> = job.processes().filter_map(|(_, child)| child.stdout.take()).collect();
    while let Some(ended) = job.next_ended(Some(Duration::from_secs(50))) {
        assert_eq!(ended.status.code(), Some(7), "rank {} in {role}", ended.rank);
    }
    assert_eq!(job.running(), 0, "a rank hangs");
    let mut said = String::new();
    for pipe in &mut pipes {
        std::io::Read::read_to_string(pipe, &mut said).expect("text");
    }
    said
}

#[test]
fn processes_that_wait_in_vain_tell_who_wrote_last() {
    let said = said_in_vain("another");
    for rank in 0..2 {
        let (peer, told) = (1 - rank, 3 + 1 - rank);
        assert!(said.contains(&format!("rank {rank}: in kernel `kernel`: ")), "{said}");
        let word = "for 9 at 0x";
        let writer = format!("where {told} is; rank {peer}, program (0, 0, 0) set it to {told} last, at kernel.py:11");
        assert!(said.contains(word) && said.contains(&writer), "{writer}: {said}");
    }
    assert!(said.contains(") gave up in kernel `kernel`: 1 program waits"), "{said}");
}

#[test]
fn code_that_checks_its_accesses_knows_who_wrote_last_by_atomics() {
    let said = said_in_vain("atomic");
    for rank in 0..2 {
        let writer = format!("where 7 is; rank {rank}, program (0, 0, 0) changed it atomically last, at kernel.py:11");
        assert!(said.contains(&writer), "{writer}: {said}");
    }
}

#[test]
fn a_wait_in_vain_tells_of_ranks_at_a_barrier() {
    let said = said_in_vain("apart");
    assert!(said.contains("rank 0: in kernel `kernel`: 1 program waits"), "{said}");
    assert!(said.contains("\nrank 1: in barrier of the world"), "{said}");
    assert!(said.contains("who wrote a word last is recorded for `notify` and signals, with SHOAL_DEBUG=1"), "{said}");
    let other = said.lines().find(|line| line.contains("rank 1, in barrier of the world: rank 0 (pid "));
    assert!(other.is_some_and(|line| line.contains(") gave up in kernel `kernel`")), "{said}");
}

#[test]
fn processes_meet_and_copy() {
    for ranks in [2, 3] {
        let mut job = Job::start(ranks, |_| {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "shmem::processes::role", "--ignored", "--nocapture"]);
            command.env(ROLE, "1").stdout(Stdio::inherit());
            command
        })
        .expect("processes start");
        while let Some(ended) = job.next_ended(Some(Duration::from_secs(120))) {
            assert!(ended.status.success(), "rank {} of {ranks}: {}", ended.rank, ended.status);
        }
        assert_eq!(job.running(), 0, "all ranks of {ranks} have ended");
    }
}
