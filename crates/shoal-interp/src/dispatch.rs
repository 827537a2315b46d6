//! What each operation does, family by family.

use shoal_ir::abi::print::Radix;
use shoal_ir::class::{
    AccessOp, ApplyOp, AtomicOp, ControlOp, DescOp, EffectOp, ElementwiseOp, OpClass, ShapeOp, SourceOp, TerminatorOp,
    TileOp,
};
use shoal_ir::op::{Scope, Sem};

use crate::access::Order;
use crate::error::Error;
use crate::machine::{Machine, Step};
use crate::program::{Program, Site};
use crate::value::Val;
use crate::{dot, print, shape};

impl<'p> Program<'p> {
    /// Runs an operation that was not planned as elementwise.
    pub(crate) fn dispatch(&mut self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<Step, Error> {
        let result = match site.op.kind.class() {
            OpClass::Source(op) => self.source(site, op),
            OpClass::Elementwise(op) => return Err(self.unknown_function(site, op)),
            OpClass::Shape(ShapeOp::Split) => {
                let halves = shape::split(site.result_ty(0), self.operand(site, 0).bits());
                return Ok(self.finish(site, halves));
            }
            OpClass::Shape(op) => self.moved(site, op)?,
            OpClass::Tile(TileOp::Histogram) => self.histogram(site),
            OpClass::Tile(TileOp::Dot { .. }) => {
                let types = [0, 1, 2].map(|i| site.ty(i));
                dot::dot(types, [0, 1, 2].map(|i| self.operand(site, i)))
            }
            OpClass::Apply(op) => return self.applied(machine, site, op),
            OpClass::Access(AccessOp::Load(attrs)) => self.load(machine, site, attrs)?,
            OpClass::Access(AccessOp::Store { .. }) => return self.store(machine, site),
            OpClass::Atomic(op, sem, scope) => return self.atomic(machine, site, op, Order::Atomic(sem, scope)),
            OpClass::Desc(DescOp::Make) => self.make_desc(site),
            OpClass::Desc(DescOp::Base) => self.desc_base(site)?,
            OpClass::Desc(DescOp::Size { dim }) => self.desc_size(site, dim)?,
            OpClass::Desc(DescOp::Stride { dim }) => self.desc_stride(site, dim)?,
            OpClass::Desc(DescOp::Load) => self.desc_load(machine, site)?,
            OpClass::Desc(DescOp::Store) => return self.desc_store(machine, site),
            OpClass::Comm(op) => return self.comm(machine, site, op),
            OpClass::Effect(op) => return self.effect(machine, site, op),
            OpClass::Control(ControlOp::If) => return Ok(self.enter_if(site)),
            OpClass::Control(ControlOp::For(_)) => return self.enter_for(site),
            OpClass::Control(ControlOp::While { .. }) => return Ok(self.enter_while(site)),
            OpClass::Terminator(TerminatorOp::Condition) => return Ok(self.condition(site)),
            OpClass::Terminator(TerminatorOp::Yield | TerminatorOp::Return) => return Ok(self.leave(machine, site)),
            OpClass::Call(callee) => return self.call(site, callee),
        };
        Ok(self.finish(site, [result]))
    }

    fn source(&self, site: Site<'p>, op: SourceOp) -> Val {
        match op {
            SourceOp::Const(c) => shape::fill(site.result_ty(0), c.bits()),
            SourceOp::Iota { start } => shape::iota(site.result_ty(0), start),
            SourceOp::ProgramId { axis } => Val::Scalar(u64::from(self.id[usize::from(axis)])),
            SourceOp::NumPrograms { axis } => Val::Scalar(u64::from(self.rank.grid[usize::from(axis)])),
        }
    }

    /// The only result of an operation that moves elements.
    fn moved(&self, site: Site<'p>, op: ShapeOp<'_>) -> Result<Val, Error> {
        let bits = |index| self.operand(site, index).bits();
        let shapes = || (site.ty(0).shape(), site.result_ty(0).shape());
        Ok(match op {
            ShapeOp::Splat => shape::fill(site.result_ty(0), self.operand(site, 0).scalar()),
            ShapeOp::Broadcast => shape::broadcast(shapes().0, shapes().1, bits(0)),
            ShapeOp::Reshape => shape::reshape(site.result_ty(0), self.operand(site, 0).clone()),
            ShapeOp::Transpose { perm } => shape::transpose(shapes().0, perm, bits(0)),
            // Where elements are is no business of the interpreter's.
            ShapeOp::ConvertLayout => self.operand(site, 0).clone(),
            ShapeOp::Join => shape::join(bits(0), bits(1)),
            ShapeOp::Gather { axis } => self.gather(site, usize::from(axis))?,
            ShapeOp::Split => return Err(self.invalid(site, "an operation with two results")),
        })
    }

    fn applied(&mut self, machine: &mut Machine<'_>, site: Site<'p>, op: ApplyOp) -> Result<Step, Error> {
        match op {
            ApplyOp::Reduce { axis, in_order } => self.reduce(machine, site, usize::from(axis), in_order),
            ApplyOp::Scan { axis, reverse } => self.scan(machine, site, usize::from(axis), reverse),
            ApplyOp::MapElementwise { pack } => self.map_elementwise(machine, site, pack as usize),
        }
    }

    fn atomic(&mut self, machine: &mut Machine<'_>, site: Site<'p>, op: AtomicOp, order: Order) -> Result<Step, Error> {
        match op {
            AtomicOp::Rmw(op) => self.atomic_rmw(machine, site, op, order),
            AtomicOp::Cas => self.atomic_cas(machine, site, order),
            AtomicOp::Load => self.atomic_load(machine, site, order),
            AtomicOp::Store => self.atomic_store(machine, site, order),
            AtomicOp::Poll => self.atomic_poll(machine, site, order),
        }
    }

    fn effect(&mut self, machine: &mut Machine<'_>, site: Site<'p>, op: EffectOp<'_>) -> Result<Step, Error> {
        match op {
            EffectOp::Print { prefix, hex } => {
                print::print(self, machine, site, prefix, if hex { Radix::Hex } else { Radix::Decimal });
            }
            EffectOp::Assert { message } => return self.assert(site, message),
            EffectOp::Clock => {
                self.looked_at_clock();
                let now = Val::Scalar(machine.now());
                return Ok(self.finish(site, [now]));
            }
            EffectOp::GridWords => {
                let words = machine.grid_words(self.rank.number, self.rank.launch);
                return Ok(self.finish(site, [Val::Scalar(words)]));
            }
            // Memory has one order here; the checker knows better.
            EffectOp::Barrier => self.barrier(machine, site),
            EffectOp::Fence { sem, scope } => self.fence(machine, sem, scope),
            // Promises are not needed.
            EffectOp::Assume => {}
        }
        Ok(self.finish(site, []))
    }

    /// Lanes meet: all of the program, or those of each warp.
    fn barrier(&self, machine: &mut Machine<'_>, site: Site<'p>) {
        let Some(checker) = &mut machine.checker else { return };
        if !site.plan.is_by_lanes(site.id) {
            return checker.lanes_meet(self.actor);
        }
        match self.active() {
            Some(active) => checker.warps_meet(self.actor, lanes_of(active)),
            None => checker.warps_meet(self.actor, 0..self.rank.lanes()),
        }
    }

    /// A fence of the lanes that run this: each orders its own accesses.
    fn fence(&self, machine: &mut Machine<'_>, sem: Sem, scope: Scope) {
        let Some(checker) = &mut machine.checker else { return };
        match self.active().filter(|_| self.rank.has_lanes) {
            Some(active) => lanes_of(active).for_each(|lane| checker.lane_fence(self.actor, lane, sem, scope)),
            None => checker.program_fence(self.actor, sem, scope),
        }
    }

    /// Why an elementwise operation was not planned as one.
    fn unknown_function(&self, site: Site<'p>, op: ElementwiseOp<'_>) -> Error {
        match op {
            ElementwiseOp::Extern(function) => {
                Error::ExternFunction { symbol: function.symbol.clone(), at: self.place(site) }
            }
            ElementwiseOp::InlineAsm(_) => Error::InlineAsm { at: self.place(site) },
            ElementwiseOp::Unary(_)
            | ElementwiseOp::Binary(_)
            | ElementwiseOp::Math(_)
            | ElementwiseOp::Cmp(_)
            | ElementwiseOp::Select
            | ElementwiseOp::Fma
            | ElementwiseOp::Cast(_)
            | ElementwiseOp::Bitcast
            | ElementwiseOp::PtrAdd => self.invalid(site, "an elementwise operation on operands without elements"),
        }
    }

    fn invalid(&self, site: Site<'p>, what: &str) -> Error {
        Error::Invalid { what: what.into(), at: self.place(site) }
    }

    fn assert(&mut self, site: Site<'p>, message: &str) -> Result<Step, Error> {
        let mask = (site.operand_count() > 1).then(|| self.operand(site, 1));
        let holds = |(i, &bit): (usize, &u64)| bit != 0 || mask.is_some_and(|m| m.bits()[i] == 0);
        if let Some(flat) = self.operand(site, 0).bits().iter().enumerate().position(|e| !holds(e)) {
            let element = shape::index_of(flat, site.ty(0).shape());
            return Err(Error::AssertFailed { message: message.into(), element, at: self.place(site) });
        }
        Ok(self.finish(site, []))
    }
}

/// The lanes of a mask.
pub(crate) fn lanes_of(mask: &Val) -> impl Iterator<Item = u32> {
    (0..).zip(mask.bits()).filter(|(_, bit)| **bit != 0).map(|(lane, _)| lane)
}
