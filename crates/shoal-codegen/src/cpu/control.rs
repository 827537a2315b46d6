//! `if`, `for` and `while`: scalars travel in registers, tiles in memory that belongs to the construct.

use std::collections::{HashMap, HashSet};

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, PhiValue};
use shoal_ir::{OpId, Region, Value, effects};

use super::chunk::Buffer;
use super::dot::Round;
use super::emitter::Emitter;
use super::runtime_calls::Patience;
use super::tile_loops::moves_elements;
use crate::shared::llvm::V;
use crate::shared::recursion::deep;

/// How a value that is computed on the fly reads a tile in memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reads {
    /// Not at all.
    Nothing,
    /// Element `i` for element `i`.
    InPlace,
    /// In some other order.
    Elsewhere,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Emits code inside a region; room in scratch taken there is free again afterwards.
    fn inside<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let top = self.scratch_top;
        let unread = std::mem::take(&mut self.unread_loads);
        let known: HashSet<Value> = self.buffers.keys().copied().collect();
        let result = self.scoped(body);
        self.unread_loads = unread;
        self.deferred.clear();
        // Tiles of the code around may have been computed in here, too: for in here only.
        self.buffers.retain(|value, _| known.contains(value));
        self.scratch_top = top;
        result
    }

    fn is_tile(&self, value: Value) -> bool {
        self.func.ty(value).is_tile()
    }

    pub(super) fn if_op(&mut self, op: OpId) {
        self.flush_before(op);
        let func = self.func;
        let llvm = self.llvm;
        let data = func.op(op);
        let results: Vec<Option<Buffer<'ctx>>> = data
            .results()
            .iter()
            .map(|&r| self.is_tile(r).then(|| self.allocate(self.elem(r), self.shape(r))))
            .collect();
        let condition = self.as_bool(self.scalar(data.operands()[0]));
        let (then, otherwise, after) = (llvm.new_block("if"), llvm.new_block("else"), llvm.new_block("after_if"));
        llvm.branch(condition, then, otherwise);
        let mut incoming = Vec::new();
        for (&region, block) in data.regions().iter().zip([then, otherwise]) {
            llvm.builder.position_at_end(block);
            let scalars = self.inside(|e| {
                let last = e.region_body(region);
                let yielded = e.func.op(last).operands().to_vec();
                e.carry(&yielded, &results);
                yielded.iter().filter(|&&v| !e.is_tile(v)).map(|&v| e.scalar(v)).collect::<Vec<_>>()
            });
            incoming.push((scalars, llvm.here()));
            llvm.jump(after);
        }
        llvm.builder.position_at_end(after);
        let mut scalar = 0;
        for (&result, buffer) in data.results().iter().zip(results) {
            match buffer {
                Some(buffer) => {
                    self.buffers.insert(result, buffer);
                }
                None => {
                    let phi = llvm.builder.build_phi(self.scalar_type(result), "").expect("a phi");
                    for (values, block) in &incoming {
                        phi.add_incoming(&[(&values[scalar], *block)]);
                    }
                    scalar += 1;
                    self.scalars.insert(result, phi.as_basic_value());
                }
            }
        }
    }

    /// Memory for carried tiles, holding their first values but for some.
    fn slots(&mut self, initial: &[Value], unfilled: &[usize]) -> Vec<Option<Buffer<'ctx>>> {
        let slots: Vec<Option<Buffer<'ctx>>> =
            initial.iter().map(|&v| self.is_tile(v).then(|| self.allocate(self.elem(v), self.shape(v)))).collect();
        for (i, (&value, slot)) in initial.iter().zip(&slots).enumerate() {
            if let Some(slot) = slot.as_ref().filter(|_| !unfilled.contains(&i)) {
                self.compute_into(value, slot);
            }
        }
        slots
    }

    /// Phis for the scalars among `initial`, at the start of a loop's first block, and their meaning as `params`.
    fn enter_loop(
        &mut self,
        params: &[Value],
        initial: &[Value],
        slots: &[Option<Buffer<'ctx>>],
        from: inkwell::basic_block::BasicBlock<'ctx>,
    ) -> Vec<PhiValue<'ctx>> {
        let mut phis = Vec::new();
        for ((&param, &value), slot) in params.iter().zip(initial).zip(slots) {
            match slot {
                Some(slot) => {
                    self.buffers.insert(param, slot.clone());
                }
                None => {
                    let phi = self.llvm.builder.build_phi(self.scalar_type(param), "").expect("a phi");
                    phi.add_incoming(&[(&self.scalar(value), from)]);
                    self.scalars.insert(param, phi.as_basic_value());
                    phis.push(phi);
                }
            }
        }
        phis
    }

    pub(super) fn for_op(&mut self, op: OpId) {
        self.flush_before(op);
        let func = self.func;
        let llvm = self.llvm;
        let data = func.op(op);
        let (bounds, initial) = data.operands().split_at(3);
        let region = data.regions()[0];
        let started_by_products = self.started_by_products(region);
        let slots = self.slots(initial, &started_by_products);
        let counts_rounds = self.counts_rounds(region);
        let [from, to, step] = [self.scalar(bounds[0]), self.scalar(bounds[1]), self.scalar(bounds[2])];
        let signed = self.number(bounds[0]).is_signed_int();
        let below = if signed { IntPredicate::SLT } else { IntPredicate::ULT };
        let unstarted = started_by_products.iter().filter_map(|&i| Some((initial[i], slots[i].clone()?)));
        let unstarted: Vec<(Value, Buffer<'ctx>)> = unstarted.collect();
        if !unstarted.is_empty() {
            let never = llvm.not(llvm.icmp(below, from, to));
            self.when(never, &[], |e| {
                unstarted.iter().for_each(|(value, slot)| e.fill(*value, slot));
                Vec::new()
            });
        }
        let trips = self.trips_of(region, [from, to, step]);
        let (counter, params) = func.region(region).params().split_first().expect("a loop has a counter");
        let before = llvm.here();
        let (head, body, after) = (llvm.new_block("for"), llvm.new_block("body"), llvm.new_block("after_for"));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let i = llvm.builder.build_phi(self.scalar_type(*counter), "i").expect("a phi");
        i.add_incoming(&[(&from, before)]);
        self.scalars.insert(*counter, i.as_basic_value());
        let phis = self.enter_loop(params, initial, &slots, before);
        let round = counts_rounds.then(|| llvm.builder.build_phi(llvm.i64(), "round").expect("a phi"));
        let again = llvm.icmp(below, i.as_basic_value(), to).into_int_value();
        llvm.branch(again, body, after);
        llvm.builder.position_at_end(body);
        self.trips.extend(trips);
        let outer = self.round.take();
        if let Some(number) = round {
            let number = number.as_basic_value().into_int_value();
            let is_last = self.is_last_round(i.as_basic_value(), to, step, signed);
            self.round = Some(Round { number, is_last });
        }
        let next = self.inside(|e| e.loop_body(region, &slots));
        self.round = outer;
        self.trips.truncate(self.trips.len() - usize::from(trips.is_some()));
        if !self.runs_few_rounds(bounds) {
            self.check_stop();
        }
        let following = llvm.bin(InstructionOpcode::Add, i.as_basic_value(), step);
        let next_round = round.map(|r| llvm.add64(r.as_basic_value().into_int_value(), llvm.const_i64(1)));
        let latch = llvm.here();
        // A counter that would wrap ends the loop instead.
        let forward =
            llvm.icmp(if signed { IntPredicate::SGT } else { IntPredicate::UGT }, following, i.as_basic_value());
        llvm.branch(forward.into_int_value(), head, after);
        i.add_incoming(&[(&following, latch)]);
        if let Some((round, next_round)) = round.zip(next_round) {
            round.add_incoming(&[(&llvm.const_i64(0), before), (&next_round, latch)]);
        }
        let old: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        for (phi, value) in phis.iter().zip(&next) {
            phi.add_incoming(&[(value, latch)]);
        }
        llvm.builder.position_at_end(after);
        if let Some((round, next_round)) = round.zip(next_round) {
            let rounds = llvm.builder.build_phi(llvm.i64(), "rounds").expect("a phi");
            rounds.add_incoming(&[(&round.as_basic_value(), head), (&next_round, latch)]);
            self.leave_products(op, rounds.as_basic_value().into_int_value());
        }
        let mut exits = Vec::new();
        for (old, new) in old.iter().zip(&next) {
            let phi = llvm.builder.build_phi(old.get_type(), "").expect("a phi");
            phi.add_incoming(&[(old, head), (new, latch)]);
            exits.push(phi.as_basic_value());
        }
        self.leave_loop(data.results(), slots, &exits);
    }

    /// The body of a loop; carried tiles are written back, carried scalars given.
    fn loop_body(&mut self, region: Region, slots: &[Option<Buffer<'ctx>>]) -> Vec<V<'ctx>> {
        let last = self.region_body(region);
        let yielded = self.func.op(last).operands().to_vec();
        self.carry(&yielded, slots);
        yielded.iter().filter(|&&v| !self.is_tile(v)).map(|&v| self.scalar(v)).collect()
    }

    fn leave_loop(&mut self, results: &[Value], slots: Vec<Option<Buffer<'ctx>>>, scalars: &[V<'ctx>]) {
        let mut scalars = scalars.iter();
        for (&result, slot) in results.iter().zip(slots) {
            match slot {
                Some(slot) => {
                    self.buffers.insert(result, slot);
                }
                None => {
                    self.scalars.insert(result, *scalars.next().expect("a scalar for each scalar result"));
                }
            }
        }
    }

    pub(super) fn while_op(&mut self, op: OpId) {
        self.flush_before(op);
        let func = self.func;
        let llvm = self.llvm;
        let data = func.op(op);
        let slots = self.slots(data.operands(), &[]);
        let (before_region, body_region) = (data.regions()[0], data.regions()[1]);
        let watches = effects::watches_memory(func, op).then(|| match effects::only_looks(func, op) {
            true => Patience::Endless,
            false => Patience::Limited,
        });
        let looking = usize::from(watches == Some(Patience::Endless));
        self.looking += looking;
        let before = llvm.here();
        let (head, body, after) = (llvm.new_block("while"), llvm.new_block("body"), llvm.new_block("after_while"));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let phis = self.enter_loop(func.region(before_region).params(), data.operands(), &slots, before);
        // What the condition passes on lives as long as the loop: its memory is not given back in between.
        let last = self.scoped(|e| e.region_body(before_region));
        let (condition, passed) = func.op(last).operands().split_first().expect("a condition");
        let condition = self.as_bool(self.scalar(*condition));
        let passed_tiles: Vec<Option<Buffer<'ctx>>> =
            passed.iter().map(|&v| self.is_tile(v).then(|| self.materialise(v))).collect();
        let passed_scalars: Vec<V<'ctx>> =
            passed.iter().filter(|&&v| !self.is_tile(v)).map(|&v| self.scalar(v)).collect();
        self.deferred.clear();
        llvm.branch(condition, body, after);
        llvm.builder.position_at_end(body);
        self.leave_loop(func.region(body_region).params(), passed_tiles.clone(), &passed_scalars);
        let next = self.inside(|e| e.loop_body(body_region, &slots));
        match watches {
            Some(patience) => self.call_yield(op, patience),
            None => self.check_stop(),
        }
        self.looking -= looking;
        let latch = llvm.here();
        llvm.jump(head);
        for (phi, value) in phis.iter().zip(&next) {
            phi.add_incoming(&[(value, latch)]);
        }
        llvm.builder.position_at_end(after);
        if watches.is_some() {
            self.count_passed();
        }
        self.leave_loop(data.results(), passed_tiles, &passed_scalars);
    }

    /// Writes tiles to where the next iteration, or what follows, will read them.
    fn carry(&mut self, values: &[Value], slots: &[Option<Buffer<'ctx>>]) {
        let tiles: Vec<(Value, Buffer<'ctx>)> =
            values.iter().zip(slots).filter_map(|(&v, slot)| slot.clone().map(|slot| (v, slot))).collect();
        let is_slot = |b: &Buffer<'ctx>| tiles.iter().any(|(_, slot)| slot.base == b.base);
        // First, whatever could be overwritten while it is still read gets memory of its own.
        let mut moves: Vec<(Value, Buffer<'ctx>, Option<Buffer<'ctx>>)> = Vec::new();
        for (i, (value, slot)) in tiles.iter().enumerate() {
            match self.buffers.get(value).cloned() {
                Some(held) if held.base == slot.base => {}
                Some(held) if is_slot(&held) => {
                    let copy = self.allocate(held.elem, &held.shape);
                    self.compute_into(*value, &copy);
                    moves.push((*value, slot.clone(), Some(copy)));
                }
                Some(held) => moves.push((*value, slot.clone(), Some(held))),
                None => {
                    let mut reads = SlotReads::of(slot);
                    let mut others = tiles.iter().enumerate().filter(|(j, _)| *j != i);
                    let direct = others.all(|(_, (other, _))| reads.by(self, *other) == Reads::Nothing)
                        && reads.by(self, *value) <= Reads::InPlace;
                    if direct {
                        moves.push((*value, slot.clone(), None));
                    } else {
                        let held = self.materialise(*value);
                        moves.push((*value, slot.clone(), Some(held)));
                    }
                }
            }
        }
        // What is computed on the way still reads old values, which copies replace.
        moves.sort_by_key(|(_, _, held)| held.is_some());
        for (value, slot, held) in moves {
            match held {
                None => self.compute_into(value, &slot),
                Some(held) => {
                    self.for_each_chunk(&held.shape.clone(), super::tile_loops::Width::Vector, &mut |e, index| {
                        let chunk = held.read(e.llvm, index);
                        slot.write(e.llvm, index, chunk);
                    });
                }
            }
        }
    }
}

/// How tiles that are computed on the way read one piece of memory.
pub(super) struct SlotReads<'a, 'ctx> {
    slot: &'a Buffer<'ctx>,
    known: HashMap<Value, Reads>,
}

impl<'a, 'ctx> SlotReads<'a, 'ctx> {
    pub(super) fn of(slot: &'a Buffer<'ctx>) -> Self {
        SlotReads { slot, known: HashMap::new() }
    }

    /// How computing `value` reads it.
    pub(super) fn by(&mut self, emitter: &Emitter<'_, 'ctx>, value: Value) -> Reads {
        if !emitter.is_tile(value) {
            return Reads::Nothing;
        }
        if let Some(held) = emitter.buffers.get(&value) {
            return if held.base == self.slot.base { Reads::InPlace } else { Reads::Nothing };
        }
        let Some(op) = emitter.func.def_op(value) else { return Reads::Nothing };
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let data = emitter.func.op(op);
        let inner = deep(|| data.operands().iter().map(|&v| self.by(emitter, v)).max()).unwrap_or(Reads::Nothing);
        let reads = if inner == Reads::InPlace && moves_elements(&data.kind) { Reads::Elsewhere } else { inner };
        self.known.insert(value, reads);
        reads
    }
}
