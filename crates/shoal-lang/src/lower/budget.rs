//! What one compilation may cost.
//!
//! Three things are bounded, each by what is really done and made, whatever the source looks like: the steps of
//! evaluation, the weight of the code (each function in its own, and every function with all it calls inlined), and the
//! parts of a compile-time value. When a bound is reached, the user is told where, and nothing more is lowered.

use shoal_ir::{MAX_WEIGHT, OpId};
use shoal_source::{Cancellation, Diagnostic, Kind, Span, Watch};

use super::Lower;
use super::frame::Binding;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Const, Value};

/// Statements and compile-time steps before we say that the code does not end.
const MAX_STEPS: u64 = 2_000_000;
/// Parts of one compile-time value, nested ones included.
const MAX_PARTS: usize = 1 << 16;
/// How deep one compile-time value may nest: values are compared, shown and dropped by recursion.
const MAX_VALUE_DEPTH: usize = 100;
/// So many parts of a value are made, compared or copied in the time of one step.
const PARTS_PER_STEP: usize = 8;
/// So many bytes of a text.
const BYTES_PER_STEP: usize = 128;
/// The weight of a function of its own, besides its operations.
const FUNCTION_WEIGHT: u64 = 16;

/// What was spent so far.
#[derive(Debug)]
pub(super) struct Budget {
    steps: u64,
    /// The weight of all functions, without what they call.
    written: u64,
    /// The function under construction.
    size: Size,
    state: State,
    watch: Watch,
}

/// How large a function is.
#[derive(Debug, Default)]
pub(super) struct Size {
    /// Its operations that are in `weight`.
    counted: usize,
    /// With all calls inlined.
    weight: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Enough,
    Spent,
}

impl Budget {
    pub(super) fn new(cancellation: &Cancellation) -> Budget {
        let watch = cancellation.watch();
        Budget { steps: 0, written: 0, size: Size::default(), state: State::Enough, watch }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.state == State::Spent
    }

    /// Puts the function under construction aside for another one.
    pub(super) fn enter_function(&mut self) -> Size {
        self.written += FUNCTION_WEIGHT;
        std::mem::take(&mut self.size)
    }

    /// Takes up the function that was put aside; the weight of the other.
    pub(super) fn leave_function(&mut self, outer: Size) -> u64 {
        std::mem::replace(&mut self.size, outer).weight
    }
}

impl Lower<'_> {
    /// Counts one step of work.
    pub(super) fn step(&mut self, span: Span) -> LowerResult<()> {
        self.steps(span, 1)
    }

    /// Counts the work of going through so many parts of a value.
    pub(super) fn parts_visited(&mut self, parts: usize) -> LowerResult<()> {
        let steps = parts / PARTS_PER_STEP;
        if steps == 0 { Ok(()) } else { self.steps(self.emit.span, steps as u64) }
    }

    /// Counts the work of going through a text.
    pub(super) fn text_visited(&mut self, bytes: usize) -> LowerResult<()> {
        let steps = bytes / BYTES_PER_STEP;
        if steps == 0 { Ok(()) } else { self.steps(self.emit.span, steps as u64) }
    }

    /// Counts the work of going through a value with all its parts.
    pub(super) fn value_visited(&mut self, value: &Value) -> LowerResult<()> {
        match value {
            Value::Const(Const::Str(text)) => self.text_visited(text.len()),
            Value::Tuple(_) | Value::Aggregate(_) | Value::Dict(_) => {
                let mut budget = MAX_PARTS;
                count_parts(value, &mut budget, MAX_VALUE_DEPTH);
                self.parts_visited(MAX_PARTS - budget)
            }
            _ => Ok(()),
        }
    }

    /// Counts the work of copying and merging all names of the function.
    pub(super) fn frame_visited(&mut self) -> LowerResult<()> {
        let parts = |binding: &Binding| {
            let mut budget = MAX_PARTS;
            count_parts(&binding.value, &mut budget, MAX_VALUE_DEPTH);
            MAX_PARTS - budget
        };
        let parts = self.frame.scope.values().map(parts).sum();
        self.parts_visited(parts)
    }

    fn steps(&mut self, span: Span, steps: u64) -> LowerResult<()> {
        if self.gave_up() {
            return Err(LowerError::reported());
        }
        self.budget.steps += steps;
        if self.budget.steps > MAX_STEPS {
            self.budget.state = State::Spent;
            return Err(Diagnostic::error(span, "compiling this takes too many steps")
                .label(format!("given up here after {MAX_STEPS} steps"))
                .help("use `range` instead of `static_range`, or do the work in host code")
                .into());
        }
        self.weigh(span)?;
        // Reading the clock costs more than most steps.
        if self.budget.steps % 256 < steps && self.budget.watch.is_requested() {
            self.budget.state = State::Spent;
            return Err(Diagnostic::error(span, "compiling was interrupted").kind(Kind::Cancelled).into());
        }
        Ok(())
    }

    /// Counts a call of a function of this weight: it will be inlined.
    pub(super) fn weigh_call(&mut self, callee: u64, span: Span) -> LowerResult<()> {
        self.budget.size.weight = self.budget.size.weight.saturating_add(callee);
        self.weigh(span)
    }

    /// Counts the operations that are new since the last time.
    fn weigh(&mut self, span: Span) -> LowerResult<()> {
        let Budget { size, written, state, .. } = &mut self.budget;
        while size.counted < self.emit.func.num_ops() {
            let op = OpId::from_u32(u32::try_from(size.counted).unwrap_or(u32::MAX));
            // What was erased before anybody counted it has no operands any more.
            let is_there = self.emit.func.op(op).parent().is_some();
            let weight = if is_there { self.emit.func.op_weight(op) } else { 0 };
            size.counted += 1;
            size.weight = size.weight.saturating_add(weight);
            *written = written.saturating_add(weight);
        }
        if size.weight.max(*written) <= MAX_WEIGHT || *state == State::Spent {
            return Ok(());
        }
        *state = State::Spent;
        Err(Diagnostic::error(span, "this kernel is too large to compile")
            .label(format!("given up here: the code so far has more than {MAX_WEIGHT} instructions"))
            .note("each call adds the code of the function, each round of `static_range` that of the loop's body")
            .help("use `range` instead of `static_range`, or split the work over several kernels")
            .into())
    }

    /// A value made of parts, unless it has too many: sharing parts can make a small program describe a huge value.
    pub(super) fn bounded(&mut self, value: Value) -> LowerResult<Value> {
        let mut budget = MAX_PARTS;
        match count_parts(&value, &mut budget, MAX_VALUE_DEPTH) {
            Parts::Fine => {
                self.parts_visited(MAX_PARTS - budget)?;
                Ok(value)
            }
            Parts::TooMany => Err(self
                .emit
                .error(format!("this value has more than {MAX_PARTS} parts"))
                .help("keep such data in memory")
                .into()),
            Parts::TooDeep => Err(self
                .emit
                .error(format!("this value nests deeper than {MAX_VALUE_DEPTH} levels"))
                .help("use a flat tuple")
                .into()),
        }
    }
}

/// What is found of a value's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    Fine,
    TooMany,
    TooDeep,
}

/// Takes the number of parts of a value off the budget; whether that suffices.
fn count_parts(value: &Value, budget: &mut usize, levels: usize) -> Parts {
    let cost = match value {
        // Long texts count by length, so that showing a value is bounded too.
        Value::Const(Const::Str(s)) => 1 + s.len() / 64,
        _ => 1,
    };
    let Some(left) = budget.checked_sub(cost) else { return Parts::TooMany };
    *budget = left;
    let mut count = |parts: &mut dyn Iterator<Item = &Value>| {
        for part in parts {
            let Some(levels) = levels.checked_sub(1) else { return Parts::TooDeep };
            let found = count_parts(part, budget, levels);
            if found != Parts::Fine {
                return found;
            }
        }
        Parts::Fine
    };
    match value {
        Value::Tuple(t) => count(&mut t.items.iter()),
        Value::Aggregate(a) => count(&mut a.fields.iter()),
        Value::Dict(pairs) => count(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
        _ => Parts::Fine,
    }
}
