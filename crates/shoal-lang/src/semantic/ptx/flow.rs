//! Branches of PTX as structured control flow.
//!
//! Elements run in step. A branch forward leaves its elements waiting at the label, under a mask, until the others come
//! by; a branch backward makes everything from its label on a loop, which goes round while any element does.

use std::collections::BTreeSet;

use shoal_ir::op::{BinaryOp, UnaryOp};
use shoal_ir::types::{Scalar, Type};
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::{Machine, Outcome};
use super::program::{Label, Source};
use crate::lanes;

/// How deep loops may nest.
const MAX_LOOPS: usize = 16;

impl Machine<'_, '_> {
    /// Runs all instructions.
    pub(super) fn run(&mut self) -> Outcome<()> {
        self.run_range(0, self.program.instructions.len(), 0)
    }

    /// Runs the instructions from one place up to another.
    fn run_range(&mut self, from: usize, to: usize, depth: usize) -> Outcome<()> {
        let mut at = from;
        while at < to {
            self.arrive(at);
            if let Some((label, last)) = self.loop_at(at, to) {
                if depth >= MAX_LOOPS {
                    return Err("loops nest too deep".into());
                }
                self.run_loop(label, at, last, depth)?;
                at = last + 1;
                continue;
            }
            self.step(at)?;
            at += 1;
        }
        self.arrive(to);
        Ok(())
    }

    /// The elements that wait at labels here go on.
    fn arrive(&mut self, at: usize) {
        let mut here: Vec<Label> =
            self.waiting.keys().copied().filter(|&label| self.program.labels[label] == at).collect();
        here.sort_unstable();
        for label in here {
            let (Some(arrived), Some(active)) = (self.waiting.remove(&label), self.active) else { continue };
            self.active = Some(self.binary(BinaryOp::Or, active, arrived));
        }
    }

    /// The loop that begins at an instruction, and its last instruction: the last branch back to here.
    fn loop_at(&self, at: usize, to: usize) -> Option<(Label, usize)> {
        let back = |i: usize| {
            let label = self.program.instructions[i].branch()?;
            (self.program.labels[label] == at && !self.open_loops.contains(&at)).then_some((label, i))
        };
        (at..to).rev().find_map(back)
    }

    fn step(&mut self, at: usize) -> Outcome<()> {
        let program = self.program;
        let instruction = &program.instructions[at];
        if let Some(label) = instruction.branch() {
            let target = self.program.labels[label];
            if target <= at && !self.open_loops.contains(&target) {
                return Err("a branch goes back into the middle of a loop".into());
            }
            return self.branch(at, label);
        }
        match instruction.name.as_str() {
            "ret" | "exit" => {
                let mask = self.mask(instruction)?;
                self.leave(mask);
                Ok(())
            }
            _ => self.execute(instruction).map_err(|problem| format!("`{}`: {problem}", instruction.spelled())),
        }
    }

    /// Elements that take a branch wait at its label.
    fn branch(&mut self, at: usize, label: Label) -> Outcome<()> {
        let mask = self.mask(&self.program.instructions[at].clone())?;
        let taken = match mask {
            Some(mask) => mask,
            None => self.truth(true),
        };
        let waiting = match self.waiting.get(&label) {
            Some(&others) => self.binary(BinaryOp::Or, others, taken),
            None => taken,
        };
        self.waiting.insert(label, waiting);
        self.leave(mask);
        Ok(())
    }

    /// The elements of a mask run no further here.
    fn leave(&mut self, mask: Option<IrValue>) {
        self.active = Some(match mask {
            None => self.truth(false),
            Some(gone) => {
                let stay = self.e.b().unary(UnaryOp::Not, gone);
                let active = self.active;
                lanes::both(self.e, active, stay)
            }
        });
    }

    fn truth(&mut self, value: bool) -> IrValue {
        self.int(i64::from(value), Scalar::I1)
    }

    /// Runs a loop: the instructions from `first` to the branch back at `last`.
    fn run_loop(&mut self, label: Label, first: usize, last: usize, depth: usize) -> Outcome<()> {
        let program = self.program;
        let body = &program.instructions[first..=last];
        let written: BTreeSet<Source> = body.iter().flat_map(super::program::Instruction::destinations).collect();
        // Labels behind the loop that branches inside go to.
        let exits: BTreeSet<Label> =
            body.iter().filter_map(|i| i.branch()).filter(|&l| program.labels[l] > last).collect();
        let leaves = body.iter().any(|i| matches!(i.name.as_str(), "ret" | "exit"));
        if exits.is_empty() && !leaves && body[body.len() - 1].guard.is_none() {
            return Err("a loop that never ends".into());
        }
        let all_run = self.active.is_none();
        let mut inits = Vec::new();
        for &source in &written {
            inits.push(self.bits(source)?);
        }
        for exit in &exits {
            let waiting = self.waiting.get(exit).copied();
            inits.push(waiting.unwrap_or_else(|| self.truth(false)));
        }
        // The elements that have gone on behind the loop, and those that go round.
        inits.push(self.truth(false));
        let active = self.active.unwrap_or_else(|| self.truth(true));
        inits.push(active);
        let types: Vec<Type> = inits.iter().map(|&v| self.e.func.ty(v).clone()).collect();

        let outer = self.e.region;
        let head = self.e.func.new_region();
        let params: Vec<IrValue> = types.iter().map(|ty| self.e.func.add_param(head, ty.clone())).collect();
        self.e.region = head;
        self.resume(&written, &exits, &params);
        let target = program.labels[label];
        self.open_loops.push(target);
        // The branch back leaves its elements waiting at the loop's label.
        let ran = self.run_range(first, last, depth + 1).and_then(|()| self.step(last));
        self.open_loops.pop();
        ran?;
        let again = self.labels_at(target).into_iter().filter_map(|l| self.waiting.remove(&l)).collect::<Vec<_>>();
        let again = again.into_iter().reduce(|a, b| self.binary(BinaryOp::Or, a, b));
        let again = again.unwrap_or_else(|| self.truth(false));
        let done = params[params.len() - 2];
        let gone = self.active.unwrap_or_else(|| self.truth(true));
        let done = self.binary(BinaryOp::Or, done, gone);
        let mut handed = Vec::new();
        for &source in &written {
            handed.push(self.bits(source)?);
        }
        for exit in &exits {
            let waiting = self.waiting.get(exit).copied();
            handed.push(waiting.unwrap_or_else(|| self.truth(false)));
        }
        handed.extend([done, again]);
        let go_on = self.any(again);
        self.e.b().op(OpKind::Condition, std::iter::once(go_on).chain(handed), [], []);

        let round = self.e.func.new_region();
        let params: Vec<IrValue> = types.iter().map(|ty| self.e.func.add_param(round, ty.clone())).collect();
        self.e.region = round;
        self.e.b().yield_(&params);
        self.e.region = outer;
        let kind = OpKind::While { disable_licm: false };
        let op = self.e.b().op(kind, inits, types, [head, round]);
        let results = self.e.func.op(op).results().to_vec();
        self.resume(&written, &exits, &results);
        self.active = Some(results[results.len() - 2]).filter(|_| !all_run || !exits.is_empty() || leaves);
        Ok(())
    }

    fn labels_at(&self, at: usize) -> Vec<Label> {
        (0..self.program.labels.len()).filter(|&label| self.program.labels[label] == at).collect()
    }

    /// Takes registers, waiting elements and the active mask from what a loop carries.
    fn resume(&mut self, written: &BTreeSet<Source>, exits: &BTreeSet<Label>, values: &[IrValue]) {
        let mut values = values.iter().copied();
        for &source in written {
            self.held.extend(values.next().map(|value| (source, value)));
        }
        for &exit in exits {
            self.waiting.extend(values.next().map(|value| (exit, value)));
        }
        self.active = values.nth(1);
    }
}
