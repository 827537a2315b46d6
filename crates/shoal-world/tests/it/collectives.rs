//! Barriers, broadcasts and all-gathers.

use std::sync::atomic::{AtomicUsize, Ordering};

use shoal_world::{Rank, World, WorldError};

use crate::worlds::threads;

/// Messages of every length that needs another number of rounds, from every member.
pub(crate) fn messages(rank: &Rank) -> Result<(), WorldError> {
    for length in [0usize, 1, 7, 1007, 1008, 1009, 5000] {
        let of = |rank: usize| -> Vec<u8> { (0..length * (rank + 1)).map(|i| (i * 31 + rank) as u8).collect() };
        let all = rank.world().all_gather(&of(rank.rank()))?;
        assert!(all.iter().enumerate().all(|(from, bytes)| *bytes == of(from)), "length {length}");
        for root in 0..rank.size() {
            assert_eq!(rank.world().broadcast(root, &of(rank.rank()))?, of(root));
        }
    }
    Ok(())
}

#[test]
fn messages_arrive_in_worlds_of_any_size() {
    for n in [1, 2, 3, 5, 8, 13] {
        threads(n).run(messages).unwrap();
    }
}

#[test]
fn a_barrier_holds_back_64_ranks() {
    let arrived = AtomicUsize::new(0);
    threads(64)
        .run(|rank| {
            for round in 1..=20 {
                arrived.fetch_add(1, Ordering::Relaxed);
                rank.barrier()?;
                assert_eq!(arrived.load(Ordering::Relaxed), 64 * round);
                rank.barrier()?;
            }
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn a_hundred_ranks_are_a_world() {
    let ranks = threads(100).run(|rank| Ok::<_, WorldError>(rank.world().all_gather(&[1])?.len())).unwrap();
    assert_eq!(ranks, vec![100; 100]);
}

#[test]
fn different_calls_are_told_apart_and_harm_nothing() {
    let world = threads(3);
    let said = world
        .run(|rank| {
            let error = match rank.rank() {
                1 => rank.world().broadcast(2, b"x").map(drop),
                _ => rank.barrier(),
            };
            let error = error.unwrap_err().to_string();
            // All noticed it in the same round, so they can go on.
            rank.barrier()?;
            Ok::<_, WorldError>(error)
        })
        .unwrap();
    let expected = "the members of the world are not in step: rank 1: broadcast from member 2; ranks 0, 2: barrier";
    assert_eq!(said, [expected; 3]);
}

#[test]
fn a_world_runs_more_than_once_and_keeps_its_memory() {
    let world = threads(2);
    let buffers = world.run(|rank| rank.symm_zeros::<u32>(4)).unwrap();
    world.run(|rank| buffers[rank.rank()].write_to(1 - rank.rank(), 1, &[rank.rank() as u32 + 7])).unwrap();
    assert_eq!([buffers[0].read().unwrap(), buffers[1].read().unwrap()], [[0, 8, 0, 0], [0, 7, 0, 0]]);
}

#[test]
fn a_world_without_ranks_is_refused() {
    assert_eq!(World::threads(0).unwrap_err().to_string(), "a world of 0 ranks; it needs at least one");
    let many = World::threads(1 << 40).unwrap_err().to_string();
    assert_eq!(many, "a world of 1099511627776 ranks; it has 4294967295 at most");
}
