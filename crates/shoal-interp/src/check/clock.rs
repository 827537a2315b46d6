//! Vector clocks: how much of every actor's past is known to have happened.

/// A component for each actor. An actor that a clock knows nothing of is at time 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u32>);

impl Clock {
    /// How far an actor's past is known.
    pub(crate) fn get(&self, actor: u32) -> u32 {
        self.0.get(actor as usize).copied().unwrap_or(0)
    }

    /// Whether what an actor did at a time has happened.
    pub(crate) fn covers(&self, actor: u32, time: u32) -> bool {
        self.get(actor) >= time
    }

    /// The actor's own next moment.
    pub(crate) fn advance(&mut self, actor: u32) {
        let actor = actor as usize;
        if self.0.len() <= actor {
            self.0.resize(actor + 1, 0);
        }
        self.0[actor] += 1;
    }

    /// Everything that has happened for `other` has happened.
    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_both_know() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.advance(3);
        a.advance(3);
        b.advance(0);
        assert!(a.covers(3, 2) && !a.covers(0, 1) && a.covers(9, 0));
        b.join(&a);
        assert!(b.covers(3, 2) && b.covers(0, 1));
        a.join(&b);
        assert!(a.covers(0, 1));
    }
}
