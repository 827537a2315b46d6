//! Signals of the pad's protocol, sent and taken by hosts, and copies from memory that somebody else owns.

use std::sync::Arc;
use std::time::Duration;

use shoal_world::{Place, World, WorldError, WorldOptions};

fn slot(rank: &shoal_world::Rank, on: usize, slot: usize) -> Result<Place, WorldError> {
    Place::segment(rank, on, slot * 4, 4)
}

#[test]
fn signals_make_a_barrier_that_resets_itself() {
    for n in 1..=4 {
        let world = World::threads(n).unwrap();
        let done = world.run(|rank| {
            let x = rank.symm_zeros::<u32>(n)?;
            for turn in 1..=50 {
                for peer in 0..n {
                    x.write_to(peer, rank.rank(), &[turn])?;
                    rank.put_signal(&slot(rank, peer, rank.rank())?, None)?;
                }
                for peer in 0..n {
                    rank.wait_signal(&slot(rank, rank.rank(), peer)?, None)?;
                }
                assert_eq!(x.read()?, vec![turn; n]);
                rank.barrier()?;
            }
            assert_eq!(rank.signal_pad().raised()?, []);
            Ok::<_, WorldError>(())
        });
        done.unwrap();
    }
}

#[test]
fn a_signal_that_nobody_sends_ends_the_world() {
    let world = World::threads(2).unwrap();
    let error = world.run(|rank| {
        if rank.rank() == 1 {
            rank.wait_signal(&slot(rank, 1, 0)?, Some(Duration::from_millis(100)))?;
        }
        // It computes.
        while rank.check().is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        rank.barrier()
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("rank 1 waited 100 ms for the signal at offset 0 of rank 1 to come"), "{text}");
}

#[test]
fn only_aligned_words_are_slots() {
    let world = World::threads(1).unwrap();
    let rank = &world.local_ranks()[0];
    for (offset, bytes) in [(0, 8), (2, 4)] {
        let place = Place::segment(rank, 0, offset, bytes).unwrap();
        assert!(matches!(rank.put_signal(&place, None), Err(WorldError::Argument(_))));
    }
}

#[test]
fn streams_copy_memory_of_others() {
    let options = WorldOptions { heap_bytes: 1 << 20, ..WorldOptions::default() };
    let world = World::threads_with(1, &options).unwrap();
    let rank = &world.local_ranks()[0];
    let symm = rank.symm_zeros::<u8>(16).unwrap();
    let bytes: Arc<Box<[u8]>> = Arc::new((0..16).collect());
    let stream = rank.stream().unwrap();
    // SAFETY: the place keeps the box, and is only read from.
    let source =
        unsafe { Place::host(bytes.as_ptr().expose_provenance(), 16, Arc::clone(&bytes) as Arc<dyn Send + Sync>) };
    stream.copy(Place::symm(&symm, 0, ..).unwrap(), source).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(symm.read().unwrap(), **bytes);
}
