//! Launching on the interpreter: memory is copied in, and back when the run is over.

use std::io::Write;

use shoal_driver::cpu::LaunchOptions;
use shoal_driver::{Failure, Interrupt, LaunchError, PrintSink, SourceSite};
use shoal_interp::{Address, Arg as Value, Memory as Space};
use shoal_ir::Const;
use shoal_lang::Lowered;
use shoal_source::Diagnostic;

use crate::Error;
use crate::arg::Memory;
use crate::error::Report;
use crate::host_pieces::{Piece, piece_of, pieces};
use crate::kernel::{KernelShared, Prepared};
use crate::leaves::Leaves;
use crate::specialise::{ArgClass, ArgumentError};

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
    let mut pieces = pieces::<Address>(&leaves, "the interpreter copies it").map_err(refused)?;
    let mut space = Space::new();
    for piece in &mut pieces {
        let address = space.alloc_from(piece.content());
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
    for piece in &mut pieces {
        if let Some(written) = piece.copy.and_then(|copy| space.bytes(copy))
            && let Some(content) = piece.content_mut()
        {
            content.copy_from_slice(written);
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

/// The interpreter's address of memory.
fn address(pieces: &[Piece<Address>], memory: &Memory<'_>) -> Address {
    match piece_of(pieces, memory).and_then(|piece| Some((piece, piece.copy?))) {
        Some((piece, copy)) => copy.offset((memory.address - piece.start) as u64),
        None => Address(0),
    }
}

/// The values of run-time parameters; descriptors are whole.
fn values(leaves: &Leaves<'_>, pieces: &[Piece<Address>]) -> Vec<Value> {
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
