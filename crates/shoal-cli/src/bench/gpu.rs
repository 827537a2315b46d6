//! `shoal bench gpu`: kernels on an NVIDIA GPU next to Triton and torch, in one Python process that has all three.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use shoal::cuda::CudaDevice;

use super::gpu_launch;
use super::peers::python_with;
use super::row::Row;
use crate::command_line::BenchOptions;
use crate::failure::{Failure, write};

const SCRIPT: &str = include_str!("gpu.py");
const KERNELS: &str = include_str!("gpu_kernels.py");
/// How often each call is measured unless told otherwise.
const ROUNDS: usize = 30;

/// Measures; notes and what is left out go to standard error as they come.
pub(super) fn rows(options: &BenchOptions) -> Result<Vec<Row>, Failure> {
    let device = CudaDevice::new(0).map_err(shoal::Error::from)?;
    let python = python_with(&["torch", "shoal"]).ok_or_else(|| {
        Failure::new("`shoal bench gpu` needs a Python with torch and shoal; SHOAL_BENCH_PYTHON names one")
    })?;
    outln!("{}, {}", device.properties().name, device.arch().name());
    let folder = Folder::new()?;
    let (script, kernels) = (folder.0.join("gpu.py"), folder.0.join("gpu_kernels.py"));
    write(&script, SCRIPT)?;
    write(&kernels, KERNELS)?;
    // Before the other process uses the GPU.
    let mut rows = match "launch".contains(options.filter.as_str()) {
        true => gpu_launch::rows(device)?,
        false => Vec::new(),
    };
    let mut child = Command::new(python)
        .arg(&script)
        .arg(&kernels)
        .arg(&options.filter)
        .arg(options.rounds.unwrap_or(ROUNDS).to_string())
        // What was compiled before, by any of the three, is not taken from the disk.
        .env("CUDA_CACHE_DISABLE", "1")
        .env("SHOAL_CACHE_DIR", folder.0.join("shoal"))
        .env("TRITON_CACHE_DIR", folder.0.join("triton"))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| Failure::new(format!("cannot start {}: {why}", python.to_string_lossy())))?;
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
        match serde_json::from_str::<Value>(&line).ok().as_ref().and_then(row) {
            Some(row) => rows.push(row),
            None => eprintln!("{line}"),
        }
    }
    let status = child.wait().map_err(|why| Failure::new(why.to_string()))?;
    match status.success() {
        true => Ok(rows),
        false => Err(Failure::new(format!("the measuring process ended with {status}"))),
    }
}

fn row(value: &Value) -> Option<Row> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some(Row {
        bench: text("bench")?,
        case: text("case")?,
        metric: text("metric")?,
        ours: value["ours"].as_f64()?,
        peer: text("peer")?,
        peer_value: value["peer_value"].as_f64()?,
        ratio: value["ratio"].as_f64()?,
    })
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, Failure> {
        let path = std::env::temp_dir().join(format!("shoal-bench-gpu-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|why| Failure::new(format!("{}: {why}", path.display())))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it is of no use to anybody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
