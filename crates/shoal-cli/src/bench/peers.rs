//! The programs that Shoal is measured against, as child processes.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
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
    /// Triton's interpreter, which works on torch's tensors.
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

    /// Whether it is installed.
    pub(crate) fn is_there(self) -> bool {
        let has = |name: &str| versions().iter().any(|(n, version)| *n == name && version.is_some());
        match self {
            Peer::Numpy => has("numpy"),
            Peer::Torch => has("torch"),
            Peer::Triton => has("triton"),
            Peer::TritonInterpreter => has("triton") && has("torch"),
        }
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
    /// Starts Python with so many threads for its libraries.
    pub(crate) fn start(threads: usize, interpret: bool) -> Result<Process, String> {
        let python = python();
        let mut command = Command::new(&python);
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

/// The Python to use: `SHOAL_BENCH_PYTHON`, else `python3`.
fn python() -> OsString {
    std::env::var_os("SHOAL_BENCH_PYTHON").filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into())
}

/// Python and the peers with their versions, if they are there.
pub(crate) fn versions() -> &'static [(&'static str, Option<String>)] {
    static FOUND: OnceLock<Vec<(&'static str, Option<String>)>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let answer = Process::start(1, false).and_then(|mut process| process.ask(&json!({"do": "versions"})));
        let answer = answer.unwrap_or(Value::Null);
        let version = |name| answer.get(name).and_then(Value::as_str).map(str::to_owned);
        ["python", "numpy", "torch", "triton"].map(|name| (name, version(name))).to_vec()
    })
}
