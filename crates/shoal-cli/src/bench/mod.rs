//! `shoal bench`: measured in one run, with the same number of threads on both sides.

mod checking;
mod comm;
mod comm_gpu;
mod comm_overlap;
pub(crate) mod compiling;
mod gpu;
mod gpu_launch;
mod interpreting;
mod kernels;
mod launching;
mod package;
pub(crate) mod peers;
mod plot;
mod rank_peers;
mod row;
mod timing;

use std::ffi::OsString;
use std::io::IsTerminal;

use serde_json::Value;
use shoal_kernels::distributed;

use crate::command_line::{BackendName, BenchOptions};
use crate::failure::{Failure, write};
use crate::given::Given;
use crate::numbers::digits;
use crate::progress::Progress;
use peers::{Peer, Process};
use row::{Row, Unit};

pub(crate) use comm::measure_rank;

/// Measures, and gives a row for each peer.
type Measure = Box<dyn Fn(&Session) -> Result<Vec<Row>, Failure>>;

/// A measurement.
struct Bench {
    name: String,
    run: Measure,
}

/// What all measurements share.
struct Session {
    rounds: usize,
    /// How to start this program again.
    command: Vec<OsString>,
}

impl Session {
    /// Starts and prepares those peers that are installed.
    fn start(&self, peers: &[Peer], threads: usize, request: &Value) -> (Vec<Peer>, Vec<Process>) {
        let mut started = (Vec::new(), Vec::new());
        for &peer in peers.iter().filter(|peer| peer.is_there()) {
            match kernels::prepared(peer, threads, request) {
                Ok(process) => {
                    started.0.push(peer);
                    started.1.push(process);
                }
                Err(why) => self.left_out("", peer, &why),
            }
        }
        started
    }

    /// Says that a row is missing.
    fn left_out(&self, bench: &str, peer: Peer, why: &str) {
        eprintln!("left out: {bench} against {}: {why}", peer.name());
    }

    /// Says what was measured without a peer.
    fn alone(&self, bench: &str, case: &str, unit: Unit, seconds: f64) {
        let row = Row::times(bench, case, unit, seconds, "", seconds);
        eprintln!("no peer: {bench} {case}: {} {}", digits(row.ours), row.metric);
    }
}

/// The options of what runs on one rank.
const OF_ONE_RANK: [&str; 4] = ["json", "plot", "filter", "rounds"];
/// The options of the suite of several ranks.
const OF_COMM: [&str; 8] = ["json", "plot", "filter", "rounds", "ranks", "device", "engine", "backend"];
/// The options of the same on a GPU.
const OF_COMM_ON_A_GPU: [&str; 4] = ["json", "plot", "ranks", "device"];
/// The options of one kernel of several ranks.
const OF_ONE_KERNEL: [&str; 9] = ["json", "plot", "filter", "rounds", "ranks", "engine", "size", "dtype", "backend"];

pub(crate) fn bench(options: &BenchOptions, given: &Given, command: &[OsString]) -> Result<(), Failure> {
    match (options.what.as_str(), options.device) {
        (what @ ("cpu" | "gpu" | "check"), _) => given.only(&OF_ONE_RANK, &format!("`bench {what}`"))?,
        ("comm", BackendName::Cuda) => given.only(&OF_COMM_ON_A_GPU, "`bench comm --device cuda`")?,
        ("comm", _) => given.only(&OF_COMM, "`bench comm`")?,
        // What is no kernel is told below.
        (name, _) if distributed::find(name).is_some() => given.only(&OF_ONE_KERNEL, "one kernel of several ranks")?,
        _ => {}
    }
    if options.what == "gpu" {
        let gpu::Measured { rows, failed } = gpu::measure(options)?;
        shown(options, &rows, "an NVIDIA GPU")?;
        return failed.map_or(Ok(()), Err);
    }
    if options.what == "comm" && options.device == BackendName::Cuda {
        return shown(options, &comm_gpu::rows(options)?, "an NVIDIA GPU");
    }
    let (benches, rounds, ranks) = match options.what.as_str() {
        "cpu" => (suite_cpu(), 7, false),
        "check" => (checking::benches(), 3, false),
        "comm" => (comm::suite(options), 3, true),
        name => (comm::one(name, options)?, 3, true),
    };
    let chosen: Vec<&Bench> = benches.iter().filter(|bench| bench.name.contains(&options.filter)).collect();
    if chosen.is_empty() {
        let mut known: Vec<&str> = benches.iter().map(|bench| bench.name.as_str()).collect();
        known.dedup();
        return Err(Failure::usage(format!(
            "no benchmark contains `{}`; there are {}",
            options.filter,
            known.join(", ")
        )));
    }
    let about = shoal::build_info()?;
    outln!("{} with {} threads, Shoal {}, LLVM {}", about.cpu, about.threads, about.version, about.llvm);
    if ranks {
        comm::tell_peers(options);
    } else if options.what != "check" {
        tell_versions();
    }
    outln!();
    let session = Session { rounds: options.rounds.unwrap_or(rounds), command: command.to_vec() };
    let progress = Progress::new(chosen.len());
    let mut rows = Vec::new();
    let count = chosen.len();
    for (at, bench) in chosen.into_iter().enumerate() {
        progress.step(bench.name.clone());
        if !std::io::stderr().is_terminal() {
            eprintln!("[{}/{count}] {}", at + 1, bench.name);
        }
        rows.extend((bench.run)(&session)?);
    }
    progress.finish();
    shown(options, &rows, &about.cpu)
}

/// The rows as a table, a picture and a file.
fn shown(options: &BenchOptions, rows: &[Row], machine: &str) -> Result<(), Failure> {
    outln!("{}\nratio above 1: Shoal is better", row::table(rows));
    let picture = options.plot.clone().unwrap_or_else(|| format!("bench-{}.svg", options.what).into());
    write(&picture, plot::svg(&format!("shoal bench {} on {machine}", options.what), rows))?;
    outln!("plot: {}", picture.display());
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(rows).map_err(|why| Failure::new(why.to_string()))?;
        write(path, text + "\n")?;
        outln!("rows: {}", path.display());
    }
    Ok(())
}

fn tell_versions() {
    for (name, version) in peers::versions() {
        match version {
            Some(version) => outln!("{name} {version}"),
            None => outln!("{name} is not installed: its rows are left out (SHOAL_BENCH_PYTHON names other Pythons)"),
        }
    }
}

fn suite_cpu() -> Vec<Bench> {
    [kernels::benches(), compiling::benches(), launching::benches(), package::benches(), interpreting::benches()]
        .into_iter()
        .flatten()
        .collect()
}
