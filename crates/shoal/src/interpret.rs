//! Launching on the interpreter, which works in the host's own memory: at its addresses, and with every access checked.

#![expect(unsafe_code, reason = "launch arguments are addresses and lengths of borrowed memory")]

use std::io::Write;
use std::ops::Range;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use shoal_abi::WaitCondition;
use shoal_abi::print::PrintKind;
use shoal_driver::cpu::LaunchOptions;
use shoal_driver::{
    AwaitedValue, Failure, ForeignLaunch, Interrupt, LaunchError, PrintSink, RankView, SourceSite, Standing, Waiting,
};
use shoal_interp::{
    Address, Arg as Value, Awaited, Heap, HostMemory, HostRange, Idle, Memory as Space, Options, RankLaunch,
};
use shoal_ir::Const;
use shoal_lang::{Access, Lowered};
use shoal_source::{Diagnostic, Span};

use crate::Error;
use crate::arg::Memory;
use crate::error::Report;
use crate::host_pieces::{Piece, merged, pieces};
use crate::interpreter_turns::{Turn, Waited, in_turns};
use crate::kernel::{KernelShared, Prepared};
use crate::leaves::Leaves;
use crate::specialise::{ArgClass, ArgumentError};

/// Writes a number where another is, as one atomic access. The address is that of a number of this size and aligned to it.
macro_rules! exchange_at {
    ($atomic:ident, $number:ident, $address:expr, $old:expr, $new:expr) => {{
        let number = |bytes: &[u8]| $number::from_ne_bytes(bytes.try_into().expect("the size was looked at"));
        // SAFETY: aligned, and memory of the launch, as in `read`; native ranks change such words atomically too.
        let word = unsafe { $atomic::from_ptr(with_exposed_provenance_mut($address)) };
        word.compare_exchange(number($old), number($new), Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }};
}

impl HostRange for Piece {
    fn size(&self) -> usize {
        self.len()
    }

    fn is_writable(&self) -> bool {
        // A kernel that stores through what was passed as `&` does not compile, but may have found the address elsewhere.
        self.access == Access::ReadWrite
    }

    fn read(&self, start: usize, to: &mut [u8]) {
        assert!(start + to.len() <= self.size(), "the interpreter stays inside");
        let from = with_exposed_provenance::<u8>(self.start + start);
        // SAFETY: the piece is memory that the launch borrows (see `Memory`), all of it initialised plain data, or a
        // symmetric heap, or memory that is mapped and that the kernel found the address of, whose host answers for
        // that as on every device; the assertion holds the range. Others who write there meanwhile are ranks, which take
        // turns with this one, and hosts, which the kernel has to synchronise with as on every device.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    fn write(&mut self, start: usize, from: &[u8]) {
        assert!(start + from.len() <= self.size(), "the interpreter stays inside");
        assert!(self.is_writable(), "the interpreter asks first");
        let to = with_exposed_provenance_mut::<u8>(self.start + start);
        // SAFETY: as above; the memory may be written.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    fn exchange(&mut self, start: usize, old: &[u8], new: &[u8]) -> bool {
        assert!(start + new.len() <= self.size(), "the interpreter stays inside");
        assert!(self.is_writable(), "the interpreter asks first");
        let address = self.start + start;
        assert!(address.is_multiple_of(new.len().max(1)), "the interpreter asks for aligned words");
        match new.len() {
            1 => exchange_at!(AtomicU8, u8, address, old, new),
            2 => exchange_at!(AtomicU16, u16, address, old, new),
            4 => exchange_at!(AtomicU32, u32, address, old, new),
            _ => exchange_at!(AtomicU64, u64, address, old, new),
        }
    }
}

/// All memory of this process that is mapped to be read.
#[derive(Debug)]
struct Mapped;

impl HostMemory for Mapped {
    fn around(&self, address: u64, within: Range<u64>) -> Option<(Address, Box<dyn HostRange>)> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let (range, access) = maps.lines().filter_map(mapping).find(|(range, _)| range.contains(&address))?;
        let (start, end) = (range.start.max(within.start), range.end.min(within.end));
        let name = "memory that no argument hands over".into();
        let piece = Piece { start: start as usize, end: end as usize, access, name };
        Some((Address(start), Box::new(piece)))
    }
}

/// The range of a line of `/proc/self/maps` that may be read (`7f0e-7f10 rw-p …`), and whether it may be written.
fn mapping(line: &str) -> Option<(Range<u64>, Access)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let access = match rest.as_bytes() {
        [b'r', b'w', ..] => Access::ReadWrite,
        [b'r', ..] => Access::ReadOnly,
        _ => return None,
    };
    let number = |hex| u64::from_str_radix(hex, 16).ok();
    Some((number(start)?..number(end)?, access))
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
    let mut pieces = pieces(&leaves, "the interpreter checks every access").map_err(refused)?;
    let view = options.ranks.as_deref();
    pieces.extend(view.into_iter().flat_map(heap_pieces));
    // Of an array without elements, the address may be anything.
    pieces.retain(|piece| piece.len() > 0);
    let mut space = Space::new();
    for piece in merged(pieces) {
        let (address, name) = (Address(piece.start as u64), piece.name.clone());
        space.map_host(address, Box::new(piece));
        space.name(address, name);
    }
    space.set_host(Box::new(Mapped));
    let args = values(&leaves);
    let launch =
        RankLaunch { module: &lowered.module, kernel: &lowered.kernel, grid, args: &args, heap: None, room: None };
    let run = match view {
        Some(view) => launch_on_rank(view, options, launch, &mut space),
        None => {
            let mut host = Host { options, turn: None, standing: Standing::default() };
            shoal_interp::run_ranks(&[launch], &mut space, &Options::default(), &mut host)
        }
    };
    match run {
        Ok(_) => Ok(()),
        Err(shoal_interp::Error::Interrupted { .. }) => {
            Err(LaunchError::Interrupted { kernel: kernel.name.clone() }.into())
        }
        Err(shoal_interp::Error::Deadlock { waiting, hosts, .. }) if view.is_some() => {
            let unstarted = hosts.iter().map(|host| host.unstarted).sum();
            Err(stuck(kernel, &space, &waiting, unstarted).into())
        }
        Err(error) => Err(failed(kernel, &error)),
    }
}

/// Runs the launch of one rank, in turns with those of the others.
fn launch_on_rank(
    view: &RankView,
    options: &LaunchOptions,
    launch: RankLaunch<'_>,
    space: &mut Space,
) -> Result<u64, shoal_interp::Error> {
    let heap = |(_, base): (usize, usize)| Heap { base: Address(base as u64), bytes: view.heap_bytes() as u64 };
    let heaps: Vec<Heap> = view.heaps().map(heap).collect();
    let first = view.heaps().map(|(_, base)| base).next().unwrap_or_default();
    in_turns(first, |turn| {
        // From here on the launch counts among those that take turns, so nobody misses it.
        let member = options.member.as_ref().map(|member| member.launches_elsewhere());
        let mut host = Host { options, turn: Some((turn, member.as_ref())), standing: Standing::default() };
        let topologies = vec![view.topology().clone()];
        let sync_words = view.sync_words().map(|offset| offset as u64);
        let options = Options { topologies, sync_words, ..Options::default() };
        shoal_interp::run_rank(view.rank(), &heaps, launch, space, &options, &mut host)
    })
}

/// Whoever launched, as the interpreter knows them.
struct Host<'a, 't> {
    options: &'a LaunchOptions,
    /// The turn of a rank, and its launch as one of the world's.
    turn: Option<(&'a mut Turn<'t>, Option<&'a ForeignLaunch<'a>>)>,
    standing: Standing,
}

impl shoal_interp::Host for Host<'_, '_> {
    fn print(&mut self, line: String) {
        match &self.options.print {
            // A closed standard output is no reason to fail a kernel.
            PrintSink::Stdout => drop(writeln!(std::io::stdout(), "{line}")),
            PrintSink::Call(f) => f(&format!("{line}\n")),
        }
    }

    fn is_interrupted(&mut self) -> bool {
        self.options.interrupt.as_ref().is_some_and(Interrupt::is_requested)
    }

    fn turn(&mut self) {
        if let Some((turn, launch)) = &mut self.turn {
            if let Some(launch) = launch {
                launch.moved();
            }
            self.standing.moves += 1;
            turn.pass();
        }
    }

    fn idle(&mut self) -> Idle {
        self.standing.rounds += 1;
        // In this order: programs that wait tell what for.
        if self.options.give_up.as_ref().is_some_and(|give_up| give_up.is_requested(self.standing)) {
            return Idle::Nobody;
        }
        if self.is_interrupted() {
            return Idle::Stop;
        }
        match &mut self.turn {
            Some((_, Some(launch))) if launch.waits_in_vain() => Idle::Nobody,
            Some((turn, launch)) => match turn.wait(|| launch.is_none()) {
                Waited::Changed => Idle::Changed,
                Waited::Deadlock => Idle::Nobody,
            },
            None => Idle::Nobody,
        }
    }
}

/// The symmetric heaps that a launch of a rank sees.
fn heap_pieces(view: &RankView) -> impl Iterator<Item = Piece> {
    let piece = |(rank, start): (usize, usize)| {
        let name = format!("the symmetric heap of rank {rank}");
        Piece { start, end: start + view.heap_bytes(), access: Access::ReadWrite, name }
    };
    view.heaps().map(piece)
}

/// Programs of one rank that wait in vain.
fn stuck(kernel: &KernelShared, space: &Space, waiting: &[shoal_interp::Waiting], unstarted: u64) -> LaunchError {
    const SHOWN: usize = 8;
    let waits = |waiting: &shoal_interp::Waiting| {
        let awaited = |address: u64, kind, condition, expected, held| {
            let place = space.place_of(Address(address));
            AwaitedValue { address: address as usize, place, kind, condition, expected, held, last_writer: None }
        };
        let value = match waiting.awaited {
            Awaited::Value { address, expected, found } => {
                Some(awaited(address, PrintKind::I64, WaitCondition::Equal, expected, found))
            }
            Awaited::Comparison { address, condition, expected, found } => {
                Some(awaited(address, PrintKind::U64, condition, expected, found))
            }
            Awaited::Arrival { address, team, rank, expected, found } => {
                let place = format!("the arrivals of rank {rank} at meetings of team {team}");
                let value = awaited(address, PrintKind::U64, WaitCondition::GreaterEqual, expected, found);
                Some(AwaitedValue { place: Some(place), ..value })
            }
            Awaited::LoopExit => None,
        };
        Waiting { program: waiting.at.program, site: site(kernel, waiting.at.span), value }
    };
    LaunchError::Stuck {
        kernel: kernel.name.clone(),
        waiting: waiting.iter().take(SHOWN).map(waits).collect(),
        more: waiting.len().saturating_sub(SHOWN),
        looping: Vec::new(),
        unstarted,
        after: Duration::ZERO,
    }
}

fn site(kernel: &KernelShared, span: Span) -> Option<SourceSite> {
    let sources = kernel.module.sources();
    let at = (!span.is_none()).then(|| sources.line_col(span)).flatten();
    at.map(|(line, col)| SourceSite { file: sources.name(span.file).to_owned(), line, col, what: String::new() })
}

/// The interpreter knows the place of most failures: show the user's line.
fn failed(kernel: &KernelShared, error: &shoal_interp::Error) -> Error {
    let Some(place) = error.place() else { return Error::Interpreter(error.to_string()) };
    let (message, sources) = (error.to_string(), kernel.module.sources());
    let site = site(kernel, place.span);
    let report = if place.span.is_none() {
        message.clone()
    } else {
        Report::new(Diagnostic::error(place.span, message.clone()).label("here"), sources).to_string()
    };
    let failure = Box::new(Failure { program: place.program, site, message, report: Some(report) });
    LaunchError::Failed { kernel: kernel.name.clone(), failure }.into()
}

/// The values of run-time parameters; descriptors are whole.
pub(crate) fn values(leaves: &Leaves<'_>) -> Vec<Value> {
    let address = |memory: &Memory<'_>| Address(memory.address as u64);
    let mut values = Vec::new();
    for (_, leaf) in leaves.iter() {
        match leaf {
            ArgClass::Constant(_) | ArgClass::Tuple(..) => {}
            ArgClass::Number { dtype, bits, .. } => values.push(Value::Scalar(Const::from_bits(*dtype, *bits))),
            ArgClass::Pointer { memory, .. } => values.push(Value::Pointer(address(memory))),
            ArgClass::Descriptor(d) => values.push(Value::Desc {
                base: address(&d.base),
                shape: d.shape.to_vec(),
                strides: d.strides.to_vec(),
            }),
        }
    }
    values
}
