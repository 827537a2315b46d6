//! The host's memory that arguments point into, in pieces that do not overlap: what the interpreter works in, and what
//! GPUs work on a copy of.

#![expect(unsafe_code, reason = "launch arguments are addresses and lengths of borrowed memory")]

use std::ops::Range;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use shoal_lang::Access;
use shoal_source::Diagnostic;

use crate::arg::{Location, Memory};
use crate::leaves::Leaves;
use crate::param::Param;
use crate::specialise::{ArgClass, ArgumentError};

/// A piece of the host's memory.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) access: Access,
    /// The parameter that it was passed for first.
    pub(crate) name: String,
}

impl Piece {
    /// Its size.
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether memory lies in it.
    pub(crate) fn holds(&self, memory: &Memory<'_>) -> bool {
        memory.range().is_some_and(|range| self.start <= range.start && range.end <= self.end)
    }

    /// What is in it.
    pub(crate) fn content(&self) -> &[u8] {
        match self.len() {
            // Of an array without elements, the address may be null.
            0 => &[],
            // SAFETY: the piece is memory that the launch borrows (see `Memory`), all of it initialised plain data.
            // Pieces that overlap were merged, and overlapping arguments belong to one tensor, so the range is one
            // allocation.
            bytes => unsafe { std::slice::from_raw_parts(with_exposed_provenance(self.start), bytes) },
        }
    }

    /// What is in it, to write; `None` if kernels may not.
    pub(crate) fn content_mut(&mut self) -> Option<&mut [u8]> {
        match (self.access, self.len()) {
            (Access::ReadOnly, _) | (_, 0) => None,
            (Access::ReadWrite, bytes) => {
                // SAFETY: as above; the memory may be written, and nothing else accesses it during the launch.
                Some(unsafe { std::slice::from_raw_parts_mut(with_exposed_provenance_mut(self.start), bytes) })
            }
        }
    }
}

/// The memory that arguments point into. `needed` says why each must tell its size.
pub(crate) fn pieces(leaves: &Leaves<'_>, needed: &str) -> Result<Vec<Piece>, ArgumentError> {
    let mut pieces = Vec::new();
    for (param, leaf) in leaves.iter() {
        let memory = match leaf {
            ArgClass::Pointer { memory, .. } => *memory,
            ArgClass::Descriptor(descriptor) => &descriptor.base,
            ArgClass::Constant(_) | ArgClass::Number { .. } | ArgClass::Tuple(..) => continue,
        };
        if memory.location != Location::Host {
            continue;
        }
        let Range { start, end } = memory.range().ok_or_else(|| unmeasured(param, needed))?;
        pieces.push(Piece { start, end, access: memory.access, name: param.name.clone() });
    }
    Ok(pieces)
}

fn unmeasured(param: &Param, needed: &str) -> ArgumentError {
    let text = format!("nobody knows how large the memory passed for `{}` is", param.name);
    let help = format!("{needed}: pass an array that tells its size");
    Box::new(Diagnostic::error(param.span, text).label("this parameter").help(help))
}

/// Joins pieces that overlap: the same tensor may be passed twice.
pub(crate) fn merged(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.start, std::cmp::Reverse(piece.end)));
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if piece.start < last.end || (piece.start, piece.end) == (last.start, last.end) => {
                last.end = last.end.max(piece.end);
                if piece.access == Access::ReadWrite {
                    last.access = Access::ReadWrite;
                }
            }
            _ => joined.push(piece),
        }
    }
    joined
}
