//! SHMEM transfers under way: what a program has issued and nothing has delivered yet.
//!
//! A transfer is an actor of its own. Where deliveries come at any time, the scheduler chooses when each is made: as late
//! as `quiet`, a barrier or the end of the world, and in any order that no `fence` forbids. What is only issued reads its
//! source when it is delivered, so a source that is rewritten too early gives wrong data, as on a network.

use shoal_ir::comm::SignalOp;
use shoal_ir::op::{Scope, Sem};

use crate::access::{Follow, Order};
use crate::check::Effect;
use crate::error::{AccessKind, Error, Place};
use crate::machine::Machine;
use crate::memory::AccessError;

/// When transfers are delivered.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as they are issued.
    #[default]
    AtOnce,
    /// When the scheduler says so, as late and in any order as the memory model allows.
    AnyTime,
}

/// Where the data of a transfer is.
pub(crate) enum Source {
    /// In memory, to be read when it is delivered.
    Memory(u64),
    /// It was read when the transfer was issued.
    Taken(Vec<u8>),
}

/// A change of a word.
#[derive(Copy, Clone)]
pub(crate) struct SignalWork {
    pub(crate) word: u64,
    pub(crate) op: SignalOp,
    pub(crate) value: u64,
    pub(crate) sem: Sem,
}

/// Bytes on their way.
pub(crate) struct CopyWork {
    pub(crate) target: u64,
    pub(crate) source: Source,
    pub(crate) bytes: u64,
    /// The size of an element, for reports.
    pub(crate) element: u32,
}

/// Something issued. A signal comes after the data.
pub(crate) struct Transfer {
    /// Its place among all actors.
    pub(crate) number: u64,
    /// The number of the program that issued it.
    pub(crate) program: u64,
    /// Fences of the program before it.
    pub(crate) epoch: u32,
    /// The rank whose fences order it; gets have none.
    pub(crate) to: Option<i32>,
    /// Who does it, for the checker.
    pub(crate) actor: u32,
    pub(crate) at: Place,
    pub(crate) copy: Option<CopyWork>,
    pub(crate) signal: Option<SignalWork>,
    /// How often others have changed its word since it was issued.
    pub(crate) overtaken: u32,
}

/// Bytes of a signal word.
pub(crate) const WORD: u32 = 8;

impl Machine<'_> {
    /// Issues a transfer: it is delivered now, or some time.
    pub(crate) fn issue(&mut self, transfer: Transfer) -> Result<(), Error> {
        match self.delivery {
            Delivery::AtOnce => self.deliver(transfer),
            Delivery::AnyTime => {
                self.transfers.push(transfer);
                Ok(())
            }
        }
    }

    /// Whether a fence holds a transfer back.
    pub(crate) fn is_held(&self, transfer: &Transfer) -> bool {
        let before = |other: &Transfer| {
            (other.program, other.to) == (transfer.program, transfer.to) && other.epoch < transfer.epoch
        };
        transfer.to.is_some() && self.transfers.iter().any(before)
    }

    /// Delivers all that a program has issued.
    pub(crate) fn complete(&mut self, program: u64) -> Result<(), Error> {
        self.complete_where(|transfer| transfer.program == program)
    }

    /// Delivers everything.
    pub(crate) fn complete_all(&mut self) -> Result<(), Error> {
        self.complete_where(|_| true)
    }

    fn complete_where(&mut self, which: impl Fn(&Transfer) -> bool) -> Result<(), Error> {
        // They were issued in an order that no fence forbids.
        while let Some(at) = self.transfers.iter().position(&which) {
            let transfer = self.transfers.remove(at);
            self.deliver(transfer)?;
        }
        Ok(())
    }

    /// Makes a transfer happen.
    pub(crate) fn deliver(&mut self, transfer: Transfer) -> Result<(), Error> {
        let Transfer { actor, at, copy, signal, overtaken, .. } = transfer;
        if let Some(copy) = copy {
            self.deliver_copy(actor, at, copy)?;
        }
        if let Some(checker) = &mut self.checker
            && overtaken > 0
        {
            checker.is_overtaken(actor);
        }
        match signal {
            Some(signal) => self.deliver_signal(actor, at, signal),
            None => Ok(()),
        }
    }

    fn deliver_copy(&mut self, actor: u32, at: Place, copy: CopyWork) -> Result<(), Error> {
        let CopyWork { target, source, bytes, element } = copy;
        let data = match source {
            Source::Taken(data) => data,
            Source::Memory(start) => {
                let fault = |e| self.copy_fault(e, at, start, AccessKind::Read);
                let data = self.memory.copy_from(start, bytes).map_err(fault)?;
                Follow::of(actor, at.span, AccessKind::Read, Order::Plain, element).bytes(self, start, bytes);
                data
            }
        };
        if let Err(e) = self.memory.copy_to(target, &data) {
            return Err(self.copy_fault(e, at, target, AccessKind::Write));
        }
        Follow::of(actor, at.span, AccessKind::Write, Order::Plain, element).bytes(self, target, bytes);
        Ok(())
    }

    fn deliver_signal(&mut self, actor: u32, at: Place, signal: SignalWork) -> Result<(), Error> {
        let SignalWork { word, op, value, sem } = signal;
        let changed = self.memory.update(word, WORD, |held| match op {
            SignalOp::Set => Some(value),
            SignalOp::Add => Some(held.wrapping_add(value)),
        });
        if let Err(e) = changed {
            return Err(self.copy_fault(e, at, word, AccessKind::Atomic));
        }
        self.changed_word(word);
        let effect = match op {
            SignalOp::Set => Effect::Write,
            SignalOp::Add => Effect::Both,
        };
        let order = Order::Atomic(sem, Scope::Sys);
        Follow::of(actor, at.span, AccessKind::Atomic, order, WORD).element(self, 0, word, effect);
        Ok(())
    }

    /// A word has changed: signals to it that are under way are overtaken.
    pub(crate) fn changed_word(&mut self, word: u64) {
        for transfer in &mut self.transfers {
            transfer.overtaken += u32::from(transfer.signal.is_some_and(|signal| signal.word == word));
        }
    }

    /// What is wrong with an access by a transfer or a stream.
    pub(crate) fn copy_fault(&self, fault: AccessError, at: Place, address: u64, access: AccessKind) -> Error {
        let near = self.memory.describe(address);
        match fault {
            AccessError::OutOfBounds => Error::OutOfBounds { address, bytes: 1, access, element: Vec::new(), near, at },
            AccessError::Misaligned => Error::Misaligned { address, bytes: WORD, access, element: Vec::new(), at },
            AccessError::ReadOnly => Error::ReadOnly { address, near, at },
        }
    }
}
