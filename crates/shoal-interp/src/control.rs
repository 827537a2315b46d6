//! Entering and leaving regions: branches, loops, calls.

use shoal_ir::numeric::Const;
use shoal_ir::{OpId, Region, Scalar};
use smallvec::SmallVec;

use crate::error::{Awaited, Error, Waiting};
use crate::machine::{LapLog, Machine, Step, Wait};
use crate::program::{Activation, Frame, Program, Site};
use crate::value::Val;

/// Values on their way into or out of a region.
pub(crate) type Vals = SmallVec<[Val; 4]>;

/// Whose region a frame is in, and what it needs to go on when the region ends.
pub(crate) enum Owner {
    /// The kernel itself.
    Kernel,
    /// A called function.
    Call(OpId),
    /// A branch of an `if`.
    Branch(OpId),
    /// The body of a `for`.
    For(OpId, Counter),
    /// The first region of a `while`.
    Before(OpId, Option<Lap>),
    /// The body of a `while`.
    Body(OpId, Option<Lap>),
    /// A region that an operation applies to elements.
    Applied,
}

/// Where a `for` stands.
#[derive(Copy, Clone)]
pub(crate) struct Counter {
    now: i128,
    end: i128,
    step: i128,
    ty: Scalar,
}

/// What a `while` started its latest iteration with, and what the one before saw. If memory and carried values are the
/// same one iteration later, all further iterations will be, until somebody changes memory.
pub(crate) struct Lap {
    version: u64,
    carried: Vals,
    log: LapLog,
}

/// Iterations that a loop may make in vain before others come first.
const VAIN_LAPS: u32 = 16;

impl<'p> Program<'p> {
    /// Goes into a region of the current function.
    pub(crate) fn enter(&mut self, region: Region, owner: Owner, args: Vals) {
        let plan = self.plan();
        let active = self.lanes_entering(region, &owner, &args);
        for (&param, arg) in plan.func.region(region).params().iter().zip(args) {
            self.set(param, arg);
        }
        self.frames.push(Frame { region, next: 0, owner, active });
    }

    /// The lanes that run a region, if it is one of a branch or a loop that lanes take for themselves.
    fn lanes_entering(&self, region: Region, owner: &Owner, args: &Vals) -> Option<Val> {
        let plan = self.plan();
        match owner {
            Owner::Branch(id) => {
                let mask = plan.lane_mask(*id)?;
                (plan.func.op(*id).regions()[0] == region).then(|| self.val(mask).clone())
            }
            Owner::Before(id, _) | Owner::Body(id, _) if plan.is_by_lanes(*id) => args.last().cloned(),
            Owner::Before(..) | Owner::Body(..) | Owner::Kernel | Owner::Call(_) | Owner::For(..) | Owner::Applied => {
                None
            }
        }
    }

    fn site(&self, id: OpId) -> Site<'p> {
        let plan = self.plan();
        Site { plan, id, op: plan.func.op(id) }
    }

    pub(crate) fn enter_if(&mut self, site: Site<'p>) -> Step {
        let branch = if self.operand(site, 0).scalar() != 0 { 0 } else { 1 };
        self.enter(site.op.regions()[branch], Owner::Branch(site.id), Vals::new());
        Step::Continue
    }

    pub(crate) fn enter_for(&mut self, site: Site<'p>) -> Result<Step, Error> {
        let ty = site.ty(0).number().unwrap_or(Scalar::I32);
        let int = |i: usize| Const::from_bits(ty, self.operand(site, i).scalar()).as_int().unwrap_or(0);
        let counter = Counter { now: int(0), end: int(1), step: int(2), ty };
        if counter.step <= 0 {
            return Err(Error::LoopStep { step: counter.step, at: self.place(site) });
        }
        let carried = self.operands(site, 3);
        Ok(self.next_trip(site, counter, carried))
    }

    /// Another iteration of a `for`, or its end.
    fn next_trip(&mut self, site: Site<'p>, counter: Counter, carried: Vals) -> Step {
        if counter.now >= counter.end {
            return self.finish(site, carried);
        }
        let index = Val::Scalar(Const::from_bits(counter.ty, counter.now as u64).bits());
        let args = std::iter::once(index).chain(carried).collect();
        self.enter(site.op.regions()[0], Owner::For(site.id, counter), args);
        Step::Continue
    }

    pub(crate) fn enter_while(&mut self, site: Site<'p>) -> Step {
        let args = self.operands(site, 0);
        self.laps.push(LapLog::default());
        self.enter(site.op.regions()[0], Owner::Before(site.id, None), args);
        Step::Continue
    }

    /// Takes the operands of the operation that ends a region, and leaves the region.
    fn hand_over(&mut self, site: Site<'p>) -> (Option<Owner>, Vals) {
        let values = self.operands(site, 0);
        self.drop_dead(site);
        (self.frames.pop().map(|frame| frame.owner), values)
    }

    pub(crate) fn condition(&mut self, site: Site<'p>) -> Step {
        let (owner, mut values) = self.hand_over(site);
        let goes_on = values.remove(0).scalar() != 0;
        let Some(Owner::Before(id, lap)) = owner else { return Step::Done };
        let loop_site = self.site(id);
        if goes_on {
            self.enter(loop_site.op.regions()[1], Owner::Body(id, lap), values);
            Step::Continue
        } else {
            self.laps.pop();
            (self.idle_laps, self.spins_on) = (0, None);
            self.finish(loop_site, values)
        }
    }

    /// Ends a region that yields, or a function.
    pub(crate) fn leave(&mut self, machine: &Machine<'_>, site: Site<'p>) -> Step {
        let (owner, values) = self.hand_over(site);
        match owner {
            Some(Owner::Kernel) | None => Step::Done,
            Some(Owner::Call(id)) => {
                self.activations.pop();
                let call = self.site(id);
                self.finish(call, values)
            }
            Some(Owner::Branch(id)) => {
                let branch = self.site(id);
                self.finish(branch, values)
            }
            Some(Owner::For(id, counter)) => {
                let counter = Counter { now: counter.now + counter.step, ..counter };
                let loop_site = self.site(id);
                self.next_trip(loop_site, counter, values)
            }
            Some(Owner::Before(id, lap) | Owner::Body(id, lap)) => self.back_edge(machine, id, lap, values),
            Some(Owner::Applied) => {
                self.handed = values;
                Step::Continue
            }
        }
    }

    /// Starts a further iteration of a `while`; one that would only repeat the last has to wait.
    fn back_edge(&mut self, machine: &Machine<'_>, id: OpId, last: Option<Lap>, values: Vals) -> Step {
        let site = self.site(id);
        let version = machine.memory.version();
        let log = self.laps.last_mut().map(std::mem::take).unwrap_or_default();
        let carries_the_same = |lap: &Lap| lap.carried.iter().zip(&values).all(|(a, b)| a.same(b));
        let repeats = |lap: &Lap| carries_the_same(lap) && log.would_repeat(machine.memory, lap.version);
        let repeats = last.as_ref().is_some_and(repeats);
        let in_vain = |lap: &Lap| log.is_in_vain(&lap.log, machine.memory, lap.version);
        self.idle_laps = if last.as_ref().is_some_and(in_vain) { self.idle_laps + 1 } else { 0 };
        let report = Waiting { at: self.place(site), awaited: Awaited::LoopExit };
        let wait = (repeats || self.idle_laps >= VAIN_LAPS).then(|| {
            let watch = log.clone().watch(machine.memory);
            Wait { watch, deadline: None, looked_after: log.looked_at_clock.then_some(machine.time.jumps), report }
        });
        let lap = Lap { version, carried: values.clone(), log };
        self.enter(site.op.regions()[0], Owner::Before(id, Some(lap)), values);
        if repeats {
            self.wait = wait;
            return Step::Waits;
        }
        (self.gives_way, self.spins_on) = (wait.is_some(), wait);
        Step::Yield
    }

    pub(crate) fn call(&mut self, site: Site<'p>, callee: &str) -> Result<Step, Error> {
        let Some(target) = self.rank.plan.func(callee) else {
            return Err(Error::Invalid { what: format!("there is no function `{callee}`"), at: self.place(site) });
        };
        let args = self.operands(site, 0);
        self.activations.push(Activation::new(target, args));
        self.frames.push(Frame { region: target.func.body(), next: 0, owner: Owner::Call(site.id), active: None });
        Ok(Step::Continue)
    }

    /// Runs a region on scalars to its end. It computes and nothing else, so nobody needs a turn in between.
    pub(crate) fn apply(&mut self, machine: &mut Machine<'_>, region: Region, args: Vals) -> Result<Vals, Error> {
        let depth = self.frames.len();
        self.enter(region, Owner::Applied, args);
        while self.frames.len() > depth {
            if self.step(machine)? == Step::Waits {
                let waiting = self.wait.take().map(|w| w.report).into_iter().collect();
                return Err(Error::Deadlock { waiting, hosts: Vec::new(), words: Vec::new(), writers: Vec::new() });
            }
        }
        Ok(std::mem::take(&mut self.handed))
    }
}
