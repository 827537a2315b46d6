//! `shoal bench gpu`: kernels on an NVIDIA GPU next to Triton and torch, in one Python process that has all three.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use shoal::PrivateFolder;
use shoal::cuda::CudaDevice;

use super::gpu_launch;
use super::peers::python_with;
use super::row::Row;
use crate::command_line::BenchOptions;
use crate::failure::{Failure, write};
use crate::numbers::digits;

const SCRIPT: &str = include_str!("gpu.py");
const KERNELS: &str = include_str!("gpu_kernels.py");
/// How often each call is measured unless told otherwise.
const ROUNDS: usize = 30;

/// What was measured, also where some of it failed.
pub(super) struct Measured {
    pub(super) rows: Vec<Row>,
    /// Why rows are missing.
    pub(super) failed: Option<Failure>,
}

/// Measures. Rows, notes and what failed also go to standard error as they come: whoever is stopped has said so much.
pub(super) fn measure(options: &BenchOptions) -> Result<Measured, Failure> {
    let device = CudaDevice::new(0).map_err(shoal::Error::from)?;
    let python = python_with(&["torch", "shoal"]).ok_or_else(|| {
        Failure::new("`shoal bench gpu` needs a Python with torch and shoal; SHOAL_BENCH_PYTHON names one")
    })?;
    outln!("{}, {}", device.properties().name, device.arch().name());
    let folder = PrivateFolder::new("bench").map_err(|why| Failure::new(why.to_string()))?;
    let (script, kernels) = (folder.path().join("gpu.py"), folder.path().join("gpu_kernels.py"));
    write(&script, SCRIPT)?;
    write(&kernels, KERNELS)?;
    // Before the other process uses the GPU.
    let mut rows = match "launch".contains(options.filter.as_str()) {
        true => gpu_launch::rows(device)?,
        false => Vec::new(),
    };
    rows.iter().for_each(tell);
    let mut child = Command::new(python)
        .arg(&script)
        .arg(&kernels)
        .arg(&options.filter)
        .arg(options.rounds.unwrap_or(ROUNDS).to_string())
        // What was compiled before, by any of the three, is not taken from the disk.
        .env("CUDA_CACHE_DISABLE", "1")
        .env("SHOAL_CACHE_DIR", folder.path().join("shoal"))
        .env("TRITON_CACHE_DIR", folder.path().join("triton"))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| Failure::new(format!("cannot start {}: {why}", python.to_string_lossy())))?;
    let mut failed = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
        match said(&line) {
            Said::Row(row) => {
                tell(&row);
                rows.push(row);
            }
            Said::Failed(what) => failed.push(what),
            Said::Note => eprintln!("{line}"),
        }
    }
    let status = child.wait().map_err(|why| Failure::new(why.to_string()))?;
    if !status.success() {
        failed.push(format!("the measuring process ended with {status}"));
    }
    let failed = (!failed.is_empty()).then(|| Failure::new(failed.join("\n")));
    Ok(Measured { rows, failed })
}

fn tell(row: &Row) {
    let Row { bench, case, metric, ours, peer, peer_value, ratio } = row;
    let (ours, peers) = (digits(*ours), digits(*peer_value));
    eprintln!("{bench}, {case}: {ours} {metric}; {peer} {peers} {metric}, {ratio:.2} x");
}

/// What a line of the measuring process says.
#[derive(Debug)]
enum Said {
    Row(Row),
    /// What could not be measured, and why.
    Failed(String),
    Note,
}

fn said(line: &str) -> Said {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return Said::Note };
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    if let Some(error) = text("error") {
        return Said::Failed(format!(
            "{} {}: {error}",
            text("bench").unwrap_or_default(),
            text("case").unwrap_or_default()
        ));
    }
    let row = || {
        Some(Row {
            bench: text("bench")?,
            case: text("case")?,
            metric: text("metric")?,
            ours: value["ours"].as_f64()?,
            peer: text("peer")?,
            peer_value: value["peer_value"].as_f64()?,
            ratio: value["ratio"].as_f64()?,
        })
    };
    row().map_or(Said::Note, Said::Row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_no_note() {
        let row = r#"{"bench": "launch", "case": "19 arguments", "metric": "µs", "ours": 5, "peer": "triton", "peer_value": 25, "ratio": 5}"#;
        assert!(matches!(said(row), Said::Row(row) if row.peer == "triton"));
        let error = r#"{"bench": "launch", "case": "", "error": "RuntimeError: no memory"}"#;
        assert!(matches!(said(error), Said::Failed(why) if why == "launch : RuntimeError: no memory"));
        assert!(matches!(said(r#"{"bench": "launch", "case": "4 arguments", "note": "5 us"}"#), Said::Note));
        assert!(matches!(said("a warning of torch"), Said::Note));
    }
}
