//! Kernels of several ranks against their references, bit for bit.

use std::process::Command;
use std::time::Duration;

use shoal::half::f16;
use shoal::world::launch::Job;
use shoal::world::{Rank, World, WorldOptions};
use shoal::{Device, Element};
use shoal_kernels::all_gather::all_gather_push;
use shoal_kernels::all_reduce::one_shot_all_reduce;
use shoal_kernels::{Library, RankFlags};

const SIZES: [usize; 4] = [1, 37, 4096, 9001];

/// Fewer programs than the largest size has tiles.
const PROGRAMS: usize = 2;

/// Launches with the same flags.
const ROUNDS: usize = 3;

trait Number: Element + shoal::world::Element + PartialEq {
    fn from_f32(value: f32) -> Self;
    fn to_f32(self) -> f32;
}

impl Number for f32 {
    fn from_f32(value: f32) -> f32 {
        value
    }
    fn to_f32(self) -> f32 {
        self
    }
}

impl Number for f16 {
    fn from_f32(value: f32) -> f16 {
        f16::from_f32(value)
    }
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
}

/// What a rank holds in a round.
fn data<T: Number>(rank: usize, round: usize, n: usize) -> Vec<T> {
    let value = |i: usize| (i * 31 + rank * 7 + round * 13) % 101;
    (0..n).map(|i| T::from_f32(value(i) as f32 * 0.37 - 11.0)).collect()
}

fn summed<T: Number>(ranks: usize, round: usize, n: usize) -> Vec<T> {
    let all: Vec<Vec<T>> = (0..ranks).map(|rank| data(rank, round, n)).collect();
    (0..n).map(|i| T::from_f32(all.iter().fold(0.0, |sum, x| sum + x[i].to_f32()))).collect()
}

fn all_reduces<T: Number>(library: &Library, rank: &Rank) -> Result<(), shoal::Error> {
    let mut flags = RankFlags::new(rank, PROGRAMS)?;
    for n in SIZES {
        let x = rank.symm_zeros::<T>(n)?;
        let mut out = vec![T::from_f32(-1.0); n];
        for round in 0..ROUNDS {
            x.write(&data(rank.rank(), round, n))?;
            one_shot_all_reduce(library, &mut flags, &x, &mut out)?;
            assert_eq!(out, summed(rank.size(), round, n), "rank {}, {n} elements, round {round}", rank.rank());
        }
    }
    Ok(())
}

fn all_gathers<T: Number>(library: &Library, rank: &Rank) -> Result<(), shoal::Error> {
    let mut flags = RankFlags::new(rank, PROGRAMS)?;
    for n in SIZES {
        let out = rank.symm_zeros::<T>(n * rank.size())?;
        for round in 0..ROUNDS {
            all_gather_push(library, &mut flags, &data(rank.rank(), round, n), &out)?;
            let expected: Vec<T> = (0..rank.size()).flat_map(|rank| data(rank, round, n)).collect();
            assert_eq!(out.read(), expected, "rank {}, {n} elements, round {round}", rank.rank());
        }
    }
    Ok(())
}

fn everything(library: &Library, rank: &Rank) -> Result<(), shoal::Error> {
    all_reduces::<f32>(library, rank)?;
    all_reduces::<f16>(library, rank)?;
    all_gathers::<f32>(library, rank)?;
    all_gathers::<f16>(library, rank)
}

fn options() -> WorldOptions {
    WorldOptions { heap_bytes: 4 << 20, ..WorldOptions::default() }
}

#[test]
fn worlds_of_threads_agree_with_the_references() {
    let library = Library::on(Device::cpu());
    for ranks in [1, 2, 3, 4, 8] {
        let world = World::threads_with(ranks, &options()).expect("a world");
        world.run(|rank| everything(&library, rank)).unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
    }
}

/// What each process of the test below runs; started by it alone.
#[test]
#[ignore = "the role of a process in another test"]
fn role() {
    let world = World::from_env_with(&options()).expect("a world");
    let library = Library::on(Device::cpu());
    world.run(|rank| everything(&library, rank)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn worlds_of_processes_agree_with_the_references() {
    for ranks in [2, 3] {
        let mut job = Job::start(ranks, |_| {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "collectives::role", "--ignored", "--test-threads=1"]);
            command
        })
        .expect("processes start");
        while let Some(ended) = job.next_ended(Some(Duration::from_secs(240))) {
            assert!(ended.status.success(), "rank {} of {ranks}: {}", ended.rank, ended.status);
        }
        assert_eq!(job.running(), 0, "a rank hangs");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_before_anything_is_launched() {
    let library = Library::on(Device::cpu());
    let world = World::threads_with(1, &options()).expect("a world");
    let refused = world.run(|rank| -> Result<String, shoal::Error> {
        let mut flags = RankFlags::new(rank, 1)?;
        let x = rank.symm_zeros::<f32>(8)?;
        Ok(one_shot_all_reduce(&library, &mut flags, &x, &mut [0.0; 7]).expect_err("seven for eight").to_string())
    });
    assert_eq!(refused.expect("no failure"), ["`out` has 7 elements, but needs 8"]);
}
