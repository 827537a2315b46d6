//! What a harness says of hosts, meshes and teams: the world as its kernels see it.

use shoal_ir::abi::team::{AxisPosition, Topology, handle};
use shoal_lang::HarnessValue;

use super::file_harness::{Answer, FileWorld, Words, int};
use super::recording::RankHost;
use crate::Error;

/// The hosts, the mesh and the teams of a rank, while they are recorded.
pub(super) struct Surroundings {
    pub(super) topology: Topology,
    /// Calls of `team` so far; all ranks make the same.
    teams: i32,
}

impl Surroundings {
    /// All ranks on one host, without a mesh.
    pub(super) fn new(rank: usize, ranks: usize) -> Surroundings {
        Surroundings { topology: Topology::new(rank as u32, ranks as u32), teams: 0 }
    }
}

impl RankHost<'_> {
    /// So many ranks are on each host, which makes the teams of a host and of those in the same place on theirs.
    ///
    /// # Errors
    /// When that is none, or teams or a mesh are there already.
    pub fn hosts(&mut self, ranks_of_each: usize) -> Result<(), Error> {
        if ranks_of_each == 0 {
            return Err(Error::Text("a host has at least one rank".into()));
        }
        let Surroundings { topology, teams } = &mut self.surroundings;
        if *teams > 0 || !topology.mesh().is_empty() {
            return Err(Error::Text("say `hosts` before teams and meshes".into()));
        }
        let hosts: Vec<u32> = (0..topology.size()).map(|rank| rank / ranks_of_each as u32).collect();
        *topology = Topology::with_hosts(topology.rank(), &hosts);
        Ok(())
    }

    /// The ranks on a grid, neighbours along the last axis first: what kernels see as `rank(axis)`.
    ///
    /// # Errors
    /// When its extents do not multiply to the world's size.
    pub fn mesh(&mut self, extents: &[u64]) -> Result<(), Error> {
        let Surroundings { topology, .. } = &mut self.surroundings;
        let (size, mut rest) = (u64::from(topology.size()), u64::from(topology.rank()));
        if extents.iter().try_fold(1u64, |product, &n| product.checked_mul(n)) != Some(size) {
            let extents: Vec<String> = extents.iter().map(u64::to_string).collect();
            return Err(Error::Text(format!("a mesh of {} does not fit {size} ranks", extents.join(" × "))));
        }
        let mut axes: Vec<AxisPosition> = Vec::new();
        for &extent in extents.iter().rev() {
            axes.push(AxisPosition { position: (rest % extent) as u32, size: extent as u32 });
            rest /= extent;
        }
        axes.reverse();
        *topology = topology.clone().with_mesh(axes);
        Ok(())
    }

    /// Teams of these ranks, of which all ranks make one at the same time, each its own: the number by which kernels know
    /// it, or -1 where this rank is no member.
    ///
    /// # Errors
    /// When there is no such rank, one is named twice, or there are too many teams.
    pub fn team(&mut self, members: &[u64]) -> Result<i32, Error> {
        let Surroundings { topology, teams } = &mut self.surroundings;
        let (size, rank) = (topology.size(), topology.rank());
        let known = |&member: &u64| u32::try_from(member).ok().filter(|&member| member < size);
        let members: Option<Vec<u32>> = members.iter().map(known).collect();
        let members =
            members.ok_or_else(|| Error::Text(format!("a team has ranks of the world, 0 to {}", size - 1)))?;
        if members.iter().enumerate().any(|(at, member)| members[..at].contains(member)) {
            return Err(Error::Text("a team has each of its ranks once".into()));
        }
        let team = handle::FIRST_MADE + *teams;
        if team >= handle::END {
            return Err(Error::Text(format!("a world has at most {} teams", handle::END - handle::FIRST_MADE)));
        }
        *teams += 1;
        if !members.contains(&rank) {
            return Ok(handle::INVALID);
        }
        *topology = topology.clone().with_team(team, members);
        Ok(team)
    }
}

impl FileWorld<'_, '_> {
    /// `world.hosts(n)`, `world.mesh((2, 4))`, `world.team([0, 1])`.
    pub(super) fn surroundings(&mut self, mut words: Words<'_>) -> Answer {
        let method = words.method;
        let numbers = match words.next("ranks")? {
            HarnessValue::List(items) => items.iter().map(int).collect::<Result<Vec<u64>, _>>()?,
            value => vec![int(&value)?],
        };
        words.end()?;
        let made = match (method, &numbers[..]) {
            ("hosts", &[ranks]) => self.host.hosts(ranks as usize).map(|()| HarnessValue::None),
            ("hosts", _) => return Err("`hosts` takes the number of ranks of each".into()),
            ("mesh", extents) => self.host.mesh(extents).map(|()| HarnessValue::None),
            (_, members) => self.host.team(members).map(|team| HarnessValue::Int(team.into())),
        };
        made.map_err(|error| error.to_string())
    }
}
