//! Writes that others see late.
//!
//! Nothing orders an atomic write with what its program reads next of other words, so others may see it after that. Such a
//! write is under way for a while, as a transfer is: until the scheduler delivers it, or its program comes to something
//! that must not come before it. That is whatever releases, fences or meets others, any access to the same word, any
//! plain access and the program's end. So less is seen than the memory model allows, but nothing that it forbids.

use shoal_ir::class::{DescOp, EffectOp, OpClass};
use shoal_ir::comm::{CommOp, SignalOp};
use shoal_ir::op::Sem;

use crate::access::{Follow, Order};
use crate::check::releases;
use crate::error::{AccessKind, Error};
use crate::machine::Machine;
use crate::program::{Program, Site};
use crate::transfer::{Delivery, SignalWork, Transfer};

impl<'p> Program<'p> {
    /// Lets an atomic write of one word happen later; whether it may. Operands are the place, the value and the mask.
    pub(crate) fn write_later(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        order: Order,
    ) -> Result<bool, Error> {
        let Order::Atomic(sem @ (Sem::Relaxed | Sem::Release), scope) = order else { return Ok(false) };
        if machine.delivery == Delivery::AtOnce {
            return Ok(false);
        }
        let bytes = self.pointee(site)?.bytes();
        let (addresses, values) = (self.operand(site, 0).bits(), self.operand(site, 1).bits());
        let mask = (site.operand_count() > 2).then(|| self.operand(site, 2).bits());
        let mut wanted = (0..addresses.len()).filter(|&i| mask.is_none_or(|mask| mask[i] != 0));
        let (Some(i), None) = (wanted.next(), wanted.next()) else { return Ok(false) };
        let (word, value) = (addresses[i], values[i]);
        // What is not there is told at once.
        if machine.memory.load(word, bytes).is_err() {
            return Ok(false);
        }
        let actor = Follow::new(self, site, AccessKind::Atomic, order, bytes).actor(machine, i);
        let (number, program, at) = (machine.numbers, self.number, self.place(site));
        let signal = Some(SignalWork { word, bytes, op: SignalOp::Set, value, sem, scope });
        machine.issue(Transfer { number, program, epoch: 0, to: None, actor, at, copy: None, signal, overtaken: 0 })?;
        machine.numbers += 1;
        self.writes_late = true;
        self.changed_memory();
        Ok(true)
    }

    /// Before an operation of a program with writes under way: they are delivered if it must not come before them.
    pub(crate) fn settle(&mut self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<(), Error> {
        let waits = match site.op.kind.class() {
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => false,
            OpClass::Atomic(_, sem, _) => {
                let bytes = u64::from(self.pointee(site)?.bytes());
                let words = self.operand(site, 0).bits();
                let meets = |signal: &SignalWork| {
                    let end = signal.word + u64::from(signal.bytes);
                    words.iter().any(|&word| word < end && signal.word < word.wrapping_add(bytes))
                };
                let own = machine.transfers.iter().filter(|transfer| transfer.is_late_write_of(self.number));
                releases(sem) || own.filter_map(|transfer| transfer.signal.as_ref()).any(meets)
            }
            OpClass::Access(_) => true,
            OpClass::Desc(op) => matches!(op, DescOp::Load | DescOp::Store),
            OpClass::Comm(op) => {
                !matches!(op, CommOp::Rank { .. } | CommOp::NumRanks { .. } | CommOp::SymmAt | CommOp::ConsumeToken)
            }
            OpClass::Effect(op) => matches!(op, EffectOp::Barrier | EffectOp::Fence { .. }),
        };
        if waits {
            self.writes_late = false;
            machine.complete_writes(self.number)?;
        }
        Ok(())
    }
}
