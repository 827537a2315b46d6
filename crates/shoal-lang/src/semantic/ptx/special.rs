//! Special registers, and what the lanes of a warp tell each other.

use shoal_ir::layouts::WARP_SIZE;
use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::Scalar;
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::{Machine, Outcome};
use super::program::{Instruction, Operand};
use crate::lanes;
use crate::semantic::language_extra::{Shuffle, ballot, over_warp, shuffle};

/// Whether a special register differs between threads.
pub(super) fn differs(name: &str) -> bool {
    name.starts_with("%tid")
        || name.starts_with("%laneid")
        || name.starts_with("%warpid")
        || name.starts_with("%lanemask")
}

/// The axis that a name ends with.
fn axis(name: &str) -> Option<u8> {
    match name.rsplit_once('.')?.1 {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    }
}

impl Machine<'_, '_> {
    /// The value of a special register, as bits.
    pub(super) fn special(&mut self, name: &str) -> Outcome<IrValue> {
        let base = name.split('.').next().unwrap_or(name);
        let unknown = || Err(format!("the register `{name}` is not declared, and no special register has that name"));
        let place = axis(name);
        match (base, place) {
            ("%tid", Some(0)) => self.thread(BinaryOp::Add, 0),
            ("%tid", Some(_)) => Ok(self.int(0, Scalar::U32)),
            ("%ntid", Some(axis)) => {
                let threads = lanes::count(self.e);
                Ok(self.int(if axis == 0 { threads.into() } else { 1 }, Scalar::U32))
            }
            ("%laneid", None) => self.thread(BinaryOp::And, i64::from(WARP_SIZE) - 1),
            ("%warpid", None) => self.thread(BinaryOp::Shr, i64::from(WARP_SIZE.trailing_zeros())),
            ("%nwarpid", None) => {
                let warps = self.e.options.num_warps;
                Ok(self.int(warps.into(), Scalar::U32))
            }
            ("%ctaid", Some(axis)) => Ok(self.of_grid(OpKind::ProgramId { axis })),
            ("%nctaid", Some(axis)) => Ok(self.of_grid(OpKind::NumPrograms { axis })),
            ("%smid", None) => {
                let number = crate::semantic::language_extra::flat_program(self.e);
                let number = self.e.b().cast(number, Scalar::U32);
                Ok(self.everywhere(number))
            }
            ("%globaltimer" | "%clock64" | "%globaltimer_lo" | "%globaltimer_hi" | "%clock" | "%clock_hi", None) => {
                Ok(self.time(base))
            }
            ("%envreg1" | "%envreg2", None) => self.grid_words(base),
            ("%lanemask_eq" | "%lanemask_lt" | "%lanemask_le" | "%lanemask_gt" | "%lanemask_ge", None) => {
                self.lane_mask(base)
            }
            ("%cluster_ctaid" | "%clusterid", Some(_)) | ("%cluster_ctarank", None) => Ok(self.int(0, Scalar::U32)),
            ("%cluster_nctaid", Some(_)) | ("%cluster_nctarank", None) => Ok(self.int(1, Scalar::U32)),
            _ => unknown(),
        }
    }

    /// The number of each thread, combined with another.
    fn thread(&mut self, op: BinaryOp, with: i64) -> Outcome<IrValue> {
        if !self.over_lanes() {
            return Err("a tile has no threads of its own: the snippet reads a thread's number".into());
        }
        let thread = lanes::index(self.e);
        let thread = self.e.b().cast(thread, Scalar::U32);
        let with = self.int(with, Scalar::U32);
        Ok(self.binary(op, thread, with))
    }

    fn of_grid(&mut self, kind: OpKind) -> IrValue {
        let number = self.e.b().value(kind, &[]);
        let number = self.e.b().cast(number, Scalar::U32);
        self.everywhere(number)
    }

    /// Half of the address of the words that a cooperative launch's programs share: the upper in the first register.
    fn grid_words(&mut self, name: &str) -> Outcome<IrValue> {
        if self.e.options.target.nvptx().is_some() {
            return Err("the driver gives this register its value".into());
        }
        let words = self.e.b().value(OpKind::GridWords, &[]);
        let words = self.e.b().cast(words, Scalar::U64);
        let words = self.everywhere(words);
        if name == "%envreg2" {
            return Ok(self.e.b().cast(words, Scalar::U32));
        }
        let half = self.int(32, Scalar::U64);
        let upper = self.binary(BinaryOp::Shr, words, half);
        Ok(self.e.b().cast(upper, Scalar::U32))
    }

    fn time(&mut self, name: &str) -> IrValue {
        let now = self.e.b().value(OpKind::Clock, &[]);
        let now = self.e.b().cast(now, Scalar::U64);
        let now = self.everywhere(now);
        match name {
            "%globaltimer_lo" | "%clock" => self.e.b().cast(now, Scalar::U32),
            "%globaltimer_hi" | "%clock_hi" => {
                let half = self.int(32, Scalar::U64);
                let upper = self.binary(BinaryOp::Shr, now, half);
                self.e.b().cast(upper, Scalar::U32)
            }
            _ => now,
        }
    }

    fn lane_mask(&mut self, name: &str) -> Outcome<IrValue> {
        let lane = self.thread(BinaryOp::And, i64::from(WARP_SIZE) - 1)?;
        let one = self.int(1, Scalar::U32);
        let own = self.binary(BinaryOp::Shl, one, lane);
        let below = self.binary(BinaryOp::Sub, own, one);
        let upto = self.binary(BinaryOp::Or, own, below);
        let all = self.int(-1, Scalar::U32);
        Ok(match name {
            "%lanemask_lt" => below,
            "%lanemask_le" => upto,
            "%lanemask_gt" => self.binary(BinaryOp::Xor, upto, all),
            "%lanemask_ge" => self.binary(BinaryOp::Xor, below, all),
            _ => own,
        })
    }

    /// `vote`, `shfl`, `activemask`, `elect`, `redux`.
    pub(super) fn warp(&mut self, i: &Instruction) -> Outcome<()> {
        if !self.over_lanes() {
            return Err("a tile has no warps of its own".into());
        }
        let mask = self.mask(i)?;
        let to = self.operand(i, 0)?;
        let outer = std::mem::replace(&mut self.e.active, mask);
        let result = self.warp_result(i);
        self.e.active = outer;
        let (value, second) = result?;
        match (to, second) {
            (Operand::Pair(first, other), Some(second)) => {
                self.write(first, value, mask)?;
                self.write(other, second, mask)
            }
            (to, _) => self.write(to, value, mask),
        }
    }

    fn warp_result(&mut self, i: &Instruction) -> Outcome<(IrValue, Option<IrValue>)> {
        let zero = self.int(0, Scalar::U32);
        match i.name.as_str() {
            "activemask" => {
                let all = self.int(1, Scalar::I1);
                Ok((ballot(self.e, all), None))
            }
            "elect" => {
                let all = self.int(1, Scalar::I1);
                let present = ballot(self.e, all);
                let lane = self.thread(BinaryOp::And, i64::from(WARP_SIZE) - 1)?;
                let one = self.int(1, Scalar::U32);
                let own = self.binary(BinaryOp::Shl, one, lane);
                let below = self.binary(BinaryOp::Sub, own, one);
                let before = self.binary(BinaryOp::And, present, below);
                let first = self.cmp(CmpOp::Eq, before, zero);
                let low = self.e.b().unary(shoal_ir::op::UnaryOp::Brev, present);
                let leader = self.e.b().unary(shoal_ir::op::UnaryOp::Clz, low);
                Ok((leader, Some(first)))
            }
            "vote" => {
                let predicate = self.read(self.operand(i, 1)?, Scalar::I1)?;
                let yes = ballot(self.e, predicate);
                let all = self.int(1, Scalar::I1);
                let present = ballot(self.e, all);
                let value = if i.has("ballot") {
                    yes
                } else if i.has("any") {
                    self.cmp(CmpOp::Ne, yes, zero)
                } else if i.has("all") {
                    self.cmp(CmpOp::Eq, yes, present)
                } else {
                    let none = self.cmp(CmpOp::Eq, yes, zero);
                    let every = self.cmp(CmpOp::Eq, yes, present);
                    self.binary(BinaryOp::Or, none, every)
                };
                Ok((value, None))
            }
            "redux" => {
                let ty = self.kind(i)?.scalar();
                let value = self.read(self.operand(i, 1)?, ty)?;
                let (op, neutral) = match i.words.iter().find(|w| !matches!(w.as_str(), "sync")).map(String::as_str) {
                    Some("add") => (BinaryOp::Add, 0),
                    Some("and") => (BinaryOp::And, -1),
                    Some("or") => (BinaryOp::Or, 0),
                    Some("xor") => (BinaryOp::Xor, 0),
                    Some("min") if ty.is_int() => {
                        (BinaryOp::Min, if ty.is_signed_int() { i64::from(i32::MAX) } else { -1 })
                    }
                    Some("max") if ty.is_int() => {
                        (BinaryOp::Max, if ty.is_signed_int() { i64::from(i32::MIN) } else { 0 })
                    }
                    _ => return Err("this reduction is not supported".into()),
                };
                let value = match self.e.active {
                    Some(active) => {
                        let neutral = self.int(neutral, ty);
                        self.select(active, value, neutral)
                    }
                    None => value,
                };
                Ok((over_warp(self.e, op, value), None))
            }
            _ => {
                let how = match i.words.iter().find(|w| !matches!(w.as_str(), "sync")).map(String::as_str) {
                    Some("idx") => Shuffle::Index,
                    Some("up") => Shuffle::Up,
                    Some("down") => Shuffle::Down,
                    Some("bfly") => Shuffle::Xor,
                    _ => return Err("the kind of shuffle cannot be read".into()),
                };
                let value = self.read(self.operand(i, 1)?, Scalar::U32)?;
                let by = self.read(self.operand(i, 2)?, Scalar::I32)?;
                let width = match self.operand(i, 3)? {
                    Operand::Integer(c) => group_width(how, *c),
                    _ => None,
                };
                let Some(width) = width else {
                    return Err("the groups of lanes of a shuffle must be known, and have a power of two lanes".into());
                };
                let (read, exists) = shuffle(self.e, how, value, by, width);
                Ok((read, Some(exists)))
            }
        }
    }
}

/// The lanes of a group, from the last operand of `shfl`: in its low bits the last lane of a group that may be read, as
/// if there was one group (the first, for `up`), above them the bits of a lane's number that name its group.
fn group_width(how: Shuffle, operand: impl TryInto<u32>) -> Option<u32> {
    let operand = operand.try_into().ok()?;
    let (bound, groups) = (operand & 31, operand >> 8);
    let width = 32u32.checked_sub(groups)?;
    let is_whole = bound == if how == Shuffle::Up { 0 } else { 31 };
    (is_whole && operand & !0x1f1f == 0 && width.is_power_of_two()).then_some(width)
}
