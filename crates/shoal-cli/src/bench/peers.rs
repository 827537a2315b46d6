//! The programs that Shoal is measured against, as child processes.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

/// What is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    Numpy,
    Torch,
    /// Triton's compiler.
    Triton,
    /// Triton's interpreter.
    TritonInterpreter,
}

impl Peer {
    /// The name in rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Numpy => "numpy",
            Peer::Torch => "torch",
            Peer::Triton => "triton",
            Peer::TritonInterpreter => "triton-interpreter",
        }
    }

    /// The Python modules it is made of.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Peer::Numpy => &["numpy"],
            Peer::Torch => &["torch"],
            Peer::Triton => &["triton"],
            Peer::TritonInterpreter => &["triton", "numpy"],
        }
    }

    /// Whether it is installed.
    pub(crate) fn is_there(self) -> bool {
        python_with(self.modules()).is_some()
    }
}

const SCRIPT: &str = include_str!("peer.py");

/// A child process that runs one peer's work.
pub(crate) struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a peer's Python with so many threads for its libraries.
    pub(crate) fn start(peer: Peer, threads: usize) -> Result<Process, String> {
        let python = python_with(peer.modules()).ok_or_else(|| format!("{} is not installed", peer.name()))?;
        Process::of(python, threads, peer == Peer::TritonInterpreter)
    }

    fn of(python: &OsStr, threads: usize, interpret: bool) -> Result<Process, String> {
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in ["OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM"] {
            command.env(format!("{name}_NUM_THREADS"), threads.to_string());
        }
        if interpret {
            command.env("TRITON_INTERPRET", "1");
        }
        let mut child = command.spawn().map_err(|why| format!("cannot start {}: {why}", python.to_string_lossy()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Process { child, requests, answers: BufReader::new(answers) }),
            _ => Err("the peer has no pipes".into()),
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let gone = |why: std::io::Error| format!("the peer has ended: {why}");
        writeln!(self.requests, "{request}").map_err(gone)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(gone)?;
        let answer: Value = serde_json::from_str(&line).map_err(|_| "the peer has ended".to_owned())?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }

    /// Makes the peer's data and runs its work once.
    pub(crate) fn prepare(&mut self, peer: Peer, mut request: Value) -> Result<(), String> {
        request["do"] = json!("prepare");
        request["peer"] = json!(peer.name());
        self.ask(&request).map(|_| ())
    }

    /// The shortest run in so many seconds.
    pub(crate) fn best(&mut self, seconds: f64) -> Result<f64, String> {
        let answer = self.ask(&json!({"do": "time", "seconds": seconds}))?;
        answer["seconds"].as_f64().ok_or_else(|| "the peer gave no time".to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python, and which of the modules it has, with their versions.
struct Python {
    program: OsString,
    modules: Value,
}

/// The Python that runs the command, if one does.
static RUNNING: OnceLock<Option<OsString>> = OnceLock::new();

/// Says which Python runs the command.
pub(crate) fn runs_in(python: Option<OsString>) {
    // The first command of a process decides; all of them are run by one Python.
    RUNNING.get_or_init(|| python);
}

/// The Pythons to look in: those that `SHOAL_BENCH_PYTHON` lists with colons, else the one that runs the command, else
/// `python3`.
fn pythons() -> &'static [Python] {
    static FOUND: OnceLock<Vec<Python>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let named = std::env::var_os("SHOAL_BENCH_PYTHON").filter(|names| !names.is_empty());
        let programs: Vec<OsString> = match named {
            Some(names) => std::env::split_paths(&names).map(PathBuf::into_os_string).collect(),
            None => vec![RUNNING.get().cloned().flatten().unwrap_or_else(|| "python3".into())],
        };
        let asked = |program: OsString| {
            let answer =
                Process::of(&program, 1, false).and_then(|mut process| process.ask(&json!({"do": "versions"})));
            Python { program, modules: answer.unwrap_or(Value::Null) }
        };
        programs.into_iter().map(asked).collect()
    })
}

/// The first Python that has all these modules.
pub(super) fn python_with(modules: &[&str]) -> Option<&'static OsStr> {
    let has = |python: &&Python| modules.iter().all(|name| python.modules[name].is_string());
    pythons().iter().find(has).map(|python| python.program.as_os_str())
}

/// Python and the modules that matter with their versions, if they are there.
pub(crate) fn versions() -> Vec<(&'static str, Option<String>)> {
    let version = |name: &str| pythons().iter().find_map(|python| python.modules[name].as_str()).map(str::to_owned);
    let shown = |name| (if name == "shoal" { "shoal for Python" } else { name }, version(name));
    ["python", "numpy", "torch", "triton", "shoal"].map(shown).to_vec()
}
