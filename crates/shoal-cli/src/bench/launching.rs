//! What a launch costs that does nothing.

use std::time::Instant;

use shoal::{Args, Device, Module, Tensor};

use super::row::{Row, Unit};
use super::{Bench, Session};
use crate::failure::Failure;

/// Pointers, integers, floats and constants: 19 arguments.
const EMPTY: &str = "\
import shoal
import shoal.language as tl


@shoal.jit
def empty(p0, p1, p2, p3, p4, p5, n0, n1, n2, n3, n4, n5, f0, f1, f2, A: tl.constexpr, B: tl.constexpr,
          C: tl.constexpr, D: tl.constexpr):
    pass
";

/// The time a launch may take.
const BUDGET: f64 = 2e-6;
const BATCH: u32 = 2000;

pub(super) fn benches() -> Vec<Bench> {
    vec![Bench { name: "launch".into(), run: Box::new(empty_launch) }]
}

fn empty_launch(session: &Session) -> Result<Vec<Row>, Failure> {
    let kernel = Module::from_source("empty.py", EMPTY)?.kernel("empty")?.on(Device::cpu());
    let tensors: Vec<Tensor> =
        (0..6).map(|_| Tensor::zeros(shoal::DType::F32, &[64])).collect::<Result<_, shoal::Error>>()?;
    let launch = || {
        let mut args = Args::new();
        for tensor in &tensors {
            args.push(tensor);
        }
        for number in [1024i64, 77, 16, 4096, 1, 1 << 40] {
            args.push(number);
        }
        args.push(0.5).push(1.5f32).push(2.5).set("A", 128).set("B", 64).set("C", true).set("D", ());
        kernel.launch(1, args)
    };
    launch()?;
    let mut shortest = f64::INFINITY;
    for _ in 0..session.rounds * 20 {
        let start = Instant::now();
        for _ in 0..BATCH {
            launch()?;
        }
        shortest = shortest.min(start.elapsed().as_secs_f64() / f64::from(BATCH));
    }
    Ok(vec![Row::times("launch", "empty kernel, 19 arguments, warm", Unit::Microseconds, shortest, "budget", BUDGET)])
}
