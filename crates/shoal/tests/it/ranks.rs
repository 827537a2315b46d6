//! Kernels of several ranks, as programs launch them.

use std::time::Duration;

use shoal::world::{World, WorldError, WorldOptions};
use shoal::{CompileOptions, Device, Error, Kernel, LaunchOptions, Module, args};

const TEXT: &str = "
import shoal
import shoal.language as tl
import triton_dist.language as dl

@shoal.jit
def ring(x, flags, n, BLOCK: tl.constexpr):
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(dl.symm_at(x, peer) + at, rank * 100 + at, mask=at < n)
    dl.notify(flags, peer, sig_op=\"add\", comm_scope=\"intra_node\")
    token = dl.wait(flags, 1, \"sys\", \"acquire\")
    mine = dl.consume_token(x + at, token)
    tl.store(x + at, tl.load(mine, mask=at < n) + 1, mask=at < n)

@shoal.jit
def forget(flags):
    dl.wait(flags, 2, \"sys\", \"acquire\", waitValue=5)

@shoal.jit
def astray(x, rank):
    tl.store(dl.symm_at(x, rank), 1)

@shoal.jit
def carried(x, flags, n):
    token = dl.wait(flags, 1, \"sys\", \"acquire\", waitValue=0)
    for i in range(n):
        if i > 1:
            token = dl.wait(flags, 1, \"gpu\", \"relaxed\", waitValue=0)
    tl.store(x, tl.load(dl.consume_token(x, token)) + 1)
";

fn kernel(name: &str) -> Kernel {
    Module::from_source("ranks.py", TEXT).and_then(|module| module.kernel(name)).expect("a kernel").on(Device::cpu())
}

fn world(ranks: usize) -> World {
    let options = WorldOptions { heap_bytes: 1 << 20, ..WorldOptions::default() };
    World::threads_with(ranks, &options).expect("a world")
}

#[test]
fn ranks_write_to_their_neighbours() {
    for options in [CompileOptions::default(), CompileOptions { debug: true, ..CompileOptions::default() }] {
        let ring = kernel("ring").with(options);
        for ranks in [1, 2, 3, 8] {
            let results = world(ranks).run(|rank| -> Result<Vec<i32>, Error> {
                let x = rank.symm_zeros::<i32>(5)?;
                let flags = rank.symm_zeros::<i64>(1)?;
                ring.clone().on_rank(rank)?.launch(1, args!(&x, &flags, 5, BLOCK = 8))?;
                Ok(x.read())
            });
            for (rank, x) in results.expect("the ring goes round").iter().enumerate() {
                let from = ((rank + ranks - 1) % ranks) as i32;
                assert_eq!(*x, [1, 2, 3, 4, 5].map(|i| from * 100 + i), "rank {rank} of {ranks}");
            }
        }
    }
}

#[test]
fn a_deadlock_tells_what_every_rank_waits_for() {
    let forget =
        kernel("forget").launching(LaunchOptions { timeout: Some(Duration::from_millis(200)), ..Default::default() });
    let error = world(3).run(|rank| -> Result<(), Error> {
        let flags = rank.symm_zeros::<i64>(2)?;
        flags.write(&[5, rank.rank() as i64])?;
        forget.clone().on_rank(rank)?.launch(1, args!(&flags))
    });
    let text = match error.expect_err("nobody signals") {
        WorldError::Rank { source, .. } => source.to_string(),
        other => panic!("{other}"),
    };
    for rank in 0..3 {
        assert!(text.contains(&format!("rank {rank}: kernel `forget` is stuck")), "{text}");
        assert!(text.contains(&format!("of the symmetric heap of rank {rank}), where {rank} is")), "{text}");
    }
    assert!(text.contains("program (0, 0, 0) waits at ranks.py:19:5 (wait) for 5 at 0x"), "{text}");
}

#[test]
fn places_that_do_not_exist_fail_the_launch_in_words() {
    let astray = kernel("astray");
    let world = world(1);
    let fails = |symmetric: bool, number: i32| {
        let texts = world.run(|rank| -> Result<String, Error> {
            let (x, mut own) = (rank.symm_zeros::<i32>(1)?, [0i32]);
            let astray = astray.clone().on_rank(rank)?;
            let args = if symmetric { args!(&x, number) } else { args!(&mut own[..], number) };
            Ok(astray.launch(1, args).expect_err("no such place").to_string())
        });
        texts.expect("no failure of the world").remove(0)
    };
    assert!(fails(true, 3).contains("there is no rank 3; the world has 1"));
    assert!(fails(true, -1).contains("there is no rank -1; the world has 1"));
    let outside = fails(false, 0);
    assert!(outside.contains("is not in the symmetric heap of rank 0"), "{outside}");
}

#[test]
fn tokens_go_through_branches_and_loops() {
    let results = world(1).run(|rank| -> Result<Vec<i32>, Error> {
        let x = rank.symm_zeros::<i32>(1)?;
        let flags = rank.symm_zeros::<i64>(1)?;
        kernel("carried").on_rank(rank)?.launch(1, args!(&x, &flags, 4))?;
        Ok(x.read())
    });
    assert_eq!(results.expect("no failure"), [[1]]);
}

#[test]
fn a_kernel_of_ranks_needs_a_world_and_code() {
    let mut x = vec![0i32; 1];
    let error = kernel("astray").launch(1, args!(&mut x, 0)).expect_err("no world");
    assert!(error.to_string().contains("launched outside of a world"), "{error}");
    let refused = world(1).run(|rank| -> Result<String, Error> {
        let x = rank.symm_zeros::<i32>(1)?;
        let astray = kernel("astray").on(Device::Interpreter).on_rank(rank)?;
        Ok(astray.launch(1, args!(&x, 0)).expect_err("the interpreter is no rank").to_string())
    });
    assert!(refused.expect("no failure")[0].contains("does not take part in a world"));
}

#[test]
fn a_rank_that_fails_ends_the_waits_of_the_others() {
    let forget = kernel("forget");
    let error = world(2).run(|rank| -> Result<(), Error> {
        let flags = rank.symm_zeros::<i64>(2)?;
        if rank.rank() == 1 {
            return Err(WorldError::Argument("out of order".into()).into());
        }
        forget.clone().on_rank(rank)?.launch(1, args!(&flags))
    });
    let text = error.expect_err("a rank fails").to_string();
    assert!(text.contains("rank 1") && text.contains("out of order"), "{text}");
}
