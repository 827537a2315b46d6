//! Teams: ranks in an order of their own, with collectives among them.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::{Call, Engine, Route, TEAM_SLOTS};
use crate::error::WorldError;
use crate::giving_up;
use crate::team_register::{self, INITIAL, TeamRegister};

/// A team, seen by one of its members. Clones are the same team.
///
/// Collectives must be called by all members, in the same order; a team is for one thread of each rank at a time.
#[derive(Clone)]
pub struct Team(Arc<Inner>);

struct Inner {
    engine: Arc<dyn Engine>,
    register: Arc<TeamRegister>,
    name: String,
    slot: usize,
    members: Vec<usize>,
    rank: usize,
    rounds: AtomicU32,
    /// Held during a collective: two of one rank at the same time would mix their messages.
    turn: Mutex<()>,
    /// It was given back, and its slot may be another team's.
    is_freed: AtomicBool,
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Team({}: {} of {:?})", self.name(), self.rank(), self.members())
    }
}

impl Team {
    /// The team of all ranks, and that of the ranks on this host.
    pub(crate) fn initial(engine: &Arc<dyn Engine>) -> (Team, Team) {
        let everybody: Vec<usize> = (0..engine.size()).collect();
        let hosts = engine.hosts();
        let node: Vec<usize> = everybody.iter().copied().filter(|&rank| hosts[rank] == hosts[engine.rank()]).collect();
        let register = Arc::new(TeamRegister::new(&everybody, &node));
        let world = Team::new(engine, &register, "the world".to_owned(), 0, everybody);
        let node = Team::new(engine, &register, "the node's team".to_owned(), 1, node);
        (world, node)
    }

    fn new(
        engine: &Arc<dyn Engine>,
        register: &Arc<TeamRegister>,
        name: String,
        slot: usize,
        members: Vec<usize>,
    ) -> Team {
        let rank = members.iter().position(|&member| member == engine.rank()).expect("a rank is a member of its teams");
        Team(Arc::new(Inner {
            engine: Arc::clone(engine),
            register: Arc::clone(register),
            name,
            slot,
            members,
            rank,
            rounds: AtomicU32::new(0),
            turn: Mutex::new(()),
            is_freed: AtomicBool::new(false),
        }))
    }

    /// The number by which kernels know it, to be passed as an argument: `libshmem_device.barrier_block(team)`. It is the
    /// same on all members.
    #[must_use]
    pub fn handle(&self) -> i32 {
        team_register::handle_of(self.0.slot)
    }

    /// The rank's teams.
    pub(crate) fn register(&self) -> &TeamRegister {
        &self.0.register
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// This rank's place in the team.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// The number of members.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.members.len()
    }

    /// The members, as ranks of the world.
    #[must_use]
    pub fn members(&self) -> &[usize] {
        &self.0.members
    }

    /// A member as a rank of the world.
    #[must_use]
    pub fn world_rank(&self, rank: usize) -> Option<usize> {
        self.0.members.get(rank).copied()
    }

    /// A member's place in another team, if it is a member there too.
    #[must_use]
    pub fn translate(&self, rank: usize, other: &Team) -> Option<usize> {
        let member = self.world_rank(rank)?;
        other.0.members.iter().position(|&known| known == member)
    }

    /// Waits for all members.
    pub fn barrier(&self) -> Result<(), WorldError> {
        self.exchange(Call::Barrier, &[]).map(drop)
    }

    /// The bytes of one member, for all. What the others pass is ignored.
    pub fn broadcast(&self, root: usize, bytes: &[u8]) -> Result<Vec<u8>, WorldError> {
        if root >= self.size() {
            let (name, size) = (self.name(), self.size());
            return Err(WorldError::Argument(format!("broadcast from member {root} of {name}, which has {size}")));
        }
        let mine = if root == self.rank() { bytes } else { &[] };
        let call = Call::Broadcast(u32::try_from(root).expect("a rank"));
        Ok(self.exchange(call, mine)?.swap_remove(root))
    }

    /// The bytes of all members, in their order; each may give as many as it likes.
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, WorldError> {
        self.exchange(Call::AllGather, bytes)
    }

    pub(crate) fn exchange(&self, call: Call, mine: &[u8]) -> Result<Vec<Vec<u8>>, WorldError> {
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.is_freed.load(Ordering::Acquire) {
            return Err(WorldError::Argument(format!("{} has been given back", self.name())));
        }
        self.0.engine.exchange(&self.route(), call, mine).map_err(|error| giving_up::unmet(&*self.0.engine, error))
    }

    fn route(&self) -> Route<'_> {
        let Inner { name, slot, members, rounds, .. } = &*self.0;
        Route { team: name, slot: *slot, members, rounds }
    }

    /// Divides the team: members of the same colour make a team, ordered by `key`, then by their order here. Who has no
    /// colour gets none. Collective over this team.
    pub fn split(&self, colour: Option<u32>, key: i64) -> Result<Option<Team>, WorldError> {
        let used = self.0.register.taken();
        let mine = Choice { colour, key, used }.encode();
        let choices: Vec<Choice> =
            self.exchange(Call::Split, &mine)?.iter().map(|bytes| Choice::decode(bytes)).collect();
        // All members go on with what all of them chose, so that they come to the same teams and slots.
        let Some(colour) = colour else {
            self.barrier()?;
            return Ok(None);
        };
        let mut chosen: Vec<(i64, usize)> = (0..)
            .zip(&choices)
            .filter(|(_, choice)| choice.colour == Some(colour))
            .map(|(rank, choice)| (choice.key, rank))
            .collect();
        chosen.sort_unstable();
        let used = chosen.iter().fold(0, |used, &(_, rank)| used | choices[rank].used);
        let slot = used.trailing_ones() as usize;
        let team = (slot < TEAM_SLOTS).then(|| {
            let members: Vec<usize> = chosen.iter().map(|&(_, rank)| self.0.members[rank]).collect();
            self.0.register.add(slot, &members);
            let name = format!("the team of colour {colour} of {}", self.name());
            self.0.engine.prepare_slot(slot);
            Team::new(&self.0.engine, &self.0.register, name, slot, members)
        });
        // Nobody may use the new team's slots before all have made theirs ready.
        self.barrier()?;
        team.map(Some).ok_or_else(|| {
            WorldError::Setup(format!(
                "a rank can be a member of {TEAM_SLOTS} teams at a time; give some back with `free`"
            ))
        })
    }

    /// The team of `size` members that begins with `start` and takes every `stride`-th. Who is not among them gets
    /// none. Collective over this team.
    pub fn strided(&self, start: usize, stride: usize, size: usize) -> Result<Option<Team>, WorldError> {
        let last = size.checked_sub(1).and_then(|steps| steps.checked_mul(stride)).and_then(|by| by.checked_add(start));
        if stride == 0 || last.is_none_or(|last| last >= self.size()) {
            let (name, members) = (self.name(), self.size());
            return Err(WorldError::Argument(format!(
                "{size} members from {start} on in steps of {stride} do not lie in {name}, which has {members}"
            )));
        }
        let distance = self.rank().checked_sub(start);
        let is_member = distance.is_some_and(|by| by.is_multiple_of(stride) && by / stride < size);
        self.split(is_member.then_some(0), 0)
    }

    /// Gives the team back, on all its members: a rank can be a member of 64 at a time. Collective over this team. The
    /// world's and the node's team stay.
    pub fn free(self) -> Result<(), WorldError> {
        if self.0.slot < INITIAL {
            return Ok(());
        }
        self.exchange(Call::FreeTeam, &[])?;
        self.0.is_freed.store(true, Ordering::Release);
        let retired = self.0.engine.retire_slot(&self.route());
        retired.map_err(|error| giving_up::unmet(&*self.0.engine, error))?;
        self.0.register.remove(self.0.slot);
        Ok(())
    }
}

/// What members tell each other when they split.
struct Choice {
    colour: Option<u32>,
    key: i64,
    /// The slots of its teams.
    used: u64,
}

impl Choice {
    fn encode(&self) -> Vec<u8> {
        let colour = self.colour.map_or(-1, i64::from);
        [colour.to_le_bytes(), self.key.to_le_bytes(), self.used.to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Choice {
        let word = |at: usize| bytes.get(at * 8..at * 8 + 8).and_then(|word| word.try_into().ok()).unwrap_or([0; 8]);
        Choice {
            colour: u32::try_from(i64::from_le_bytes(word(0))).ok(),
            key: i64::from_le_bytes(word(1)),
            used: u64::from_le_bytes(word(2)),
        }
    }
}
