//! The order of a run: who moved when, and from where to where.

use shoal_ir::Span;

use crate::error::Place;

/// Steps that one actor made in a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Who, and where it was before; of a program the operation that came next.
    pub at: Place,
    /// What it is.
    pub by: Mover,
    /// The operation at which a program stands afterwards.
    pub to: Span,
    /// What is next for it.
    pub next: Next,
}

/// Who moves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mover {
    /// A program, of a launch of its rank, counted from 0.
    Program {
        /// The launch.
        launch: u32,
    },
    /// A transfer that a program issued earlier: it is delivered.
    Transfer,
    /// A stream of a rank: a copy, or a value that is written or awaited.
    Stream,
}

/// What comes next for a program that made a step.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It can go on.
    Ready,
    /// It waits.
    Waits,
    /// It has ended.
    Ended,
    /// It has failed.
    Failed,
}

/// Adds a turn to those of a run; steps of one program that follow each other are one.
pub(crate) fn add(turns: &mut Vec<Turn>, turn: Turn) {
    match turns.last_mut() {
        Some(last)
            if last.by == turn.by
                && matches!(turn.by, Mover::Program { .. })
                && (last.at.rank, last.at.program) == (turn.at.rank, turn.at.program) =>
        {
            (last.to, last.next) = (turn.to, turn.next);
        }
        _ => turns.push(turn),
    }
}
