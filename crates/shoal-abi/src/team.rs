//! Teams and meshes, as kernels see them.
//!
//! A kernel names a team by a number, its *handle*. Some teams every rank has, with the numbers that NVSHMEM gives them;
//! those that a program makes come behind. What the handles mean is the same for every device, so it is written here.

use std::collections::BTreeMap;

/// What to tell of a kernel that asks for other ranks where there are none.
pub const OUTSIDE_OF_A_WORLD: &str = "this kernel asks for other ranks, but was launched outside of a world; launch it on a \
     rank: in a function that `World.run` runs, in Rust with `Kernel::on_rank`";

/// What to do about an address that is not in the symmetric heap.
#[must_use]
pub const fn how_to_allocate(address: u64) -> &'static str {
    match address {
        0 => "an array without elements, and `None`, have no address: allocate an element on all ranks together",
        _ => "allocate it on all ranks together, as `symm_zeros` does",
    }
}

/// Handles of the teams that every rank has.
pub mod handle {
    /// No team.
    pub const INVALID: i32 = -1;
    /// All ranks.
    pub const WORLD: i32 = 0;
    /// The ranks that can be reached by load and store.
    pub const SHARED: i32 = 1;
    /// The ranks of this host.
    pub const NODE: i32 = 2;
    /// The ranks with the same place in their host's team.
    pub const SAME_POSITION: i32 = 3;
    /// The ranks on this rank's device: a rank has a device of its own.
    pub const SAME_DEVICE: i32 = 4;
    /// One rank of each device.
    pub const DEVICE_LEADERS: i32 = 5;
    /// The first of the teams that programs make.
    pub const FIRST_MADE: i32 = 6;
    /// One more than the last.
    pub const END: i32 = 68;
}

/// The words of each rank's memory in which teams meet: a row for each team.
///
/// Barriers are rounds: in round `k` a member tells the one `2^k` places behind it, and waits for the one as far before
/// it. What is told is the number of the barrier, which only grows, so nothing needs to be set back.
pub mod sync_words {
    use super::handle;

    /// Rounds of a barrier, enough for any number of ranks that fits into this many bits.
    pub const ROUNDS: usize = 30;
    /// The word that says whether a program of this rank is in the team's barrier.
    pub const BUSY: usize = 0;
    /// The word that counts the team's barriers.
    pub const COUNT: usize = 1;
    /// The word of the first round.
    pub const FIRST_ROUND: usize = 2;
    /// Words of a row.
    pub const ROW: usize = FIRST_ROUND + ROUNDS;
    /// Bytes of all rows.
    pub const BYTES: usize = (ROW * handle::END as usize * 8).next_multiple_of(4096);

    /// The byte at which a word of a team is.
    #[must_use]
    pub const fn offset(team: i32, word: usize) -> usize {
        (team.unsigned_abs() as usize * ROW + word) * 8
    }

    /// The team and the word at a byte.
    #[must_use]
    pub const fn at(offset: usize) -> (i32, usize) {
        ((offset / 8 / ROW) as i32, offset / 8 % ROW)
    }
}

/// A rank's position along an axis of its mesh, and the axis's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AxisPosition {
    /// The position.
    pub position: u32,
    /// The number of ranks along the axis.
    pub size: u32,
}

/// The world as one rank sees it: who there is, its teams, its place in a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    rank: u32,
    size: u32,
    /// Members by handle, as ranks of the world, in the team's order.
    teams: BTreeMap<i32, Vec<u32>>,
    mesh: Vec<AxisPosition>,
}

impl Topology {
    /// A rank of a world whose ranks share one host, with the teams that every rank has and without a mesh.
    ///
    /// # Panics
    ///
    /// When there is no such rank, or more ranks than kernels can count.
    #[must_use]
    pub fn new(rank: u32, size: u32) -> Self {
        Self::with_hosts(rank, &vec![0; size as usize])
    }

    /// A rank of a world, where `hosts` has a number for each rank, the same for those of one host.
    ///
    /// # Panics
    ///
    /// As [`Topology::new`].
    #[must_use]
    pub fn with_hosts(rank: u32, hosts: &[u32]) -> Self {
        let size = u32::try_from(hosts.len()).expect("kernels count ranks in 32 bits");
        assert!(rank < size && size < 1 << sync_words::ROUNDS, "rank {rank} of {size}");
        let all: Vec<u32> = (0..size).collect();
        let host = |other: u32| hosts[other as usize];
        let node: Vec<u32> = all.iter().copied().filter(|&other| host(other) == host(rank)).collect();
        let position = |of: u32| (0..of).filter(|&other| host(other) == host(of)).count();
        let same_position = all.iter().copied().filter(|&other| position(other) == position(rank)).collect();
        let teams = BTreeMap::from([
            (handle::WORLD, all.clone()),
            (handle::SHARED, node.clone()),
            (handle::NODE, node),
            (handle::SAME_POSITION, same_position),
            (handle::SAME_DEVICE, vec![rank]),
            (handle::DEVICE_LEADERS, all),
        ]);
        Self { rank, size, teams, mesh: Vec::new() }
    }

    /// The same with another team, of which this rank is a member.
    #[must_use]
    pub fn with_team(mut self, team: i32, members: Vec<u32>) -> Self {
        self.teams.insert(team, members);
        self
    }

    /// The same with a mesh, the first axis first.
    #[must_use]
    pub fn with_mesh(mut self, mesh: Vec<AxisPosition>) -> Self {
        self.mesh = mesh;
        self
    }

    /// This rank's number.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// This rank's place in its mesh, the first axis first.
    #[must_use]
    pub fn mesh(&self) -> &[AxisPosition] {
        &self.mesh
    }

    /// The position along a mesh axis, or why there is none.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn axis(&self, axis: u32) -> Result<AxisPosition, String> {
        self.mesh.get(axis as usize).copied().ok_or_else(|| match self.mesh.len() {
            0 => format!("this world has no mesh, so there is no axis {axis}; `set_mesh` gives a rank one"),
            axes => format!("the mesh has {axes} axes, so there is no axis {axis}"),
        })
    }

    /// The members of a team, as ranks of the world, or why there are none.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn members(&self, team: i32) -> Result<&[u32], String> {
        match self.teams.get(&team) {
            Some(members) => Ok(members),
            None if team == handle::INVALID => Err("this is the invalid team, which has no members".into()),
            None => Err(format!("rank {} is in no team with the handle {team}", self.rank)),
        }
    }

    /// This rank's place in a team; -1 in the invalid team.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn team_rank(&self, team: i32) -> Result<i32, String> {
        if team == handle::INVALID {
            return Ok(-1);
        }
        let place = self.members(team)?.iter().position(|&member| member == self.rank);
        Ok(place.map_or(-1, |place| place as i32))
    }

    /// The number of a team's members; -1 for the invalid team.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn team_size(&self, team: i32) -> Result<i32, String> {
        if team == handle::INVALID { Ok(-1) } else { Ok(self.members(team)?.len() as i32) }
    }

    /// A member's place in another team; -1 if it is not a member there, or a team is the invalid one.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn translate(&self, team: i32, member: i32, other: i32) -> Result<i32, String> {
        if team == handle::INVALID || other == handle::INVALID {
            return Ok(-1);
        }
        let world = self.member(team, member)?;
        let place = self.members(other)?.iter().position(|&known| known == world);
        Ok(place.map_or(-1, |place| place as i32))
    }

    /// A member as a rank of the world.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn member(&self, team: i32, member: i32) -> Result<u32, String> {
        let members = self.members(team)?;
        let found = usize::try_from(member).ok().and_then(|member| members.get(member).copied());
        found.ok_or_else(|| format!("there is no member {member} of team {team}, which has {}", members.len()))
    }

    /// A round of the team's barrier, with ranks of the world; `None` after the last.
    ///
    /// # Errors
    /// What to tell the user.
    pub fn round(&self, team: i32, k: usize) -> Result<Option<Round>, String> {
        let members = self.members(team)?;
        let place = members.iter().position(|&member| member == self.rank).ok_or_else(|| {
            format!("rank {} is not a member of team {team}, so it cannot meet its members", self.rank)
        })?;
        let size = members.len();
        let (word, step) = (sync_words::FIRST_ROUND + k, 1 << k);
        let round =
            || Round { word, tell: members[(place + step) % size], hear: members[(place + size - step) % size] };
        Ok((k < sync_words::ROUNDS && step < size).then(round))
    }
}

/// One round of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The word of the team's row.
    pub word: usize,
    /// The rank whose word is written.
    pub tell: u32,
    /// The rank that writes this one's.
    pub hear: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_translate() {
        let view = Topology::with_hosts(3, &[7, 7, 8, 8, 9, 9]).with_team(handle::FIRST_MADE, vec![5, 3, 0]);
        assert_eq!(view.team_rank(handle::NODE), Ok(1));
        assert_eq!(view.team_size(handle::WORLD), Ok(6));
        assert_eq!(view.members(handle::SAME_POSITION), Ok(&[1, 3, 5][..]));
        assert_eq!(view.members(handle::SAME_DEVICE), Ok(&[3][..]));
        assert_eq!(view.translate(handle::FIRST_MADE, 0, handle::WORLD), Ok(5));
        assert_eq!(view.translate(handle::FIRST_MADE, 0, handle::NODE), Ok(-1));
        assert_eq!(view.translate(handle::WORLD, 3, handle::FIRST_MADE), Ok(1));
        assert_eq!(view.team_rank(handle::INVALID), Ok(-1));
        assert_eq!(view.team_size(handle::INVALID), Ok(-1));
        assert_eq!(view.translate(handle::INVALID, 0, handle::WORLD), Ok(-1));
        assert!(view.members(handle::INVALID).unwrap_err().contains("invalid team"));
        assert!(view.team_size(17).unwrap_err().contains("no team with the handle 17"));
        assert!(view.member(handle::NODE, 2).unwrap_err().contains("no member 2"));
    }

    #[test]
    fn axes_are_those_of_the_mesh() {
        let view = Topology::new(4, 6);
        assert!(view.axis(0).unwrap_err().contains("no mesh"));
        let at = |position, size| AxisPosition { position, size };
        let view = view.with_mesh(vec![at(1, 2), at(1, 3)]);
        assert_eq!(view.axis(1), Ok(at(1, 3)));
        assert!(view.axis(2).unwrap_err().contains("2 axes"));
    }

    /// After the last round everybody has heard of everybody, directly or through others.
    #[test]
    fn rounds_reach_all_members() {
        for size in 1..20 {
            let of_rank = |rank| {
                let view = Topology::new(rank, size);
                (0..).map_while(|k| view.round(handle::WORLD, k).unwrap()).collect()
            };
            let rounds: Vec<Vec<Round>> = (0..size).map(of_rank).collect();
            let mut known: Vec<u64> = (0..size).map(|rank| 1 << rank).collect();
            for round in 0..rounds[0].len() {
                let before = known.clone();
                for (rank, of_rank) in rounds.iter().enumerate() {
                    let hear = of_rank[round].hear;
                    assert_eq!(rounds[hear as usize][round].tell as usize, rank);
                    known[rank] |= before[hear as usize];
                }
            }
            assert!(known.iter().all(|known| *known == (1 << size) - 1), "{size}");
        }
    }

    #[test]
    fn rows_do_not_overlap() {
        assert!(sync_words::offset(handle::END - 1, sync_words::ROW - 1) + 8 <= sync_words::BYTES);
        assert_eq!(sync_words::offset(1, 0), sync_words::offset(0, sync_words::ROW - 1) + 8);
        assert_eq!(sync_words::at(sync_words::offset(7, 3)), (7, 3));
    }
}
