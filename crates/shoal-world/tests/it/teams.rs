//! Teams and meshes.

use shoal_world::{Mesh, Rank, WorldError};

use crate::worlds::threads;

/// Splits the world in every way; used on all engines.
pub(crate) fn teams_of_a_world(rank: &Rank) -> Result<(), WorldError> {
    let (me, n) = (rank.rank(), rank.size());
    if rank.transport().is_none() {
        assert_eq!((rank.node().rank(), rank.node().size()), (me, n));
    }
    rank.node().barrier()?;
    // Even and odd ranks, in reverse.
    let half = rank.world().split(Some(me as u32 % 2), -(me as i64))?.expect("every rank has a colour");
    let expected: Vec<usize> = (0..n).rev().filter(|other| other % 2 == me % 2).collect();
    assert_eq!(half.members(), expected);
    assert_eq!(half.world_rank(half.rank()), Some(me));
    let gathered = half.all_gather(&[me as u8])?;
    assert!(gathered.iter().zip(half.members()).all(|(bytes, &member)| *bytes == [member as u8]));
    assert_eq!(half.translate(0, rank.world()), Some(expected[0]));
    assert_eq!(rank.world().translate(expected[0], &half), Some(0));
    if n > 1 {
        assert_eq!(rank.world().translate(1 - me % 2, &half), None);
    }
    // A team of a team.
    let first = half.strided(0, 1, 1)?;
    assert_eq!(first.is_some(), half.rank() == 0);
    if let Some(first) = first {
        first.barrier()?;
        first.free()?;
    }
    half.free()?;
    let third = rank.world().strided(n / 2, 3, (n - n / 2).div_ceil(3))?;
    assert_eq!(third.is_some(), me >= n / 2 && (me - n / 2).is_multiple_of(3));
    match third {
        Some(third) => third.free(),
        None => Ok(()),
    }
}

#[test]
fn teams_in_worlds_of_any_size() {
    for n in [1, 2, 3, 6, 16] {
        threads(n).run(teams_of_a_world).unwrap();
    }
}

#[test]
fn slots_of_teams_are_used_again() {
    threads(4)
        .run(|rank| {
            for round in 0..300 {
                // Pairs that change, so that slots go from one team to another while other ranks are still busy.
                let partner = rank.rank() ^ (1 + round % 3);
                let colour = partner.min(rank.rank()) as u32;
                let pair = rank.world().split(Some(colour), 0)?.expect("a colour");
                assert_eq!(pair.all_gather(&[rank.rank() as u8])?.concat().len(), 2);
                pair.free()?;
            }
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn a_team_that_was_given_back_is_refused() {
    threads(2)
        .run(|rank| {
            let team = rank.world().split(Some(0), 0)?.expect("a member");
            let same = team.clone();
            team.free()?;
            let next = rank.world().split(Some(1), 0)?.expect("a member");
            assert!(same.barrier().unwrap_err().to_string().contains("has been given back"));
            assert!(same.free().is_err());
            next.barrier()
        })
        .unwrap();
}

#[test]
fn too_many_teams_are_refused_on_all_members() {
    threads(2)
        .run(|rank| {
            let mut teams = Vec::new();
            while teams.len() < 62 {
                teams.push(rank.world().split(Some(0), 0)?);
            }
            let error = rank.world().split(Some(0), 0).unwrap_err().to_string();
            assert!(error.starts_with("a rank can be a member of 64 teams at a time"), "{error}");
            teams.pop().flatten().expect("a team").free()?;
            rank.world().split(Some(0), 0)?.expect("a team").barrier()
        })
        .unwrap();
}

#[test]
fn impossible_teams_are_refused() {
    threads(4)
        .run(|rank| {
            for (start, stride, size) in [(0, 0, 1), (4, 1, 1), (0, 2, 3), (1, usize::MAX, 2), (0, 1, 0)] {
                let error = rank.world().strided(start, stride, size).unwrap_err().to_string();
                assert!(error.contains("do not lie in the world, which has 4"), "{error}");
            }
            let error = rank.world().broadcast(4, b"").unwrap_err().to_string();
            assert_eq!(error, "broadcast from member 4 of the world, which has 4");
            Ok::<_, WorldError>(())
        })
        .unwrap();
}

#[test]
fn meshes_place_ranks() {
    threads(12)
        .run(|rank| {
            let mesh = Mesh::new(rank.world(), &[("x", 2), ("y", 3), ("z", 2)])?;
            let position = [mesh.position("x")?, mesh.position("y")?, mesh.position("z")?];
            assert_eq!(mesh.rank_at(&position)?, rank.rank());
            assert_eq!(position, [rank.rank() / 6, rank.rank() / 2 % 3, rank.rank() % 2]);
            let column = mesh.team("y")?;
            assert_eq!((column.size(), column.rank()), (mesh.size("y")?, position[1]));
            assert!(column.members().iter().all(|member| member % 2 == position[2] && member / 6 == position[0]));
            column.barrier()
        })
        .unwrap();
}

#[test]
fn impossible_meshes_are_refused() {
    let world = threads(6);
    let rank = &world.local_ranks()[0];
    let said = |axes: &[(&str, usize)]| Mesh::new(rank.world(), axes).unwrap_err().to_string();
    assert_eq!(said(&[("a", 2), ("b", 2)]), "a mesh of a=2, b=2 does not fit the world, which has 6 members");
    assert_eq!(said(&[]), "a mesh without axes does not fit the world, which has 6 members");
    assert_eq!(said(&[("a", 2), ("a", 3)]), "the mesh has two axes named `a`");
    let mesh = Mesh::new(rank.world(), &[("a", 2), ("b", 3)]).unwrap();
    assert_eq!(mesh.size("c").unwrap_err().to_string(), "the mesh has no axis `c`; it has `a`, `b`");
    mesh.rank_at(&[1]).unwrap_err();
    assert_eq!(mesh.rank_at(&[2, 0]).unwrap_err().to_string(), "position 2 on axis `a`, which has 2 ranks");
}
