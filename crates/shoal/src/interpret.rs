//! Launching on the interpreter: memory is copied in, and back when the run is over.

#![expect(unsafe_code, reason = "launch arguments are addresses and lengths of borrowed memory")]

use std::io::Write;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use shoal_driver::cpu::LaunchOptions;
use shoal_driver::{Interrupt, LaunchError, PrintSink};
use shoal_interp::{Address, Arg as Value, Memory as Space};
use shoal_ir::Const;
use shoal_lang::Lowered;
use shoal_source::Diagnostic;

use crate::arg::{Access, Arg, Memory};
use crate::bound::Bound;
use crate::error::Report;
use crate::kernel::KernelShared;
use crate::param::Param;
use crate::specialise::{Class, Fault, classify};
use crate::{DType, Error, pack};

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
    bound: &Bound<'_>,
) -> Result<(), Error> {
    let wrong = |fault: Fault| Error::Argument(Report::new(*fault, kernel.module.sources()));
    let mut pieces = Vec::new();
    for (param, arg) in bound.params.iter().zip(&bound.args) {
        collect(&mut pieces, param, arg);
    }
    let mut pieces = merged(pieces);
    let mut space = Space::new();
    for piece in &mut pieces {
        // SAFETY: the piece is memory that the launch borrows (see `Memory`), all of it initialised plain data. Pieces
        // that overlap were merged, and overlapping arguments belong to one tensor, so the range is one allocation.
        let content =
            unsafe { std::slice::from_raw_parts(with_exposed_provenance(piece.start), piece.end - piece.start) };
        let address = space.alloc_from(content);
        space.name(address, piece.name.clone());
        piece.copy = Some(address);
    }
    let mut values = Vec::new();
    for (param, &arg) in bound.params.iter().zip(&bound.args) {
        let class = classify(param, arg).map_err(wrong)?;
        push(&mut values, &pieces, param, arg, class).map_err(wrong)?;
    }
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
    for piece in pieces.iter().filter(|piece| piece.access == Access::ReadWrite) {
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
    if place.span.is_none() {
        return Error::Program { text: error.to_string(), program: place.program, place: None };
    }
    let sources = kernel.module.sources();
    let line = sources.line_col(place.span).map(|(line, _)| (sources.name(place.span.file).to_owned(), line));
    let diagnostic = Diagnostic::error(place.span, error.to_string()).label("here");
    Error::Program { text: Report::new(diagnostic, sources).to_string(), program: place.program, place: line }
}

fn collect(pieces: &mut Vec<Piece>, param: &Param, arg: &Arg<'_>) {
    let mut add = |memory: &Memory<'_>| {
        pieces.push(Piece {
            start: memory.address - memory.before,
            end: memory.address + memory.bytes,
            access: memory.access,
            name: param.name.clone(),
            copy: None,
        });
    };
    match arg {
        Arg::Memory(memory) => add(memory),
        Arg::Descriptor(descriptor) => add(&descriptor.base),
        Arg::Tuple(items) | Arg::NamedTuple(_, items) => items.iter().for_each(|item| collect(pieces, param, item)),
        Arg::None
        | Arg::Bool(_)
        | Arg::Int(_)
        | Arg::Float(_)
        | Arg::Text(_)
        | Arg::DType(_)
        | Arg::Function(_)
        | Arg::Host(_) => {}
    }
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
    let start = memory.address;
    let at = pieces.iter().find(|p| p.start <= start && start + memory.bytes <= p.end);
    match at.and_then(|piece| Some((piece, piece.copy?))) {
        Some((piece, copy)) => copy.offset((start - piece.start) as u64),
        None => Address(0),
    }
}

fn push(
    values: &mut Vec<Value>,
    pieces: &[Piece],
    param: &Param,
    arg: &Arg<'_>,
    class: Class<'_>,
) -> Result<(), Fault> {
    match class {
        Class::Constant(_) => {}
        Class::Number { dtype, .. } => values.push(Value::Scalar(Const::from_bits(dtype, pack::bits(dtype, arg)))),
        Class::Pointer { memory, .. } => values.push(Value::Pointer(address(pieces, &memory))),
        // In the form that lowered kernels take descriptors; see `pack`.
        Class::Descriptor(d) => {
            let number = |dtype, value: i64| Value::Scalar(Const::from_bits(dtype, value.cast_unsigned()));
            values.push(Value::Pointer(address(pieces, &d.base)));
            values.extend(d.shape.iter().map(|&size| number(DType::I32, size)));
            values.extend(d.passed_strides().iter().map(|&stride| number(DType::I64, stride)));
        }
        Class::Tuple(_, items) => {
            let element = param.element();
            for item in items {
                push(values, pieces, &element, item, classify(&element, item)?)?;
            }
        }
    }
    Ok(())
}
