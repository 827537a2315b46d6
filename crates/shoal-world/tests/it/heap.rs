//! The symmetric heap.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use half::bf16;
use shoal_world::{Compare, Place, Rank, Symm, Value, WorldError};

use crate::worlds::threads;

/// Every rank writes into every rank; used on all engines.
pub(crate) fn everybody_writes_everywhere(rank: &Rank) -> Result<(), WorldError> {
    let n = rank.size();
    let inbox = rank.symm_zeros::<u64>(n)?;
    for peer in 0..n {
        inbox.write_to(peer, rank.rank(), &[(rank.rank() * 1000 + peer) as u64 + 1])?;
    }
    rank.barrier()?;
    let expected: Vec<u64> = (0..n).map(|from| (from * 1000 + rank.rank()) as u64 + 1).collect();
    assert_eq!(inbox.read()?, expected);
    let neighbour = (rank.rank() + 1) % n;
    assert_eq!(inbox.read_from(neighbour, 0..1)?, [neighbour as u64 + 1]);
    // The same place, found by address.
    match rank.base(neighbour) {
        Ok(_) => assert_eq!(rank.symm_at(inbox.address() + 8, neighbour)?, inbox.address_at(neighbour)? + 8),
        Err(_) => {
            let said = rank.symm_at(inbox.address() + 8, neighbour).unwrap_err().to_string();
            assert_eq!(said, format!("rank {neighbour} cannot be reached by load and store; use put and get"));
        }
    }
    rank.barrier()?;
    inbox.free()
}

#[test]
fn memory_is_seen_by_all_ranks() {
    for n in [1, 2, 3, 7, 64] {
        threads(n).run(everybody_writes_everywhere).unwrap();
    }
}

#[test]
fn offsets_are_equal_and_aligned() {
    let offsets = threads(4)
        .run(|rank| {
            let a = rank.symm_empty::<u8>(1)?;
            let b = rank.symm_empty_aligned::<bf16>(3, 4096)?;
            let c = rank.symm_empty::<f64>(0)?;
            assert!(b.address().is_multiple_of(4096));
            assert!(c.is_empty() && c.read()?.is_empty());
            Ok::<_, WorldError>([a.offset(), b.offset(), c.offset()])
        })
        .unwrap();
    assert!(offsets.iter().all(|of| *of == offsets[0] && of[0] != of[2]), "{offsets:?}");
}

#[test]
fn ranks_that_ask_for_different_sizes_are_told_so() {
    let said = threads(3)
        .run(|rank| {
            let free = rank.free_bytes();
            let error = rank.symm_empty::<f32>(if rank.rank() == 1 { 8 } else { 16 }).unwrap_err();
            // Nothing was allocated, and the next allocation is in step again.
            assert_eq!(rank.free_bytes(), free);
            rank.symm_empty::<f32>(1)?;
            Ok::<_, WorldError>(error.to_string())
        })
        .unwrap();
    let expected = "the members of the world disagree on a symmetric allocation: \
                    rank 1: 32 bytes, aligned to 4; ranks 0, 2: 64 bytes, aligned to 4";
    assert_eq!(said, [expected; 3]);
}

#[test]
fn a_heap_that_is_full_names_sizes() {
    threads(2)
        .run(|rank| {
            let kept = rank.symm_empty::<u8>(1 << 19)?;
            let error = rank.symm_empty::<u8>((1 << 19) + 1).unwrap_err().to_string();
            let expected = "the symmetric heap has no room for 524289 bytes (aligned to 1): 524288 of 1048576 bytes are free \
                            on each rank, the largest block has 524288; make the heap larger with \
                            `heap_bytes` or SHOAL_HEAP_BYTES";
            assert_eq!(error, expected);
            drop(kept);
            let error = rank.symm_empty::<u64>(usize::MAX / 4).unwrap_err().to_string();
            assert!(error.contains("more than there are addresses"), "{error}");
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn freed_memory_is_used_again() {
    threads(3)
        .run(|rank| {
            let whole = rank.free_bytes();
            for round in 0..50 {
                let a = rank.symm_empty::<u8>(400_000)?;
                let b = rank.symm_zeros::<u8>(600_000)?;
                assert!(b.read()?.iter().all(|&byte| byte == 0), "round {round}");
                b.fill(0xab)?;
                match round % 3 {
                    0 => a.free()?,
                    // Dropped in another order on each rank, and found out at the next allocation.
                    1 if rank.rank() == 1 => drop((a, b)),
                    1 => drop((b, a)),
                    _ => drop(a),
                }
            }
            rank.symm_empty::<u8>(1)?.free()?;
            assert_eq!(rank.free_bytes(), whole);
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn memory_that_one_rank_still_holds_is_not_given_away() {
    threads(2)
        .run(|rank| {
            let buffer = rank.symm_zeros::<u8>(600_000)?;
            let mut held = Some(buffer);
            if rank.rank() == 0 {
                held = None;
            }
            rank.symm_empty::<u8>(600_000).unwrap_err();
            drop(held);
            rank.symm_empty::<u8>(600_000).map(drop)
        })
        .unwrap();
}

#[test]
fn what_lies_outside_is_refused() {
    threads(2)
        .run(|rank| {
            let x: Symm<u16> = rank.symm_zeros(10)?;
            let errors = [
                x.read_from(0, 3..11).unwrap_err(),
                x.write_to(1, 9, &[1, 2]).unwrap_err(),
                x.write_to(1, usize::MAX, &[1, 2]).unwrap_err(),
                x.write(&[1]).unwrap_err(),
                x.read_from(2, ..).unwrap_err(),
                rank.symm_at(0x1000, 0).unwrap_err(),
                rank.symm_empty_aligned::<u8>(1, 3).unwrap_err(),
            ];
            let errors = errors.map(|error| error.to_string());
            assert_eq!(errors[0], "elements 3..11 do not lie in a symmetric buffer of 10");
            assert_eq!(errors[3], "1 elements do not fill a symmetric buffer of 10");
            assert_eq!(errors[4], "there is no rank 2 in a world of 2");
            let expected = format!("address 0x1000 does not lie in the symmetric heap of rank {}", rank.rank());
            assert_eq!(errors[5], expected);
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn different_blocks_cannot_be_freed_together() {
    threads(2)
        .run(|rank| {
            let a = rank.symm_empty::<u8>(256)?;
            let b = rank.symm_empty::<u8>(512)?;
            let (freed, _kept) = if rank.rank() == 0 { (a, b) } else { (b, a) };
            let error = freed.free().unwrap_err().to_string();
            assert!(error.contains("disagree on what to free: rank 0: the block of 256 bytes at offset "), "{error}");
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn memory_is_dropped_while_others_are_waited_for() {
    let dropped = AtomicBool::new(false);
    threads(2)
        .run(|rank| {
            let old = rank.symm_empty::<u8>(64)?;
            if rank.rank() == 1 {
                // Rank 0 allocates and waits for this one, which comes when that has dropped what it had.
                while !dropped.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                return rank.symm_empty::<u8>(64).map(drop);
            }
            std::thread::scope(|scope| {
                let allocation = scope.spawn(|| rank.symm_empty::<u8>(64).map(drop));
                std::thread::sleep(Duration::from_millis(20));
                let free = rank.free_bytes();
                drop(old);
                assert_eq!(rank.free_bytes(), free, "the other rank has it still");
                dropped.store(true, Ordering::Release);
                allocation.join().expect("it allocates")
            })
        })
        .unwrap();
}

#[test]
fn streams_keep_memory_that_is_dropped() {
    threads(1)
        .run(|rank| {
            let word = rank.symm_zeros::<u32>(1)?;
            let target = rank.symm_zeros::<u32>(8)?;
            let source = rank.symm_zeros::<u32>(8)?;
            source.fill(7)?;
            let (offset, stream) = (source.offset(), rank.stream()?);
            stream.wait_value(Place::symm(&word, 0, ..)?, Compare::Equal, Value::U32(1))?;
            stream.copy(Place::symm(&target, 0, ..)?, Place::symm(&source, 0, ..)?)?;
            drop(source);
            let other = rank.symm_zeros::<u32>(8)?;
            assert_ne!(other.offset(), offset, "the copy has yet to read it");
            word.fill(1)?;
            stream.synchronize()?;
            assert_eq!(target.read()?, [7; 8]);
            drop(stream);
            assert_eq!(rank.symm_zeros::<u32>(8)?.offset(), offset);
            Ok::<_, WorldError>(())
        })
        .unwrap();
}
