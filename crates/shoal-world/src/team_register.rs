//! The teams that a rank is a member of, by the slots that they hold.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shoal_abi::team::handle;

use crate::engine::TEAM_SLOTS;

/// Slots of the world's and the node's team, which stay.
pub(crate) const INITIAL: usize = 2;

/// A rank's teams.
#[derive(Debug)]
pub(crate) struct TeamRegister(Mutex<Register>);

#[derive(Debug)]
struct Register {
    /// The members of the team in each slot, in its order.
    slots: Vec<Option<Vec<u32>>>,
    /// Counts changes.
    version: u64,
}

impl TeamRegister {
    /// With the teams of the world and of the node.
    pub(crate) fn new(world: &[usize], node: &[usize]) -> TeamRegister {
        let mut slots = vec![None; TEAM_SLOTS];
        slots[0] = Some(numbers(world));
        slots[1] = Some(numbers(node));
        TeamRegister(Mutex::new(Register { slots, version: 0 }))
    }

    /// The slots that are taken, as bits.
    pub(crate) fn taken(&self) -> u64 {
        (0..).zip(&self.lock().slots).map(|(slot, team)| u64::from(team.is_some()) << slot).sum()
    }

    pub(crate) fn add(&self, slot: usize, members: &[usize]) {
        let mut register = self.lock();
        register.slots[slot] = Some(numbers(members));
        register.version += 1;
    }

    pub(crate) fn remove(&self, slot: usize) {
        let mut register = self.lock();
        register.slots[slot] = None;
        register.version += 1;
    }

    /// The handles and members of the teams that the program has made.
    pub(crate) fn made(&self) -> Vec<(i32, Vec<u32>)> {
        let register = self.lock();
        let teams = register.slots.iter().enumerate().skip(INITIAL);
        teams.filter_map(|(slot, team)| team.clone().map(|members| (handle_of(slot), members))).collect()
    }

    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What kernels call the team in a slot.
pub(crate) fn handle_of(slot: usize) -> i32 {
    match slot {
        0 => handle::WORLD,
        1 => handle::NODE,
        made => handle::FIRST_MADE + (made - INITIAL) as i32,
    }
}

fn numbers(members: &[usize]) -> Vec<u32> {
    members.iter().map(|&member| u32::try_from(member).expect("a rank")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_handle_of_its_own() {
        let handles: Vec<i32> = (0..TEAM_SLOTS).map(handle_of).collect();
        assert_eq!(handles[..3], [handle::WORLD, handle::NODE, handle::FIRST_MADE]);
        assert_eq!(handles[TEAM_SLOTS - 1], handle::END - 1);
    }

    #[test]
    fn teams_come_and_go() {
        let register = TeamRegister::new(&[0, 1, 2], &[0, 1, 2]);
        assert_eq!(register.taken(), 0b11);
        register.add(3, &[2, 0]);
        assert_eq!((register.taken(), register.version()), (0b1011, 1));
        assert_eq!(register.made(), [(handle::FIRST_MADE + 1, vec![2, 0])]);
        register.remove(3);
        assert_eq!((register.taken(), register.version()), (0b11, 2));
    }
}
