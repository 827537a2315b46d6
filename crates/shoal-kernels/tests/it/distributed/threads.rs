//! Ranks that are threads.

use shoal::world::World;
use shoal::{Device, Error};
use shoal_kernels::distributed::{RankItem, find};

use super::{WORLDS, hold, library, options};

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

macro_rules! kernels {
    ($($name:ident)*) => {
        $( #[test] fn $name() { everywhere(stringify!($name)); } )*
        pub(super) const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

kernels! {
    one_shot_all_reduce one_shot_all_reduce_bias two_shot_all_reduce two_shot_all_reduce_in_place
    two_shot_all_reduce_bias one_shot_all_reduce_bias_rms_norm two_shot_all_reduce_bias_rms_norm
    all_gather_push all_gather_pull all_gather_ring all_gather_2d all_gather_with_progress
    reduce_scatter all_to_all broadcast ring_put
    gemm_one_shot_all_reduce gemm_reduce_scatter gemm_reduce_scatter_ce_persistent all_gather_matmul
    all_gather_matmul_pull all_gather_then_matmul
    all_gather_put all_gather_put_ring broadcast_put reduce_scatter_put all_reduce_put all_to_all_put
}
