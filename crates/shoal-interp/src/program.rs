//! A program as an explicit state machine: a stack of frames, one for each region it is in, stepped one operation at a
//! time. Nothing of a program lives on the Rust stack between two steps, so a scheduler may leave it anywhere.

use cranelift_entity::EntityRef;
use shoal_ir::{Func, Op, OpId, Region, Span, Type, Value};
use smallvec::SmallVec;

use crate::control::Owner;
use crate::elementwise::Elementwise;
use crate::error::{Error, Place};
use crate::machine::{LapLog, Machine, Seen, Step, Wait};
use crate::plan::FuncPlan;
use crate::rank::RankPlan;
use crate::value::Val;

/// One call of a function: what its values hold.
pub(crate) struct Activation<'p> {
    plan: &'p FuncPlan<'p>,
    values: Vec<Val>,
}

impl<'p> Activation<'p> {
    pub(crate) fn new(plan: &'p FuncPlan<'p>, args: impl IntoIterator<Item = Val>) -> Activation<'p> {
        let mut values = vec![Val::Empty; plan.func.num_values()];
        for (&param, arg) in plan.func.params().iter().zip(args) {
            values[param.index()] = arg;
        }
        Activation { plan, values }
    }

    /// The function.
    pub(crate) fn func(&self) -> &'p Func {
        self.plan.func
    }
}

/// A region under way.
pub(crate) struct Frame {
    pub(crate) region: Region,
    /// The operation that comes next.
    pub(crate) next: usize,
    /// What happens when it ends.
    pub(crate) owner: Owner,
    /// The lanes that run it, where only some do.
    pub(crate) active: Option<Val>,
}

/// One instance of a kernel.
pub(crate) struct Program<'p> {
    /// The rank it belongs to.
    pub(crate) rank: &'p RankPlan<'p>,
    pub(crate) id: [u32; 3],
    /// Its place among all that the scheduler chooses from.
    pub(crate) number: u64,
    /// Its number for who follows accesses.
    pub(crate) actor: u32,
    pub(crate) activations: Vec<Activation<'p>>,
    pub(crate) frames: Vec<Frame>,
    /// What a region that was applied to elements handed over last.
    pub(crate) handed: SmallVec<[Val; 4]>,
    pub(crate) wait: Option<Wait>,
    /// Its wait has run out of time.
    pub(crate) expired: bool,
    /// The iterations of the `while` loops that it is in, outermost first.
    pub(crate) laps: Vec<LapLog>,
    /// Iterations in a row that saw and changed nothing new.
    pub(crate) idle_laps: u32,
    /// What a loop waits for that has gone round in vain for a while. It may still end by itself, by a number that it
    /// counts.
    pub(crate) spins_on: Option<Wait>,
    /// It has gone round such a loop since anybody who is in none made a step.
    pub(crate) gives_way: bool,
    /// The number of the meeting at which it is.
    pub(crate) meeting: Option<u64>,
    /// Its SHMEM fences so far.
    pub(crate) epoch: u32,
    /// Whether writes of its own may be under way.
    pub(crate) writes_late: bool,
}

/// An operation at work.
#[derive(Copy, Clone)]
pub(crate) struct Site<'p> {
    pub(crate) plan: &'p FuncPlan<'p>,
    pub(crate) id: OpId,
    pub(crate) op: &'p Op,
}

impl<'p> Site<'p> {
    pub(crate) fn ty(&self, operand: usize) -> &'p Type {
        self.plan.func.ty(self.op.operands()[operand])
    }

    pub(crate) fn result_ty(&self, result: usize) -> &'p Type {
        self.plan.func.ty(self.op.results()[result])
    }

    pub(crate) fn operand_count(&self) -> usize {
        self.op.operands().len()
    }
}

impl<'p> Program<'p> {
    pub(crate) fn new(rank: &'p RankPlan<'p>, id: [u32; 3], number: u64) -> Program<'p> {
        Program {
            rank,
            id,
            number,
            actor: 0,
            activations: vec![Activation::new(rank.kernel, rank.args.iter().cloned())],
            frames: vec![Frame { region: rank.kernel.func.body(), next: 0, owner: Owner::Kernel, active: None }],
            handed: SmallVec::new(),
            wait: None,
            expired: false,
            laps: Vec::new(),
            idle_laps: 0,
            spins_on: None,
            gives_way: false,
            meeting: None,
            epoch: 0,
            writes_late: false,
        }
    }

    /// What it waits for, if only by going round a loop.
    pub(crate) fn waits_for(&self) -> Option<&Wait> {
        self.wait.as_ref().or(self.spins_on.as_ref())
    }

    /// Remembers what an iteration of a loop saw.
    pub(crate) fn saw(&mut self, seen: Seen) {
        for lap in &mut self.laps {
            lap.read(seen);
        }
    }

    /// Remembers that an iteration of a loop looked at the clock.
    pub(crate) fn looked_at_clock(&mut self) {
        for lap in &mut self.laps {
            lap.looked_at_clock = true;
        }
    }

    /// Remembers that an iteration of a loop changed memory.
    pub(crate) fn changed_memory(&mut self) {
        for lap in &mut self.laps {
            lap.change();
        }
    }

    /// The function it is in.
    pub(crate) fn plan(&self) -> &'p FuncPlan<'p> {
        self.activations.last().expect("a running program is in a function").plan
    }

    fn values(&mut self) -> &mut Vec<Val> {
        &mut self.activations.last_mut().expect("a running program is in a function").values
    }

    /// What a value holds.
    pub(crate) fn val(&self, value: Value) -> &Val {
        let activation = self.activations.last().expect("a running program is in a function");
        let val = &activation.values[value.index()];
        debug_assert!(
            !matches!(val, Val::Empty) || *activation.plan.func.ty(value) == Type::Token,
            "a value is read while it is alive"
        );
        val
    }

    pub(crate) fn set(&mut self, value: Value, to: Val) {
        self.values()[value.index()] = to;
    }

    /// What an operand holds.
    pub(crate) fn operand(&self, site: Site<'p>, index: usize) -> &Val {
        self.val(site.op.operands()[index])
    }

    pub(crate) fn operands(&self, site: Site<'p>, from: usize) -> SmallVec<[Val; 4]> {
        site.op.operands()[from..].iter().map(|&v| self.val(v).clone()).collect()
    }

    /// The operation that comes next, or the kernel when it has ended.
    pub(crate) fn here(&self) -> Place {
        let (frame, activation) = (self.frames.last(), self.activations.last());
        let next = frame.zip(activation).and_then(|(frame, activation)| {
            let func = activation.plan.func;
            func.region(frame.region).ops().get(frame.next).map(|&op| func.op(op).span)
        });
        Place { span: next.unwrap_or(Span::NONE), ..self.whole_place() }
    }

    pub(crate) fn place(&self, site: Site<'p>) -> Place {
        Place { span: site.op.span, rank: self.rank.in_world.then_some(self.rank.number), program: self.id }
    }

    /// The lanes that run what it is at, where only some do.
    pub(crate) fn active(&self) -> Option<&Val> {
        self.frames.iter().rev().find_map(|frame| frame.active.as_ref())
    }

    /// The first of them.
    pub(crate) fn first_active(&self) -> Option<u32> {
        self.active()?.bits().iter().position(|&bit| bit != 0).map(|lane| lane as u32)
    }

    /// The program as a whole.
    pub(crate) fn whole_place(&self) -> Place {
        let span = self.rank.kernel.func.span;
        Place { span, rank: self.rank.in_world.then_some(self.rank.number), program: self.id }
    }

    /// Ends an operation: its results come to be, and what only it needed is dropped.
    pub(crate) fn finish(&mut self, site: Site<'p>, results: impl IntoIterator<Item = Val>) -> Step {
        for (&value, result) in site.op.results().iter().zip(results) {
            self.set(value, result);
        }
        self.drop_dead(site);
        Step::Continue
    }

    /// Drops what nothing needs after an operation.
    pub(crate) fn drop_dead(&mut self, site: Site<'p>) {
        let values = self.values();
        for &value in site.plan.last_uses(site.id) {
            values[value.index()] = Val::Empty;
        }
    }

    /// Runs the next operation.
    pub(crate) fn step(&mut self, machine: &mut Machine<'_>) -> Result<Step, Error> {
        let Some(frame) = self.frames.last_mut() else { return Ok(Step::Done) };
        let plan = self.activations.last().expect("a running program is in a function").plan;
        let id = plan.func.region(frame.region).ops()[frame.next];
        frame.next += 1;
        let site = Site { plan, id, op: plan.func.op(id) };
        machine.steps += 1;
        if machine.steps > machine.max_steps {
            return Err(Error::StepLimit { steps: machine.max_steps, at: self.place(site) });
        }
        if machine.is_interrupted() {
            return Err(Error::Interrupted { at: self.place(site) });
        }
        match plan.elementwise(id) {
            Some(operation) => Ok(self.elementwise(site, operation)),
            None => {
                if self.writes_late {
                    self.settle(machine, site)?;
                }
                machine.memory.set_reach(plan.reach(id));
                self.dispatch(machine, site)
            }
        }
    }

    fn elementwise(&mut self, site: Site<'p>, operation: Elementwise) -> Step {
        let args: SmallVec<[&[u64]; 3]> = site.op.operands().iter().map(|&v| self.val(v).bits()).collect();
        let result = if site.result_ty(0).is_tile() {
            let mut out = vec![0; args.first().map_or(0, |a| a.len())];
            operation.apply(&args, &mut out);
            Val::tile(out)
        } else {
            let mut out = [0];
            operation.apply(&args, &mut out);
            Val::Scalar(out[0])
        };
        drop(args);
        self.finish(site, [result])
    }
}
