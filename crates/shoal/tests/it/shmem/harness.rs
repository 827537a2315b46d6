//! Small kernels on the CPU and on the interpreter, with the same memory.

use std::sync::OnceLock;
use std::time::Duration;

use shoal::world::{Rank, World, WorldOptions};
use shoal::{Device, Error, Kernel, LaunchOptions, Module, Stage, args, host_target};
use shoal_interp::{Arg, Heap, Memory, Options, Order, RankLaunch, Topology, run_ranks};

/// Where kernels run: on the CPU, or where `SHOAL_TEST_DEVICE` says.
pub(super) fn device() -> Device {
    match std::env::var("SHOAL_TEST_DEVICE").as_deref() {
        Ok("cuda") => Device::cuda(0).expect("a GPU"),
        _ => Device::cpu(),
    }
}

/// Whether `multimem` instructions reach all ranks by the addresses of one: ranks that share a GPU have no multicast memory, and
/// there the instructions stay what they are.
pub(super) fn has_multicast() -> bool {
    let has = !matches!(device(), Device::Cuda(_));
    if !has {
        eprintln!("skipped: ranks that share a GPU have no multicast memory");
    }
    has
}

/// A world for kernels on this device.
pub(super) fn world(ranks: usize, device: &Device) -> World {
    let options = WorldOptions { heap_bytes: 1 << 20, ..WorldOptions::default() };
    let world = match device {
        Device::Cuda(_) => World::cuda_with(ranks, 0, &options),
        Device::Cpu(_) | Device::Interpreter => World::threads_with(ranks, &options),
    };
    world.expect("a world")
}

/// The world that this program was started as a rank of, if `SHOAL_TEST_PROCESSES` says that it was: by `shoal launch`, all
/// ranks with the same tests, one at a time.
fn processes() -> Option<&'static World> {
    static WORLD: OnceLock<Option<World>> = OnceLock::new();
    let join = || {
        std::env::var_os("SHOAL_TEST_PROCESSES")?;
        let timeout = Duration::from_secs(60);
        let options = WorldOptions { heap_bytes: 1 << 20, timeout, ..WorldOptions::default() };
        Some(World::from_env_with(&options).expect("the world of this process"))
    };
    WORLD.get_or_init(join).as_ref()
}

/// Elements of `x` and of `y`, and signals, of each rank.
pub(super) const N: usize = 24;
pub(super) const SIGNALS: usize = 8;

/// What a kernel finds, and what it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffers {
    pub(super) x: Vec<i32>,
    pub(super) y: Vec<i32>,
    pub(super) signals: Vec<i64>,
}

impl Buffers {
    /// Numbers of this rank's own in `x`, and a poison in `y`.
    pub(super) fn of_rank(rank: usize) -> Buffers {
        let x = (0..N).map(|i| (rank * 1000 + i * i * 7 % 97) as i32).collect();
        Buffers { x, y: vec![-77; N], signals: vec![0; SIGNALS] }
    }

    fn bytes(&self) -> Vec<u8> {
        let numbers = self.x.iter().chain(&self.y).flat_map(|x| x.to_le_bytes());
        numbers.chain(self.signals.iter().flat_map(|s| s.to_le_bytes())).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Buffers {
        let (numbers, signals) = bytes.split_at(8 * N);
        let numbers: Vec<i32> =
            numbers.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().expect("four"))).collect();
        let signals = signals.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("eight"))).collect();
        Buffers { x: numbers[..N].to_vec(), y: numbers[N..].to_vec(), signals }
    }
}

/// A kernel of `x`, `y`, `flags` and a number, with this body.
pub(super) fn kernel(body: &str) -> Kernel {
    let mut text = "import triton\nimport triton.language as tl\nimport triton_dist.language as dl\n\
                    from triton_dist.language.extra import libshmem_device as shm; \
                    from triton_dist.language.extra.language_extra import tid, st, __syncthreads, \
                    multimem_ld_reduce_v4, multimem_st_b32, multimem_st_v4\n\n\
                    @triton.jit\ndef kernel(x, y, flags, number):\n"
        .to_owned();
    text.push_str("    me = shm.my_pe()\n    n = shm.n_pes()\n    peer = (me + 1) % n\n");
    for line in body.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    let module = Module::from_source("kernel.py", &text).expect("it parses");
    // A rank that has ended its launch keeps the others from being seen to wait in vain; the bound does not.
    let options = LaunchOptions { timeout: Some(Duration::from_secs(2)), ..LaunchOptions::default() };
    module.kernel("kernel").expect("a kernel").on(device()).launching(options)
}

/// What the kernel leaves on each rank of a world of threads. `before` is what the host does on each rank; the number it
/// gives is the kernel's.
pub(super) fn on_ranks<E: Into<Error>>(
    kernel: &Kernel,
    ranks: usize,
    programs: u32,
    before: impl Fn(&Rank) -> Result<i32, E> + Sync,
) -> Result<Vec<Buffers>, String> {
    let results = world(ranks, kernel.device()).run(|rank| on_rank(kernel, rank, programs, &before));
    results.map_err(|error| text(&error))
}

/// What the kernel leaves on one rank.
fn on_rank<E: Into<Error>>(
    kernel: &Kernel,
    rank: &Rank,
    programs: u32,
    before: &impl Fn(&Rank) -> Result<i32, E>,
) -> Result<Buffers, Error> {
    let first = Buffers::of_rank(rank.rank());
    let (x, y) = (rank.symm_zeros::<i32>(N)?, rank.symm_zeros::<i32>(N)?);
    let flags = rank.symm_zeros::<i64>(SIGNALS)?;
    x.write(&first.x)?;
    y.write(&first.y)?;
    let number = before(rank).map_err(Into::into)?;
    rank.barrier()?;
    kernel.clone().on_rank(rank)?.launch(programs, args!(&x, &y, &flags, number))?;
    rank.barrier()?;
    let left = Buffers { x: x.read()?, y: y.read()?, signals: flags.read()? };
    rank.barrier()?;
    Ok(left)
}

/// An error with all its causes.
pub(super) fn text(error: &dyn std::error::Error) -> String {
    let cause = error.source().map_or_else(String::new, |cause| format!(": {}", text(cause)));
    format!("{error}{cause}")
}

/// What the kernel leaves on each rank of the interpreter.
pub(super) fn interpreted(
    kernel: &Kernel,
    ranks: usize,
    programs: u32,
    number: i32,
    order: Order,
    topologies: Vec<Topology>,
) -> Result<Vec<Buffers>, String> {
    let specs = kernel.read_signature("*i32, *i32, *i64, i32").expect("a signature");
    let tile = kernel.emit(&specs, Stage::Tile, host_target()).expect("it compiles");
    let text = String::from_utf8(tile).expect("text");
    let module = shoal_ir::parse::module(&text, shoal_ir::Span::NONE.file).expect("the text parses");
    let mut memory = Memory::new();
    let number = Arg::Scalar(shoal_ir::Const::from_bits(shoal_ir::Scalar::I32, number as u64));
    let heaps: Vec<_> = (0..ranks).map(|rank| memory.alloc_from(&Buffers::of_rank(rank).bytes())).collect();
    let args: Vec<[Arg; 4]> = heaps
        .iter()
        .map(|heap| [heap.offset(0), heap.offset(4 * N as u64), heap.offset(8 * N as u64)].map(Arg::Pointer))
        .map(|[x, y, flags]| [x, y, flags, number.clone()])
        .collect();
    let bytes = (8 * N + 8 * SIGNALS) as u64;
    let launch = |(&base, args)| {
        let heap = Some(Heap { base, bytes });
        RankLaunch { module: &module, kernel: "kernel", grid: [programs, 1, 1], args, heap, room: None }
    };
    let launches: Vec<RankLaunch<'_>> = heaps.iter().zip(&args).map(|(heap, args)| launch((heap, &args[..]))).collect();
    let options = Options { order, topologies, max_steps: 1_000_000, ..Options::default() };
    run_ranks(&launches, &mut memory, &options, &mut |_: String| {}).map_err(|error| error.to_string())?;
    Ok(heaps.iter().map(|&heap| Buffers::from_bytes(memory.bytes(heap).expect("a heap"))).collect())
}

/// Runs a body on worlds of 1 to 4 ranks, on the CPU and on the interpreter, and compares what it leaves with what
/// `expected` makes of what it found.
pub(super) fn check(body: &str, expected: impl Fn(usize, usize, &mut Buffers)) {
    let kernel = kernel(body);
    let wanted = |rank: usize, ranks: usize| {
        let mut buffers = Buffers::of_rank(rank);
        expected(rank, ranks, &mut buffers);
        buffers
    };
    if let Some(world) = processes() {
        let rank = world.local_ranks()[0].rank();
        let left = world.run(|rank| on_rank(&kernel, rank, 1, &|_: &Rank| Ok::<_, Error>(3)));
        let left = left.map_err(|error| text(&error));
        assert_eq!(left, Ok(vec![wanted(rank, world.size())]), "rank {rank} of {}:\n{body}", world.size());
        return;
    }
    for ranks in 1..=4 {
        let wanted: Vec<Buffers> = (0..ranks).map(|rank| wanted(rank, ranks)).collect();
        for device in [device(), Device::Interpreter] {
            let shown = format!("{ranks} ranks on {device:?}:\n{body}");
            let result = on_ranks(&kernel.clone().on(device), ranks, 1, |_| Ok::<_, Error>(3));
            assert_eq!(result.as_ref(), Ok(&wanted), "{shown}");
        }
        for order in [Order::RoundRobin, Order::Random(ranks as u64)] {
            let result = interpreted(&kernel, ranks, 1, 3, order, Vec::new());
            assert_eq!(result.as_ref(), Ok(&wanted), "{ranks} ranks, interpreted:\n{body}");
        }
    }
}

/// The rank that has this one as its peer.
pub(super) fn source(rank: usize, ranks: usize) -> usize {
    (rank + ranks - 1) % ranks
}
