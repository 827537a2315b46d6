//! All kernels of several ranks, with sizes to show and to test them at.

use shoal::half::{bf16, f16};
use shoal::world::{Rank, WorldError};
use shoal::{DType, Error};

use super::all_gather::{self, AllGather};
use super::all_gather_matmul::{AllGatherMatmul, Order};
use super::all_reduce::{self, AllReduce};
use super::all_reduce_rms_norm::{self, AllReduceRmsNorm};
use super::all_to_all::AllToAll;
use super::broadcast::{self, Sent};
use super::gather_with_progress::CopiedAllGather;
use super::gemm_all_reduce::{GemmAllReduce, Sizes};
use super::gemm_reduce_scatter::GemmReduceScatter;
use super::puts::{self, Put, PutRows};
use super::reduce_scatter::ReduceScatter;
use super::workload::RankWorkload;

/// Makes a rank's random data of a size and a type.
type Build = fn(&Rank, &[usize], DType) -> Result<Box<dyn RankWorkload>, Error>;

/// A kernel of several ranks.
#[derive(Debug)]
pub struct RankItem {
    /// Its name.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// What its sizes mean.
    pub dims: &'static [&'static str],
    /// A size that takes a noticeable time.
    pub show: &'static [usize],
    /// Small and odd sizes that tests go through.
    pub tests: &'static [&'static [usize]],
    /// Whether all ranks have the same bits afterwards.
    pub is_identical: bool,
    /// Whether it runs on ranks that loads and stores do not reach, those of several hosts.
    pub runs_between_hosts: bool,
    build: Build,
}

impl RankItem {
    /// The element types it is tested with.
    pub const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

    /// A rank's random data of a size. Collective over the world.
    ///
    /// # Errors
    /// When the number of sizes is wrong, the type is none of [`RankItem::DTYPES`], or there is not enough memory.
    pub fn workload(&self, rank: &Rank, sizes: &[usize], dtype: DType) -> Result<Box<dyn RankWorkload>, Error> {
        self.check_sizes(sizes)?;
        (self.build)(rank, sizes, dtype)
    }

    /// Refuses sizes that it has no data of.
    ///
    /// # Errors
    /// When the number of sizes is wrong, or one is 0.
    pub fn check_sizes(&self, sizes: &[usize]) -> Result<(), Error> {
        if sizes.len() == self.dims.len() && !sizes.contains(&0) {
            return Ok(());
        }
        let dims = self.dims.join(" × ");
        let text = format!("{} takes the sizes {dims}, each at least 1, not {sizes:?}", self.name);
        Err(WorldError::Argument(text).into())
    }
}

/// All kernels of several ranks.
#[must_use]
pub fn catalog() -> &'static [RankItem] {
    CATALOG
}

/// The kernel of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static RankItem> {
    CATALOG.iter().find(|item| item.name == name)
}

/// `|rank, s, T| …` for the element type that is asked for at run time.
macro_rules! build {
    (|$rank:ident, $s:ident, $t:ident| $make:expr) => {
        |$rank, $s, dtype| {
            macro_rules! of {
                ($type:ty) => {{
                    type $t = $type;
                    Ok(Box::new($make?))
                }};
            }
            match dtype {
                DType::F32 => of!(f32),
                DType::F16 => of!(f16),
                DType::BF16 => of!(bf16),
                other => {
                    Err(WorldError::Argument(format!("these kernels are for fp32, fp16 and bf16, not {other}")).into())
                }
            }
        }
    };
}

const LENGTHS: &[&[usize]] = &[&[1], &[37], &[4096], &[9001]];
const PRODUCTS: &[&[usize]] = &[&[1, 1, 1], &[37, 65, 29], &[130, 40, 17]];

fn sizes(s: &[usize]) -> Sizes {
    Sizes { m: s[0], n: s[1], k: s[2] }
}

static CATALOG: &[RankItem] = &[
    RankItem {
        name: "one_shot_all_reduce",
        doc: "the sum, read from everybody",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::OneShot, s[0])),
    },
    RankItem {
        name: "one_shot_all_reduce_little",
        doc: "the sum, sent without meetings",
        dims: &["n"],
        show: &[1 << 14],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::OneShotLittle, s[0])),
    },
    RankItem {
        name: "one_shot_all_reduce_bias",
        doc: "the same plus a bias",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::OneShotBias, s[0])),
    },
    RankItem {
        name: "two_shot_all_reduce",
        doc: "the sum, in parts",
        dims: &["n"],
        show: &[1 << 20],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::TwoShot, s[0])),
    },
    RankItem {
        name: "two_shot_all_reduce_in_place",
        doc: "the sum in parts, in place",
        dims: &["n"],
        show: &[1 << 20],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::TwoShotInPlace, s[0])),
    },
    RankItem {
        name: "two_shot_all_reduce_little",
        doc: "the sum in parts, without meetings",
        dims: &["n"],
        show: &[1 << 14],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::TwoShotLittle, s[0])),
    },
    RankItem {
        name: "two_shot_all_reduce_bias",
        doc: "the sum in parts, plus a bias",
        dims: &["n"],
        show: &[1 << 20],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduce::<T>::new(rank, all_reduce::Form::TwoShotBias, s[0])),
    },
    RankItem {
        name: "one_shot_all_reduce_bias_rms_norm",
        doc: "RMS norm of the sum",
        dims: &["rows", "cols"],
        show: &[64, 4096],
        tests: &[&[1, 2], &[5, 100], &[9, 777]],
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduceRmsNorm::<T>::new(rank, all_reduce_rms_norm::Form::OneShot, s[0], s[1])),
    },
    RankItem {
        name: "two_shot_all_reduce_bias_rms_norm",
        doc: "RMS norm of the sum, in parts",
        dims: &["rows", "cols"],
        show: &[64, 4096],
        tests: &[&[1, 2], &[5, 100], &[9, 777]],
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllReduceRmsNorm::<T>::new(rank, all_reduce_rms_norm::Form::TwoShot, s[0], s[1])),
    },
    RankItem {
        name: "all_gather_push",
        doc: "everybody's elements, written",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllGather::<T>::new(rank, all_gather::Form::Push, s[0])),
    },
    RankItem {
        name: "all_gather_pull",
        doc: "everybody's elements, read",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllGather::<T>::new(rank, all_gather::Form::Pull, s[0])),
    },
    RankItem {
        name: "all_gather_ring",
        doc: "the same around a ring",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllGather::<T>::new(rank, all_gather::Form::Ring, s[0])),
    },
    RankItem {
        name: "all_gather_2d",
        doc: "the same in a mesh",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllGather::<T>::new(rank, all_gather::Form::TwoDimensional, s[0])),
    },
    RankItem {
        name: "all_gather_with_progress",
        doc: "the same by copies",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: true,
        build: build!(|rank, s, T| CopiedAllGather::<T>::new(rank, s[0])),
    },
    RankItem {
        name: "reduce_scatter",
        doc: "a part of the sum",
        dims: &["n"],
        show: &[1 << 20],
        tests: LENGTHS,
        is_identical: false,
        runs_between_hosts: false,
        build: build!(|rank, s, T| ReduceScatter::<T>::new(rank, s[0])),
    },
    RankItem {
        name: "all_to_all",
        doc: "rows for everybody, ragged",
        dims: &["rows", "dim"],
        show: &[512, 256],
        tests: &[&[1, 1], &[7, 33], &[40, 300]],
        is_identical: false,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllToAll::<T>::new(rank, s[0], s[1])),
    },
    RankItem {
        name: "broadcast",
        doc: "one rank's elements",
        dims: &["n"],
        show: &[1 << 20],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| Sent::<T>::new(rank, broadcast::Form::Broadcast, s[0])),
    },
    RankItem {
        name: "ring_put",
        doc: "the left neighbour's elements",
        dims: &["n"],
        show: &[1 << 20],
        tests: LENGTHS,
        is_identical: false,
        runs_between_hosts: false,
        build: build!(|rank, s, T| Sent::<T>::new(rank, broadcast::Form::RingPut, s[0])),
    },
    RankItem {
        name: "gemm_one_shot_all_reduce",
        doc: "a @ b, summed",
        dims: &["m", "n", "k"],
        show: &[256, 256, 256],
        tests: PRODUCTS,
        is_identical: true,
        runs_between_hosts: false,
        build: build!(|rank, s, T| GemmAllReduce::<T>::new(rank, sizes(s))),
    },
    RankItem {
        name: "gemm_reduce_scatter",
        doc: "some rows of a @ b, summed",
        dims: &["m", "n", "k"],
        show: &[256, 256, 256],
        tests: PRODUCTS,
        is_identical: false,
        runs_between_hosts: false,
        build: build!(|rank, s, T| GemmReduceScatter::<T>::fused(rank, sizes(s))),
    },
    RankItem {
        name: "gemm_reduce_scatter_ce_persistent",
        doc: "the same with copies beside",
        dims: &["m", "n", "k"],
        show: &[256, 256, 256],
        tests: PRODUCTS,
        is_identical: false,
        runs_between_hosts: true,
        build: build!(|rank, s, T| GemmReduceScatter::<T>::copied(rank, sizes(s))),
    },
    RankItem {
        name: "all_gather_matmul",
        doc: "all rows @ b, as they come",
        dims: &["m", "n", "k"],
        show: &[256, 256, 1024],
        tests: PRODUCTS,
        is_identical: false,
        runs_between_hosts: true,
        build: build!(|rank, s, T| AllGatherMatmul::<T>::new(rank, Order::Overlapped, sizes(s))),
    },
    RankItem {
        name: "all_gather_matmul_pull",
        doc: "all rows @ b, where they are",
        dims: &["m", "n", "k"],
        show: &[256, 256, 1024],
        tests: PRODUCTS,
        is_identical: false,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllGatherMatmul::<T>::new(rank, Order::Pulled, sizes(s))),
    },
    RankItem {
        name: "all_gather_matmul_pull_kept",
        doc: "the same, and the rows",
        dims: &["m", "n", "k"],
        show: &[256, 256, 1024],
        tests: PRODUCTS,
        is_identical: false,
        runs_between_hosts: false,
        build: build!(|rank, s, T| AllGatherMatmul::<T>::new(rank, Order::PulledAndKept, sizes(s))),
    },
    RankItem {
        name: "all_gather_then_matmul",
        doc: "the same, one after the other",
        dims: &["m", "n", "k"],
        show: &[256, 256, 1024],
        tests: PRODUCTS,
        is_identical: false,
        runs_between_hosts: true,
        build: build!(|rank, s, T| AllGatherMatmul::<T>::new(rank, Order::GatherFirst, sizes(s))),
    },
    RankItem {
        name: "all_gather_put",
        doc: "everybody's elements, put",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: true,
        build: build!(|rank, s, T| Put::<T>::new(rank, puts::Form::AllGather, s[0])),
    },
    RankItem {
        name: "all_gather_put_ring",
        doc: "the same around a ring",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: true,
        build: build!(|rank, s, T| Put::<T>::new(rank, puts::Form::AllGatherRing, s[0])),
    },
    RankItem {
        name: "broadcast_put",
        doc: "the last rank's elements, put",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: true,
        build: build!(|rank, s, T| Put::<T>::new(rank, puts::Form::Broadcast, s[0])),
    },
    RankItem {
        name: "reduce_scatter_put",
        doc: "a part of the sum, put",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: false,
        runs_between_hosts: true,
        build: build!(|rank, s, T| Put::<T>::new(rank, puts::Form::ReduceScatter, s[0])),
    },
    RankItem {
        name: "all_reduce_put",
        doc: "the sum in parts, put",
        dims: &["n"],
        show: &[1 << 18],
        tests: LENGTHS,
        is_identical: true,
        runs_between_hosts: true,
        build: build!(|rank, s, T| Put::<T>::new(rank, puts::Form::AllReduce, s[0])),
    },
    RankItem {
        name: "all_to_all_put",
        doc: "rows for everybody, put",
        dims: &["rows", "dim"],
        show: &[512, 256],
        tests: &[&[1, 1], &[7, 33], &[40, 300]],
        is_identical: false,
        runs_between_hosts: true,
        build: build!(|rank, s, T| PutRows::<T>::new(rank, s[0], s[1])),
    },
];
