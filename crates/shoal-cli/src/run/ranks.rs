//! `shoal run NAME --ranks N`: a kernel of several ranks on random data, checked against its reference on every rank.

mod every;

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use shoal::profile::Profile;
use shoal::world::Rank;
use shoal::{DType, Device, dtype_from_name};
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, RankWorkload, catalog, find};

use crate::command_line::{BackendName, RunOptions};
use crate::failure::{Failure, instead_of, read};
use crate::given::Given;
use crate::launch::{self, Lines};
use crate::ranks::report::{self, Report};
use crate::ranks::{Engine, as_process, on_gpu, on_threads, timeline};

/// Runs that are timed unless the command line says otherwise.
const TIMED: usize = 10;

/// Runs that are recorded for a timeline.
const RECORDED: usize = 5;

/// Records of each program in a timeline.
const RECORDS: usize = 4096;

/// The target that stands for every kernel.
pub(super) const ALL: &str = "all";

/// The options of one kernel.
const OF_ONE: [&str; 9] = ["ranks", "engine", "backend", "check", "repeat", "debug", "size", "dtype", "timeline"];

/// The options of [`ALL`].
const OF_ALL: [&str; 8] = ["ranks", "engine", "backend", "check", "repeat", "debug", "dtype", "filter"];

/// The names of all kernels of several ranks.
fn names() -> impl Iterator<Item = &'static str> + Clone {
    catalog().iter().map(|item| item.name)
}

/// What is run.
pub(crate) struct Plan<'a> {
    item: &'a RankItem,
    sizes: Vec<usize>,
    dtype: DType,
    /// Runs that are timed.
    repeat: usize,
    timeline: Option<&'a Path>,
}

impl<'a> Plan<'a> {
    fn new(options: &'a RunOptions) -> Result<Plan<'a>, Failure> {
        let target = if options.target == ALL { catalog()[0].name } else { &options.target };
        if target.contains(".py") {
            let file = target.split(':').next().unwrap_or_default();
            // A file that is not there is told as without ranks.
            read(Path::new(file))?;
            return Err(Failure::usage(format!(
                "--ranks is for kernels of the library. A program launches kernels of a file on ranks: \
                 `shoal.World.threads(n).run(function)`, see docs/world.md; `shoal check {file}` checks them"
            )));
        }
        let item = find(target).ok_or_else(|| {
            if shoal_kernels::find(target).is_some() {
                return Failure::usage(format!("{target} is for one rank: leave out --ranks"));
            }
            let instead = instead_of(target, names());
            Failure::usage(format!("there is no kernel of several ranks `{target}`; {instead}"))
        })?;
        if !options.args.is_empty() {
            return Err(Failure::usage("library kernels make their own data: say --size and --dtype instead of --arg"));
        }
        let dtype = dtype_from_name(&options.dtype).filter(|dtype| RankItem::DTYPES.contains(dtype));
        let dtype = dtype.ok_or_else(|| {
            Failure::usage(format!("kernels of several ranks are for fp32, fp16 and bf16, not for `{}`", options.dtype))
        })?;
        // The interpreter is there to be right, not to be fast: it gets little to do unless asked for more.
        let interprets = [Some(options.backend), options.check].contains(&Some(BackendName::Interp));
        let default = if interprets { item.tests.last().copied().unwrap_or(item.show) } else { item.show };
        let sizes = if options.size.is_empty() { default.to_vec() } else { options.size.clone() };
        item.check_sizes(&sizes).map_err(|why| Failure::usage(why.to_string()))?;
        let repeat = if options.repeat > 0 { options.repeat } else { TIMED };
        Ok(Plan { item, sizes, dtype, repeat, timeline: options.timeline.as_deref() })
    }

    /// A kernel at sizes that it is tested with.
    fn test(item: &'a RankItem, sizes: &[usize], dtype: DType, repeat: usize) -> Plan<'a> {
        Plan { item, sizes: sizes.to_vec(), dtype, repeat, timeline: None }
    }

    /// A kernel in fp32 with its timeline.
    pub(crate) fn shown(name: &str, sizes: &[usize], timeline: &'a Path) -> Option<Plan<'a>> {
        let item = find(name)?;
        Some(Plan { item, sizes: sizes.to_vec(), dtype: DType::F32, repeat: TIMED, timeline: Some(timeline) })
    }

    /// Runs it on ranks that are threads.
    pub(crate) fn on_threads(&self, library: &Library, ranks: usize) -> Result<(), Failure> {
        let progress = RankProgress::new(ranks);
        on_threads(ranks, |rank| self.on_rank(library, rank, &|text| progress.tell(rank.rank(), text)))?;
        Ok(())
    }

    fn title(&self, backend: BackendName, ranks: usize, engine: Engine) -> String {
        let (name, dtype) = (self.item.name, shoal::dtype_name(self.dtype));
        let backend = shoal::Backend::from(backend).name();
        format!("{name} {:?} {dtype} on {ranks} ranks ({}), {backend}", self.sizes, engine.name())
    }

    /// What one rank does; rank 0 shows the table.
    fn on_rank(&self, library: &Library, rank: &Rank, tell: &dyn Fn(&str)) -> Result<(), Failure> {
        tell("making data");
        let mut comm = Communicator::new(library, rank)?;
        let mut workload = self.item.workload(rank, &self.sizes, self.dtype)?;
        workload.reset()?;
        tell("compiling, first run");
        let start = Instant::now();
        workload.run(&comm)?;
        let first = start.elapsed().as_secs_f64();
        tell("checking");
        let checked = workload.check()?;
        rank.barrier()?;
        let repeat = self.repeat;
        let mut best = f64::INFINITY;
        for round in 1..=repeat {
            tell(&format!("run {round} of {repeat}"));
            let start = Instant::now();
            workload.run(&comm)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        let profile = match self.timeline {
            Some(_) => Some(recorded(rank, &mut comm, workload.as_mut())?),
            None => None,
        };
        tell("done");
        let reports = report::gather(rank, &Report::new(first, best, workload.work(), &checked))?;
        if rank.rank() != 0 {
            return Ok(());
        }
        report::show(&reports)?;
        match self.timeline.zip(profile) {
            Some((name, profile)) => {
                timeline::save(&profile, &format!("{} on {} ranks", self.item.name, rank.size()), name)
            }
            None => Ok(()),
        }
    }
}

/// What all ranks did in the shortest of a few runs. Collective over the world.
fn recorded(rank: &Rank, comm: &mut Communicator<'_>, workload: &mut dyn RankWorkload) -> Result<Profile, Failure> {
    // A kernel that records is another one: the first run compiles it.
    comm.start_profile(RECORDS)?;
    workload.run(comm)?;
    let mut profiles = Vec::new();
    for _ in 0..RECORDED {
        comm.start_profile(RECORDS)?;
        rank.barrier()?;
        workload.run(comm)?;
        profiles.push(timeline::gather(rank, &comm.take_profile())?);
    }
    Ok(profiles.into_iter().min_by_key(Profile::duration).unwrap_or_default())
}

/// Runs it; `command` is how to start this command again.
pub(crate) fn run(options: &RunOptions, given: &Given, ranks: usize, command: &[OsString]) -> Result<(), Failure> {
    let plan = Plan::new(options)?;
    check_engine(options, given)?;
    if options.target == ALL {
        given.only(&OF_ALL, "every kernel of several ranks")?;
        return every::run(options, &plan, ranks, command);
    }
    given.only(&OF_ONE, "a library kernel of several ranks")?;
    for backend in backends(options) {
        if options.role {
            as_process(|rank| plan.on_rank(&library_of(options, backend, rank)?, rank, &|_| {}))?;
            continue;
        }
        let library = library(options, backend)?;
        let engine = engine(options, backend);
        outln!("{}", plan.title(backend, ranks, engine));
        match engine {
            Engine::Threads => plan.on_threads(&library, ranks)?,
            Engine::Cuda => {
                let progress = RankProgress::new(ranks);
                on_gpu(ranks, |rank| plan.on_rank(&library, rank, &|text| progress.tell(rank.rank(), text)))?;
            }
            Engine::Processes | Engine::Openshmem | Engine::Nvshmem => {
                let program = program(&plan, options, backend, command);
                launch::start(engine, ranks, Some(backend), &program, Lines::AsTheyAre)?;
            }
        }
    }
    Ok(())
}

/// Where it runs, one after the other.
fn backends(options: &RunOptions) -> impl Iterator<Item = BackendName> {
    let first = match options.engine {
        Engine::Cuda | Engine::Nvshmem => BackendName::Cuda,
        Engine::Threads | Engine::Processes | Engine::Openshmem => options.backend,
    };
    [Some(first), options.check].into_iter().flatten()
}

/// Refuses an engine that the device which is asked for has not. One that results are compared with has its own.
fn check_engine(options: &RunOptions, given: &Given) -> Result<(), Failure> {
    let why = match (options.engine, options.backend) {
        (Engine::Cuda | Engine::Nvshmem, BackendName::Cpu | BackendName::Interp) if given.has("backend") => {
            "--engine cuda and nvshmem have their memory on GPUs: leave out --backend, or say --check to compare"
        }
        (Engine::Processes | Engine::Openshmem, BackendName::Interp) => {
            "the interpreter runs ranks as threads: leave out --engine"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(why))
}

/// What ranks are there: on a GPU, threads share it.
fn engine(options: &RunOptions, backend: BackendName) -> Engine {
    match (backend, options.engine) {
        (BackendName::Cuda, Engine::Threads | Engine::Cuda) => Engine::Cuda,
        (BackendName::Cpu | BackendName::Interp, Engine::Cuda | Engine::Nvshmem)
        | (BackendName::Interp, Engine::Processes | Engine::Openshmem) => Engine::Threads,
        (BackendName::Cpu | BackendName::Interp | BackendName::Cuda, engine) => engine,
    }
}

/// The library on the device that a rank has.
fn library_of(options: &RunOptions, backend: BackendName, rank: &Rank) -> Result<Library, Failure> {
    let Some(gpu) = rank.gpu() else { return library(options, backend) };
    Ok(Library::with(Device::cuda(gpu.device().ordinal())?, super::settings(options)))
}

fn library(options: &RunOptions, backend: BackendName) -> Result<Library, Failure> {
    Ok(Library::with(Device::of(backend.into())?, super::settings(options)))
}

/// How a rank that is a process is started.
fn program(plan: &Plan<'_>, options: &RunOptions, backend: BackendName, command: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = command.to_vec();
    let (name, repeat) = if options.target == ALL { (ALL, options.repeat) } else { (plan.item.name, plan.repeat) };
    words.extend(["run", name, "--role", "--ranks", "1"].map(OsString::from));
    words.extend(["--dtype", &options.dtype, "--repeat", &repeat.to_string()].map(OsString::from));
    words.extend(["--backend", shoal::Backend::from(backend).name()].map(OsString::from));
    if options.debug {
        words.push("--debug".into());
    }
    if options.target == ALL {
        words.extend(["--filter", &options.filter].map(OsString::from));
        if let Some(other) = options.check {
            words.extend(["--check", shoal::Backend::from(other).name()].map(OsString::from));
        }
    } else {
        let sizes: Vec<String> = plan.sizes.iter().map(ToString::to_string).collect();
        words.extend(["--size", &sizes.join(",")].map(OsString::from));
    }
    if let Some(name) = plan.timeline {
        words.extend(["--timeline".into(), name.into()]);
    }
    words
}

/// A line for each rank that says what it does; nothing when the output is no terminal.
struct RankProgress(Vec<ProgressBar>);

impl RankProgress {
    fn new(ranks: usize) -> RankProgress {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("rank {prefix:>2} {msg}").ok();
        let line = |rank: usize| {
            let line = all.add(ProgressBar::new_spinner().with_prefix(rank.to_string()));
            style.clone().into_iter().for_each(|style| line.set_style(style));
            line
        };
        RankProgress((0..ranks).map(line).collect())
    }

    fn tell(&self, rank: usize, text: &str) {
        self.0[rank].set_message(text.to_owned());
        self.0[rank].tick();
        // The table comes next.
        if rank == 0 && text == "done" {
            self.0.iter().for_each(ProgressBar::finish_and_clear);
        }
    }
}

impl Drop for RankProgress {
    fn drop(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}
