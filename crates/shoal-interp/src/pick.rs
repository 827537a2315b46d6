//! Whose turn it is: strategies that choose among the programs that can run.
//!
//! Each is a function of what it was made with and of the choices it was asked for, so a run can be repeated exactly.
//! A choice is counted from the *usual* one, which needs no switch: the program that ran last, or the first if that one
//! cannot go on. So a schedule that is all zeros switches only where it must, and every other number is a switch.

use crate::launch::Order;
use crate::turn::{self, Turn};

/// Chooses among the programs that can run.
pub(crate) struct Picker {
    strategy: Strategy,
    starts: Starts,
    /// The number of the program that ran last.
    last: Option<u64>,
    trace: Vec<Choice>,
    /// What was done, where somebody wants to know.
    turns: Option<Vec<Turn>>,
}

/// The order in which the programs of a launch start.
#[derive(Copy, Clone, Debug)]
enum Starts {
    /// As the grid says.
    Grid,
    /// One way on the ranks that are even or odd, as this is, and the other way on the others: where programs of one number
    /// wait for each other, the most of them must be resident then.
    Opposed(u64),
    /// Any order; the state of the random sequence.
    Any(u64),
}

impl Starts {
    fn of(seed: Option<u64>) -> Starts {
        match seed {
            None => Starts::Grid,
            // Every third of the seeds that follow each other, so that few schedules have one.
            Some(seed) if seed.is_multiple_of(3) => Starts::Opposed(seed / 3 % 2),
            Some(seed) => Starts::Any(seed),
        }
    }
}

/// A program that can run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    /// Programs are numbered as they start.
    pub(crate) number: u64,
    pub(crate) rank: u32,
    /// How often others have changed the word of a transfer since it was issued.
    pub(crate) overtaken: u32,
}

/// What was chosen where there was a choice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The place of the program among those that could run, counted from the usual one.
    pub(crate) chosen: u32,
    /// How many could.
    pub(crate) of: u32,
}

enum Strategy {
    /// The number of the program whose turn it is next.
    RoundRobin(u64),
    Overtaken(Overtaken),
    /// The state of the random sequence.
    Random(u64),
    Priorities(Priorities),
    Skewed(Skewed),
    /// Choices to make, and how many are made; then the usual always.
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

/// Ranks one after the other: a rank goes as far as it can before the next one moves.
struct Skewed {
    seed: u64,
    state: u64,
}

/// Each in turn, but for one transfer.
struct Overtaken {
    transfer: u64,
    /// How often its word changes before it comes.
    times: u32,
    /// The number of whose turn it is next.
    next: u64,
}

impl Picker {
    pub(crate) fn new(order: Order) -> Picker {
        let (strategy, starts) = match order {
            Order::RoundRobin => (Strategy::RoundRobin(0), None),
            Order::Random(seed) => (Strategy::Random(seed), Some(seed)),
            Order::Pct { seed, depth, horizon } => {
                let mut state = seed;
                let changes = (0..depth).map(|_| below(&mut state, u64::from(horizon.max(1)))).collect();
                let priorities = Priorities { state, of: Vec::new(), changes, moment: 0, lowest: u64::MAX / 2 };
                (Strategy::Priorities(priorities), Some(seed))
            }
            Order::Skewed(seed) => (Strategy::Skewed(Skewed { seed, state: seed }), Some(seed)),
            Order::Overtaken { transfer, times } => (Strategy::Overtaken(Overtaken { transfer, times, next: 0 }), None),
        };
        Picker { strategy, starts: Starts::of(starts), last: None, trace: Vec::new(), turns: None }
    }

    /// Makes these choices, each the place of a program among those that can run, counted from the usual one. Programs
    /// start as an order of that seed has them, or as the grid says.
    pub(crate) fn replaying(starts: Option<u64>, choices: Vec<u32>) -> Picker {
        let strategy = Strategy::Given(choices, 0);
        Picker { strategy, starts: Starts::of(starts), last: None, trace: Vec::new(), turns: None }
    }

    /// Remembers every turn from now on.
    pub(crate) fn remember_turns(&mut self) {
        self.turns = Some(Vec::new());
    }

    /// Somebody made a step.
    pub(crate) fn took(&mut self, turn: impl FnOnce() -> Turn) {
        if let Some(turns) = &mut self.turns {
            turn::add(turns, turn());
        }
    }

    /// What was chosen, whenever there was a choice; and the turns, if they were to be remembered.
    pub(crate) fn into_trace(self) -> (Vec<Choice>, Vec<Turn>) {
        (self.trace, self.turns.unwrap_or_default())
    }

    /// The order in which the programs of a rank's launch start.
    pub(crate) fn start_order(&mut self, rank: u32, programs: &mut [[u32; 3]]) {
        match &mut self.starts {
            Starts::Opposed(way) if u64::from(rank % 2) == *way => programs.reverse(),
            Starts::Grid | Starts::Opposed(_) => {}
            Starts::Any(state) => {
                for i in (1..programs.len()).rev() {
                    programs.swap(i, below(state, i as u64 + 1) as usize);
                }
            }
        }
    }

    /// One of the programs that can run, which are given in the order of their numbers; the place among them.
    pub(crate) fn pick(&mut self, runnable: &[Runner]) -> usize {
        let usual = self.last.and_then(|last| runnable.iter().position(|r| r.number == last)).unwrap_or(0);
        let place = match &mut self.strategy {
            Strategy::RoundRobin(next) => in_turn(next, runnable, |_| true),
            Strategy::Overtaken(overtaken) => overtaken.pick(runnable),
            Strategy::Random(_) | Strategy::Priorities(_) | Strategy::Skewed(_) | Strategy::Given(..)
                if runnable.len() == 1 =>
            {
                0
            }
            Strategy::Random(state) => below(state, runnable.len() as u64) as usize,
            Strategy::Priorities(priorities) => priorities.pick(runnable),
            Strategy::Skewed(skewed) => skewed.pick(runnable),
            Strategy::Given(choices, made) => {
                let choice = choices.get(*made).copied().unwrap_or(0) as usize;
                *made += 1;
                (usual + choice) % runnable.len()
            }
        };
        if runnable.len() > 1 {
            let of = runnable.len();
            self.trace.push(Choice { chosen: ((place + of - usual) % of) as u32, of: of as u32 });
        }
        self.last = Some(runnable[place].number);
        place
    }
}

/// The place of whose turn it is next among those that may have it; at least one may.
fn in_turn(next: &mut u64, runnable: &[Runner], may: impl Fn(&Runner) -> bool) -> usize {
    let place = |from| runnable.iter().position(|runner| runner.number >= from && may(runner));
    let place = place(*next).or_else(|| place(0)).unwrap_or(0);
    *next = runnable[place].number + 1;
    place
}

impl Overtaken {
    fn pick(&mut self, runnable: &[Runner]) -> usize {
        let it = runnable.iter().position(|runner| runner.number == self.transfer);
        match it.filter(|&it| runnable.len() == 1 || runnable[it].overtaken >= self.times) {
            Some(it) => it,
            None => in_turn(&mut self.next, runnable, |runner| runner.number != self.transfer),
        }
    }
}

impl Priorities {
    fn pick(&mut self, runnable: &[Runner]) -> usize {
        let last = runnable.iter().map(|runner| runner.number).max().map_or(0, |number| number as usize);
        while self.of.len() <= last {
            // Above all that were put last.
            self.of.push(u64::MAX / 2 + (splitmix(&mut self.state) >> 1));
        }
        let highest = |of: &[u64]| (0..runnable.len()).max_by_key(|&i| of[runnable[i].number as usize]).unwrap_or(0);
        let place = highest(&self.of);
        self.moment += 1;
        if !self.changes.contains(&self.moment) {
            return place;
        }
        self.lowest -= 1;
        self.of[runnable[place].number as usize] = self.lowest;
        highest(&self.of)
    }
}

impl Skewed {
    fn pick(&mut self, runnable: &[Runner]) -> usize {
        // A rank's place in the order is a hash of its number, so that it does not depend on who can run.
        let order = |runner: &Runner| splitmix(&mut (self.seed ^ (u64::from(runner.rank) << 32)));
        let first = runnable.iter().map(order).max().unwrap_or(0);
        let of_first = runnable.iter().filter(|runner| order(runner) == first).count();
        let chosen = below(&mut self.state, of_first as u64) as usize;
        let mut places = (0..runnable.len()).filter(|&place| order(&runnable[place]) == first);
        places.nth(chosen).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn runners(numbers: &[(u64, u32)]) -> Vec<Runner> {
        numbers.iter().map(|&(number, rank)| Runner { number, rank, overtaken: 0 }).collect()
    }

    #[test]
    fn no_choices_mean_no_switches() {
        let mut picker = Picker::replaying(None, vec![1]);
        let all = runners(&[(0, 0), (1, 0), (2, 1)]);
        assert_eq!([picker.pick(&all), picker.pick(&all), picker.pick(&all)], [1, 1, 1]);
        // The one that ran cannot go on: the first does, and keeps its turn.
        assert_eq!(picker.pick(&runners(&[(0, 0), (2, 1)])), 0);
        assert_eq!(picker.pick(&all), 0);
        let chosen: Vec<u32> = picker.into_trace().0.iter().map(|choice| choice.chosen).collect();
        assert_eq!(chosen, [1, 0, 0, 0, 0]);
    }

    #[test]
    fn a_trace_repeats_a_run_of_any_strategy() {
        let orders =
            [Order::RoundRobin, Order::Random(3), Order::Pct { seed: 4, depth: 3, horizon: 16 }, Order::Skewed(5)];
        for order in orders {
            let sets: Vec<Vec<Runner>> =
                (0..40u64).map(|i| runners(&[(0, 0), (1, 0), (2, 1), (3, 2)][(i % 3) as usize..])).collect();
            let mut picker = Picker::new(order);
            let made: Vec<usize> = sets.iter().map(|set| picker.pick(set)).collect();
            let choices = picker.into_trace().0.iter().map(|choice| choice.chosen).collect();
            let mut again = Picker::replaying(None, choices);
            let repeated: Vec<usize> = sets.iter().map(|set| again.pick(set)).collect();
            assert_eq!(made, repeated, "{order:?}");
        }
    }

    #[test]
    fn every_third_seed_starts_even_and_odd_ranks_against_each_other() {
        let grid: Vec<[u32; 3]> = (0..5).map(|x| [x, 0, 0]).collect();
        let backwards: Vec<[u32; 3]> = grid.iter().rev().copied().collect();
        let starts = |seed, rank| {
            let mut programs = grid.clone();
            Picker::replaying(seed, Vec::new()).start_order(rank, &mut programs);
            programs
        };
        assert_eq!([starts(None, 0), starts(None, 1)], [grid.clone(), grid.clone()]);
        assert_eq!(
            [starts(Some(3), 0), starts(Some(3), 1), starts(Some(3), 2)],
            [grid.clone(), backwards, grid.clone()]
        );
        assert_eq!(starts(Some(6), 1), grid, "the other way round");
        assert_ne!(starts(Some(4), 0), starts(Some(5), 0), "at random");
    }

    #[test]
    fn a_transfer_comes_right_after_those_that_overtake_it() {
        let mut picker = Picker::new(Order::Overtaken { transfer: 1, times: 2 });
        let mut all = runners(&[(0, 0), (1, 0), (2, 1)]);
        let mut seen = Vec::new();
        for overtaken in [0, 0, 1, 1, 2, 0] {
            all[1].overtaken = overtaken;
            seen.push(picker.pick(&all));
        }
        assert_eq!(seen, [0, 2, 0, 2, 1, 0]);
        assert_eq!(picker.pick(&runners(&[(1, 0)])), 0, "when nobody else can go on");
    }

    #[test]
    fn a_skewed_rank_goes_first_as_long_as_it_can() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..20 {
            let mut picker = Picker::new(Order::Skewed(seed));
            let all = runners(&[(0, 0), (1, 0), (2, 1), (3, 1)]);
            let ranks: Vec<u32> = (0..8).map(|_| all[picker.pick(&all)].rank).collect();
            assert!(ranks.iter().all(|&rank| rank == ranks[0]), "{ranks:?}");
            seen.insert(ranks[0]);
        }
        assert_eq!(seen.len(), 2, "some seeds put each rank first");
    }
}
