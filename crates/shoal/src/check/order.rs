//! The order of a run, as people read it: who moved, from which line to which, and what came of it.

use shoal_interp::{Mover, Next, Turn};
use shoal_source::{SourceMap, Span};

/// Turns that are shown: the last ones, since that is where it went wrong.
const SHOWN: usize = 40;

/// All shown turns with a heading; nothing if there are none.
pub(super) fn text(turns: &[Turn], sources: &SourceMap) -> String {
    let lines = lines(turns, sources);
    if lines.is_empty() {
        return String::new();
    }
    let left_out = lines.len().saturating_sub(SHOWN);
    let before = if left_out > 0 { format!(" (the last {SHOWN} of {} turns)", lines.len()) } else { String::new() };
    let shown = lines.iter().enumerate().skip(left_out);
    let shown: String = shown.map(|(at, line)| format!("{:>5}  {line}\n", at + 1)).collect();
    format!("the order of this run{before}:\n{shown}")
}

/// Each turn as a line.
pub(super) fn lines(turns: &[Turn], sources: &SourceMap) -> Vec<String> {
    turns.iter().map(|turn| line(turn, sources)).collect()
}

fn line(turn: &Turn, sources: &SourceMap) -> String {
    let Turn { at, by, to, next } = turn;
    match by {
        Mover::Transfer => format!("a transfer issued by {at} in {} is delivered", place(sources, at.span)),
        Mover::Stream => format!("a stream of rank {} makes a step", at.rank.unwrap_or(0)),
        Mover::Program { launch } => {
            let of = if *launch > 0 { format!(" of launch {launch}") } else { String::new() };
            let (from, to) = (place(sources, at.span), place(sources, *to));
            let way = match next {
                Next::Ready if from == to => format!("{from}, and stays there"),
                Next::Ready => format!("{from} to before {to}"),
                Next::Waits if from == to => format!("waits in {to}"),
                Next::Waits => format!("{from}, waits in {to}"),
                Next::Ended => format!("{from} to its end"),
                Next::Failed => format!("{from}, fails before {to}"),
            };
            format!("{at}{of}: {way}")
        }
    }
}

/// `ring.py:13`.
fn place(sources: &SourceMap, span: Span) -> String {
    match (!span.is_none()).then(|| sources.line_col(span)).flatten() {
        Some((line, _)) => {
            let name = sources.name(span.file);
            format!("{}:{line}", name.rsplit('/').next().unwrap_or(name))
        }
        None => "the end".into(),
    }
}
