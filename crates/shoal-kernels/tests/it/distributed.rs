//! Kernels of several ranks against their references: every kernel, in worlds of every kind.

/// Gives the names of all kernels to a macro that makes tests of them.
macro_rules! every_kernel {
    ($tests:ident) => {
        $tests! {
            one_shot_all_reduce one_shot_all_reduce_little one_shot_all_reduce_bias
            two_shot_all_reduce two_shot_all_reduce_in_place two_shot_all_reduce_little two_shot_all_reduce_bias
            one_shot_all_reduce_bias_rms_norm two_shot_all_reduce_bias_rms_norm
            all_gather_push all_gather_pull all_gather_ring all_gather_2d all_gather_with_progress
            reduce_scatter all_to_all broadcast ring_put
            gemm_one_shot_all_reduce gemm_reduce_scatter gemm_reduce_scatter_ce_persistent all_gather_matmul
            all_gather_matmul_pull all_gather_matmul_pull_kept all_gather_then_matmul
            all_gather_put all_gather_put_ring broadcast_put reduce_scatter_put all_reduce_put all_to_all_put
        }
    };
}

mod deadlock;
mod interpreted;
mod processes;
mod refusals;
mod stress;
mod threads;

use shoal::world::{Rank, WorldOptions};
use shoal::{CompileOptions, DType, Device, DiskCache, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, catalog};

/// Sizes of worlds.
const WORLDS: [usize; 5] = [1, 2, 3, 4, 8];

/// Fewer programs than the largest sizes have blocks, and more than one: programs of several numbers meet.
const PROGRAMS: usize = 2;

/// Runs with the same memory.
const ROUNDS: usize = 2;

fn options() -> WorldOptions {
    options_for(8)
}

/// For worlds of up to so many ranks.
fn options_for(ranks: usize) -> WorldOptions {
    WorldOptions { heap_bytes: 8 << 20, pad_slots: 4 * PROGRAMS * ranks, ..WorldOptions::default() }
}

fn library(device: Device) -> Library {
    // What this very build makes is tested, not what an earlier one has left on disk.
    Library::with(device, CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() })
}

/// Runs a kernel on a rank and holds it to its reference.
fn hold(library: &Library, rank: &Rank, item: &RankItem, sizes: &[usize], dtype: DType) -> Result<(), Error> {
    let comm = Communicator::with_programs(library, rank, PROGRAMS)?;
    let mut workload = item.workload(rank, sizes, dtype)?;
    let told = || format!("{} {sizes:?} {dtype} on rank {} of {}", item.name, rank.rank(), rank.size());
    for round in 0..ROUNDS {
        workload.reset()?;
        workload.run(&comm)?;
        for checked in workload.check()? {
            assert!(checked.passed(), "{}, round {round}: {checked:?}", told());
        }
    }
    if item.is_identical {
        let bits: Vec<u8> =
            workload.outputs()?.iter().flat_map(|o| o.found.iter().flat_map(|v| v.to_le_bytes())).collect();
        let all = rank.world().all_gather(&shoal_kernels::random::digest(&bits).to_le_bytes())?;
        assert!(all.iter().all(|theirs| *theirs == all[0]), "{}: other bits than other ranks", told());
    }
    rank.barrier()?;
    assert_eq!(comm.pad().raised()?, [], "{}: a signal is left in the pad", told());
    Ok(())
}

#[test]
fn every_kernel_is_in_the_tests() {
    let all: Vec<&str> = catalog().iter().map(|item| item.name).collect();
    assert_eq!(all, threads::TESTED);
    assert_eq!(processes::TESTED, WORLDS);
}
