//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use shoal::Backend;

use crate::ranks::Engine;

/// Tile kernels: run, compile, look at, measure.
#[derive(Debug, Parser)]
#[command(name = "shoal", version, about, max_term_width = 100)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a kernel: of a file on data you describe, or of the library on random data
    Run(RunOptions),
    /// Compile a kernel: to look at it, or ahead of time for C and Rust programs
    Compile(CompileOptions),
    /// Look for races, deadlocks and stray accesses between ranks, under many schedules
    Check(CheckCommand),
    /// Run passes over tile IR
    Opt(OptOptions),
    /// Measure against NumPy, and against torch and Triton where they are installed
    Bench(BenchOptions),
    /// Compile and run the kernel library on this CPU, and check it against references
    Demo(DemoOptions),
    /// Start a program as the ranks of a world, each a process
    Launch(LaunchOptions),
    /// Say what this build is, what it runs on, and what is missing
    Doctor,
    /// Look at or clear the cache of compiled kernels
    Cache(CacheOptions),
    /// Compile once and say how long it took; for `shoal bench`
    #[command(hide = true)]
    MeasureCompile,
    /// Run a kernel as one of several ranks and say how long it took; for `shoal bench`
    #[command(hide = true)]
    MeasureRank(MeasureRankOptions),
}

/// Where a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// Native code
    Cpu,
    /// The reference interpreter
    Interp,
    /// An NVIDIA GPU
    Cuda,
}

impl BackendName {
    /// Native code, unless the environment asks for the interpreter.
    fn by_default() -> BackendName {
        match shoal::switch_from_env("SHOAL_INTERPRET").unwrap_or(false) {
            true => BackendName::Interp,
            false => BackendName::Cpu,
        }
    }
}

impl From<BackendName> for Backend {
    fn from(name: BackendName) -> Backend {
        match name {
            BackendName::Cpu => Backend::Cpu,
            BackendName::Interp => Backend::Interpreter,
            BackendName::Cuda => Backend::Cuda,
        }
    }
}

/// Options of `shoal run`.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunOptions {
    /// FILE.py or FILE.py:KERNEL, or the name of a library kernel
    pub(crate) target: String,
    /// The grid: one to three extents, such as `8`, `4,2` or `n/BLOCK` (rounded up)
    #[arg(short, long, default_value = "1")]
    pub(crate) grid: String,
    /// An argument, NAME=VALUE; see --help
    #[arg(short, long = "arg", value_name = "NAME=VALUE")]
    pub(crate) args: Vec<String>,
    /// Where it runs; `interp` by default where SHOAL_INTERPRET=1
    #[arg(short, long, visible_alias = "device", default_value_t = BackendName::by_default(), value_enum)]
    pub(crate) backend: BackendName,
    /// Run there too, and compare what both wrote
    #[arg(long, value_name = "BACKEND")]
    pub(crate) check: Option<BackendName>,
    /// How far results may differ with --check, relative to the larger of the value and 1
    #[arg(long, default_value_t = 1e-5, value_parser = tolerance, requires = "check")]
    pub(crate) tolerance: f64,
    /// Print all elements of an argument
    #[arg(short, long, value_name = "NAME")]
    pub(crate) print: Vec<String>,
    /// Write an argument to a file afterwards
    #[arg(short, long, value_name = "NAME=FILE.npy")]
    pub(crate) save: Vec<String>,
    /// Launch so many times more when the results are shown, and say the best time
    #[arg(long, default_value_t = 0, value_parser = from::<0>, allow_negative_numbers = true)]
    pub(crate) repeat: usize,
    /// Check accesses and device_assert at run time, as with SHOAL_DEBUG=1
    #[arg(long)]
    pub(crate) debug: bool,
    /// Seed of random data
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Library kernels: sizes, such as `512,512,512`
    #[arg(long, value_delimiter = ',', value_parser = from::<1>, allow_negative_numbers = true)]
    pub(crate) size: Vec<usize>,
    /// Library kernels: element type
    #[arg(long, default_value = "fp32")]
    pub(crate) dtype: String,
    /// Run a library kernel of several ranks on so many; `all` runs each of them, at all sizes that it is tested with
    #[arg(long, value_name = "N", value_parser = number_of_ranks, allow_negative_numbers = true)]
    pub(crate) ranks: Option<usize>,
    /// What ranks are; with --device cuda, they share a GPU, or with processes the GPUs of this host
    #[arg(long, default_value = "threads")]
    pub(crate) engine: Engine,
    /// With `all`: only kernels whose name contains this
    #[arg(long, default_value = "")]
    pub(crate) filter: String,
    /// Several ranks: record one more run, and write NAME.json for Perfetto, NAME.svg, NAME.png and NAME.html
    #[arg(long, value_name = "NAME")]
    pub(crate) timeline: Option<PathBuf>,
    /// This process is a rank
    #[arg(long, hide = true)]
    pub(crate) role: bool,
}

const RUN_HELP: &str = "\
Arguments:
  n=1024  eps=1e-5  CAUSAL=True  ACT=None  KIND='relu'   a value, as Python writes it
  x=randn:fp32[64,128]      normally distributed          x=rand:fp32[8]   between 0 and 1
  x=zeros:i32[8]            x=ones:fp16[8]                x=arange:i32[8]
  out=empty:fp32[64,128]    filled with NaN, so that what is not written shows
  x=@data.npy               a NumPy file

Tensors that the kernel changed are shown when it is done.

Examples:
  shoal run add.py:add -a x=randn:fp32[1000] -a y=ones:fp32[1000] -a out=empty:fp32[1000] \\
      -a n=1000 -a BLOCK=256 --grid n/BLOCK
  shoal run matmul --size 256,256,256 --dtype bf16
  shoal run all_gather_matmul --ranks 4 --timeline overlap
  shoal run all --ranks 8 --device cuda --check interp
  shoal run all --ranks 4 --device cuda --engine processes
  shoal run all --ranks 2 --engine nvshmem --check interp
  shoal run two_shot_all_reduce --ranks 8 --engine processes --size 1000000 --dtype fp16";

/// Options of `shoal compile`.
#[derive(Debug, Args)]
#[command(after_long_help = COMPILE_HELP)]
pub(crate) struct CompileOptions {
    /// FILE.py or FILE.py:KERNEL
    pub(crate) kernel: String,
    /// One item for each parameter: `*fp32:16, i32, BLOCK=256`; see --help. May be given several times for so, c and rust
    #[arg(short, long = "signature", value_name = "SIGNATURE", required = true)]
    pub(crate) signatures: Vec<String>,
    /// What to make, comma-separated: tile, tile-opt, llvm-raw, llvm, asm, obj to look at (for NVIDIA GPUs ptx, cubin); so, c,
    /// rust to use in other programs
    #[arg(short, long, value_delimiter = ',', default_value = "tile")]
    pub(crate) emit: Vec<String>,
    /// Write files into this folder; without it, texts are printed and so, c and rust go to the current folder
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// What to compile for: a CPU by LLVM's name, such as `x86-64-v3`, `generic` for any x86-64, or `native`; or an NVIDIA GPU,
    /// such as `sm_80` or `sm_90a`. Several, comma-separated, for so, c and rust: the best that a machine can run is taken there
    #[arg(long = "target", value_name = "TARGET", value_delimiter = ',', default_value = "native")]
    pub(crate) targets: Vec<String>,
    /// What functions and files of so, c and rust are named after [default: the kernel's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Check accesses and device_assert at run time, as with SHOAL_DEBUG=1
    #[arg(long)]
    pub(crate) debug: bool,
    /// Warps of a program, on a GPU
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) num_warps: Option<u32>,
    /// Trips of a loop that are under way at the same time, on a GPU
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) num_stages: Option<u32>,
    /// The most registers of a thread, on a GPU
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) maxnreg: Option<u32>,
    /// Say how long each step takes: to loaded code for this machine's CPU, to objects or PTX for other targets
    #[arg(long)]
    pub(crate) time: bool,
}

const COMPILE_HELP: &str = "\
Signatures:
  i32  i64  fp32  u1        a number                      i32:16      a multiple of 16
  *fp32                     a pointer                     *fp32:16    aligned to 16 bytes
  *kfp32                    a pointer that is only read   i32:1       must be 1, and is compiled in
  1024  True  None  'text'  a value that is compiled in   BLOCK=1024  by name

so, c and rust:
  so     libNAME.so with everything it needs, and NAME.h
  c      NAME.c and NAME.h, to be linked with libshoal_runtime.a
  rust   NAME.rs and its objects, for a crate that depends on shoal-runtime
  Programs that use them need no Python, no LLVM and no compiler.

  Several signatures make one launch function. It takes the first variant that the machine can run and the arguments fit,
  those that know most first. Where signatures differ in what is compiled in for all of them, the caller says which one
  it wants. docs/ahead-of-time.md has the details.

Examples:
  shoal compile add.py:add -s \"*fp32:16, *fp32:16, *fp32:16, i32, 256\" --emit tile,asm
  shoal compile add.py:add -s \"*kfp32:16, *kfp32:16, *fp32:16, i32:16, 1024\" \\
      -s \"*kfp32, *kfp32, *fp32, i32, 1024\" --target x86-64-v3,generic --emit so,rust --output made";

/// Options of `shoal check`.
#[derive(Debug, Args)]
#[command(after_long_help = CHECK_HELP)]
pub(crate) struct CheckCommand {
    /// FILE.py, FILE.py:HARNESS or FILE.py:KERNEL, or the name of a library kernel
    #[arg(required_unless_present = "library")]
    pub(crate) target: Option<String>,
    /// All kernels of the library
    #[arg(long, conflicts_with_all = ["target", "replay"])]
    pub(crate) library: bool,
    /// World sizes, comma-separated [default: 2,3,4; 1 to 9 with --sweep; 3,2 with --mutate]
    #[arg(short = 'n', long, value_delimiter = ',', value_parser = number_of_ranks, allow_negative_numbers = true)]
    pub(crate) ranks: Vec<usize>,
    /// Schedules to run in each world
    #[arg(long, default_value_t = 200, value_parser = from::<1>, allow_negative_numbers = true)]
    pub(crate) schedules: usize,
    /// The first seed
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// What harnesses see as world.launches
    #[arg(long, default_value_t = 2, value_parser = from::<1>, allow_negative_numbers = true)]
    pub(crate) launches: usize,
    /// How many programs of a rank are resident at once [default: all]
    #[arg(long, value_name = "K", value_parser = from::<1>, allow_negative_numbers = true)]
    pub(crate) resident: Option<usize>,
    /// The same, by the name of a device: h100, h200, h20, b200, mi300x, …
    #[arg(long, conflicts_with = "resident")]
    pub(crate) device: Option<String>,
    /// A parameter of the harness
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Run the one schedule that a report printed
    #[arg(long, value_name = "TOKEN")]
    pub(crate) replay: Option<String>,
    /// Check in worlds of 1 to 9 ranks, and with each of these values of a parameter, or some of FIRST..LAST
    #[arg(long, value_name = "NAME=A,B,…", num_args = 0.., conflicts_with = "replay")]
    pub(crate) sweep: Option<Vec<String>>,
    /// Weaken or remove each piece of synchronisation in turn, and say which of these mutants nothing is found in
    #[arg(long, conflicts_with_all = ["replay", "sweep"])]
    pub(crate) mutate: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_HELP: &str = "\
A harness is a function of the kernel file that says what the host of each rank does:

  @shoal.harness
  def check(world, n=1000):
      x = world.symm(n, \"fp32\", \"random\")       on every rank; also symm_empty, buffer, empty, pointers
      flags = world.symm(world.size, \"int64\")    zeros
      for epoch in range(1, world.launches + 1):
          kernel[(4,)](x, flags, epoch, n, BLOCK=256)
      world.output(x)                            must be written at the end; also write, read, barrier

The exit status is 0 if nothing is found, 1 if something is, 2 if it could not be checked, and 130 after Ctrl-C.
docs/checking.md tells more.

Examples:
  shoal check kernel.py --ranks 2,3,8
  shoal check kernel.py:check --replay n3.l2:p3.1f.200
  shoal check kernel.py --sweep n=0..1000
  shoal check one_shot_all_reduce --mutate";

/// Options of `shoal opt`.
#[derive(Debug, Args)]
pub(crate) struct OptOptions {
    /// A file of tile IR, `-` for the standard input
    #[arg(required_unless_present = "list")]
    pub(crate) file: Option<PathBuf>,
    /// The passes, comma-separated; `cpu` stands for all that native code goes through
    #[arg(short, long, value_delimiter = ',')]
    pub(crate) passes: Vec<String>,
    /// Show the module after each pass
    #[arg(long)]
    pub(crate) print_after_all: bool,
    /// List the passes
    #[arg(long)]
    pub(crate) list: bool,
    /// Say how long each pass takes
    #[arg(long)]
    pub(crate) time: bool,
}

/// Options of `shoal bench`.
#[derive(Debug, Args)]
#[command(after_long_help = BENCH_HELP)]
pub(crate) struct BenchOptions {
    /// What to measure: `cpu`, `gpu`, `comm`, `check`, or a library kernel of several ranks
    pub(crate) what: String,
    /// Write the rows to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the ratios into a file [default: bench-WHAT.svg]
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
    /// Only benchmarks whose name contains this
    #[arg(long, default_value = "")]
    pub(crate) filter: String,
    /// Rounds of measuring; the best of each side counts [default: 7, for several ranks 3]
    #[arg(long, value_parser = from::<1>, allow_negative_numbers = true)]
    pub(crate) rounds: Option<usize>,
    /// Several ranks: how many, one world after another
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "2,4", value_parser = number_of_ranks, allow_negative_numbers = true)]
    pub(crate) ranks: Vec<usize>,
    /// `comm`: where; on a GPU, ranks share it
    #[arg(long, default_value = "cpu", value_parser = one_of(&[BackendName::Cpu, BackendName::Cuda]))]
    pub(crate) device: BackendName,
    /// Several ranks: what they are
    #[arg(long, default_value = "processes", value_parser = one_of(&[Engine::Threads, Engine::Processes, Engine::Openshmem]))]
    pub(crate) engine: Engine,
    /// Several ranks: sizes, such as `512,512,512`; may be given several times
    #[arg(long = "size", value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true)]
    pub(crate) sizes: Vec<Sizes>,
    /// Several ranks: element types
    #[arg(long = "dtype", value_delimiter = ',', default_value = "fp32")]
    pub(crate) dtypes: Vec<String>,
    /// Several ranks: who is measured against, where it is installed
    #[arg(long = "backend", value_delimiter = ',', default_value = "mpi,gloo")]
    pub(crate) backends: Vec<RankPeer>,
}

const BENCH_HELP: &str = "\
What there is to measure:
  cpu    kernels, compilation and launches on this CPU, against NumPy, torch and Triton
  gpu    the same on an NVIDIA GPU, against torch and Triton: medians of device events
  comm   all-reduce and all-gather of several sizes against MPI and gloo; overlapped products against others
  check  how fast `shoal check` explores
  NAME   one library kernel of several ranks: shoal bench two_shot_all_reduce --ranks 2,4 --size 16384 --size 262144

Open MPI is found by `mpicc` and `mpirun`, gloo in a Python with torch (SHOAL_BENCH_PYTHON names other Pythons).";

/// Who kernels of several ranks are measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankPeer {
    /// Open MPI's collectives
    Mpi,
    /// torch's collectives for CPUs
    Gloo,
}

/// The sizes of one measurement.
#[derive(Debug, Clone)]
pub(crate) struct Sizes(pub(crate) Vec<usize>);

/// Options of the command that `shoal bench` starts as ranks.
#[derive(Debug, Args)]
pub(crate) struct MeasureRankOptions {
    pub(crate) name: String,
    pub(crate) dtype: String,
    #[arg(value_delimiter = ',')]
    pub(crate) sizes: Vec<usize>,
}

/// Options of `shoal demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// Where the kernels run
    #[arg(short, long, default_value = "cpu")]
    pub(crate) backend: BackendName,
    /// Compile even what is in the cache
    #[arg(long)]
    pub(crate) cold: bool,
    /// Ranks of the distributed kernel at the end
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number_of_ranks, allow_negative_numbers = true)]
    pub(crate) ranks: usize,
    /// Its timeline: NAME.json for Perfetto, NAME.svg, NAME.png and NAME.html
    #[arg(long, value_name = "NAME", default_value = "demo-timeline")]
    pub(crate) timeline: PathBuf,
}

/// Options of `shoal launch`.
#[derive(Debug, Args)]
#[command(after_long_help = LAUNCH_HELP)]
pub(crate) struct LaunchOptions {
    /// Number of ranks
    #[arg(short = 'n', long = "ranks", value_name = "N", alias = "nproc-per-node", value_parser = number_of_ranks, allow_negative_numbers = true)]
    pub(crate) ranks: usize,
    /// Number of hosts; only one so far
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = from::<1>, allow_negative_numbers = true)]
    pub(crate) nnodes: usize,
    /// What ranks are [default: what SHOAL_ENGINE says, else processes]; a program starts threads by itself
    #[arg(long, value_parser = one_of(&[Engine::Processes, Engine::Openshmem, Engine::Nvshmem]))]
    pub(crate) engine: Option<Engine>,
    /// Where their symmetric memory is, and their kernels run [default: what SHOAL_DEVICE says, else cpu]
    #[arg(long, value_parser = one_of(&[BackendName::Cpu, BackendName::Cuda]))]
    pub(crate) device: Option<BackendName>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

const LAUNCH_HELP: &str = "\
Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, as under
torchrun, and SHOAL_TOKEN, a secret that lets the ranks of this job, and nobody else, meet.

What ranks print appears with the rank before each line. Signals are passed on to all ranks. When a rank fails, the
others are ended, and the command ends with that rank's exit status, or 128 + the signal that killed it.

With --device cuda they find SHOAL_DEVICE=cuda: their symmetric memory is on the GPUs of this host, which they have in turns.
With --engine nvshmem it is NVSHMEM's, and they find SHOAL_ENGINE=nvshmem.
With --engine openshmem, ranks are processes that Open MPI's `oshrun` starts, and find its environment instead.

Examples:
  shoal launch -n 4 -- python train.py --steps 100
  SHOAL_HEAP_BYTES=4294967296 shoal launch -n 8 -- ./program";

/// Options of `shoal cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheOptions {
    #[command(subcommand)]
    pub(crate) action: CacheAction,
}

/// What to do with the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheAction {
    /// Show the compiled kernels and their sizes
    List,
    /// Show where it is
    Path,
    /// Remove all compiled kernels
    Clear,
}

/// Those of an option's values that a command takes; its help shows no others.
fn one_of<T: ValueEnum + Clone + Send + Sync + 'static>(taken: &[T]) -> impl TypedValueParser<Value = T> + use<T> {
    let names = taken.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(names).try_map(|name| T::from_str(&name, false))
}

/// More ranks than one machine has threads or processes for: a larger number is a mistake.
const MOST_RANKS: usize = 4096;

fn number_of_ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks @ 1..=MOST_RANKS) => Ok(ranks),
        Ok(_) | Err(_) => Err(format!("a world has from 1 to {MOST_RANKS} ranks")),
    }
}

/// A whole number that is not too small.
fn from<const LEAST: usize>(text: &str) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|&number| number >= LEAST);
    number.ok_or_else(|| format!("not a whole number from {LEAST} on"))
}

fn sizes(text: &str) -> Result<Sizes, String> {
    text.split(',').map(from::<1>).collect::<Result<_, _>>().map(Sizes)
}

/// A comparison that results can fail.
fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance @ 0.0..=f64::MAX) => Ok(tolerance),
        Ok(_) | Err(_) => Err("a tolerance is a number, 0 or more".to_owned()),
    }
}
