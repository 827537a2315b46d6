//! Launching on the interpreter: memory is copied in, and back when the run is over.

#![expect(unsafe_code, reason = "launch arguments are addresses and lengths of borrowed memory")]

use std::io::Write;
use std::ops::Range;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use shoal_driver::cpu::LaunchOptions;
use shoal_driver::{Failure, Interrupt, LaunchError, PrintSink, SourceSite};
use shoal_interp::{Address, Arg as Value, Memory as Space};
use shoal_ir::Const;
use shoal_lang::{Access, Lowered};
use shoal_source::Diagnostic;

use crate::Error;
use crate::arg::Memory;
use crate::error::Report;
use crate::kernel::{KernelShared, Prepared};
use crate::leaves::Leaves;
use crate::param::Param;
use crate::specialise::{ArgClass, ArgumentError};

/// One piece of the host's memory that arguments point into.
struct Piece {
    start: usize,
    end: usize,
    access: Access,
    name: String,
    copy: Option<Address>,
}

/// Runs a kernel on the interpreter.
pub(crate) fn launch(
    kernel: &KernelShared,
    options: &LaunchOptions,
    lowered: &Lowered,
    grid: [u32; 3],
    prepared: &Prepared<'_>,
) -> Result<(), Error> {
    let refused = |error: ArgumentError| Error::Argument(Report::new(*error, kernel.module.sources()));
    let leaves = prepared.leaves().map_err(refused)?;
    let pieces = pieces(&leaves).map_err(refused)?;
    let mut pieces = merged(pieces);
    let mut space = Space::new();
    for piece in &mut pieces {
        let bytes = piece.end - piece.start;
        let content: &[u8] = match bytes {
            // Of an array without elements, the address may be null.
            0 => &[],
            // SAFETY: the piece is memory that the launch borrows (see `Memory`), all of it initialised plain data.
            // Pieces that overlap were merged, and overlapping arguments belong to one tensor, so the range is one
            // allocation.
            bytes => unsafe { std::slice::from_raw_parts(with_exposed_provenance(piece.start), bytes) },
        };
        let address = space.alloc_from(content);
        space.name(address, piece.name.clone());
        piece.copy = Some(address);
    }
    let values = values(&leaves, &pieces);
    let run = shoal_interp::run_for(
        &lowered.module,
        &lowered.kernel,
        grid,
        &values,
        &mut space,
        &shoal_interp::Options::default(),
        &mut Host(options),
    );
    // What was written before a failure is shown too, as on a device.
    let written = |piece: &&Piece| piece.access == Access::ReadWrite && piece.end > piece.start;
    for piece in pieces.iter().filter(written) {
        if let Some(content) = piece.copy.and_then(|copy| space.bytes(copy)) {
            // SAFETY: as above; the memory may be written, and nothing else accesses it during the launch.
            let target = unsafe {
                std::slice::from_raw_parts_mut(with_exposed_provenance_mut(piece.start), piece.end - piece.start)
            };
            target.copy_from_slice(content);
        }
    }
    match run {
        Ok(_) => Ok(()),
        Err(shoal_interp::Error::Interrupted { .. }) => {
            Err(LaunchError::Interrupted { kernel: kernel.name.clone() }.into())
        }
        Err(error) => Err(failed(kernel, &error)),
    }
}

/// Whoever launched, as the interpreter knows them.
struct Host<'a>(&'a LaunchOptions);

impl shoal_interp::Host for Host<'_> {
    fn print(&mut self, line: String) {
        match &self.0.print {
            // A closed standard output is no reason to fail a kernel.
            PrintSink::Stdout => drop(writeln!(std::io::stdout(), "{line}")),
            PrintSink::Call(f) => f(&format!("{line}\n")),
        }
    }

    fn is_interrupted(&mut self) -> bool {
        self.0.interrupt.as_ref().is_some_and(Interrupt::is_requested)
    }
}

/// The interpreter knows the place of most failures: show the user's line.
fn failed(kernel: &KernelShared, error: &shoal_interp::Error) -> Error {
    let Some(place) = error.place() else { return Error::Interpreter(error.to_string()) };
    let (message, sources) = (error.to_string(), kernel.module.sources());
    let at = (!place.span.is_none()).then(|| sources.line_col(place.span)).flatten();
    let site = at.map(|(line, col)| SourceSite {
        file: sources.name(place.span.file).to_owned(),
        line,
        col,
        what: String::new(),
    });
    let report = if place.span.is_none() {
        message.clone()
    } else {
        Report::new(Diagnostic::error(place.span, message.clone()).label("here"), sources).to_string()
    };
    let failure = Box::new(Failure { program: place.program, site, message, report: Some(report) });
    LaunchError::Failed { kernel: kernel.name.clone(), failure }.into()
}

/// The memory that arguments point into.
fn pieces(leaves: &Leaves<'_>) -> Result<Vec<Piece>, ArgumentError> {
    let mut pieces = Vec::new();
    for (param, leaf) in leaves.iter() {
        let memory = match leaf {
            ArgClass::Pointer { memory, .. } => *memory,
            ArgClass::Descriptor(descriptor) => &descriptor.base,
            ArgClass::Constant(_) | ArgClass::Number { .. } | ArgClass::Tuple(..) => continue,
        };
        let Range { start, end } = memory.range().ok_or_else(|| unmeasured(param))?;
        pieces.push(Piece { start, end, access: memory.access, name: param.name.clone(), copy: None });
    }
    Ok(pieces)
}

fn unmeasured(param: &Param) -> ArgumentError {
    let text = format!("nobody knows how large the memory passed for `{}` is", param.name);
    let help = "the interpreter copies it: pass an array that tells its size";
    Box::new(Diagnostic::error(param.span, text).label("this parameter").help(help))
}

/// Joins pieces that overlap: the same tensor may be passed twice.
fn merged(mut pieces: Vec<Piece>) -> Vec<Piece> {
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

/// The interpreter's address of memory.
fn address(pieces: &[Piece], memory: &Memory<'_>) -> Address {
    let within =
        |piece: &&Piece| memory.range().is_some_and(|range| piece.start <= range.start && range.end <= piece.end);
    match pieces.iter().find(within).and_then(|piece| Some((piece, piece.copy?))) {
        Some((piece, copy)) => copy.offset((memory.address - piece.start) as u64),
        None => Address(0),
    }
}

/// The values of run-time parameters; descriptors are whole.
fn values(leaves: &Leaves<'_>, pieces: &[Piece]) -> Vec<Value> {
    let mut values = Vec::new();
    for (_, leaf) in leaves.iter() {
        match leaf {
            ArgClass::Constant(_) | ArgClass::Tuple(..) => {}
            ArgClass::Number { dtype, bits, .. } => values.push(Value::Scalar(Const::from_bits(*dtype, *bits))),
            ArgClass::Pointer { memory, .. } => values.push(Value::Pointer(address(pieces, memory))),
            ArgClass::Descriptor(d) => values.push(Value::Desc {
                base: address(pieces, &d.base),
                shape: d.shape.to_vec(),
                strides: d.strides.to_vec(),
            }),
        }
    }
    values
}
