//! What happens when: the hosts of all ranks, and the programs of their launches.
//!
//! Programs start as they find room, and run from one scheduling point to the next; one that waits is passed over until
//! a word that it waits for has changed. When all wait, first the programs not yet started get their chance (unless
//! residency is strict), then the wait with the nearest deadline runs out, then time jumps ahead for those who look at the
//! clock, then somebody outside is waited for; when there is none of these, the world is deadlocked.

use std::collections::HashSet;

use shoal_ir::Span;

use crate::check::LaneOrder;
use crate::error::{Awaited, Error, HostWaiting, Place, Writer};
use crate::launch::{Idle, Options, Residency};
use crate::machine::{Machine, Step, Wait};
use crate::pick::{Picker, Runner};
use crate::program::Program;
use crate::stream::{Running, Stream, StreamTask, Unstarted};
use crate::transfer::Transfer;
use crate::turn::{Mover, Next, Turn};
use crate::writers;

/// What a rank's host does next.
pub(crate) enum Task<'p> {
    Enqueue(u32, StreamTask<'p>, Span),
    Synchronize(u32),
    Barrier,
    Write { address: u64, bytes: &'p [u8], span: Span },
    Read { address: u64, bytes: u64, span: Span },
}

impl Task<'_> {
    /// The stream that must be done before.
    fn needs(&self) -> Option<u32> {
        match self {
            Task::Enqueue(..) => None,
            Task::Synchronize(stream) => Some(*stream),
            Task::Barrier | Task::Write { .. } | Task::Read { .. } => Some(0),
        }
    }
}

/// A rank's host: its tasks, and its streams.
pub(crate) struct HostQueue<'p> {
    rank: u32,
    /// The next one last.
    tasks: Vec<Task<'p>>,
    streams: Vec<Stream<'p>>,
    at_barrier: bool,
}

impl<'p> HostQueue<'p> {
    /// Streams that will make steps of their own are numbered from `numbers` on.
    pub(crate) fn new(rank: u32, mut tasks: Vec<Task<'p>>, numbers: &mut u64) -> HostQueue<'p> {
        let last = tasks.iter().filter_map(|task| match task {
            Task::Enqueue(stream, ..) => Some(*stream),
            Task::Synchronize(_) | Task::Barrier | Task::Write { .. } | Task::Read { .. } => task.needs(),
        });
        let count = last.max().unwrap_or(0) + 1;
        let mut streams = Vec::new();
        for number in 0..count {
            let steps = |task: &Task<'_>| matches!(task, Task::Enqueue(on, task, _) if *on == number && task.is_step());
            let place = if tasks.iter().any(steps) {
                *numbers += 1;
                *numbers - 1
            } else {
                0
            };
            streams.push(Stream::new(rank, number, place));
        }
        tasks.reverse();
        HostQueue { rank, tasks, streams, at_barrier: false }
    }

    fn is_done(&self) -> bool {
        !self.at_barrier && self.tasks.is_empty() && self.streams.iter().all(Stream::is_idle)
    }

    /// Does what the host can do now; whether it did something.
    fn go_on(&mut self, machine: &mut Machine<'_>) -> Result<bool, Error> {
        let mut moved = false;
        while let Some(task) = self.tasks.last() {
            let needs = task.needs().and_then(|stream| self.streams.get(stream as usize));
            if self.at_barrier || needs.is_some_and(|stream| !stream.is_idle()) {
                break;
            }
            let stream = needs.map(|stream| stream.actor(machine));
            if let (Some(checker), Some(stream)) = (&mut machine.checker, stream) {
                checker.synchronize(self.rank, stream);
            }
            let Some(task) = self.tasks.pop() else { break };
            moved = true;
            self.do_task(machine, task)?;
        }
        Ok(moved)
    }

    fn do_task(&mut self, machine: &mut Machine<'_>, task: Task<'p>) -> Result<(), Error> {
        let rank = self.rank;
        match task {
            Task::Enqueue(stream, task, span) => {
                let known = machine.checker.as_mut().map(|checker| checker.enqueued(rank));
                if let Some(stream) = self.streams.get_mut(stream as usize) {
                    stream.push(task, span, known);
                }
            }
            Task::Synchronize(_) => {}
            Task::Barrier => self.at_barrier = true,
            Task::Write { address, bytes, span } => {
                // The caller's own buffers; what lies outside of all is nobody's.
                let _ = machine.memory.copy_to(address, bytes);
                if let Some(checker) = &mut machine.checker {
                    checker.copy_to(machine.memory, (rank, span), address, bytes.len() as u64);
                }
            }
            Task::Read { address, bytes, span } => {
                if let Some(checker) = &mut machine.checker {
                    checker.copy_from(machine.memory, (rank, span), address, bytes);
                }
            }
        }
        Ok(())
    }

    fn waiting(&self, machine: &Machine<'_>) -> Option<HostWaiting> {
        let unstarted = self.streams.iter().filter_map(|s| s.running.as_ref()).map(|r| r.unstarted.len()).sum();
        let streams: Vec<_> = self.streams.iter().filter_map(|stream| stream.waiting(machine)).collect();
        let waits = unstarted > 0 || self.at_barrier || !streams.is_empty();
        waits.then_some(HostWaiting { rank: self.rank, unstarted, at_barrier: self.at_barrier, streams })
    }
}

struct Live<'p> {
    program: Program<'p>,
    queue: usize,
    stream: usize,
}

/// Who can make the next step.
#[derive(Copy, Clone)]
enum Ready {
    /// A program, by its place among those that live.
    Program(usize),
    /// A transfer, by its place among those under way.
    Transfer(usize),
    /// A stream of a host.
    Stream(usize, usize),
}

impl Live<'_> {
    fn runner(&self) -> Runner {
        Runner { number: self.program.number, rank: self.program.rank.number, overtaken: 0 }
    }
}

/// Everything under way.
struct Scheduler<'p, 'o> {
    queues: Vec<HostQueue<'p>>,
    live: Vec<Live<'p>>,
    /// The events that have happened, by rank and number.
    happened: HashSet<(u32, u32)>,
    /// A state of memory, and the turns since then in which there was nothing but loops in vain.
    vain_turns: (u64, u64),
    options: &'o Options,
}

/// Runs everything that the hosts of all ranks do, to its end.
pub(crate) fn run<'p>(
    machine: &mut Machine<'_>,
    queues: Vec<HostQueue<'p>>,
    options: &Options,
    picker: &mut Picker,
) -> Result<(), Error> {
    let mut scheduler = Scheduler { queues, live: Vec::new(), happened: HashSet::new(), vain_turns: (0, 0), options };
    let (mut ready, mut runners) = (Vec::new(), Vec::new());
    loop {
        while scheduler.hosts_go_on(machine, picker)? {}
        scheduler.fill(machine);
        scheduler.ready(machine, &mut ready);
        if ready.is_empty() {
            if scheduler.queues.iter().all(HostQueue::is_done) {
                return Ok(());
            }
            scheduler.unblock(machine)?;
            continue;
        }
        scheduler.let_others_come_first(machine, &mut ready)?;
        runners.clear();
        runners.extend(ready.iter().map(|(runner, _)| *runner));
        let next = ready[picker.pick(&runners)].1;
        scheduler.is_the_turn_of(next);
        match next {
            Ready::Program(index) => {
                let program = &mut scheduler.live[index].program;
                let (at, by) = (program.here(), Mover::Program { launch: program.rank.launch });
                let step = run_to_point(program, machine);
                let next = match &step {
                    Ok(Step::Done) => Next::Ended,
                    Ok(Step::Waits) => Next::Waits,
                    Ok(Step::Yield | Step::Continue) => Next::Ready,
                    Err(_) => Next::Failed,
                };
                picker.took(|| Turn { at, by, to: program.here().span, next });
                if step? == Step::Done {
                    machine.complete_writes(program.number)?;
                    scheduler.end(machine, index);
                }
            }
            Ready::Transfer(index) => {
                let transfer = machine.transfers.remove(index);
                let at = transfer.at;
                picker.took(|| Turn { at, by: Mover::Transfer, to: at.span, next: Next::Ended });
                machine.deliver(transfer)?;
            }
            Ready::Stream(queue, stream) => {
                let at = Place { span: Span::NONE, rank: Some(scheduler.queues[queue].rank), program: [0; 3] };
                picker.took(|| Turn { at, by: Mover::Stream, to: Span::NONE, next: Next::Ready });
                scheduler.queues[queue].streams[stream].step(machine)?;
            }
        }
        machine.host.turn();
    }
}

impl<'p> Scheduler<'p, '_> {
    /// Who can make the next step, by their numbers, in order.
    fn ready(&mut self, machine: &Machine<'_>, ready: &mut Vec<(Runner, Ready)>) {
        ready.clear();
        for (index, live) in self.live.iter_mut().enumerate() {
            if can_run(&mut live.program, machine) {
                ready.push((live.runner(), Ready::Program(index)));
            }
        }
        let programs = ready.len();
        for (index, transfer) in machine.transfers.iter().enumerate().filter(|(_, t)| !machine.is_held(t)) {
            let Transfer { number, at, overtaken, .. } = *transfer;
            let runner = Runner { number, rank: at.rank.unwrap_or(0), overtaken };
            ready.push((runner, Ready::Transfer(index)));
        }
        for (queue, host) in self.queues.iter().enumerate() {
            let steps = host.streams.iter().enumerate().filter(|(_, stream)| stream.has_step(machine));
            let runner = |stream: &Stream<'p>| Runner { number: stream.number, rank: host.rank, overtaken: 0 };
            ready.extend(steps.map(|(at, stream)| (runner(stream), Ready::Stream(queue, at))));
        }
        if ready.len() > programs {
            ready.sort_unstable_by_key(|(runner, _)| runner.number);
        }
    }

    /// Programs in loops that go round in vain give way after each round, so that no schedule is theirs alone. When there
    /// are no others, what they count may still end them, but not for ever.
    fn let_others_come_first(
        &mut self,
        machine: &mut Machine<'_>,
        ready: &mut Vec<(Runner, Ready)>,
    ) -> Result<(), Error> {
        if ready.iter().all(|(_, who)| self.is(who, |program| program.spins_on.is_some())) {
            let version = machine.memory.version();
            let (since, turns) = self.vain_turns;
            let turns = if since == version { turns + 1 } else { 1 };
            if turns > self.options.vain_turns.saturating_mul(ready.len() as u64) {
                return Err(self.deadlock(machine));
            }
            self.vain_turns = (version, turns);
            let looks =
                |program: &Program<'p>| program.spins_on.as_ref().is_some_and(|wait| wait.looked_after.is_some());
            if ready.iter().all(|(_, who)| self.is(who, looks)) {
                let _ = self.start_more(machine) || self.let_time_pass(machine);
            }
        }
        if ready.iter().all(|(_, who)| self.is(who, |program| program.gives_way)) {
            self.live.iter_mut().for_each(|live| live.program.gives_way = false);
        } else {
            ready.retain(|(_, who)| !self.is(who, |program| program.gives_way));
        }
        Ok(())
    }

    /// Whether who can make the next step is a program of which that is so.
    fn is(&self, who: &Ready, what: impl Fn(&Program<'p>) -> bool) -> bool {
        match who {
            Ready::Program(index) => what(&self.live[*index].program),
            Ready::Transfer(_) | Ready::Stream(..) => false,
        }
    }

    /// Somebody makes a step. If it is nobody in such a loop, those that gave way have done so.
    fn is_the_turn_of(&mut self, who: Ready) {
        let spins = match who {
            Ready::Program(index) => self.live[index].program.spins_on.is_some(),
            Ready::Transfer(_) | Ready::Stream(..) => false,
        };
        if !spins {
            self.live.iter_mut().for_each(|live| live.program.gives_way = false);
        }
    }

    /// Lets every host and stream do what it can; whether any did something.
    fn hosts_go_on(&mut self, machine: &mut Machine<'_>, picker: &mut Picker) -> Result<bool, Error> {
        let mut moved = false;
        for queue in &mut self.queues {
            moved |= queue.go_on(machine)?;
            for stream in &mut queue.streams {
                loop {
                    let (did, launch) = stream.go_on(machine, &mut self.happened);
                    moved |= did;
                    if let Some(plan) = launch {
                        let mut unstarted = Unstarted::Grid { grid: plan.grid, started: 0 };
                        if self.options.residency == Residency::Strict {
                            let mut programs: Vec<[u32; 3]> = unstarted.iter().collect();
                            picker.start_order(plan.number, &mut programs);
                            programs.reverse();
                            unstarted = Unstarted::Listed(programs);
                        }
                        if !unstarted.is_empty() {
                            stream.running = Some(Running { plan, unstarted, resident: 0 });
                        }
                    }
                    if !did {
                        break;
                    }
                }
            }
        }
        if self.queues.iter().all(|queue| queue.at_barrier) {
            machine.complete_all()?;
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
        for queue in 0..self.queues.len() {
            for stream in 0..self.queues[queue].streams.len() {
                while self.has_room(queue, stream) && self.start(machine, queue, stream) {}
            }
        }
    }

    /// Whether a further program of a stream's launch finds room on its rank, beside those of other streams.
    fn has_room(&self, queue: usize, stream: usize) -> bool {
        let Some(running) = &self.queues[queue].streams[stream].running else { return false };
        if !running.plan.takes_turns {
            return running.resident < 1;
        }
        let resident: usize =
            self.queues[queue].streams.iter().filter_map(|s| s.running.as_ref()).map(|r| r.resident).sum();
        let room = running.plan.room.unwrap_or(usize::MAX).min(self.options.resident);
        resident < room.max(1)
    }

    fn start(&mut self, machine: &mut Machine<'_>, queue: usize, stream: usize) -> bool {
        let at = &mut self.queues[queue].streams[stream];
        let actor = at.actor(machine);
        let Some(running) = &mut at.running else { return false };
        let Some(id) = running.unstarted.pop() else { return false };
        running.resident += 1;
        let mut program = Program::new(running.plan, id, machine.numbers);
        machine.numbers += 1;
        if let Some(checker) = &mut machine.checker {
            let lanes = if running.plan.has_lanes { LaneOrder::Each } else { LaneOrder::AsOne };
            program.actor = checker.start_program(actor, running.plan.launch, program.whole_place(), lanes);
        }
        self.live.push(Live { program, queue, stream });
        true
    }

    /// A program has ended, and its launch, if it was the last.
    fn end(&mut self, machine: &mut Machine<'_>, index: usize) {
        let Live { program, queue, stream } = self.live.remove(index);
        let stream = &mut self.queues[queue].streams[stream];
        let actor = stream.actor(machine);
        if let Some(checker) = &mut machine.checker {
            checker.end_program(actor, program.actor);
        }
        if let Some(running) = &mut stream.running {
            running.resident -= 1;
            if running.resident == 0 && running.unstarted.is_empty() {
                stream.running = None;
                if let Some(checker) = &mut machine.checker {
                    checker.end_launch(actor);
                }
            }
        }
    }

    /// When nothing can run: lets something happen that may change that.
    fn unblock(&mut self, machine: &mut Machine<'_>) -> Result<(), Error> {
        if self.start_more(machine) || self.expire(machine) || self.let_time_pass(machine) {
            return Ok(());
        }
        match (machine.host.idle(), self.live.first()) {
            (Idle::Changed, _) => {
                machine.memory.touch();
                Ok(())
            }
            (Idle::Stop, Some(live)) => Err(Error::Interrupted { at: live.program.whole_place() }),
            (Idle::Nobody, _) | (Idle::Stop, None) => Err(self.deadlock(machine)),
        }
    }

    /// Starts programs for which there was no room, if more may live than there is room for; whether it did.
    fn start_more(&mut self, machine: &mut Machine<'_>) -> bool {
        let before = self.live.len();
        if self.options.residency == Residency::Growing {
            for queue in 0..self.queues.len() {
                for stream in 0..self.queues[queue].streams.len() {
                    self.start(machine, queue, stream);
                }
            }
        }
        self.live.len() > before
    }

    /// Lets the wait with the nearest deadline run out; whether there was one.
    fn expire(&mut self, machine: &mut Machine<'_>) -> bool {
        let deadline = |live: &Live<'_>| live.program.wait.as_ref().and_then(|wait| wait.deadline);
        let nearest = self.live.iter().filter_map(deadline).min();
        nearest.inspect(|&nearest| machine.time.reaches(nearest, machine.steps));
        let expires = self.live.iter_mut().find(|live| nearest.is_some() && deadline(live) == nearest);
        expires.map(|live| live.program.expired = true).is_some()
    }

    /// Time jumps ahead, if a loop looks at the clock; whether it did.
    fn let_time_pass(&self, machine: &mut Machine<'_>) -> bool {
        let looks = |live: &Live<'_>| live.program.waits_for().is_some_and(|wait| wait.looked_after.is_some());
        self.live.iter().any(looks) && machine.time.jump((machine.memory.version(), self.live.len()))
    }

    fn deadlock(&self, machine: &Machine<'_>) -> Error {
        let waits = || self.live.iter().filter_map(|l| l.program.waits_for().map(|wait| (&l.program, wait)));
        let writers = |(program, wait): (&Program<'p>, &Wait)| match wait.first_word() {
            Some(word) => self.writers(program, word.bytes),
            None => Vec::new(),
        };
        Error::Deadlock {
            waiting: waits().map(|(_, wait)| wait.report.clone()).collect(),
            hosts: self.queues.iter().filter_map(|queue| queue.waiting(machine)).collect(),
            words: waits().map(|(_, wait)| wait.first_word().map(|word| (word.address, word.value))).collect(),
            writers: waits().map(writers).collect(),
        }
    }

    /// Who but a program could still write a word of that size.
    fn writers(&self, but: &Program<'p>, bytes: u32) -> Vec<Writer> {
        let others = self.live.iter().filter(|live| live.program.number != but.number);
        let mut found: Vec<Writer> = others.filter_map(|live| writers::later(&live.program, bytes)).collect();
        for running in self.queues.iter().flat_map(|queue| &queue.streams).filter_map(|stream| stream.running.as_ref())
        {
            let next = running.unstarted.iter();
            found.extend(next.filter_map(|id| writers::unstarted(running.plan, id, bytes)).take(MAX_UNSTARTED));
        }
        found
    }
}

/// Programs of a launch that have not started, named in a report.
const MAX_UNSTARTED: usize = 4;

/// Whether a program can go on, now that memory and time are what they are.
fn can_run(program: &mut Program<'_>, machine: &Machine<'_>) -> bool {
    let Some(wait) = &program.wait else { return true };
    if wait.deadline.is_some_and(|deadline| deadline <= machine.now()) {
        program.expired = true;
    }
    let has_jumped = wait.looked_after.is_some_and(|jumps| jumps != machine.time.jumps);
    program.expired || has_jumped || wait.may_be_over(machine.memory)
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
