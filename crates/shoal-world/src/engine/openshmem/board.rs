//! What ranks tell each other: words and messages in front of every rank's segment. All zero is their initial state.
//!
//! ```text
//!  a word for each rank       its state
//!  a word for each rank       whether it waits, and nothing of it moves
//!  a record for each rank     what it says has ended the world
//!  a record for each rank     what it has found out afterwards, if that was a suspicion
//!  a record for each rank     what it was doing then
//!  for each team slot         a word for each rank: the last round that it has arrived in
//!                             two boxes for each rank: what it says in even and in odd rounds
//! ```
//!
//! A part is written by the rank that it is for, and read by the rank that it lies with.

use std::sync::atomic::Ordering;

use shoal_driver::Transport;

use super::port::Port;
use crate::engine::{Certainty, REPORT_BYTES, TEAM_SLOTS};
use crate::error::Failure;
use crate::options::PAGE;

const WORD: usize = 8;
/// A record: whether it is written and certain, the rank that failed, the length of the reason, the reason.
const RECORD: usize = 512;
const RECORD_HEAD: usize = 3 * WORD;
const KNOWN: u64 = 1;
const SUSPECTED: u64 = 2;
/// A report: its bytes plus one, then they.
const REPORT: usize = WORD + REPORT_BYTES;
/// A box: the call, the length of the whole message, as much of the message as fits.
const BOX: usize = 1024;
const BOX_HEAD: usize = 2 * WORD;

/// Bytes of a message that fit into one round.
pub(super) const PAYLOAD: usize = BOX - BOX_HEAD;

/// Whether a rank takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RankState {
    /// It does.
    Running,
    /// It is done.
    Left,
}

impl RankState {
    pub(super) fn code(self) -> u64 {
        match self {
            RankState::Running => 1,
            RankState::Left => 2,
        }
    }
}

/// Where the parts of a board are, in bytes from its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Board {
    ranks: usize,
}

impl Board {
    pub(super) fn new(ranks: usize) -> Board {
        Board { ranks }
    }

    /// Its size, a multiple of pages.
    pub(super) fn bytes(self) -> usize {
        self.slot_at(TEAM_SLOTS).next_multiple_of(PAGE)
    }

    pub(super) fn state_at(self, source: usize) -> usize {
        source * WORD
    }

    pub(super) fn beat_at(self, source: usize) -> usize {
        self.state_at(self.ranks) + source * WORD
    }

    fn failure_at(self, source: usize) -> usize {
        self.beat_at(self.ranks).next_multiple_of(RECORD) + source * RECORD
    }

    fn conclusion_at(self, source: usize) -> usize {
        self.failure_at(self.ranks) + source * RECORD
    }

    fn report_at(self, source: usize) -> usize {
        self.conclusion_at(self.ranks).next_multiple_of(REPORT) + source * REPORT
    }

    fn slot_at(self, slot: usize) -> usize {
        let bytes = (self.ranks * WORD).next_multiple_of(BOX) + self.ranks * 2 * BOX;
        self.report_at(self.ranks).next_multiple_of(BOX) + slot * bytes
    }

    pub(super) fn arrival_at(self, slot: usize, source: usize) -> usize {
        self.slot_at(slot) + source * WORD
    }

    fn box_at(self, slot: usize, source: usize, round: u32) -> usize {
        let first = self.slot_at(slot) + (self.ranks * WORD).next_multiple_of(BOX);
        first + (source * 2 + round as usize % 2) * BOX
    }

    /// Puts a message of this round into a rank's box. The length is that of the whole message.
    pub(super) fn send(self, port: &Port, to: usize, place: Mail, call: u64, length: usize, part: &[u8]) {
        let mut bytes = Vec::with_capacity(BOX_HEAD + part.len());
        bytes.extend_from_slice(&call.to_ne_bytes());
        bytes.extend_from_slice(&(length as u64).to_ne_bytes());
        bytes.extend_from_slice(part);
        port.write(to, self.box_at(place.slot, place.source, place.round), &bytes);
    }

    /// The call and the whole length of a message that has arrived.
    pub(super) fn header(self, port: &Port, place: Mail) -> (u64, usize) {
        let at = self.box_at(place.slot, place.source, place.round);
        let word = |at| port.own_word(at).load(Ordering::Relaxed);
        (word(at), word(at + WORD) as usize)
    }

    /// Appends this round's part of a message that has arrived.
    pub(super) fn receive(self, port: &Port, place: Mail, bytes: usize, into: &mut Vec<u8>) {
        let at = self.box_at(place.slot, place.source, place.round) + BOX_HEAD;
        into.extend_from_slice(&port.read_own(at, bytes.min(PAYLOAD)));
    }

    /// What a rank says has ended the world, if it says so.
    pub(super) fn read_failure(self, port: &Port, source: usize) -> Option<(Failure, Certainty)> {
        Self::read_record(port, self.failure_at(source))
    }

    /// What a rank has found out whose suspicion has ended the world.
    pub(super) fn read_conclusion(self, port: &Port, source: usize) -> Option<Failure> {
        Self::read_record(port, self.conclusion_at(source)).map(|(failure, _)| failure)
    }

    /// Tells all ranks what has ended the world.
    pub(super) fn write_failure(self, port: &Port, source: usize, failure: &Failure, certainty: Certainty) {
        self.write_record(port, self.failure_at(source), failure, certainty);
    }

    /// Tells all ranks what this one has found out afterwards.
    pub(super) fn write_conclusion(self, port: &Port, source: usize, failure: &Failure) {
        self.write_record(port, self.conclusion_at(source), failure, Certainty::Known);
    }

    fn read_record(port: &Port, at: usize) -> Option<(Failure, Certainty)> {
        let certainty = match port.own_word(at).load(Ordering::Acquire) {
            0 => return None,
            KNOWN => Certainty::Known,
            _ => Certainty::Suspected,
        };
        let word = |index: usize| port.own_word(at + index * WORD).load(Ordering::Relaxed) as usize;
        let reason = port.read_own(at + RECORD_HEAD, word(2).min(RECORD - RECORD_HEAD));
        Some((Failure { rank: word(1), reason: String::from_utf8_lossy(&reason).into_owned() }, certainty))
    }

    fn write_record(self, port: &Port, at: usize, failure: &Failure, certainty: Certainty) {
        let end = failure.reason.floor_char_boundary(RECORD - RECORD_HEAD);
        let mut bytes = Vec::with_capacity(RECORD);
        bytes.extend_from_slice(&(failure.rank as u64).to_ne_bytes());
        bytes.extend_from_slice(&(end as u64).to_ne_bytes());
        bytes.extend_from_slice(&failure.reason.as_bytes()[..end]);
        let code = match certainty {
            Certainty::Known => KNOWN,
            Certainty::Suspected => SUSPECTED,
        };
        for peer in 0..self.ranks {
            port.write(peer, at + WORD, &bytes);
            port.set(peer, at, code);
        }
        port.quiet();
    }

    /// What a rank was doing when the world failed, if it has told.
    pub(super) fn read_report(self, port: &Port, source: usize) -> Option<String> {
        let at = self.report_at(source);
        let bytes = (port.own_word(at).load(Ordering::Acquire) as usize).checked_sub(1)?.min(REPORT_BYTES);
        Some(String::from_utf8_lossy(&port.read_own(at + WORD, bytes)).into_owned())
    }

    /// Tells all ranks what this one was doing.
    pub(super) fn write_report(self, port: &Port, source: usize, report: &str) {
        let report = &report[..report.floor_char_boundary(REPORT_BYTES)];
        let at = self.report_at(source);
        for peer in 0..self.ranks {
            port.write(peer, at + WORD, report.as_bytes());
            port.set(peer, at, report.len() as u64 + 1);
        }
        port.quiet();
    }
}

/// A box: of a team, from a rank, in a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mail {
    pub(super) slot: usize,
    pub(super) source: usize,
    pub(super) round: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        for ranks in [1, 2, 3, 64, 100] {
            let board = Board::new(ranks);
            assert!(board.state_at(ranks) <= board.beat_at(0) && board.beat_at(ranks) <= board.failure_at(0));
            assert!(board.failure_at(ranks) <= board.conclusion_at(0));
            assert!(board.conclusion_at(ranks) <= board.report_at(0));
            assert!(board.report_at(ranks) <= board.slot_at(0));
            assert!(board.arrival_at(0, ranks) <= board.box_at(0, 0, 0));
            assert_eq!(board.box_at(0, ranks - 1, 1) + BOX, board.slot_at(1));
            assert!(board.slot_at(TEAM_SLOTS) <= board.bytes() && board.bytes().is_multiple_of(PAGE));
        }
    }
}
