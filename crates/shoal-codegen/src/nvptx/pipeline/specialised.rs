//! Warp specialisation: four further warps do nothing but ask the copy engine for what a loop loads (`tl.range(…,
//! warp_specialize=True)`, and `flatten=True`, whose loops are to run on from tile to tile). The program's own warps wait for
//! full slots and give them back when they have read them; nobody waits for anybody else, so that the next tile's blocks are
//! under way while this tile's results are written.
//!
//! ```text
//!  feeding warps    wait until the slot is empty; ask for the blocks of a trip; next slot
//!  program's warps  wait until the slot is full; multiply; say that the slot before is empty
//! ```
//!
//! Registers go from the feeding warps, which need few, to the others (`setmaxnreg`).

use std::collections::HashMap;
use std::rc::Rc;

use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode as Op;
use shoal_abi::{NvptxArch, TableUse};
use shoal_ir::class::{EffectOp, OpClass};
use shoal_ir::{Func, OpId, OpKind, Region, Structure, Value};

use super::super::comm;
use super::super::control::any_inside;
use super::super::emitter::{Emitter, Held};
use super::super::tensor_copy::BARRIER;
use super::copies::{Pipeline, flipped_at_start, next_slot};
use super::feeder::Feeder;
use super::{AheadLoad, BARRIERS, EngineUse, Plan};
use crate::shared::llvm::V;

/// The warps that feed loops: registers are handed over by groups of four.
const FEEDING_WARPS: u32 = 4;
/// The registers of a multiprocessor, the most of a thread that takes some over, and those that a feeding thread keeps.
const ALL_REGISTERS: u32 = 1 << 16;
const MOST_REGISTERS: u32 = 240;
const KEPT_REGISTERS: u32 = 40;

/// The loops of a kernel that are fed by warps of their own.
#[derive(Default)]
pub(in super::super) struct Specialised<'ctx> {
    feeder: Feeder,
    loops: Vec<(OpId, Rc<Plan>)>,
    /// The slot that each of them is at, and the parity of its barrier.
    rings: Vec<[V<'ctx>; 2]>,
    /// Where their rings end in shared memory.
    top: u32,
}

impl<'ctx> Specialised<'ctx> {
    /// The warps that a kernel has besides its own.
    pub(in super::super) fn warps(&self) -> u32 {
        if self.loops.is_empty() { 0 } else { FEEDING_WARPS }
    }

    /// Where the rings end in shared memory.
    pub(in super::super) fn top(&self) -> u32 {
        self.top
    }

    fn find(&self, op: OpId) -> Option<(usize, Rc<Plan>)> {
        self.loops.iter().position(|(fed, _)| *fed == op).map(|at| (at, self.loops[at].1.clone()))
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Finds the loops that are to be fed by warps of their own, and gives their rings their places.
    pub(in super::super) fn plan_specialised(&mut self) {
        let func = self.func;
        if !may_specialise(func, self.arch) {
            return;
        }
        self.specialises = true;
        for op in func.walk() {
            if is_asked_for(func, op) && !any_inside(func, func.op(op).regions()[0], super::super::control::is_control)
            {
                self.plan_fed_loop(op);
            }
        }
        self.specialises = self.specialised.warps() > 0;
    }

    fn plan_fed_loop(&mut self, op: OpId) {
        let func = self.func;
        let OpKind::For(attrs) = &func.op(op).kind else { return };
        let body = func.op(op).regions()[0];
        let may_run_ahead =
            |load: &AheadLoad| load.is_by_engine() && is_only_read(func, func.op(load.op).operands()[0]);
        let candidates = func.region(body).ops().iter().filter_map(|&op| self.ahead_load(op));
        let mut loads: Vec<AheadLoad> = candidates.filter(may_run_ahead).collect();
        let mut feeder = self.specialised.feeder.clone();
        let ops: Vec<OpId> = loads.iter().map(|load| load.op).collect();
        if loads.is_empty() || !feeder.add_loop(func, op, &ops) {
            return;
        }
        let unfinished = self.unfinished_product(op, &loads);
        let floor = self.shared.floor.next_multiple_of(1024);
        let needs = self.body_needs(func.body(), &loads) + self.kept_bytes(op) + BARRIERS;
        let room = self.shared.limit.saturating_sub(floor).saturating_sub(needs);
        let bytes: u32 = loads.iter().map(|load| load.bytes).sum();
        let wanted = attrs.num_stages.unwrap_or(func.gpu.num_stages) + u32::from(unfinished.is_some());
        let slots = wanted.min(room / bytes);
        if slots < 2 {
            return;
        }
        let mut at = floor;
        for load in &mut loads {
            load.base = at;
            at += load.bytes * slots;
        }
        let engine = Some(EngineUse { barriers: at, bytes });
        at += 2 * BARRIER * slots;
        self.shared.floor = at;
        self.specialised.top = at;
        self.shared.needed = self.shared.needed.max(at);
        let (slice, carried, rings) = (Vec::new(), Vec::new(), vec![slots]);
        let plan = Plan { loads, slice, carried, stages: slots, rings, unfinished, copy_after: None, engine };
        let zero = self.llvm.const_i32(0).into();
        self.specialised.feeder = feeder;
        self.specialised.loops.push((op, Rc::new(plan)));
        self.specialised.rings.push([zero, zero]);
    }

    /// The shared memory for operands of a loop's products that are made before it.
    fn kept_bytes(&self, op: OpId) -> u32 {
        let func = self.func;
        let body = func.op(op).regions()[0];
        let products = func.region(body).ops().iter().filter(|&&op| super::super::dot::is_wgmma(func, op, self.arch));
        let operands = products.flat_map(|&op| func.op(op).operands()[..2].to_vec());
        let from_outside = operands.filter(|&operand| {
            let (source, _) = super::behind_transposes(func, operand);
            !func.is_inside(func.defining_region(source), body)
        });
        from_outside.map(|operand| super::tile_bytes(func, operand).next_multiple_of(1024)).sum()
    }

    /// Where every loop's ring is, as numbers that go through control flow.
    pub(in super::super) fn ring_numbers(&self) -> Vec<V<'ctx>> {
        self.specialised.rings.iter().flatten().copied().collect()
    }

    /// Sets what [`Emitter::ring_numbers`] gives.
    pub(in super::super) fn set_ring_numbers(&mut self, numbers: &[V<'ctx>]) {
        for (ring, pair) in self.specialised.rings.iter_mut().zip(numbers.chunks(2)) {
            *ring = [pair[0], pair[1]];
        }
    }

    /// Makes the barriers of all rings; by all threads, before the ways of the warps part.
    pub(in super::super) fn make_ring_barriers(&self) {
        let first = self.is_first_thread();
        for (_, plan) in &self.specialised.loops {
            let Some(engine) = plan.engine else { continue };
            let slots = plan.stages as usize;
            let arrivals = [vec![1; slots], vec![self.func.gpu.num_warps; slots]].concat();
            self.make_barriers(engine.barriers, &arrivals, first);
        }
        self.llvm.ptx_act("bar.sync 0;", &[]);
    }

    /// Lets this warp have more registers, or fewer.
    fn hand_registers_over(&self, feeds: bool) {
        let own = 32 * self.func.gpu.num_warps;
        let given = 32 * FEEDING_WARPS;
        let most = (ALL_REGISTERS - given * KEPT_REGISTERS) / own / 8 * 8;
        let at_start = ALL_REGISTERS / (own + given) / 8 * 8;
        // Without a shortage nothing is gained; and a limit that the user set stays.
        if self.func.gpu.max_registers.is_some() || at_start >= MOST_REGISTERS {
            return;
        }
        let text = if feeds {
            format!("setmaxnreg.dec.sync.aligned.u32 {KEPT_REGISTERS};")
        } else {
            format!("setmaxnreg.inc.sync.aligned.u32 {};", most.min(MOST_REGISTERS))
        };
        self.llvm.ptx_act(&text, &[]);
    }

    /// The beginning of the program's own warps.
    pub(in super::super) fn begin_own_warps(&self) {
        self.hand_registers_over(false);
    }

    /// Whether a loop is fed by warps of its own.
    pub(in super::super) fn is_fed(&self, op: OpId) -> bool {
        self.specialised.find(op).is_some()
    }

    /// A fed loop begins.
    pub(in super::super) fn enter_fed_loop(&mut self, op: OpId) {
        let Some((_, plan)) = self.specialised.find(op) else { return };
        let zero = self.llvm.const_i32(0).into();
        self.pipelines.push((op, Pipeline::fed(plan, zero)));
    }

    /// A trip of a fed loop begins: what it loads is waited for.
    pub(in super::super) fn begin_fed_trip(&mut self, op: OpId) {
        let Some((at, plan)) = self.specialised.find(op) else { return };
        let [slot, parity] = self.specialised.rings[at];
        let Some(engine) = plan.engine else { return };
        self.wait_for_barrier(self.barrier_of(engine.barriers, slot), parity);
        for load in &plan.loads {
            self.hold_slot(load, slot);
        }
        let unfinished = plan.unfinished.as_ref().filter(|product| !product.only_adds);
        self.pending = unfinished.map(|product| product.param);
    }

    /// A trip of a fed loop ends: a slot is given back, this trip's or, if its product goes on, the one before.
    pub(in super::super) fn end_fed_trip(&mut self, op: OpId, [index, from]: [V<'ctx>; 2]) {
        let Some((at, plan)) = self.specialised.find(op) else { return };
        let llvm = self.llvm;
        let [slot, parity] = self.specialised.rings[at];
        if plan.unfinished.is_some() {
            let later = llvm.icmp(IntPredicate::NE, index, from);
            self.give_slot_back(&plan, previous_slot(self, slot, plan.stages), later);
        } else {
            self.give_slot_back(&plan, slot, llvm.context.bool_type().const_int(1, false).into());
        }
        let next = next_slot(llvm, slot, plan.stages);
        self.specialised.rings[at] = [next, flipped_at_start(llvm, parity, next)];
    }

    /// A fed loop has ended: gives the carried values as they are when its last product is finished, and its last slot back.
    pub(in super::super) fn leave_fed_loop(
        &mut self,
        op: OpId,
        mut carried: Vec<V<'ctx>>,
        happened: V<'ctx>,
    ) -> Vec<V<'ctx>> {
        let (Some((at, plan)), Some((_, pipeline))) = (self.specialised.find(op), self.pipelines.pop()) else {
            return carried;
        };
        for load in &plan.loads {
            self.ahead.remove(&load.op);
        }
        if plan.unfinished.is_some() {
            self.finish_unfinished(op, &pipeline, &mut carried);
            let slot = self.specialised.rings[at][0];
            self.give_slot_back(&plan, previous_slot(self, slot, plan.stages), happened);
        }
        carried
    }

    fn give_slot_back(&self, plan: &Plan, slot: V<'ctx>, when: V<'ctx>) {
        let llvm = self.llvm;
        let Some(engine) = plan.engine else { return };
        let barrier = self.barrier_of(engine.barriers + BARRIER * plan.stages, slot);
        let first_lane = llvm.icmp(IntPredicate::EQ, self.lane.into(), llvm.const_i32(0).into());
        self.warp_barrier();
        llvm.ptx_act("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", &[barrier, llvm.bin(Op::And, first_lane, when)]);
    }

    /// What the feeding warps do: one thread of them goes through the loops and asks for what they load.
    pub(in super::super) fn feed_loops(&mut self, params: HashMap<Value, Held<'ctx>>) {
        let llvm = self.llvm;
        self.hand_registers_over(true);
        let first = llvm.const_i32((32 * self.func.gpu.num_warps).into());
        let asks = llvm.icmp(IntPredicate::EQ, self.thread.into(), first.into()).into_int_value();
        self.held = params;
        self.ahead.clear();
        let zero: V<'ctx> = llvm.const_i32(0).into();
        self.set_ring_numbers(&vec![zero; 2 * self.specialised.rings.len()]);
        self.when(Some(asks), |e| e.feed_region(e.func.body()));
    }

    fn feed_region(&mut self, region: Region) {
        let func = self.func;
        let (_, ops) = func.region(region).ops().split_last().expect("a region ends in a terminator");
        let owner = func.region(region).owner().and_then(|owner| self.specialised.find(owner));
        for &op in ops {
            let load = owner.as_ref().and_then(|(at, plan)| Some((*at, plan.loads.iter().find(|load| load.op == op)?)));
            if let (Some((at, load)), Some((_, plan))) = (load, &owner)
                && let Some(engine) = plan.engine
            {
                let slot = self.specialised.rings[at][0];
                let always = self.llvm.context.bool_type().const_int(1, false).into();
                self.copy_ahead_block(load, slot, self.barrier_of(engine.barriers, slot), always);
            } else if self.specialised.feeder.around.contains_key(&op) {
                match Structure::of_op(func, op) {
                    Structure::For => self.feed_loop(op),
                    Structure::If => self.feed_branch(op),
                    Structure::While | Structure::Plain | Structure::Elements => {}
                }
            } else if self.specialised.feeder.ops.contains(&op) {
                self.op(op);
            }
        }
    }

    fn feed_loop(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let body_region = data.regions()[0];
        let params = func.region(body_region).params();
        let carried = self.specialised.feeder.carried(op);
        let [from, to, step] = [0, 1, 2].map(|index| self.scalar(data.operands()[index]));
        let signed = self.number(data.operands()[0]).is_signed_int();
        let start: Vec<V<'ctx>> = carried.iter().map(|&index| self.scalar(data.operands()[3 + index])).collect();
        let start: Vec<V<'ctx>> = [from].into_iter().chain(start).chain(self.ring_numbers()).collect();
        let before = llvm.here();
        let (head, body, after) = (llvm.new_block("loop"), llvm.new_block("trip"), llvm.new_block("after"));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let phis = self.phis(&start);
        for (phi, value) in phis.iter().zip(&start) {
            phi.add_incoming(&[(value, before)]);
        }
        let now: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        let predicate = if signed { IntPredicate::SLT } else { IntPredicate::ULT };
        llvm.branch(llvm.icmp(predicate, now[0], to).into_int_value(), body, after);
        llvm.builder.position_at_end(body);
        self.hold(params[0], Held::Scalar(now[0]));
        for (&index, &number) in carried.iter().zip(&now[1..]) {
            self.hold(params[1 + index], Held::Scalar(number));
        }
        let rings = 1 + carried.len();
        self.set_ring_numbers(&now[rings..]);
        self.begin_feeding_trip(op);
        self.feed_region(body_region);
        self.end_feeding_trip(op);
        let next = func.yielded(body_region);
        let next: Vec<V<'ctx>> = carried.iter().map(|&index| self.scalar(next[index])).collect();
        let next = [llvm.bin(Op::Add, now[0], step)].into_iter().chain(next).chain(self.ring_numbers());
        let latch = llvm.here();
        for (phi, value) in phis.iter().zip(next.collect::<Vec<_>>()) {
            phi.add_incoming(&[(&value, latch)]);
        }
        llvm.jump(head);
        llvm.builder.position_at_end(after);
        for (&index, &number) in carried.iter().zip(&now[1..]) {
            self.hold(data.results()[index], Held::Scalar(number));
        }
        self.set_ring_numbers(&now[rings..]);
    }

    /// Waits until the slot is empty, and lets its barrier expect what comes.
    fn begin_feeding_trip(&mut self, op: OpId) {
        let Some((at, plan)) = self.specialised.find(op) else { return };
        let Some(engine) = plan.engine else { return };
        let llvm = self.llvm;
        let [slot, parity] = self.specialised.rings[at];
        // A slot that nobody has filled yet counts as given back.
        let before = llvm.bin(Op::Xor, parity, llvm.const_i32(1).into());
        self.wait_for_barrier(self.barrier_of(engine.barriers + BARRIER * plan.stages, slot), before);
        let always = llvm.context.bool_type().const_int(1, false).into();
        self.expect_bytes(self.barrier_of(engine.barriers, slot), engine.bytes, always);
    }

    fn end_feeding_trip(&mut self, op: OpId) {
        let Some((at, plan)) = self.specialised.find(op) else { return };
        let [slot, parity] = self.specialised.rings[at];
        let next = next_slot(self.llvm, slot, plan.stages);
        self.specialised.rings[at] = [next, flipped_at_start(self.llvm, parity, next)];
    }

    fn feed_branch(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let condition = self.scalar(data.operands()[0]).into_int_value();
        let blocks = [llvm.new_block("then"), llvm.new_block("else")];
        let after = llvm.new_block("joined");
        let start = self.ring_numbers();
        llvm.branch(condition, blocks[0], blocks[1]);
        let mut ends = Vec::new();
        for (block, &region) in blocks.into_iter().zip(data.regions()) {
            llvm.builder.position_at_end(block);
            self.set_ring_numbers(&start);
            self.feed_region(region);
            ends.push((self.ring_numbers(), llvm.here()));
            llvm.jump(after);
        }
        llvm.builder.position_at_end(after);
        let phis = self.phis(&start);
        for (given, from) in &ends {
            for (phi, value) in phis.iter().zip(given) {
                phi.add_incoming(&[(value, *from)]);
            }
        }
        let now: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        self.set_ring_numbers(&now);
    }
}

fn previous_slot<'ctx>(e: &Emitter<'_, 'ctx>, slot: V<'ctx>, slots: u32) -> V<'ctx> {
    let llvm = e.llvm;
    let first = llvm.icmp(IntPredicate::EQ, slot, llvm.const_i32(0).into());
    let before = llvm.bin(Op::Sub, slot, llvm.const_i32(1).into());
    llvm.select(first, llvm.const_i32(i64::from(slots) - 1).into(), before)
}

/// Whether a kernel may have warps that feed its loops: the hardware can hand registers over, and nothing in the kernel
/// orders its accesses with those of others, which the engine would not see.
fn may_specialise(func: &Func, arch: NvptxArch) -> bool {
    let warps = func.gpu.num_warps;
    let orders = |kind: &OpKind| match kind.class() {
        OpClass::Atomic(..) | OpClass::Comm(_) => true,
        OpClass::Effect(effect) => matches!(effect, EffectOp::Barrier | EffectOp::Fence { .. }),
        OpClass::Access(_)
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Desc(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    };
    arch == NvptxArch::Sm90a
        && warps.is_multiple_of(4)
        && warps + FEEDING_WARPS <= shoal_ir::MAX_WARPS
        && comm::table_use(func) == TableUse::None
        && !any_inside(func, func.body(), orders)
}

/// Whether a loop, or one around it, is to be specialised.
fn is_asked_for(func: &Func, op: OpId) -> bool {
    let mut inner = Some(op);
    let is_loop = matches!(func.op(op).kind, OpKind::For(_));
    while let Some(op) = inner {
        if let OpKind::For(attrs) = &func.op(op).kind
            && (attrs.warp_specialize || attrs.flatten)
        {
            return is_loop;
        }
        inner = func.op(op).parent().and_then(|region| func.region(region).owner());
    }
    false
}

/// Whether a kernel only reads the tensor of a descriptor, and through descriptors alone: then its loads may come before
/// stores that stand before them.
fn is_only_read(func: &Func, desc: Value) -> bool {
    let Some(base) = func.def_op(desc).map(|make| func.op(make).operands()[0]) else { return false };
    func.value(base).uses().iter().all(|this| {
        matches!(func.op(this.op).kind, OpKind::MakeDesc)
            && func
                .value(func.op(this.op).result())
                .uses()
                .iter()
                .all(|access| matches!(func.op(access.op).kind, OpKind::DescLoad))
    })
}
