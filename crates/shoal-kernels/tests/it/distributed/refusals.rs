//! What is refused before anything is launched.

use shoal::world::{Rank, World, WorldOptions};
use shoal::{Device, Error};
use shoal_kernels::distributed::all_gather::{all_gather_2d, all_gather_push, all_gather_ring};
use shoal_kernels::distributed::all_reduce::{Bias, one_shot_all_reduce, two_shot_all_reduce_bias};
use shoal_kernels::distributed::all_to_all::{Exchange, all_to_all};
use shoal_kernels::distributed::broadcast::broadcast;
use shoal_kernels::distributed::gemm_all_reduce::{Sizes, gemm_one_shot_all_reduce};
use shoal_kernels::distributed::reduce_scatter::reduce_scatter;
use shoal_kernels::distributed::{Communicator, find};

use super::{library, options};

/// What both ranks of a world are told.
fn told(options: &WorldOptions, run: impl Fn(&Communicator<'_>, &Rank) -> Result<(), Error> + Sync) -> String {
    let library = library(Device::cpu());
    let world = World::threads_with(2, options).expect("a world");
    let texts = world.run(|rank| -> Result<String, Error> {
        let refused = Communicator::with_programs(&library, rank, 2).and_then(|comm| run(&comm, rank));
        rank.barrier()?;
        Ok(refused.expect_err("it is refused").to_string())
    });
    let texts = texts.expect("no failure of the world");
    assert_eq!(texts[0], texts[1]);
    texts.into_iter().next().unwrap_or_default()
}

#[test]
fn sizes_that_do_not_fit() {
    let options = options();
    let text = told(&options, |comm, rank| one_shot_all_reduce(comm, &rank.symm_zeros::<f32>(8)?, &mut [0.0; 7]));
    assert_eq!(text, "`out` has 7 elements, but needs 8");
    let text = told(&options, |comm, rank| {
        let shared = rank.symm_zeros::<f32>(5)?;
        two_shot_all_reduce_bias(comm, &[0.0; 6], Bias::None, &shared, &mut [0.0; 6])
    });
    assert_eq!(text, "`shared` has 5 elements, but needs at least 6");
    let text = told(&options, |comm, rank| {
        let shared = rank.symm_zeros::<f32>(6)?;
        two_shot_all_reduce_bias(comm, &[0.0; 6], Bias::Columns(&[0.0; 4]), &shared, &mut [0.0; 6])
    });
    assert_eq!(text, "6 elements do not make rows of 4 columns, which `bias` has");
    let text = told(&options, |comm, rank| all_gather_push(comm, &[0.0f32; 3], &rank.symm_zeros(7)?));
    assert_eq!(text, "`out` has 7 elements, but needs 6");
    let text = told(&options, |comm, rank| reduce_scatter(comm, &rank.symm_zeros::<f32>(4)?, &mut [0.0; 3]));
    assert_eq!(text, "`out` has 3 elements, but needs 2");
    let text = told(&options, |comm, rank| {
        let sizes = Sizes { m: 2, n: 3, k: 4 };
        gemm_one_shot_all_reduce(comm, sizes, (&[0.0f32; 8], &[0.0; 11]), &rank.symm_zeros(6)?, &mut [0.0; 6])
    });
    assert_eq!(text, "`b` has 11 elements, but needs 12");
}

#[test]
fn ranks_and_meshes_that_do_not_exist() {
    let text = told(&options(), |comm, rank| broadcast(comm, &rank.symm_zeros::<f32>(4)?, 2));
    assert_eq!(text, "there is no rank 2 in a world of 2");
    let text = told(&options(), |comm, rank| all_gather_2d(comm, 3, &[0.0f32; 2], &rank.symm_zeros(4)?));
    assert_eq!(text, "2 ranks do not fill a mesh of 3 columns");
}

#[test]
fn pads_that_are_too_small() {
    let small = WorldOptions { pad_slots: 3, ..options() };
    let text = told(&small, |_, _| Ok(()));
    assert!(text.contains("3 slots") && text.contains('4'), "{text}");
    // Programs can meet, but have no slots for hops.
    let small = WorldOptions { pad_slots: 4, ..options() };
    let text = told(&small, |comm, rank| all_gather_ring(comm, &vec![0.0f32; 9000], &rank.symm_zeros(18_000)?));
    assert!(text.contains("4 slots") && text.contains('8'), "{text}");
}

#[test]
fn rows_without_room() {
    let send = |comm: &Communicator<'_>, rank: &Rank, splits: &[usize], room: usize| {
        let (x, shared_splits) = (rank.symm_zeros::<f32>(12)?, rank.symm_zeros(2)?);
        let mut out = vec![0.0; room];
        all_to_all(comm, Exchange { x: &x, splits, shared_splits: &shared_splits, dim: 3, out: &mut out }).map(drop)
    };
    let text = told(&options(), |comm, rank| send(comm, rank, &[2, 3], 100));
    assert_eq!(text, "5 rows of 3 elements are sent, but `x` has 12 elements");
    let text = told(&options(), |comm, rank| send(comm, rank, &[2, 2], 9));
    assert_eq!(text, "4 rows arrived, but `out` has room for 3 of 3 elements");
}

#[test]
fn workloads_of_other_sizes() {
    let item = find("all_to_all").expect("it is there");
    let text = told(&options(), |_, rank| item.workload(rank, &[3], shoal::DType::F32).map(drop));
    assert_eq!(text, "all_to_all takes the sizes rows × dim, each at least 1, not [3]");
    let text = told(&options(), |_, rank| item.workload(rank, &[3, 3], shoal::DType::F64).map(drop));
    assert_eq!(text, "these kernels are for fp32, fp16 and bf16, not f64");
}
