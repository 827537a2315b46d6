//! Kernels of several ranks, against the collectives of others and against doing one thing after the other.

use std::ffi::OsString;

use shoal::{DType, Device, dtype_from_name};
use shoal_kernels::Library;
use shoal_kernels::distributed::{Communicator, RankItem, catalog, find};

use super::rank_peers::Collective;
use super::row::{Row, Unit};
use super::{Bench, Session};
use crate::command_line::{BenchOptions, MeasureRankOptions, RankPeer, Sizes};
use crate::failure::{Failure, instead_of};
use crate::ranks::{Engine, as_process, measure, on_threads, output_of_first};

/// What is measured of a kernel.
#[derive(Debug, Clone)]
struct Case {
    item: &'static RankItem,
    sizes: Vec<usize>,
    dtype: DType,
    ranks: usize,
    engine: Engine,
    against: Against,
}

/// Whom with.
#[derive(Debug, Clone)]
enum Against {
    /// The same collective of others.
    Peers(Vec<RankPeer>),
    /// Another kernel of the library.
    Kernel(&'static str),
}

/// `shoal bench comm`.
pub(super) fn suite(options: &BenchOptions) -> Vec<Bench> {
    let mut cases = Vec::new();
    for &ranks in &options.ranks {
        let mut add = |name: &str, sizes: &[usize], against: Against| {
            if let Some(item) = find(name) {
                let engine = options.engine;
                cases.push(Case { item, sizes: sizes.to_vec(), dtype: DType::F32, ranks, engine, against });
            }
        };
        // 64 KiB, 1 MiB and 16 MiB.
        for n in [1 << 14, 1 << 18, 1 << 22] {
            add("two_shot_all_reduce_in_place", &[n], Against::Peers(options.backends.clone()));
        }
        for n in [1 << 14, 1 << 18] {
            add("all_gather_push", &[n], Against::Peers(options.backends.clone()));
        }
        // What there is to win is the time of gathering: little beside a large product, much beside a narrow one.
        for sizes in [[256, 512, 512], [1024, 64, 1024]] {
            for name in ["all_gather_matmul_pull", "all_gather_matmul_pull_kept", "all_gather_matmul"] {
                add(name, &sizes, Against::Kernel("all_gather_then_matmul"));
            }
        }
    }
    cases.into_iter().map(bench).collect()
}

/// `shoal bench NAME`: one kernel of several ranks.
pub(super) fn one(name: &str, options: &BenchOptions) -> Result<Vec<Bench>, Failure> {
    let item = find(name).ok_or_else(|| {
        let known = ["cpu", "gpu", "comm", "check"].into_iter().chain(catalog().iter().map(|item| item.name));
        Failure::usage(format!("there is no benchmark `{name}`; {}", instead_of(name, known)))
    })?;
    let mut benches = Vec::new();
    let all = match options.sizes.is_empty() {
        true => vec![item.show.to_vec()],
        false => options.sizes.iter().map(|Sizes(sizes)| sizes.clone()).collect(),
    };
    for &ranks in &options.ranks {
        for sizes in &all {
            item.check_sizes(sizes).map_err(|why| Failure::usage(why.to_string()))?;
            for dtype in &options.dtypes {
                let dtype =
                    dtype_from_name(dtype).filter(|dtype| RankItem::DTYPES.contains(dtype)).ok_or_else(|| {
                        Failure::usage(format!(
                            "kernels of several ranks are for fp32, fp16 and bf16, not for `{dtype}`"
                        ))
                    })?;
                let against = Against::Peers(options.backends.clone());
                benches.push(bench(Case { item, sizes: sizes.clone(), dtype, ranks, engine: options.engine, against }));
            }
        }
    }
    Ok(benches)
}

fn bench(case: Case) -> Bench {
    let name = format!("{} {}", case.item.name, case.label());
    Bench { name, run: Box::new(move |session| rows(session, &case)) }
}

impl Case {
    fn label(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        let dtype = shoal::signature_name(self.dtype);
        format!("{} {dtype} {} {}", sizes.join("×"), self.ranks, self.engine.name())
    }

    /// Seconds of one run of a kernel with these sizes.
    fn seconds(&self, name: &str, command: &[OsString]) -> Result<f64, Failure> {
        let item = find(name).ok_or_else(|| Failure::new(format!("there is no kernel `{name}`")))?;
        match self.engine {
            Engine::Threads => {
                let library = Library::on(Device::cpu());
                let all = on_threads(self.ranks, |rank| {
                    let comm = Communicator::new(&library, rank)?;
                    let mut workload = item.workload(rank, &self.sizes, self.dtype)?;
                    measure::seconds(rank, &comm, workload.as_mut())
                })?;
                Ok(all[0])
            }
            Engine::Cuda | Engine::Nvshmem => {
                Err(Failure::new("kernels on ranks that share a GPU are measured by `bench comm --device cuda`"))
            }
            Engine::Processes | Engine::Openshmem => {
                let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
                let dtype = shoal::signature_name(self.dtype).to_owned();
                let words = ["measure-rank".to_owned(), name.to_owned(), dtype, sizes.join(",")];
                let program: Vec<OsString> = command.iter().cloned().chain(words.map(OsString::from)).collect();
                let text = output_of_first(self.engine, self.ranks, &program)?;
                text.trim().parse().map_err(|_| Failure::new(format!("{name} gave no time, but `{text}`")))
            }
        }
    }
}

fn rows(session: &Session, case: &Case) -> Result<Vec<Row>, Failure> {
    let (name, label) = (case.item.name, case.label());
    let mut ours = f64::INFINITY;
    match &case.against {
        Against::Kernel(other) => {
            let mut theirs = f64::INFINITY;
            for _ in 0..session.rounds {
                ours = ours.min(case.seconds(name, &session.command)?);
                theirs = theirs.min(case.seconds(other, &session.command)?);
            }
            Ok(vec![Row::times(name, &label, Unit::Microseconds, ours, other, theirs)])
        }
        Against::Peers(peers) => {
            let collective = Collective::of(name).filter(|_| case.dtype == DType::F32 && case.sizes.len() == 1);
            let there: Vec<RankPeer> = match collective {
                None => Vec::new(),
                Some(_) => peers.iter().copied().filter(|peer| peer.is_missing().is_none()).collect(),
            };
            let mut theirs: Vec<Result<f64, String>> = vec![Ok(f64::INFINITY); there.len()];
            for _ in 0..session.rounds {
                ours = ours.min(case.seconds(name, &session.command)?);
                for (peer, best) in there.iter().zip(&mut theirs) {
                    if let (Some(collective), Ok(so_far)) = (collective, &best) {
                        let took = peer.seconds(collective, case.sizes[0], case.ranks).map_err(|why| why.to_string());
                        *best = took.map(|took| took.min(*so_far));
                    }
                }
            }
            let mut rows = Vec::new();
            for (peer, seconds) in there.iter().zip(theirs) {
                match seconds {
                    Ok(seconds) => rows.push(Row::times(name, &label, Unit::Microseconds, ours, peer.name(), seconds)),
                    Err(why) => eprintln!("left out: {name} {label} against {}: {why}", peer.name()),
                }
            }
            if rows.is_empty() {
                rows.push(Row::alone(name, &label, Unit::Microseconds, ours));
            }
            Ok(rows)
        }
    }
}

/// Says whom there is to measure against.
pub(super) fn tell_peers(options: &BenchOptions) {
    for peer in &options.backends {
        match peer.is_missing() {
            None => outln!("{} is measured against", peer.name()),
            Some(why) => outln!("{} is left out: {why}", peer.name()),
        }
    }
}

/// What a rank does that `shoal bench` has started.
pub(crate) fn measure_rank(options: &MeasureRankOptions) -> Result<(), Failure> {
    let item = find(&options.name).ok_or_else(|| Failure::new(format!("there is no kernel `{}`", options.name)))?;
    let dtype = dtype_from_name(&options.dtype).ok_or_else(|| Failure::new("there is no such type"))?;
    let library = Library::on(Device::cpu());
    as_process(|rank| {
        let comm = Communicator::new(&library, rank)?;
        let mut workload = item.workload(rank, &options.sizes, dtype)?;
        let seconds = measure::seconds(rank, &comm, workload.as_mut())?;
        if rank.rank() == 0 {
            outln!("{seconds:e}");
        }
        Ok(())
    })
}
