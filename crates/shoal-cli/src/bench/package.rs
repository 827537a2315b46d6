//! The Python package: importing it, launching from it, tuning with it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use shoal::PrivateFolder;

use super::peers::python_with;
use super::row::{Row, Unit};
use super::{Bench, Session};
use crate::failure::Failure;

const LAUNCH: &str = include_str!("../../../../python/bench/launch.py");
const AUTOTUNE: &str = include_str!("../../../../python/bench/autotune.py");
/// The first import of a module in a process.
const IMPORT: &str = "\
import importlib, json, sys, time
start = time.perf_counter()
importlib.import_module(sys.argv[1])
print(json.dumps({\"seconds\": time.perf_counter() - start}))
";

/// What a launch and an import may take.
const LAUNCH_AIM: f64 = 6e-6;
const IMPORT_AIM: f64 = 0.1;
/// Fresh processes that each figure is the best of.
const PROCESSES: usize = 5;

pub(super) fn benches() -> Vec<Bench> {
    vec![
        Bench { name: "python launch".into(), run: Box::new(launch) },
        Bench { name: "python import".into(), run: Box::new(import) },
        Bench { name: "python autotune".into(), run: Box::new(autotune) },
    ]
}

fn launch(session: &Session) -> Result<Vec<Row>, Failure> {
    let Some(seconds) = best(session, "launch", LAUNCH, "shoal", &[]) else { return Ok(Vec::new()) };
    Ok(vec![Row::times("python", "launch, 19 arguments, warm", Unit::Microseconds, seconds, "aim", LAUNCH_AIM)])
}

fn import(session: &Session) -> Result<Vec<Row>, Failure> {
    let Some(ours) = best(session, "import", IMPORT, "shoal", &["shoal"]) else { return Ok(Vec::new()) };
    let row = |peer: &str, seconds| Row::times("python", "import", Unit::Milliseconds, ours, peer, seconds);
    let mut rows = vec![row("aim", IMPORT_AIM)];
    if python_with(&["triton"]).is_some() {
        rows.extend(best(session, "import", IMPORT, "triton", &["triton"]).map(|seconds| row("triton", seconds)));
    }
    Ok(rows)
}

fn autotune(session: &Session) -> Result<Vec<Row>, Failure> {
    let measure = |how| best(session, "autotune", AUTOTUNE, "shoal", &[how]);
    let (Some(parallel), Some(serial)) = (measure("parallel"), measure("serial")) else { return Ok(Vec::new()) };
    let case = "compile 16 configurations of matmul";
    Ok(vec![Row::times("python", case, Unit::Milliseconds, parallel, "one after another", serial)])
}

/// The shortest time that a script says in several fresh processes; without it, why the row is missing is told.
fn best(session: &Session, bench: &str, script: &str, module: &str, arguments: &[&str]) -> Option<f64> {
    let runs = (0..PROCESSES.min(session.rounds.max(1))).map(|_| seconds(script, module, arguments));
    match runs.collect::<Result<Vec<f64>, String>>() {
        Ok(times) => times.into_iter().reduce(f64::min),
        Err(why) => {
            eprintln!("left out: python {bench}: {why}");
            None
        }
    }
}

/// Runs a script in a Python that has the module, and reads the time it prints.
fn seconds(script: &str, module: &str, arguments: &[&str]) -> Result<f64, String> {
    let python = python_with(&[module])
        .ok_or_else(|| format!("no Python has {module}; `make python` builds one, SHOAL_BENCH_PYTHON names it"))?;
    // Kernels are read from their file.
    let file = Script::write(script)?;
    let run = Command::new(python).arg(file.path()).args(arguments).output().map_err(|why| why.to_string())?;
    let output = String::from_utf8_lossy(&run.stdout);
    let answer: Option<Value> = output.lines().last().and_then(|line| serde_json::from_str(line).ok());
    match answer.as_ref().and_then(|answer| answer["seconds"].as_f64()) {
        Some(seconds) if run.status.success() => Ok(seconds),
        _ => Err(String::from_utf8_lossy(&run.stderr).lines().last().unwrap_or("it printed no time").to_owned()),
    }
}

/// A script in a file of its own folder (Python imports what lies beside a script), which goes with it.
struct Script {
    folder: PrivateFolder,
}

impl Script {
    fn write(text: &str) -> Result<Script, String> {
        let script = Script { folder: PrivateFolder::new("bench").map_err(|why| why.to_string())? };
        let unwritten = |why| format!("cannot write {}: {why}", script.path().display());
        std::fs::write(script.path(), text).map_err(unwritten)?;
        Ok(script)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("script.py")
    }
}
