//! What a launch on a GPU costs the host from Rust. The kernel does nothing; a launch without arguments is close to the time
//! of the driver alone.

use std::time::Instant;

use shoal::cuda::{CudaBuffer, CudaDevice, StreamRef};
use shoal::{Args, Device, Error, Kernel, Module};

use super::row::{Row, Unit};
use crate::failure::Failure;

const KERNELS: &str = "\
import shoal
import shoal.language as tl


@shoal.jit
def nothing():
    pass


@shoal.jit
def empty(p0, p1, p2, p3, p4, p5, n0, n1, n2, n3, n4, n5, f0, f1, f2, A: tl.constexpr, B: tl.constexpr,
          C: tl.constexpr, D: tl.constexpr):
    pass
";

/// The time a launch may take.
const BUDGET: f64 = 3e-6;
/// Launches that are put into the stream before it is waited for: fewer than it takes without holding the host up.
const BATCH: u32 = 100;
/// Batches before those that count, and those.
const WARM_UP: usize = 50;
const MEASURED: usize = 201;

pub(super) fn rows(device: CudaDevice) -> Result<Vec<Row>, Failure> {
    let module = Module::from_source("empty.py", KERNELS)?;
    let on_gpu = |name: &str| Ok::<Kernel, Error>(module.kernel(name)?.on(Device::cuda(device.ordinal())?));
    let (nothing, empty) = (on_gpu("nothing")?, on_gpu("empty")?);
    let stream = StreamRef::default_of(device);
    let buffers: Vec<CudaBuffer<f32>> = (0..6)
        .map(|_| CudaBuffer::zeroed(stream, 64))
        .collect::<Result<_, _>>()
        .map_err(|why| Failure::new(why.to_string()))?;
    let with_arguments = || {
        let mut args = Args::new();
        for buffer in &buffers {
            args.push(buffer);
        }
        for number in [1024i64, 77, 16, 4096, 1, 1 << 40] {
            args.push(number);
        }
        args.push(0.5).push(1.5f32).push(2.5).set("A", 128).set("B", 64).set("C", true).set("D", ());
        empty.launch(1, args)
    };
    let [alone, ours] = per_launch(stream, [&|| nothing.launch(1, Args::new()), &with_arguments])?;
    let row = |case, peer, peers| Row::times("launch", case, Unit::Microseconds, ours, peer, peers);
    Ok(vec![
        row("from Rust, 19 arguments", "budget", BUDGET),
        row("from Rust, 19 arguments", "launch without arguments", alone),
    ])
}

/// The median time of each launch, in batches that take turns. The first ones warm the host's caches and its clock up.
fn per_launch<const N: usize>(
    stream: StreamRef,
    launches: [&dyn Fn() -> Result<(), Error>; N],
) -> Result<[f64; N], Failure> {
    let mut times = [const { Vec::new() }; N];
    for at in 0..WARM_UP + MEASURED {
        for (launch, times) in launches.iter().zip(&mut times) {
            stream.synchronize().map_err(|why| Failure::new(why.to_string()))?;
            let start = Instant::now();
            for _ in 0..BATCH {
                launch()?;
            }
            if at >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() / f64::from(BATCH));
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }))
}
