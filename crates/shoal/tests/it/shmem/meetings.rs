//! Meetings of teams: who waits for whom, again and again, and what is said when somebody does not come.

use shoal::world::Mesh;
use shoal::{Error, args};
use shoal_interp::{AxisPosition, Order, Topology};

use super::harness::{Buffers, check, interpreted, kernel, on_ranks, text, world};

/// All forms of meetings.
const NAMES: [&str; 15] = [
    "barrier_all()",
    "barrier_all_block()",
    "barrier_all_warp()",
    "barrier_all_vec()",
    "barrier_all_wave()",
    "barrier_all_wg()",
    "sync_all()",
    "sync_all_block()",
    "sync_all_warp()",
    "barrier(shm.NVSHMEM_TEAM_WORLD)",
    "barrier_block(shm.NVSHMEMX_TEAM_NODE)",
    "barrier_warp(shm.NVSHMEM_TEAM_SHARED)",
    "sync(shm.NVSHMEMI_TEAM_GPU_LEADERS)",
    "team_sync_block(shm.NVSHMEM_TEAM_WORLD)",
    "team_sync_warp(shm.NVSHMEM_TEAM_WORLD)",
];

/// Everybody writes to the peer, meets, reads, meets: many times, so that nobody may be a round ahead.
#[test]
fn nobody_leaves_before_all_have_come() {
    for name in NAMES {
        let body = format!(
            "total = 0\n\
             for i in range(20):\n    \
                 tl.store(shm.remote_ptr(y, peer), me * 100 + i)\n    \
                 shm.{name}\n    \
                 total += tl.load(y)\n    \
                 shm.{name}\n\
             tl.store(x, total)"
        );
        check(&body, |rank, ranks, buffers| {
            let source = ((rank + ranks - 1) % ranks) as i32;
            buffers.y[0] = source * 100 + 19;
            buffers.x[0] = 20 * source * 100 + 190;
        });
    }
}

#[test]
fn a_world_meets_in_every_launch() {
    let kernel = kernel("for i in range(7):\n    shm.barrier_all_block()\ntl.store(y, n)");
    for _ in 0..3 {
        let results = on_ranks(&kernel, 3, 1, |_| Ok::<_, Error>(0)).expect("they meet");
        assert!(results.iter().all(|buffers| buffers.y[0] == 3));
    }
}

#[test]
fn programs_make_teams_of_their_own() {
    // Even and odd ranks, the last first.
    let body = "shm.broadcast_block(number, y, x, 3, 0)\n\
                tl.store(y + 3, shm.team_my_pe(number))\n\
                tl.store(y + 4, shm.team_n_pes(number))\n\
                tl.store(y + 5, shm.team_translate_pe(number, 0, shm.NVSHMEM_TEAM_WORLD))\n\
                tl.store(y + 6, shm.team_translate_pe(shm.NVSHMEM_TEAM_WORLD, 0, number))";
    let kernel = kernel(body);
    let members = |rank: usize| (0..5).rev().filter(|other| other % 2 == rank % 2).collect::<Vec<usize>>();
    let wanted = |rank: usize, place: i32| {
        let (team, mut buffers) = (members(rank), Buffers::of_rank(rank));
        buffers.y[..3].copy_from_slice(&Buffers::of_rank(team[0]).x[..3]);
        let of_first = team.iter().position(|&member| member == 0).map_or(-1, |place| place as i32);
        buffers.y[3..7].copy_from_slice(&[place, team.len() as i32, team[0] as i32, of_first]);
        buffers
    };
    let wanted: Vec<Buffers> = (0..5).map(|rank| wanted(rank, ((4 - rank) / 2) as i32)).collect();
    let native = on_ranks(&kernel, 5, 1, |rank| {
        let colour = (rank.rank() % 2) as u32;
        let team = rank.world().split(Some(colour), -(rank.rank() as i64))?.expect("every rank has a colour");
        Ok::<_, Error>(team.handle())
    });
    assert_eq!(native, Ok(wanted.clone()));
    let topology = |rank: usize| {
        let team = members(rank).iter().map(|&member| member as u32).collect();
        Topology::new(rank as u32, 5).with_team(6, team)
    };
    let topologies: Vec<Topology> = (0..5).map(topology).collect();
    let result = interpreted(&kernel, 5, 1, 6, Order::RoundRobin, topologies);
    assert_eq!(result, Ok(wanted));
}

/// A slot that was given back serves another team, whose members count from the start.
#[test]
fn teams_that_are_given_back_leave_nothing_behind() {
    let kernel = kernel("for i in range(5):\n    shm.team_sync_block(number)\ntl.store(y, shm.team_n_pes(number))");
    let results = on_ranks(&kernel, 3, 1, |rank| {
        let pair = rank.world().strided(0, 1, 2)?;
        if let Some(pair) = pair {
            let (x, flags) = (rank.symm_zeros::<i32>(1), 0);
            drop((x, flags, pair.free()?));
        } else {
            drop(rank.symm_zeros::<i32>(1));
        }
        let all = rank.world().split(Some(0), 0)?.expect("all ranks");
        Ok::<_, Error>(all.handle())
    });
    assert!(results.expect("they meet").iter().all(|buffers| buffers.y[0] == 3));
}

#[test]
fn axes_are_those_of_the_mesh() {
    let body = "tl.store(y, dl.rank(0))\ntl.store(y + 1, dl.num_ranks(0))\ntl.store(y + 2, dl.rank(axis=1))\n\
                tl.store(y + 3, dl.num_ranks(axis=1))\ntl.store(y + 4, dl.rank())";
    let kernel = kernel(body);
    let wanted: Vec<Buffers> = (0..6)
        .map(|rank| {
            let mut buffers = Buffers::of_rank(rank);
            let rank = rank as i32;
            buffers.y[..5].copy_from_slice(&[rank / 3, 2, rank % 3, 3, rank]);
            buffers
        })
        .collect();
    let native = on_ranks(&kernel, 6, 1, |rank| {
        rank.set_mesh(Some(&Mesh::new(rank.world(), &[("data", 2), ("tensor", 3)])?));
        Ok::<_, Error>(0)
    });
    assert_eq!(native, Ok(wanted.clone()));
    let topology = |rank: u32| {
        let at = |position, size| AxisPosition { position, size };
        Topology::new(rank, 6).with_mesh(vec![at(rank / 3, 2), at(rank % 3, 3)])
    };
    let result = interpreted(&kernel, 6, 1, 0, Order::RoundRobin, (0..6).map(topology).collect());
    assert_eq!(result, Ok(wanted));
    let error = on_ranks(&kernel, 2, 1, |_| Ok::<_, Error>(0)).expect_err("there is no mesh");
    assert!(error.contains("this world has no mesh, so there is no axis 0"), "{error}");
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let kernel = kernel("if me != 1:\n    shm.barrier_all_block()");
    let world = world(3, kernel.device());
    // Rank 1 is done after its launch, so that nobody is left to come.
    let error = world.run(|rank| -> Result<(), Error> {
        let x = rank.symm_zeros::<i32>(1)?;
        let flags = rank.symm_zeros::<i64>(1)?;
        kernel.clone().on_rank(rank)?.launch(1, args!(&x, &x, &flags, 0))
    });
    let error = text(&error.expect_err("rank 1 does not come"));
    assert!(error.contains("kernel.py:12:9 (barrier)"), "{error}");
    assert!(error.contains("for at least 1 at"), "{error}");
    assert!(error.contains("the arrivals of rank 1 at meetings of team 0"), "{error}");
    let error = interpreted(&kernel, 3, 1, 0, Order::RoundRobin, Vec::new()).expect_err("rank 1 does not come");
    assert!(error.contains("waits for rank 1 at a meeting of team 0"), "{error}");
}

#[test]
fn a_signal_that_does_not_come_is_named() {
    let kernel = kernel("shm.signal_wait_until(flags + 1, shm.NVSHMEM_CMP_GE, 4)");
    let error = on_ranks(&kernel, 2, 1, |_| Ok::<_, Error>(0)).expect_err("nobody signals");
    assert!(error.contains("kernel.py:11:5 (signal_wait_until) for at least 4 at 0x"), "{error}");
    assert!(error.contains("of the symmetric heap of rank 1), where 0 is"), "{error}");
    let error = interpreted(&kernel, 2, 1, 0, Order::RoundRobin, Vec::new()).expect_err("nobody signals");
    assert!(error.contains("rank 1, program (0, 0, 0) waits for at least 4 at 0x"), "{error}");
}

#[test]
fn one_program_of_a_rank_comes_to_a_meeting() {
    let kernel = kernel("shm.barrier_all_block()");
    let text = "two programs of rank";
    let error = on_ranks(&kernel, 2, 2, |_| Ok::<_, Error>(0)).expect_err("two programs come");
    assert!(error.contains(text), "{error}");
    let error = interpreted(&kernel, 2, 2, 0, Order::RoundRobin, Vec::new()).expect_err("two programs come");
    assert!(error.contains(text), "{error}");
}
