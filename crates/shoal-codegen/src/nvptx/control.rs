//! Control flow. Conditions and bounds are scalars, so all threads of a program take the same way, but for what each lane
//! does for itself (`lane_code`).

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, PhiValue};
use shoal_ir::{OpId, OpKind, Region, Value, effects};

use super::emitter::{Emitter, Held};
use super::give_up::Patience;
use super::lane_code;
use super::place::registers;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    /// The numbers of several values, one after the other.
    pub(super) fn flatten(&mut self, values: &[Value]) -> Vec<V<'ctx>> {
        values.iter().flat_map(|&value| self.carried_numbers(value)).collect()
    }

    fn carried_numbers(&mut self, value: Value) -> Vec<V<'ctx>> {
        if matches!(self.func.ty(value), shoal_ir::Type::Token) { Vec::new() } else { self.numbers(value).to_vec() }
    }

    /// Holds several values whose numbers stand one after the other.
    pub(super) fn hold_flat(&mut self, values: &[Value], numbers: &[V<'ctx>]) {
        let mut at = 0;
        for &value in values {
            let ty = self.func.ty(value);
            if matches!(ty, shoal_ir::Type::Token) {
                continue;
            }
            let count = self.count_of(value);
            let part = numbers[at..at + count].to_vec();
            at += count;
            self.hold_numbers(value, part);
        }
    }

    /// How many numbers a value has.
    pub(super) fn count_of(&self, value: Value) -> usize {
        match self.func.ty(value) {
            shoal_ir::Type::Token => 0,
            shoal_ir::Type::Tile(_) => registers(self.layout(value)) as usize,
            shoal_ir::Type::Elem(_) | shoal_ir::Type::Desc(_) => 1,
        }
    }

    pub(super) fn phis(&self, like: &[V<'ctx>]) -> Vec<PhiValue<'ctx>> {
        like.iter().map(|v| self.llvm.builder.build_phi(v.get_type(), "").expect("a phi")).collect()
    }

    pub(super) fn branch(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        if self.lane_code.is_alone(op) {
            let last = self.region_body(data.regions()[0]);
            let given = self.flatten(func.op(last).operands());
            self.hold_flat(data.results(), &given);
            return;
        }
        let condition = self.scalar(data.operands()[0]).into_int_value();
        let blocks = [llvm.new_block("then"), llvm.new_block("else")];
        let after = llvm.new_block("joined");
        let rings = self.ring_numbers();
        llvm.branch(condition, blocks[0], blocks[1]);
        let mut ends = Vec::new();
        let (before, mut open) = (self.open_accesses.clone(), Vec::new());
        for (block, &region) in blocks.into_iter().zip(data.regions()) {
            llvm.builder.position_at_end(block);
            self.scratch_may_be_busy();
            self.open_accesses.clone_from(&before);
            self.set_ring_numbers(&rings);
            let last = self.region_body(region);
            let mut given = self.flatten(func.op(last).operands());
            given.extend(self.ring_numbers());
            ends.push((given, llvm.here()));
            llvm.jump(after);
            open.append(&mut self.open_accesses);
        }
        self.open(&open);
        llvm.builder.position_at_end(after);
        let phis = self.phis(&ends[0].0);
        for (given, from) in &ends {
            for (phi, value) in phis.iter().zip(given) {
                phi.add_incoming(&[(value, *from)]);
            }
        }
        let mut numbers: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        let rings = numbers.split_off(numbers.len() - rings.len());
        self.set_ring_numbers(&rings);
        self.hold_flat(data.results(), &numbers);
        self.scratch_may_be_busy();
    }

    pub(super) fn counted_loop(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let body_region = data.regions()[0];
        let params = func.region(body_region).params();
        let [from, to, step] = [0, 1, 2].map(|index| self.scalar(data.operands()[index]));
        let signed = self.number(data.operands()[0]).is_signed_int();
        let start = self.flatten(&data.operands()[3..]);
        let floor = self.shared.floor;
        let staying = self.keep_operands(op);
        let fed = self.is_fed(op);
        let plan = if fed { None } else { self.plan_pipeline(op) };
        let runs_ahead = plan.is_some();
        if let Some(plan) = plan {
            self.order_ahead(op);
            self.fill_pipeline(op, plan);
        }
        if fed {
            self.enter_fed_loop(op);
        }
        let before = llvm.here();
        let (head, body, after) = (llvm.new_block("loop"), llvm.new_block("trip"), llvm.new_block("after"));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let counter = llvm.builder.build_phi(from.get_type(), "i").expect("a phi");
        counter.add_incoming(&[(&from, before)]);
        let phis = self.phis(&start);
        for (phi, value) in phis.iter().zip(&start) {
            phi.add_incoming(&[(value, before)]);
        }
        let state = if runs_ahead { self.pipeline_state() } else { Vec::new() };
        let ahead = self.phis(&state);
        for (phi, value) in ahead.iter().zip(&state) {
            phi.add_incoming(&[(value, before)]);
        }
        let rings = self.ring_numbers();
        let ring_phis = self.phis(&rings);
        for (phi, value) in ring_phis.iter().zip(&rings) {
            phi.add_incoming(&[(value, before)]);
        }
        let rings: Vec<V<'ctx>> = ring_phis.iter().map(|phi| phi.as_basic_value()).collect();
        self.set_ring_numbers(&rings);
        let carried: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        let index = counter.as_basic_value();
        let predicate = if signed { IntPredicate::SLT } else { IntPredicate::ULT };
        llvm.branch(llvm.icmp(predicate, index, to).into_int_value(), body, after);
        llvm.builder.position_at_end(body);
        self.scratch_may_be_busy();
        let open = self.open_accesses.clone();
        self.open_trips(op);
        self.hold(params[0], Held::Scalar(index));
        self.hold_flat(&params[1..], &carried);
        if runs_ahead {
            let state: Vec<V<'ctx>> = ahead.iter().map(|phi| phi.as_basic_value()).collect();
            self.advance_pipeline(&state);
        }
        if fed {
            self.begin_fed_trip(op);
        }
        let last = self.region_body(body_region);
        let next = self.flatten(func.op(last).operands());
        if fed {
            self.end_fed_trip(op, [index, from]);
        }
        let following = llvm.bin(Op::Add, index, step);
        let latch = llvm.here();
        llvm.jump(head);
        counter.add_incoming(&[(&following, latch)]);
        for (phi, value) in phis.iter().zip(&next) {
            phi.add_incoming(&[(value, latch)]);
        }
        if runs_ahead {
            for (phi, value) in ahead.iter().zip(self.pipeline_state()) {
                phi.add_incoming(&[(&value, latch)]);
            }
        }
        for (phi, value) in ring_phis.iter().zip(self.ring_numbers()) {
            phi.add_incoming(&[(&value, latch)]);
        }
        llvm.builder.position_at_end(after);
        self.pending = None;
        self.set_ring_numbers(&rings);
        let carried = if runs_ahead { self.drain_pipeline(op, carried) } else { carried };
        let carried = if fed {
            let happened = llvm.icmp(predicate, from, to);
            self.leave_fed_loop(op, carried, happened)
        } else {
            carried
        };
        self.held.extend(staying);
        self.shared.floor = floor;
        self.hold_flat(data.results(), &carried);
        self.scratch_may_be_busy();
        self.open(&open);
        self.open_trips(op);
    }

    pub(super) fn open_loop(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let own_mask = lane_code::mask_of(func, op).filter(|_| self.lane_code.is_alone(op));
        let [before_region, body_region] = [data.regions()[0], data.regions()[1]];
        let start = self.flatten(data.operands());
        let patience = effects::watches_memory(func, op).then(|| self.full_patience().numbers());
        let open = self.open_accesses.clone();
        let before = llvm.here();
        let (head, body, after) = (llvm.new_block("while"), llvm.new_block("trip"), llvm.new_block("after"));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let phis = self.phis(&start);
        for (phi, value) in phis.iter().zip(&start) {
            phi.add_incoming(&[(value, before)]);
        }
        let waits = patience.map(|numbers| {
            let phis = self.phis(&numbers);
            for (phi, value) in phis.iter().zip(&numbers) {
                phi.add_incoming(&[(value, before)]);
            }
            phis
        });
        let carried: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        self.hold_flat(func.region(before_region).params(), &carried);
        self.loop_boundary(op, own_mask);
        let condition = self.region_body(before_region);
        let operands = func.op(condition).operands();
        let goes_on = match own_mask {
            Some(mask) => self.numbers(mask)[0].into_int_value(),
            None => self.scalar(operands[0]).into_int_value(),
        };
        let left = self.flatten(&operands[1..]);
        llvm.branch(goes_on, body, after);
        llvm.builder.position_at_end(body);
        self.hold_flat(func.region(body_region).params(), &left);
        self.loop_boundary(op, own_mask);
        let last = self.region_body(body_region);
        let next = self.flatten(func.op(last).operands());
        if let Some(waits) = waits {
            let patience = Patience::of([0, 1].map(|at| waits[at].as_basic_value()));
            let patience = match own_mask {
                Some(_) => self.end_alone_in_time(op, patience),
                None => self.end_in_time(op, patience),
            };
            for (phi, value) in waits.iter().zip(&patience.numbers()) {
                phi.add_incoming(&[(value, llvm.here())]);
            }
        }
        let latch = llvm.here();
        llvm.jump(head);
        for (phi, value) in phis.iter().zip(&next) {
            phi.add_incoming(&[(value, latch)]);
        }
        llvm.builder.position_at_end(after);
        self.hold_flat(data.results(), &left);
        self.open(&open);
        self.loop_boundary(op, own_mask);
    }

    /// A loop that a thread makes for itself opens nothing: no thread waits for another in it.
    fn loop_boundary(&mut self, op: OpId, own_mask: Option<Value>) {
        if own_mask.is_none() {
            self.scratch_may_be_busy();
            self.open_trips(op);
        }
    }
}

/// Whether a region, or one inside it, holds an operation of which `is` is true.
pub(super) fn any_inside(func: &shoal_ir::Func, region: Region, is: impl Fn(&OpKind) -> bool) -> bool {
    let mut ops = Vec::new();
    func.walk_region(region, &mut ops);
    ops.into_iter().any(|op| is(&func.op(op).kind))
}

/// Whether an operation is a branch or a loop.
pub(super) fn is_control(kind: &OpKind) -> bool {
    matches!(kind.class(), shoal_ir::class::OpClass::Control(_))
}
