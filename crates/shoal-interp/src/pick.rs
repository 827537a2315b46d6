//! Whose turn it is: strategies that choose among the programs that can run.
//!
//! Each is a function of what it was made with and of the choices it was asked for, so a run can be repeated exactly.

use crate::launch::Order;

/// Chooses among the programs that can run.
pub(crate) struct Picker {
    strategy: Strategy,
    trace: Vec<Choice>,
}

/// What was chosen where there was a choice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The place of the program among those that could run.
    pub(crate) chosen: u32,
    /// How many could.
    pub(crate) of: u32,
}

enum Strategy {
    /// The number of the program whose turn it is next.
    RoundRobin(u64),
    /// The state of the random sequence.
    Random(u64),
    Priorities(Priorities),
    /// Choices to make, and how many are made; then the first always.
    Given(Vec<u32>, usize),
}

/// Probabilistic concurrency testing: programs have random priorities, the highest that can run does, and at a few
/// random moments the one that runs becomes the lowest.
struct Priorities {
    state: u64,
    /// By the program's number.
    of: Vec<u64>,
    /// The moments at which the running program is put last.
    changes: Vec<u64>,
    moment: u64,
    lowest: u64,
}

/// The moments of priority changes lie among this many first choices.
const PCT_HORIZON: u64 = 256;

impl Picker {
    pub(crate) fn new(order: Order) -> Picker {
        let strategy = match order {
            Order::RoundRobin => Strategy::RoundRobin(0),
            Order::Random(seed) => Strategy::Random(seed),
            Order::Pct { seed, depth } => {
                let mut state = seed;
                let changes = (0..depth).map(|_| below(&mut state, PCT_HORIZON)).collect();
                Strategy::Priorities(Priorities { state, of: Vec::new(), changes, moment: 0, lowest: u64::MAX / 2 })
            }
        };
        Picker { strategy, trace: Vec::new() }
    }

    /// Makes these choices, each the place of a program among those that can run.
    pub(crate) fn replaying(choices: Vec<u32>) -> Picker {
        Picker { strategy: Strategy::Given(choices, 0), trace: Vec::new() }
    }

    /// What was chosen, whenever there was a choice.
    pub(crate) fn into_trace(self) -> Vec<Choice> {
        self.trace
    }

    /// The order in which a launch's programs start: as the grid says, or any.
    pub(crate) fn start_order(&mut self, programs: &mut [[u32; 3]]) {
        match &mut self.strategy {
            Strategy::RoundRobin(_) | Strategy::Given(..) => {}
            Strategy::Random(state) | Strategy::Priorities(Priorities { state, .. }) => {
                for i in (1..programs.len()).rev() {
                    programs.swap(i, below(state, i as u64 + 1) as usize);
                }
            }
        }
    }

    /// One of the programs that can run, which are given by their numbers, in order; the place among them.
    pub(crate) fn pick(&mut self, runnable: &[u64]) -> usize {
        let place = match &mut self.strategy {
            Strategy::RoundRobin(next) => {
                let place = runnable.iter().position(|number| number >= next).unwrap_or(0);
                *next = runnable[place] + 1;
                place
            }
            _ if runnable.len() == 1 => return 0,
            Strategy::Random(state) => below(state, runnable.len() as u64) as usize,
            Strategy::Priorities(priorities) => priorities.pick(runnable),
            Strategy::Given(choices, made) => {
                let choice = choices.get(*made).copied().unwrap_or(0) as usize;
                *made += 1;
                choice.min(runnable.len() - 1)
            }
        };
        if runnable.len() > 1 {
            self.trace.push(Choice { chosen: place as u32, of: runnable.len() as u32 });
        }
        place
    }
}

impl Priorities {
    fn pick(&mut self, runnable: &[u64]) -> usize {
        let last = runnable.iter().max().map_or(0, |&number| number as usize);
        while self.of.len() <= last {
            // Above all that were put last.
            self.of.push(u64::MAX / 2 + (splitmix(&mut self.state) >> 1));
        }
        let highest = |of: &[u64]| (0..runnable.len()).max_by_key(|&i| of[runnable[i] as usize]).unwrap_or(0);
        let place = highest(&self.of);
        self.moment += 1;
        if !self.changes.contains(&self.moment) {
            return place;
        }
        self.lowest -= 1;
        self.of[runnable[place] as usize] = self.lowest;
        highest(&self.of)
    }
}

/// A random number below `bound`, which is not zero.
fn below(state: &mut u64, bound: u64) -> u64 {
    ((u128::from(splitmix(state)) * u128::from(bound)) >> 64) as u64
}

/// The next number of a splitmix64 sequence.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
