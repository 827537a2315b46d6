//! **What.** Removes operations whose results nobody needs, and the parts of loops and branches nobody needs: dead
//! results of `if`, dead carried values of `for` and `while`.
//!
//! ```text
//! %5, %6 = for (%0, %1, %2, %3, %4) : f32, i32 do (…) {        %5 = for (%0, %1, %2, %3) : f32 do (…) {
//!   %7 = add (%a, %x) : f32                                      %7 = add (%a, %x) : f32
//!   %8 = add (%n, %c1) : i32                              ==>    yield (%7)
//!   yield (%7, %8)                                             }
//! }   ; %6 is unused
//! ```
//!
//! **Why here.** Last in every group of passes: the others replace values and leave the old ones behind.
//!
//! Liveness is marked from the operations with effects, backwards along operands. A carried value is live only if its
//! result or its parameter is: values that only feed themselves around a loop die.

use cranelift_entity::EntitySet;
use shoal_ir::effects::CallEffects;
use shoal_ir::{Func, Module, OpId, Region, Value, ValueDef};

use shoal_ir::Structure;

/// Removes what is dead in every function.
pub fn dce(module: &mut Module) {
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        remove_dead(func, &calls);
    }
}

/// Removes what is dead in one function.
pub fn remove_dead(func: &mut Func, calls: &CallEffects) {
    let order = func.walk();
    let live = mark(func, calls, &order);
    let kept: Vec<OpId> = order.into_iter().filter(|&op| live.ops.contains(op)).collect();
    let trims: Vec<Trim> = kept.iter().filter_map(|&op| Trim::of(func, op, &live)).collect();
    // Uses of dead values go first: in the ends of regions, then with the dead operations, then the values themselves.
    for trim in &trims {
        trim.drop_uses(func);
    }
    let body = func.body();
    sweep(func, body, &live);
    for trim in &trims {
        trim.drop_definitions(func);
    }
}

/// What is needed.
struct Live {
    values: EntitySet<Value>,
    ops: EntitySet<OpId>,
}

fn mark(func: &Func, calls: &CallEffects, order: &[OpId]) -> Live {
    let live =
        Live { values: EntitySet::with_capacity(func.num_values()), ops: EntitySet::with_capacity(func.num_ops()) };
    let mut marker = Marker { func, live, open: Vec::new() };
    for &op in order {
        let effects = calls.of_op_alone(func, op);
        if !effects.terminator && !effects.is_removable() {
            marker.mark_op(op);
        }
    }
    // The function's own terminator has no owner that could bring it to life.
    if let Some(end) = func.terminator(func.body()) {
        marker.mark_op(end);
    }
    marker.run();
    marker.live
}

struct Marker<'f> {
    func: &'f Func,
    live: Live,
    open: Vec<Value>,
}

impl Marker<'_> {
    /// The operation happens: what it needs to happen is live.
    fn mark_op(&mut self, op: OpId) {
        if !self.live.ops.insert(op) {
            return;
        }
        let data = self.func.op(op);
        let owner = data.parent().and_then(|region| self.func.region(region).owner());
        let needed = match Structure::of(&data.kind) {
            Structure::If => 1,
            Structure::For => 3,
            Structure::While => 0,
            Structure::Elements => data.operands().len(),
            Structure::Plain => needed_at_end(self.func, op, owner),
        };
        for &operand in &data.operands()[..needed] {
            self.mark_value(operand);
        }
        for &region in data.regions() {
            if let Some(end) = self.func.terminator(region) {
                self.mark_op(end);
            }
        }
        if let Some(owner) = owner {
            self.mark_op(owner);
        }
    }

    fn mark_value(&mut self, value: Value) {
        if self.live.values.insert(value) {
            self.open.push(value);
        }
    }

    fn run(&mut self) {
        while let Some(value) = self.open.pop() {
            match self.func.value(value).def() {
                ValueDef::Result(op, index) => self.mark_result(op, index as usize),
                ValueDef::Param(region, index) => self.mark_param(region, index as usize),
            }
        }
    }

    fn mark_result(&mut self, op: OpId, index: usize) {
        self.mark_op(op);
        let data = self.func.op(op);
        match Structure::of(&data.kind) {
            Structure::If => {
                for &region in data.regions() {
                    self.mark_value(self.func.yielded(region)[index]);
                }
            }
            Structure::For => self.mark_carried(op, index),
            Structure::While => self.mark_value(self.func.yielded(data.regions()[0])[index + 1]),
            Structure::Elements | Structure::Plain => {}
        }
    }

    fn mark_param(&mut self, region: Region, index: usize) {
        let Some(owner) = self.func.region(region).owner() else { return };
        self.mark_op(owner);
        let data = self.func.op(owner);
        match Structure::of(&data.kind) {
            Structure::For if index > 0 => self.mark_carried(owner, index - 1),
            Structure::While if region == data.regions()[0] => {
                self.mark_value(data.operands()[index]);
                self.mark_value(self.func.yielded(data.regions()[1])[index]);
            }
            Structure::While => self.mark_value(self.func.yielded(data.regions()[0])[index + 1]),
            Structure::For | Structure::If | Structure::Elements | Structure::Plain => {}
        }
    }

    /// A carried value of a `for` is live: where it starts, and where it comes from on each trip.
    fn mark_carried(&mut self, op: OpId, index: usize) {
        let data = self.func.op(op);
        let body = data.regions()[0];
        self.mark_value(data.operands()[index + 3]);
        self.mark_value(data.results()[index]);
        self.mark_value(self.func.region(body).params()[index + 1]);
        self.mark_value(self.func.yielded(body)[index]);
    }
}

/// How many of its first operands an operation without regions needs to happen. What ends a branch or a loop's trip
/// hands over each value only where that one is needed.
fn needed_at_end(func: &Func, op: OpId, owner: Option<OpId>) -> usize {
    let data = func.op(op);
    if !data.kind.is_terminator() {
        return data.operands().len();
    }
    match owner.map(|owner| (Structure::of_op(func, owner), func.op(owner).regions()[0])) {
        Some((Structure::While, first)) if data.parent() == Some(first) => 1,
        Some((Structure::If | Structure::For | Structure::While, _)) => 0,
        Some((Structure::Elements | Structure::Plain, _)) | None => data.operands().len(),
    }
}

/// The dead results, parameters and handed-over values of a live `if`, `for` or `while`.
struct Trim {
    op: OpId,
    /// Dead places among the results.
    results: Vec<usize>,
    /// Dead places among what a `while` carries into its first region.
    carried: Vec<usize>,
}

impl Trim {
    fn of(func: &Func, op: OpId, live: &Live) -> Option<Trim> {
        let data = func.op(op);
        let dead = |values: &[Value]| -> Vec<usize> {
            (0..values.len()).filter(|&i| !live.values.contains(values[i])).collect()
        };
        let (results, carried) = match Structure::of(&data.kind) {
            Structure::If | Structure::For => (dead(data.results()), Vec::new()),
            Structure::While => {
                let passed = func.region(data.regions()[1]).params();
                let results = dead(data.results()).into_iter().filter(|&i| !live.values.contains(passed[i])).collect();
                (results, dead(func.region(data.regions()[0]).params()))
            }
            Structure::Elements | Structure::Plain => return None,
        };
        (!results.is_empty() || !carried.is_empty()).then_some(Trim { op, results, carried })
    }

    fn drop_uses(&self, func: &mut Func) {
        let regions = func.op(self.op).regions().to_vec();
        let end = |func: &Func, index: usize| func.terminator(regions[index]).expect("a region ends in a terminator");
        match Structure::of_op(func, self.op) {
            Structure::If => {
                for index in 0..regions.len() {
                    drop_operands(func, end(func, index), 0, &self.results);
                }
            }
            Structure::For => {
                drop_operands(func, end(func, 0), 0, &self.results);
                drop_operands(func, self.op, 3, &self.results);
            }
            Structure::While => {
                drop_operands(func, end(func, 0), 1, &self.results);
                drop_operands(func, end(func, 1), 0, &self.carried);
                drop_operands(func, self.op, 0, &self.carried);
            }
            Structure::Elements | Structure::Plain => {}
        }
    }

    fn drop_definitions(&self, func: &mut Func) {
        let regions = func.op(self.op).regions().to_vec();
        match Structure::of_op(func, self.op) {
            Structure::For => drop_params(func, regions[0], 1, &self.results),
            Structure::While => {
                drop_params(func, regions[0], 0, &self.carried);
                drop_params(func, regions[1], 0, &self.results);
            }
            Structure::If | Structure::Elements | Structure::Plain => {}
        }
        for &index in self.results.iter().rev() {
            func.remove_result(self.op, index);
        }
    }
}

/// Drops operands by their places after the first ones; the places are in order.
fn drop_operands(func: &mut Func, op: OpId, first: usize, dead: &[usize]) {
    if dead.is_empty() {
        return;
    }
    let operands = func.op(op).operands().iter().enumerate();
    let kept: Vec<Value> =
        operands.filter(|(i, _)| *i < first || dead.binary_search(&(i - first)).is_err()).map(|(_, &v)| v).collect();
    func.set_operands(op, kept);
}

fn drop_params(func: &mut Func, region: Region, first: usize, dead: &[usize]) {
    for &index in dead.iter().rev() {
        func.remove_param(region, index + first);
    }
}

/// Erases the dead operations of a region and of the regions inside it.
fn sweep(func: &mut Func, region: Region, live: &Live) {
    let mut dead = Vec::new();
    for op in func.take_ops(region) {
        if live.ops.contains(op) {
            func.append(region, op);
            for index in 0..func.op(op).regions().len() {
                sweep(func, func.op(op).regions()[index], live);
            }
        } else {
            dead.push(op);
        }
    }
    // Users before definitions.
    for op in dead.into_iter().rev() {
        func.erase(op);
    }
}
