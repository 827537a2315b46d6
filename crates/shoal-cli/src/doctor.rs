//! `shoal doctor`.

use std::process::{Command, Stdio};

use shoal::cache::Cache;
use shoal::cuda::{CudaDevice, DeviceProperties, driver_version, find_ptxas};
use shoal::world::{find_nvshmem, find_openshmem};
use shoal::{Device, build_info};
use shoal_kernels::{Library, find};

use crate::bench::peers;
use crate::failure::Failure;
use crate::numbers::bytes;

pub(crate) fn doctor() -> Result<(), Failure> {
    let build = build_info()?;
    let line = |name: &str, value: &str| outln!("{name:<12} {value}");
    line("shoal", build.version);
    line("llvm", &build.llvm);
    line("cpu", &build.cpu);
    line("features", &build.features.join(" "));
    line("amx", if build.amx { "can be used" } else { "not there" });
    line("threads", &format!("{} (SHOAL_CPU_THREADS sets another number)", build.threads));
    for (name, value) in gpus() {
        line(&name, &value);
    }
    line("openshmem", &openshmem());
    line("nvshmem", &find_nvshmem().unwrap_or_else(|why| format!("{why}; the engine `nvshmem` needs it")));
    line("cache", &cache());
    for (name, found) in peers::versions() {
        line(name, found.as_deref().unwrap_or("not installed: `shoal bench` leaves its rows out"));
    }
    let works = try_a_kernel();
    line("kernels", works.as_deref().unwrap_or("compile and run"));
    works.map_or(Ok(()), |why| Err(Failure::new(why)))
}

/// The GPUs, or why there are none.
fn gpus() -> Vec<(String, String)> {
    let count = match CudaDevice::count() {
        Ok(count) => count,
        Err(why) => {
            let text = why.to_string();
            return vec![("cuda".into(), text.lines().next().unwrap_or_default().to_owned())];
        }
    };
    let version = driver_version().map_or_else(|why| why.to_string(), |(major, minor)| format!("{major}.{minor}"));
    let assembler = match find_ptxas() {
        Some(path) => format!("{} (only needed to make cubins without a GPU)", path.display()),
        None => "not there; only needed to make cubins without a GPU".to_owned(),
    };
    let mut lines = vec![("cuda".into(), format!("driver for CUDA {version}")), ("ptxas".into(), assembler)];
    for ordinal in 0..count {
        let text = match CudaDevice::new(ordinal) {
            Ok(device) => described(device),
            Err(why) => why.to_string(),
        };
        lines.push((format!("gpu {ordinal}"), text));
    }
    lines
}

fn described(device: CudaDevice) -> String {
    let DeviceProperties { name, multiprocessors, memory_bytes, l2_bytes, .. } = device.properties();
    format!(
        "{name}, {}, {multiprocessors} multiprocessors, {} of memory, {} of L2 cache",
        device.arch().name(),
        bytes(*memory_bytes as u64),
        bytes(u64::from(*l2_bytes)),
    )
}

/// What ranks of `oshrun` need.
fn openshmem() -> String {
    let version = Command::new("oshrun").arg("--version").stdin(Stdio::null()).output();
    let launcher = match &version {
        Ok(output) => String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("oshrun").to_owned(),
        Err(_) => "oshrun is not installed (Debian: openmpi-bin libopenmpi-dev)".to_owned(),
    };
    match find_openshmem() {
        Ok(library) => format!("{library}, {launcher}"),
        Err(_) if version.is_err() => format!("not there: {launcher}; the engine `openshmem` needs it"),
        Err(why) => format!("not there: {why}"),
    }
}

fn cache() -> String {
    match Cache::user() {
        Ok(None) => "turned off by SHOAL_CACHE".into(),
        Err(refusal) => format!("not used: {refusal}"),
        Ok(Some(cache)) => match cache.list() {
            Ok(entries) => {
                let total = entries.iter().map(|entry| entry.bytes).sum();
                format!("{} kernels, {}, in {}", entries.len(), bytes(total), cache.path().display())
            }
            Err(reason) => format!("{}: {reason}", cache.path().display()),
        },
    }
}

/// Compiles and runs one kernel; says what is wrong if it fails.
fn try_a_kernel() -> Option<String> {
    let attempt = || {
        let item = find("vector_add").ok_or_else(|| Failure::new("the library has no vector_add"))?;
        let workload = item.workload(&[1000], shoal::DType::F32)?;
        workload.run(&Library::on(Device::cpu()))?;
        if workload.check().iter().all(|checked| checked.passed()) {
            Ok(())
        } else {
            Err(Failure::new("vector_add computes a wrong result on this machine"))
        }
    };
    attempt().err().map(|failure| failure.to_string())
}
