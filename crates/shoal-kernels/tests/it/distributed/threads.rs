//! Ranks that are threads.

use shoal::world::World;
use shoal::{DType, Device, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::{RankItem, catalog, find};

use super::{WORLDS, hold, library, options, options_for};

/// All sizes and types of a kernel, in worlds of all sizes.
fn everywhere(name: &str) {
    let item = find(name).unwrap_or_else(|| panic!("{name} is in the catalog"));
    let library = library(Device::cpu());
    for ranks in WORLDS {
        let world = World::threads_with(ranks, &options()).expect("a world");
        let done = world.run(|rank| -> Result<(), Error> {
            for sizes in item.tests {
                for dtype in RankItem::DTYPES {
                    hold(&library, rank, item, sizes, dtype)?;
                }
            }
            Ok(())
        });
        done.unwrap_or_else(|error| panic!("{name} on {ranks} ranks: {error}"));
    }
}

/// A kernel at its last size, in a world of this size.
fn in_a_world_of(ranks: usize, library: &Library, item: &RankItem) {
    let world = World::threads_with(ranks, &options_for(ranks)).expect("a world");
    let sizes = item.tests.last().expect("a size");
    let done = world.run(|rank| hold(library, rank, item, sizes, DType::F32));
    done.unwrap_or_else(|error| panic!("{} on {ranks} ranks: {error}", item.name));
}

#[test]
fn worlds_of_five_and_seven_run_every_kernel() {
    let library = library(Device::cpu());
    for ranks in [5, 7] {
        catalog().iter().for_each(|item| in_a_world_of(ranks, &library, item));
    }
}

#[test]
#[ignore = "64 ranks take long on few cores; run on demand"]
fn the_largest_world_runs_kernels_of_every_kind() {
    let library = library(Device::cpu());
    for name in ["one_shot_all_reduce", "two_shot_all_reduce", "all_gather_ring", "all_to_all", "all_gather_matmul"] {
        in_a_world_of(64, &library, find(name).expect("it is in the catalog"));
    }
}

macro_rules! kernels {
    ($($name:ident)*) => {
        $( #[test] fn $name() { everywhere(stringify!($name)); } )*
        pub(super) const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

kernels! {
    one_shot_all_reduce one_shot_all_reduce_little one_shot_all_reduce_bias
    two_shot_all_reduce two_shot_all_reduce_in_place two_shot_all_reduce_little two_shot_all_reduce_bias
    one_shot_all_reduce_bias_rms_norm two_shot_all_reduce_bias_rms_norm
    all_gather_push all_gather_pull all_gather_ring all_gather_2d all_gather_with_progress
    reduce_scatter all_to_all broadcast ring_put
    gemm_one_shot_all_reduce gemm_reduce_scatter gemm_reduce_scatter_ce_persistent all_gather_matmul
    all_gather_matmul_pull all_gather_then_matmul
    all_gather_put all_gather_put_ring broadcast_put reduce_scatter_put all_reduce_put all_to_all_put
}
