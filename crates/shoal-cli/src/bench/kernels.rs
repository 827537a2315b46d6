//! Kernels of the library against NumPy and torch, with the same number of threads on both sides.

use serde_json::json;
use shoal::{DType, Device};
use shoal_kernels::{Library, Work, find};

use super::peers::{Peer, Process};
use super::row::{Row, Unit};
use super::timing::{self, Best, interleaved};
use super::{Bench, Session};
use crate::failure::Failure;

/// Threads to measure with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    One,
    OneAndAll,
}

struct Case {
    kernel: &'static str,
    sizes: &'static [usize],
    dtype: DType,
    threads: Threads,
}

const fn case(kernel: &'static str, sizes: &'static [usize], dtype: DType) -> Case {
    Case { kernel, sizes, dtype, threads: Threads::OneAndAll }
}

const CASES: &[Case] = &[
    Case { threads: Threads::One, ..case("vector_add", &[1 << 25], DType::F32) },
    case("softmax", &[4096, 1024], DType::F32),
    case("softmax", &[4096, 1024], DType::BF16),
    case("layer_norm", &[4096, 1024], DType::F32),
    case("layer_norm", &[4096, 1024], DType::BF16),
    case("rms_norm", &[4096, 1024], DType::F32),
    case("rms_norm", &[4096, 1024], DType::BF16),
    case("matmul", &[1024, 1024, 1024], DType::F32),
    case("matmul", &[2048, 2048, 2048], DType::F32),
    case("matmul", &[1024, 1024, 1024], DType::BF16),
    case("matmul", &[4096, 4096, 4096], DType::BF16),
    case("matmul", &[1024, 1024, 1024], DType::F16),
    case("matmul", &[1024, 1024, 1024], DType::I8),
    case("attention", &[8, 1024, 64], DType::F32),
    case("attention", &[8, 1024, 64], DType::BF16),
    case("attention", &[8, 4096, 128], DType::BF16),
    case("attention_causal", &[8, 1024, 64], DType::BF16),
    case("attention_causal", &[8, 4096, 128], DType::BF16),
];

pub(super) fn benches() -> Vec<Bench> {
    let mut benches: Vec<Bench> = CASES
        .iter()
        .map(|case| Bench { name: case.kernel.into(), run: Box::new(move |session| against_peers(session, case)) })
        .collect();
    benches.push(Bench { name: "matmul_bf16".into(), run: Box::new(bf16_against_f32) });
    benches
}

fn against_peers(session: &Session, case: &Case) -> Result<Vec<Row>, Failure> {
    let all = Device::cpu().threads()?;
    let counts = match case.threads {
        Threads::OneAndAll if all > 1 => vec![1, all],
        Threads::One | Threads::OneAndAll => vec![1],
    };
    let mut rows = Vec::new();
    for threads in counts {
        let library = Library::on(Device::cpu_with_threads(threads)?);
        let item = find(case.kernel).ok_or_else(|| Failure::new(format!("no kernel {}", case.kernel)))?;
        let workload = item.workload(case.sizes, case.dtype)?;
        let dtype = case.dtype.to_string();
        let request = json!({"case": case.kernel, "sizes": case.sizes, "dtype": dtype, "threads": threads});
        // NumPy has neither the other types nor the other kernels.
        let numpy = case.dtype == DType::F32 && ["vector_add", "softmax", "matmul", "attention"].contains(&case.kernel);
        let peers: &[Peer] = if numpy { &[Peer::Numpy, Peer::Torch] } else { &[Peer::Torch] };
        let (names, mut processes) = session.start(peers, threads, &request);
        let mut run = || Ok(workload.run(&library)?);
        let best = interleaved(session.rounds, &mut run, &mut processes)?;
        let unit = unit(workload.work());
        let label = format!("{} {dtype} {}", sizes(case.sizes), plural(threads));
        for (peer, seconds) in names.iter().zip(best.peers) {
            match seconds {
                Ok(seconds) => rows.push(Row::times(case.kernel, &label, unit, best.ours, peer.name(), seconds)),
                Err(why) => session.left_out(case.kernel, *peer, &why),
            }
        }
        if rows.is_empty() {
            session.alone(case.kernel, &label, unit, best.ours);
        }
    }
    Ok(rows)
}

/// Where the CPU has matrix tiles, bf16 is to be faster than our own f32.
fn bf16_against_f32(session: &Session) -> Result<Vec<Row>, Failure> {
    let size = [1024, 1024, 1024];
    let library = Library::on(Device::cpu_with_threads(1)?);
    let item = find("matmul").ok_or_else(|| Failure::new("no kernel matmul"))?;
    let (wide, narrow) = (item.workload(&size, DType::F32)?, item.workload(&size, DType::BF16)?);
    let request = json!({"case": "matmul", "sizes": size, "dtype": "bf16", "threads": 1});
    let (names, mut processes) = session.start(&[Peer::Torch], 1, &request);
    let (mut best, mut best_wide) = (Best::none(processes.len()), f64::INFINITY);
    for _ in 0..session.rounds {
        best.merge(interleaved(1, &mut || Ok(narrow.run(&library)?), &mut processes)?);
        best_wide = best_wide.min(timing::best(&mut || Ok(wide.run(&library)?))?);
    }
    let unit = unit(narrow.work());
    let label = format!("{} bf16 {}", sizes(&size), plural(1));
    let mut rows = vec![Row::times("matmul_bf16", &label, unit, best.ours, "shoal f32", best_wide)];
    for (peer, seconds) in names.iter().zip(best.peers) {
        match seconds {
            Ok(seconds) => rows.push(Row::times("matmul_bf16", &label, unit, best.ours, peer.name(), seconds)),
            Err(why) => session.left_out("matmul_bf16", *peer, &why),
        }
    }
    Ok(rows)
}

fn unit(work: Work) -> Unit {
    match work {
        Work::Bytes(bytes) => Unit::Rate(bytes, "GB/s"),
        Work::Operations(count) => Unit::Rate(count, "GFLOP/s"),
    }
}

fn sizes(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("×")
}

fn plural(threads: usize) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

/// A peer's process with its work prepared.
pub(super) fn prepared(peer: Peer, threads: usize, request: &serde_json::Value) -> Result<Process, String> {
    let mut process = Process::start(peer, threads)?;
    process.prepare(peer, request.clone())?;
    Ok(process)
}
