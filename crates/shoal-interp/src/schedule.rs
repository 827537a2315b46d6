//! Whose turn it is.
//!
//! Programs start in the order of the grid, as they find room. A program runs from one scheduling point to the next;
//! one that waits is passed over until memory has changed. When all wait, first the programs not yet started get their
//! chance, then the wait with the nearest deadline runs out; when there is neither, the launch is deadlocked.

use crate::error::{Awaited, Error};
use crate::launch::Order;
use crate::program::{Machine, Program, Step};
use crate::rank::RankPlan;

/// Runs every program of every rank's grid to its end.
pub(crate) fn run<'p>(machine: &mut Machine<'p, '_>, order: Order) -> Result<(), Error> {
    let mut unstarted: Vec<_> = machine.ranks.iter().map(|rank| ids(rank.grid)).collect();
    let mut resident = vec![0; machine.ranks.len()];
    let mut live: Vec<Program<'p>> = Vec::new();
    let mut picker = Picker::new(order);
    loop {
        for (rank, unstarted) in machine.ranks.iter().zip(&mut unstarted) {
            let resident = &mut resident[rank.number as usize];
            while *resident < rank.resident && start(&mut live, rank, unstarted) {
                *resident += 1;
            }
        }
        let runnable: Vec<usize> = (0..live.len()).filter(|&i| can_run(&mut live[i], machine)).collect();
        let Some(index) = picker.pick(&runnable) else {
            if live.is_empty() {
                return Ok(());
            }
            let before = live.len();
            for (rank, unstarted) in machine.ranks.iter().zip(&mut unstarted) {
                resident[rank.number as usize] += usize::from(start(&mut live, rank, unstarted));
            }
            if live.len() == before && !expire(&mut live) {
                let waiting = live.iter().filter_map(|p| p.wait.as_ref()).map(|w| w.report.clone()).collect();
                return Err(Error::Deadlock { waiting });
            }
            continue;
        };
        if run_to_point(&mut live[index], machine)? == Step::Done {
            resident[live.remove(index).rank.number as usize] -= 1;
            picker.removed(index);
        }
    }
}

/// Every program of a grid, the first axis fastest.
fn ids([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}

fn start<'p>(
    live: &mut Vec<Program<'p>>,
    rank: &'p RankPlan<'p>,
    unstarted: &mut impl Iterator<Item = [u32; 3]>,
) -> bool {
    let next = unstarted.next();
    live.extend(next.map(|id| Program::new(rank, id)));
    next.is_some()
}

/// Whether a program can go on, now that memory and time are what they are.
fn can_run(program: &mut Program<'_>, machine: &Machine<'_, '_>) -> bool {
    let Some(wait) = &program.wait else { return true };
    if wait.deadline.is_some_and(|deadline| deadline <= machine.steps) {
        program.expired = true;
    }
    program.expired || wait.version != machine.memory.version()
}

/// Lets the wait with the nearest deadline run out.
fn expire(live: &mut [Program<'_>]) -> bool {
    let deadline = |p: &Program<'_>| p.wait.as_ref().and_then(|w| w.deadline);
    match live.iter_mut().filter(|p| deadline(p).is_some()).min_by_key(|p| deadline(p)) {
        Some(program) => {
            program.expired = true;
            true
        }
        None => false,
    }
}

fn run_to_point<'p>(program: &mut Program<'p>, machine: &mut Machine<'p, '_>) -> Result<Step, Error> {
    // A poll is tried again and keeps its deadline; a loop just goes on.
    program.wait.take_if(|wait| wait.report.awaited == Awaited::LoopExit);
    loop {
        match program.step(machine)? {
            Step::Continue => {}
            turn @ (Step::Yield | Step::Waits | Step::Done) => return Ok(turn),
        }
    }
}

/// Chooses among the programs that can run.
enum Picker {
    /// The number of the program whose turn it is next.
    RoundRobin(usize),
    /// The state of the random sequence.
    Random(u64),
}

impl Picker {
    fn new(order: Order) -> Picker {
        match order {
            Order::RoundRobin => Picker::RoundRobin(0),
            Order::Random(seed) => Picker::Random(seed),
        }
    }

    fn pick(&mut self, runnable: &[usize]) -> Option<usize> {
        match self {
            Picker::RoundRobin(next) => {
                let index = runnable.iter().copied().find(|i| i >= next).or_else(|| runnable.first().copied())?;
                *next = index + 1;
                Some(index)
            }
            Picker::Random(state) => {
                let last = (runnable.len() as u64).checked_sub(1)?;
                let choice = (u128::from(splitmix(state)) * u128::from(last + 1)) >> 64;
                Some(runnable[choice as usize])
            }
        }
    }

    /// The programs after a removed one move down by one place.
    fn removed(&mut self, index: usize) {
        match self {
            Picker::RoundRobin(next) if *next > index => *next -= 1,
            Picker::RoundRobin(_) | Picker::Random(_) => {}
        }
    }
}

/// The next number of a splitmix64 sequence.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
