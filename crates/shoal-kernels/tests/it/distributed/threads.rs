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

/// A kernel in a world of this size.
fn in_a_world_of(ranks: usize, library: &Library, item: &RankItem, sizes: &[usize]) {
    let world = World::threads_with(ranks, &options_for(ranks)).expect("a world");
    let done = world.run(|rank| hold(library, rank, item, sizes, DType::F32));
    done.unwrap_or_else(|error| panic!("{} on {ranks} ranks: {error}", item.name));
}

#[test]
fn worlds_of_odd_sizes_run_every_kernel() {
    let library = library(Device::cpu());
    for (ranks, item) in [5, 13].into_iter().flat_map(|ranks| catalog().iter().map(move |item| (ranks, item))) {
        in_a_world_of(ranks, &library, item, item.tests.last().expect("a size"));
    }
}

#[test]
fn the_largest_world_runs_every_kernel() {
    let library = library(Device::cpu());
    // Most ranks have nothing to add up.
    catalog().iter().for_each(|item| in_a_world_of(64, &library, item, item.tests[1]));
}

macro_rules! kernels {
    ($($name:ident)*) => {
        $( #[test] fn $name() { everywhere(stringify!($name)); } )*
        pub(super) const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

every_kernel!(kernels);
