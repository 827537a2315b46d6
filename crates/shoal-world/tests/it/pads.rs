//! Signal pads.

use std::sync::atomic::Ordering;

use shoal_world::WorldError;

use crate::worlds::threads;

#[test]
fn pads_are_zero_and_shared() {
    threads(4)
        .run(|rank| {
            let pad = rank.signal_pad();
            assert_eq!((pad.slots(), pad.raised()?), (256, vec![]));
            rank.barrier()?;
            // Every rank signals every rank, then takes the signals back, as kernels do.
            for peer in 0..4 {
                let slot = pad.slot(peer, 8 + rank.rank())?;
                slot.compare_exchange(0, 1, Ordering::Release, Ordering::Relaxed).unwrap();
            }
            rank.barrier()?;
            assert_eq!(pad.raised()?, [(8, 1), (9, 1), (10, 1), (11, 1)]);
            for source in 0..4 {
                pad.slot(rank.rank(), 8 + source)?.store(0, Ordering::Relaxed);
            }
            assert_eq!(pad.raised()?, []);
            // The pad lies in the segment: the same offset on every rank.
            assert_eq!(rank.symm_at(pad.address_at(rank.rank())?, 2)?, pad.address_at(2)?);
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn launches_that_need_more_slots_are_refused() {
    threads(3)
        .run(|rank| {
            let pad = rank.signal_pad();
            pad.check(85, 3)?;
            let error = pad.check(86, 3).unwrap_err().to_string();
            let expected = "the signal pad has 256 slots, but 86 programs on 3 ranks need 258; launch fewer programs, or \
                            make the pad larger with `WorldOptions::pad_slots` or SHOAL_PAD_SLOTS";
            assert_eq!(error, expected);
            pad.check(usize::MAX, usize::MAX).unwrap_err();
            pad.slot(0, 256).unwrap_err();
            Ok::<_, WorldError>(())
        })
        .unwrap();
}
