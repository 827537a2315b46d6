//! Members that do not come to a collective.

use std::time::{Duration, Instant};

use super::{Call, Engine, Route};
use crate::error::{Failure, listed_names, spell};
use crate::giving_up;

/// How long a rank waits for the others in a collective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    limit: Duration,
    pub(crate) deadline: Instant,
}

impl Patience {
    pub(crate) fn begin(limit: Duration) -> Patience {
        Patience { limit, deadline: Instant::now() + limit }
    }
}

/// Why a collective will not be completed, if that is so: the world has ended, a member has left, or some are late.
pub(crate) fn why_incomplete(
    access: &dyn Engine,
    route: &Route<'_>,
    call: Call,
    has_come: impl Fn(usize) -> bool,
    patience: Patience,
) -> Option<Failure> {
    if let Some(failure) = access.failure() {
        return Some(failure);
    }
    let missing = || route.members.iter().copied().filter(|&member| !has_come(member));
    let left = missing().find(|&member| access.has_left(member));
    // It may have come between the two looks.
    if let Some(rank) = left.filter(|&rank| !has_come(rank)) {
        let (who, me, team) = (access.name(rank), access.name(access.rank()), route.team);
        return Some(Failure {
            rank,
            reason: format!("{who} left the world while {me} waited for it in {call} of {team}"),
        });
    }
    if Instant::now() < patience.deadline {
        return None;
    }
    let late: Vec<usize> = missing().collect();
    let &first = late.first()?;
    let names: Vec<String> = late.iter().map(|&rank| access.name(rank)).collect();
    let (names, me, waited) = (listed_names(&names), access.name(access.rank()), spell(patience.limit));
    let reason = format!("{names} did not come to {call} of {}: {me} waited {waited}", route.team);
    // One that waits itself did not come either, but is not the one to blame.
    match late.iter().find(|&&rank| giving_up::runs(access, rank).is_some()) {
        Some(&rank) => Some(Failure { rank, reason }),
        None => Some(giving_up::held_up(access, &reason).unwrap_or(Failure { rank: first, reason })),
    }
}
