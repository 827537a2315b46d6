//! What the hosts of all ranks do, recorded: buffers, launches, copies, barriers.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_interp::explore::{Buffer, Expectation, Initial, Output, Scenario};
use shoal_interp::{Address, Arg as Value, Compare, Heap, HostAction, RankLaunch, StreamAction};
use shoal_ir::Const;
use shoal_ir::abi::Topology;
use shoal_lang::Lowered;
use shoal_source::{SourceMap, Span};

use super::occupancy::{self, KernelRoom};
use super::streams::{HostStream, Streams};
use super::topology::Surroundings;
use super::{CheckOptions, Room};
use crate::arg::{Args, Memory};
use crate::interpret;
use crate::specialise::ArgClass;
use crate::variant::{Runnable, Variant};
use crate::{Access, CompileOptions, DType, Device, Error, IntoGrid, Kernel};

/// Where the heap of rank 0 starts; each rank's has a range of its own.
const HEAPS: u64 = 0x1000_0000_0000;
pub(super) const HEAP_BYTES: u64 = 1 << 36;

/// Where buffers of one rank alone start.
const LOCALS: u64 = 0x3000_0000_0000;

/// Unmapped space between two buffers.
const GAP: u64 = 1 << 16;

/// The largest buffer.
const LARGEST: u64 = 1 << 30;

/// The largest grid.
const MOST_PROGRAMS: u128 = 1 << 20;

/// What lies in a new buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// Nothing yet: to read it is a mistake.
    Fresh,
    /// One number everywhere.
    Number(f64),
    /// These numbers.
    Numbers(Vec<f64>),
    /// 0, 1, 2 and so on.
    Count,
    /// Small random numbers.
    Random,
}

/// A buffer of the recorded world, as one rank sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBuffer {
    pub(super) address: u64,
    pub(super) count: u64,
    pub(super) dtype: DType,
    /// Its place in the list of all.
    index: usize,
}

impl HostBuffer {
    /// Its number of elements.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn bytes(&self) -> u64 {
        self.count * u64::from(self.dtype.bytes())
    }
}

/// What a host does.
#[derive(Clone)]
pub(super) enum Step {
    /// Puts something into a stream.
    On(u32, StreamStep),
    Synchronize(u32),
    Barrier,
    Write {
        address: Address,
        bytes: Vec<u8>,
    },
    Read {
        address: Address,
        bytes: u64,
    },
}

/// What is put into a stream.
#[derive(Clone)]
pub(super) enum StreamStep {
    Launch { variant: usize, grid: [u32; 3], args: Vec<Value> },
    Copy { to: Address, from: Address, bytes: u64 },
    Write { address: Address, bytes: Vec<u8> },
    WriteValue { address: Address, bytes: u32, value: u64 },
    WaitValue { address: Address, bytes: u32, compare: Compare, value: u64 },
    Record(u32),
    Wait(u32),
}

/// A specialisation that was launched.
struct Launched {
    variant: Arc<Variant>,
    kernel: Kernel,
}

/// A world and what its hosts do.
pub(crate) struct Recording {
    ranks: usize,
    buffers: Vec<Buffer>,
    /// The symmetric allocations: offset, elements, type.
    symmetric: Vec<(u64, u64, DType)>,
    /// What each host does, and where its harness says so.
    hosts: Vec<Vec<(Step, Span)>>,
    outputs: Vec<Output>,
    expected: Vec<Expectation>,
    variants: Vec<Launched>,
    /// How many programs of each variant are resident at once, where that is limited by kernel.
    pub(super) rooms: Vec<KernelRoom>,
    /// Modules that stand for those of variants: mutants.
    pub(super) replaced: HashMap<usize, Lowered>,
    pub(super) sources: Arc<SourceMap>,
    next_local: u64,
    /// Tables of addresses, and this rank's buffer that each points to.
    tables: HashMap<u64, u64>,
    /// Hosts, mesh and teams of each rank.
    topologies: Vec<Topology>,
}

impl Recording {
    pub(crate) fn new(
        options: &CheckOptions,
        mut host: impl FnMut(&mut RankHost<'_>) -> Result<(), Error>,
    ) -> Result<Recording, Error> {
        let ranks = options.ranks;
        if ranks == 0 || ranks > 1024 {
            return Err(Error::Text(format!("a world of {ranks} ranks; it needs 1 to 1024")));
        }
        let mut recording = Recording {
            ranks,
            buffers: Vec::new(),
            symmetric: Vec::new(),
            hosts: (0..ranks).map(|_| Vec::new()).collect(),
            outputs: Vec::new(),
            expected: Vec::new(),
            variants: Vec::new(),
            rooms: Vec::new(),
            replaced: HashMap::new(),
            sources: Arc::default(),
            next_local: LOCALS,
            tables: HashMap::new(),
            topologies: Vec::new(),
        };
        for rank in 0..ranks {
            let mut member = RankHost {
                recording: &mut recording,
                rank,
                launches: options.launches,
                seed: options.seed,
                grid_cut: options.grid_cut,
                allocated: 0,
                streams: Streams::default(),
                surroundings: Surroundings::new(rank, ranks),
                span: Span::NONE,
            };
            host(&mut member)?;
            if member.streams.is_recording() {
                return Err(Error::Text("the recording of a graph is not ended".into()));
            }
            let topology = member.surroundings.topology;
            recording.topologies.push(topology);
        }
        recording.rooms = recording.rooms_in(&options.room);
        Ok(recording)
    }

    fn rooms_in(&self, room: &Room) -> Vec<KernelRoom> {
        match room {
            Room::All | Room::Programs(_) => Vec::new(),
            Room::Kernels(rooms) => {
                let given = |(launched, &programs): (&Launched, &usize)| KernelRoom {
                    kernel: launched.kernel.name().to_owned(),
                    programs,
                    reason: "given".into(),
                };
                self.variants.iter().zip(rooms).map(given).collect()
            }
            Room::Device(device) => {
                let room = |Launched { variant, kernel }: &Launched| occupancy::room(*device, kernel, variant.specs());
                self.variants.iter().map(room).collect()
            }
        }
    }

    /// The lowered kernels, in the order in which they were first launched.
    pub(super) fn modules(&self) -> Vec<&Lowered> {
        (0..self.variants.len()).filter_map(|variant| self.lowered(variant)).collect()
    }

    fn lowered(&self, variant: usize) -> Option<&Lowered> {
        if let Some(mutant) = self.replaced.get(&variant) {
            return Some(mutant);
        }
        match self.variants[variant].variant.code() {
            Runnable::Lowered(lowered) => Some(lowered),
            Runnable::Native(_) | Runnable::Cuda(_) => None,
        }
    }

    /// The most programs that one launch has.
    pub(super) fn largest_grid(&self) -> usize {
        let programs = |(step, _): &(Step, Span)| match step {
            Step::On(_, StreamStep::Launch { grid, .. }) => grid.iter().map(|&n| n as usize).product(),
            Step::On(..) | Step::Synchronize(_) | Step::Barrier | Step::Write { .. } | Step::Read { .. } => 0,
        };
        self.hosts.iter().flatten().map(programs).max().unwrap_or(0)
    }

    /// The largest extent that a grid has along an axis.
    pub(super) fn largest_extent(&self) -> u32 {
        let extent = |(step, _): &(Step, Span)| match step {
            Step::On(_, StreamStep::Launch { grid, .. }) => grid.iter().copied().max().unwrap_or(0),
            Step::On(..) | Step::Synchronize(_) | Step::Barrier | Step::Write { .. } | Step::Read { .. } => 0,
        };
        self.hosts.iter().flatten().map(extent).max().unwrap_or(0)
    }

    /// The same without limits of launches.
    pub(super) fn roomy_scenario(&self) -> Scenario<'_> {
        let mut scenario = self.scenario();
        for action in scenario.hosts.iter_mut().flatten() {
            if let HostAction::Launch(launch) | HostAction::On(_, StreamAction::Launch(launch), _) = action {
                launch.room = None;
            }
        }
        scenario
    }

    /// As the interpreter takes it.
    pub(super) fn scenario(&self) -> Scenario<'_> {
        let heaps: Vec<Heap> =
            (0..self.ranks).map(|rank| Heap { base: Address(heap(rank)), bytes: HEAP_BYTES }).collect();
        let mut hosts = Vec::new();
        for (steps, &heap) in self.hosts.iter().zip(&heaps) {
            hosts.push(steps.iter().filter_map(|(step, span)| self.action(step, *span, heap)).collect());
        }
        let (buffers, outputs, expected) = (self.buffers.clone(), self.outputs.clone(), self.expected.clone());
        let topologies = self.topologies.clone();
        Scenario { heaps: heaps.clone(), buffers, hosts, outputs, expected, topologies }
    }

    fn action<'a>(&'a self, step: &'a Step, span: Span, heap: Heap) -> Option<HostAction<'a>> {
        Some(match step {
            Step::On(stream, step) => HostAction::On(*stream, self.stream_action(step, heap)?, span),
            Step::Synchronize(stream) => HostAction::Synchronize(*stream),
            Step::Barrier => HostAction::Barrier,
            Step::Write { address, bytes } => HostAction::Write { address: *address, bytes, span },
            Step::Read { address, bytes } => HostAction::Read { address: *address, bytes: *bytes, span },
        })
    }

    fn stream_action<'a>(&'a self, step: &'a StreamStep, heap: Heap) -> Option<StreamAction<'a>> {
        Some(match step {
            StreamStep::Launch { variant, grid, args } => {
                let Lowered { module, kernel, .. } = self.lowered(*variant)?;
                let room = self.rooms.get(*variant).map(|room| room.programs);
                StreamAction::Launch(RankLaunch { module, kernel, grid: *grid, args, heap: Some(heap), room })
            }
            StreamStep::Copy { to, from, bytes } => StreamAction::Copy { to: *to, from: *from, bytes: *bytes },
            StreamStep::Write { address, bytes } => StreamAction::Write { address: *address, bytes },
            StreamStep::WriteValue { address, bytes, value } => {
                StreamAction::WriteValue { address: *address, bytes: *bytes, value: *value }
            }
            StreamStep::WaitValue { address, bytes, compare, value } => {
                StreamAction::WaitValue { address: *address, bytes: *bytes, compare: *compare, value: *value }
            }
            StreamStep::Record(event) => StreamAction::Record(*event),
            StreamStep::Wait(event) => StreamAction::Wait(*event),
        })
    }

    fn add(&mut self, address: u64, contents: Vec<u8>, initial: Initial) -> usize {
        let name = format!("buffer {}", self.buffers.len());
        self.buffers.push(Buffer { address: Address(address), contents, name, initial });
        self.buffers.len() - 1
    }

    fn variant(&mut self, variant: Arc<Variant>, kernel: Kernel) -> usize {
        let gpu = kernel.options().gpu;
        let same = |known: &Launched| Arc::ptr_eq(&known.variant, &variant) && known.kernel.options().gpu == gpu;
        match self.variants.iter().position(same) {
            Some(at) => at,
            None => {
                self.variants.push(Launched { variant, kernel });
                self.variants.len() - 1
            }
        }
    }
}

/// The kernel as it is checked: with its assertions.
fn checked(kernel: &Kernel) -> Kernel {
    let options = CompileOptions { debug: true, ..kernel.options().clone() };
    kernel.clone().with(options).on(Device::Interpreter)
}

pub(super) fn heap(rank: usize) -> u64 {
    HEAPS + rank as u64 * HEAP_BYTES
}

fn bytes_of(dtype: DType, value: f64) -> Vec<u8> {
    let bits =
        if dtype.is_float() { Const::from_f64(dtype, value) } else { Const::from_i64(dtype, value as i64) }.bits();
    bits.to_le_bytes()[..dtype.bytes() as usize].to_vec()
}

/// The host of one rank, while what it does is recorded.
pub struct RankHost<'a> {
    recording: &'a mut Recording,
    rank: usize,
    launches: usize,
    seed: u64,
    /// The most programs along an axis of a grid.
    grid_cut: Option<u32>,
    /// Symmetric allocations so far.
    allocated: usize,
    /// Streams, events and graphs so far, and the graph that is being recorded.
    pub(super) streams: Streams,
    pub(super) surroundings: Surroundings,
    /// Where a harness says what the host does now.
    pub(super) span: Span,
}

impl RankHost<'_> {
    /// Its number.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The world's size.
    #[must_use]
    pub fn size(&self) -> usize {
        self.recording.ranks
    }

    /// How often it is to launch.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.launches
    }

    /// A buffer at the same place of every rank's heap. All ranks allocate the same in the same order.
    ///
    /// # Errors
    /// When they do not, or it is too large.
    pub fn symm(&mut self, count: u64, dtype: DType, contents: &Contents) -> Result<HostBuffer, Error> {
        let place = self.allocated;
        self.allocated += 1;
        let bytes = self.bytes(count, dtype)?;
        if self.rank == 0 {
            let start = self.recording.symmetric.last().map_or(GAP, |&(offset, count, dtype)| {
                (offset + count * u64::from(dtype.bytes())).next_multiple_of(GAP) + GAP
            });
            self.recording.symmetric.push((start, count, dtype));
        }
        let Some(&(offset, _, _)) =
            self.recording.symmetric.get(place).filter(|known| (known.1, known.2) == (count, dtype))
        else {
            let text = format!(
                "rank {} allocates {count} elements of {} as symmetric buffer {place}, and rank 0 does not",
                self.rank,
                crate::dtype_name(dtype)
            );
            return Err(Error::Text(text));
        };
        if offset + bytes > HEAP_BYTES {
            return Err(Error::Text("the symmetric buffers are too large together".into()));
        }
        self.put(heap(self.rank) + offset, count, dtype, contents)
    }

    /// A buffer of this rank alone.
    ///
    /// # Errors
    /// When it is too large.
    pub fn buffer(&mut self, count: u64, dtype: DType, contents: &Contents) -> Result<HostBuffer, Error> {
        let bytes = self.bytes(count, dtype)?;
        let address = self.recording.next_local;
        self.recording.next_local = (address + bytes).next_multiple_of(GAP) + GAP;
        self.put(address, count, dtype, contents)
    }

    /// The addresses of a symmetric buffer on all ranks, as a buffer of 64-bit numbers.
    ///
    /// # Errors
    /// When the buffer is not symmetric.
    pub fn pointers(&mut self, buffer: HostBuffer) -> Result<HostBuffer, Error> {
        let offset = buffer.address.checked_sub(heap(self.rank)).filter(|&offset| offset < HEAP_BYTES);
        let offset = offset.ok_or_else(|| Error::Text("only a symmetric buffer has a place on every rank".into()))?;
        let table = self.buffer(self.size() as u64, DType::I64, &Contents::Number(0.0))?;
        let addresses = (0..self.size()).flat_map(|rank| (heap(rank) + offset).to_le_bytes());
        self.recording.buffers[table.index].contents = addresses.collect();
        self.recording.tables.insert(table.address, buffer.address);
        Ok(table)
    }

    fn bytes(&self, count: u64, dtype: DType) -> Result<u64, Error> {
        let bytes = count.checked_mul(u64::from(dtype.bytes())).filter(|&bytes| bytes <= LARGEST);
        bytes.ok_or_else(|| Error::Text(format!("a buffer of {count} elements is too large to be checked")))
    }

    fn put(&mut self, address: u64, count: u64, dtype: DType, contents: &Contents) -> Result<HostBuffer, Error> {
        let initial = if *contents == Contents::Fresh { Initial::Fresh } else { Initial::Written };
        let bytes = self.elements(address, count, dtype, contents)?;
        let index = self.recording.add(address, bytes, initial);
        Ok(HostBuffer { address, count, dtype, index })
    }

    /// The elements of a buffer, as bytes.
    pub(super) fn elements(
        &self,
        address: u64,
        count: u64,
        dtype: DType,
        contents: &Contents,
    ) -> Result<Vec<u8>, Error> {
        let random = |i: u64| {
            let mixed =
                (address ^ self.seed.wrapping_mul(0x9e37_79b9)).wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed >> 40) % 17) as f64 - 8.0
        };
        let each = |value: &dyn Fn(u64) -> f64| (0..count).flat_map(|i| bytes_of(dtype, value(i))).collect();
        Ok(match contents {
            // What nothing was written to is a number that nobody would take for a result.
            Contents::Fresh => vec![0xa5; (count * u64::from(dtype.bytes())) as usize],
            Contents::Number(value) => each(&|_| *value),
            Contents::Numbers(values) if values.len() as u64 == count => {
                values.iter().flat_map(|&value| bytes_of(dtype, value)).collect()
            }
            Contents::Numbers(values) => {
                return Err(Error::Text(format!("{} numbers do not fill a buffer of {count}", values.len())));
            }
            Contents::Count => each(&|i| i as f64),
            Contents::Random => each(&random),
        })
    }

    /// The host copies numbers to a buffer.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn write(&mut self, buffer: HostBuffer, contents: &Contents) -> Result<(), Error> {
        let bytes = self.elements(buffer.address, buffer.count, buffer.dtype, contents)?;
        self.push(Step::Write { address: Address(buffer.address), bytes })
    }

    /// The host copies a buffer from memory.
    ///
    /// # Errors
    /// While a graph is recorded.
    pub fn read(&mut self, buffer: HostBuffer) -> Result<(), Error> {
        self.push(Step::Read { address: Address(buffer.address), bytes: buffer.bytes() })
    }

    /// At the end all of the buffer must have been written, with numbers.
    pub fn output(&mut self, buffer: HostBuffer) {
        // Programs that are cut off write nothing.
        if self.grid_cut.is_some() {
            return;
        }
        let (address, bytes) = (Address(buffer.address), buffer.bytes());
        self.recording.outputs.push(Output { address, bytes, element: buffer.dtype });
    }

    /// At the end the buffer must hold these numbers; floats may be off by a thousandth.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn expect(&mut self, buffer: HostBuffer, contents: &Contents) -> Result<(), Error> {
        let bytes = self.elements(buffer.address, buffer.count, buffer.dtype, contents)?;
        let number = |element: &[u8]| {
            let mut bits = [0; 8];
            bits[..element.len()].copy_from_slice(element);
            Const::from_bits(buffer.dtype, u64::from_le_bytes(bits)).as_f64()
        };
        let values = bytes.chunks(buffer.dtype.bytes() as usize).map(number).collect();
        self.output(buffer);
        if self.grid_cut.is_some() {
            return Ok(());
        }
        self.recording.expected.push(Expectation { address: Address(buffer.address), element: buffer.dtype, values });
        Ok(())
    }

    /// The host waits for the hosts of all ranks.
    ///
    /// # Errors
    /// While a graph is recorded.
    pub fn barrier(&mut self) -> Result<(), Error> {
        self.push(Step::Barrier)
    }

    /// Places in the source are told with these.
    pub(super) fn told_with(&mut self, sources: Arc<SourceMap>) {
        self.recording.sources = sources;
    }

    /// Remembers what the host does: now, or in the graph that is being recorded.
    pub(super) fn push(&mut self, step: Step) -> Result<(), Error> {
        self.push_at(step, self.span)
    }

    pub(super) fn push_at(&mut self, step: Step, span: Span) -> Result<(), Error> {
        if let Some(step) = self.streams.keep(step, span)? {
            self.recording.hosts[self.rank].push((step, span));
        }
        Ok(())
    }

    /// A buffer as an argument of [`RankHost::launch`].
    #[must_use]
    pub fn arg(&self, buffer: HostBuffer) -> crate::Arg<'static> {
        crate::Arg::Memory(Memory::nowhere(
            buffer.address as usize,
            buffer.bytes() as usize,
            buffer.dtype,
            Access::ReadWrite,
        ))
    }

    /// Launches a kernel on this rank.
    ///
    /// # Errors
    /// When the arguments do not fit or the kernel does not compile.
    pub fn launch(&mut self, kernel: &Kernel, grid: impl IntoGrid, args: Args<'_>) -> Result<(), Error> {
        self.launch_on(HostStream::DEFAULT, kernel, grid, args)
    }

    /// Puts a launch into a stream.
    ///
    /// # Errors
    /// As [`RankHost::launch`].
    pub fn launch_on(
        &mut self,
        stream: HostStream,
        kernel: &Kernel,
        grid: impl IntoGrid,
        mut args: Args<'_>,
    ) -> Result<(), Error> {
        let kernel = checked(kernel);
        kernel.gather(&mut args);
        let prepared = kernel.prepare(&args)?;
        let variant = match kernel.find(&prepared) {
            Some(variant) => variant,
            None => kernel.compile(&prepared)?,
        };
        let (grid, values) = (kernel.extents(&prepared, grid)?, kernel.leaves(&prepared)?);
        let grid = grid.map(|extent| extent.min(self.grid_cut.unwrap_or(u32::MAX)));
        let programs: u128 = grid.iter().map(|&extent| u128::from(extent)).product();
        if programs > MOST_PROGRAMS {
            return Err(Error::Text(format!("a grid of {programs} programs is too large to be checked")));
        }
        for (param, leaf) in values.iter() {
            if let ArgClass::Pointer { memory, .. } = leaf {
                self.name_buffer(memory.address as u64, &param.name);
            }
        }
        let args = interpret::values(&values);
        self.recording.sources = kernel.sources();
        // As a GPU is to run it, which is what says how many of its programs find room there.
        let options = CompileOptions { gpu: prepared.gpu(), ..kernel.options().clone() };
        let variant = self.recording.variant(variant, kernel.clone().with(options));
        self.push(Step::On(stream.number(), StreamStep::Launch { variant, grid, args }))
    }

    /// A buffer is called after the first parameter that it is passed for.
    fn name_buffer(&mut self, address: u64, param: &str) {
        let rank = self.rank;
        let unnamed = |buffer: &&mut Buffer| buffer.address.0 == address && buffer.name.starts_with("buffer ");
        if let Some(buffer) = self.recording.buffers.iter_mut().find(unnamed) {
            buffer.name = format!("{param} of rank {rank}");
        }
        if let Some(&target) = self.recording.tables.get(&address) {
            self.name_buffer(target, &format!("{param}[{rank}]"));
        }
    }
}
