//! What happens when: the hosts of all ranks, and the programs of their launches.
//!
//! Programs start as they find room, and run from one scheduling point to the next; one that waits is passed over until
//! a word that it waits for has changed. When all wait, first the programs not yet started get their chance (unless
//! residency is strict), then the wait with the nearest deadline runs out, then somebody outside is waited for; when
//! there is none of these, the world is deadlocked.

use crate::error::{Awaited, Error, HostWaiting};
use crate::launch::{Idle, Options, Residency};
use crate::machine::{Machine, Step};
use crate::pick::{Picker, Runner};
use crate::program::Program;
use crate::rank::RankPlan;

/// What a rank's host does next.
pub(crate) enum Task<'p> {
    Launch(&'p RankPlan<'p>),
    Barrier,
    Write { address: u64, bytes: &'p [u8] },
    Read { address: u64, bytes: u64 },
}

/// A rank's host: its tasks, and the launch under way.
pub(crate) struct HostQueue<'p> {
    rank: u32,
    tasks: std::vec::IntoIter<Task<'p>>,
    running: Option<Running<'p>>,
    at_barrier: bool,
}

struct Running<'p> {
    plan: &'p RankPlan<'p>,
    /// The programs that have not started, the next one last.
    unstarted: Vec<[u32; 3]>,
    /// Programs that have started and not ended.
    resident: usize,
}

impl<'p> HostQueue<'p> {
    pub(crate) fn new(rank: u32, tasks: Vec<Task<'p>>) -> HostQueue<'p> {
        HostQueue { rank, tasks: tasks.into_iter(), running: None, at_barrier: false }
    }

    fn is_done(&self) -> bool {
        self.running.is_none() && !self.at_barrier && self.tasks.len() == 0
    }
}

struct Live<'p> {
    program: Program<'p>,
    /// Programs are numbered as they start.
    number: u64,
    queue: usize,
}

impl Live<'_> {
    fn runner(&self) -> Runner {
        Runner { number: self.number, rank: self.program.rank.number }
    }
}

/// Everything under way.
struct World<'p, 'o> {
    queues: Vec<HostQueue<'p>>,
    live: Vec<Live<'p>>,
    started: u64,
    options: &'o Options,
}

/// Runs everything that the hosts of all ranks do, to its end.
pub(crate) fn run<'p>(
    machine: &mut Machine<'_>,
    queues: Vec<HostQueue<'p>>,
    options: &Options,
    picker: &mut Picker,
) -> Result<(), Error> {
    let mut world = World { queues, live: Vec::new(), started: 0, options };
    let (mut runnable, mut runners) = (Vec::new(), Vec::new());
    loop {
        while world.hosts_go_on(machine, picker)? {}
        world.fill(machine);
        runnable.clear();
        runnable.extend((0..world.live.len()).filter(|&i| can_run(&mut world.live[i].program, machine)));
        runners.clear();
        runners.extend(runnable.iter().map(|&i| world.live[i].runner()));
        if runnable.is_empty() {
            if world.queues.iter().all(HostQueue::is_done) {
                return Ok(());
            }
            world.unblock(machine)?;
            continue;
        }
        let index = runnable[picker.pick(&runners)];
        if run_to_point(&mut world.live[index].program, machine)? == Step::Done {
            world.end(machine, index);
        }
        machine.host.turn();
    }
}

impl<'p> World<'p, '_> {
    /// Lets every host do what it can; whether any did something.
    fn hosts_go_on(&mut self, machine: &mut Machine<'_>, picker: &mut Picker) -> Result<bool, Error> {
        let mut moved = false;
        for queue in &mut self.queues {
            while queue.running.is_none() && !queue.at_barrier {
                let Some(task) = queue.tasks.next() else { break };
                moved = true;
                match task {
                    Task::Launch(plan) => {
                        let mut unstarted: Vec<[u32; 3]> = ids(plan.grid).collect();
                        if self.options.residency == Residency::Strict {
                            picker.start_order(&mut unstarted);
                        }
                        unstarted.reverse();
                        if unstarted.is_empty() {
                            continue;
                        }
                        queue.running = Some(Running { plan, unstarted, resident: 0 });
                    }
                    Task::Barrier => queue.at_barrier = true,
                    Task::Write { address, bytes } => {
                        for (i, &byte) in (0..).zip(bytes) {
                            // The caller's own buffers; what lies outside of all is nobody's.
                            let _ = machine.memory.store(address + i, 1, u64::from(byte));
                        }
                        if let Some(checker) = &mut machine.checker {
                            checker.host_write(machine.memory, queue.rank, address, bytes.len() as u64);
                        }
                    }
                    Task::Read { address, bytes } => {
                        if let Some(checker) = &mut machine.checker {
                            checker.host_read(machine.memory, queue.rank, address, bytes);
                        }
                    }
                }
            }
        }
        if self.queues.iter().all(|queue| queue.at_barrier) {
            if let Some(checker) = &mut machine.checker {
                checker.host_barrier();
            }
            for queue in &mut self.queues {
                queue.at_barrier = false;
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Starts programs while there is room for them.
    fn fill(&mut self, machine: &mut Machine<'_>) {
        for index in 0..self.queues.len() {
            while self.queues[index].running.as_ref().is_some_and(|r| r.resident < self.room(r.plan))
                && self.start(machine, index)
            {}
        }
    }

    /// How many of a launch's programs are started before one has to finish.
    fn room(&self, plan: &RankPlan<'_>) -> usize {
        let room = plan.room.unwrap_or(usize::MAX).min(self.options.resident);
        if plan.takes_turns { room.max(1) } else { 1 }
    }

    fn start(&mut self, machine: &mut Machine<'_>, index: usize) -> bool {
        let queue = &mut self.queues[index];
        let Some(running) = &mut queue.running else { return false };
        let Some(id) = running.unstarted.pop() else { return false };
        running.resident += 1;
        let mut program = Program::new(running.plan, id, 0);
        if let Some(checker) = &mut machine.checker {
            program.actor = checker.start_program(running.plan.launch, program.whole_place());
        }
        self.live.push(Live { program, number: self.started, queue: index });
        self.started += 1;
        true
    }

    /// A program has ended, and its launch, if it was the last.
    fn end(&mut self, machine: &mut Machine<'_>, index: usize) {
        let Live { program, queue, .. } = self.live.remove(index);
        if let Some(checker) = &mut machine.checker {
            checker.end_program(program.actor);
        }
        let queue = &mut self.queues[queue];
        if let Some(running) = &mut queue.running {
            running.resident -= 1;
            if running.resident == 0 && running.unstarted.is_empty() {
                queue.running = None;
                if let Some(checker) = &mut machine.checker {
                    checker.end_launch(queue.rank);
                }
            }
        }
    }

    /// When nothing can run: lets something happen that may change that.
    fn unblock(&mut self, machine: &mut Machine<'_>) -> Result<(), Error> {
        if self.options.residency == Residency::Growing {
            let before = self.live.len();
            for index in 0..self.queues.len() {
                self.start(machine, index);
            }
            if self.live.len() > before {
                return Ok(());
            }
        }
        if expire(&mut self.live) {
            return Ok(());
        }
        match (machine.host.idle(), self.live.first()) {
            (Idle::Changed, _) => {
                machine.memory.touch();
                Ok(())
            }
            (Idle::Stop, Some(live)) => Err(Error::Interrupted { at: live.program.whole_place() }),
            (Idle::Nobody, _) | (Idle::Stop, None) => Err(self.deadlock()),
        }
    }

    fn deadlock(&self) -> Error {
        let waits = || self.live.iter().filter_map(|l| l.program.wait.as_ref());
        let host = |queue: &HostQueue<'_>| {
            let unstarted = queue.running.as_ref().map_or(0, |running| running.unstarted.len());
            let at_barrier = queue.at_barrier;
            (unstarted > 0 || at_barrier).then_some(HostWaiting { rank: queue.rank, unstarted, at_barrier })
        };
        Error::Deadlock {
            waiting: waits().map(|wait| wait.report.clone()).collect(),
            hosts: self.queues.iter().filter_map(host).collect(),
            words: waits().map(|wait| wait.first_word().map(|word| (word.address, word.value))).collect(),
        }
    }
}

/// Every program of a grid, the first axis fastest.
fn ids([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}

/// Whether a program can go on, now that memory and time are what they are.
fn can_run(program: &mut Program<'_>, machine: &Machine<'_>) -> bool {
    let Some(wait) = &program.wait else { return true };
    if wait.deadline.is_some_and(|deadline| deadline <= machine.steps) {
        program.expired = true;
    }
    program.expired || wait.may_be_over(machine.memory)
}

/// Lets the wait with the nearest deadline run out.
fn expire(live: &mut [Live<'_>]) -> bool {
    let deadline = |l: &Live<'_>| l.program.wait.as_ref().and_then(|w| w.deadline);
    match live.iter_mut().filter(|l| deadline(l).is_some()).min_by_key(|l| deadline(l)) {
        Some(live) => {
            live.program.expired = true;
            true
        }
        None => false,
    }
}

fn run_to_point<'p>(program: &mut Program<'p>, machine: &mut Machine<'_>) -> Result<Step, Error> {
    // A poll is tried again and keeps its deadline; a loop just goes on.
    program.wait.take_if(|wait| wait.report.awaited == Awaited::LoopExit);
    loop {
        match program.step(machine)? {
            Step::Continue => {}
            turn @ (Step::Yield | Step::Waits | Step::Done) => return Ok(turn),
        }
    }
}
