//! The interpreter against native code, and against the references.

use shoal::world::{Rank, World};
use shoal::{Device, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, catalog};

use super::{PROGRAMS, WORLDS, hold, library, options};

/// What a rank's outputs are after a run.
fn found(library: &Library, rank: &Rank, item: &RankItem, at: usize) -> Result<Vec<Vec<u64>>, Error> {
    let comm = Communicator::with_programs(library, rank, PROGRAMS)?;
    let dtype = RankItem::DTYPES[at % RankItem::DTYPES.len()];
    let mut workload = item.workload(rank, item.tests[1], dtype)?;
    workload.reset()?;
    workload.run(&comm)?;
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect();
    let found = workload.outputs()?.into_iter().map(|output| bits(output.found)).collect();
    rank.barrier()?;
    Ok(found)
}

/// Whether native code may round in another order: products and sums over a tile.
fn rounds_otherwise(item: &RankItem) -> bool {
    ["gemm", "matmul", "norm"].iter().any(|part| item.name.contains(part))
}

fn every_kernel(ranks: usize) {
    let (native, interpreted) = (library(Device::cpu()), library(Device::Interpreter));
    for (at, item) in catalog().iter().enumerate() {
        let world = World::threads_with(ranks, &options()).expect("a world");
        let done = world.run(|rank| -> Result<(), Error> {
            let dtype = RankItem::DTYPES[at % RankItem::DTYPES.len()];
            hold(&interpreted, rank, item, item.tests[1], dtype)?;
            if !rounds_otherwise(item) {
                let both = [found(&native, rank, item, at)?, found(&interpreted, rank, item, at)?];
                assert_eq!(both[0], both[1], "{} on rank {} of {ranks}", item.name, rank.rank());
            }
            Ok(())
        });
        done.unwrap_or_else(|error| panic!("{} on {ranks} ranks: {error}", item.name));
    }
}

#[test]
fn native_code_and_the_interpreter_agree() {
    for ranks in WORLDS {
        every_kernel(ranks);
    }
}
