//! Compile times: against Triton's, and of large tiles against small ones.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shoal::{Device, Kernel, Module};
use shoal_kernels::Source;

use super::peers::Peer;
use super::row::{Row, Unit};
use super::{Bench, Session, kernels};
use crate::failure::Failure;

struct Case {
    name: &'static str,
    source: Source,
    kernel: &'static str,
    /// One type for each run-time parameter.
    types: &'static [(&'static str, &'static str)],
    constants: &'static [(&'static str, i64)],
}

const CASES: &[Case] = &[
    Case {
        name: "vector_add f32",
        source: Source::VectorAdd,
        kernel: "vector_add",
        types: &[("x", "*fp32"), ("y", "*fp32"), ("out", "*fp32"), ("n", "i32")],
        constants: &[("BLOCK", 1024)],
    },
    Case {
        name: "matmul f16 128×128×64",
        source: Source::Matmul,
        kernel: "matmul",
        types: &[
            ("a", "*fp16"),
            ("b", "*fp16"),
            ("c", "*fp16"),
            ("M", "i32"),
            ("N", "i32"),
            ("K", "i32"),
            ("a_row", "i32"),
            ("a_col", "i32"),
            ("b_row", "i32"),
            ("b_col", "i32"),
            ("c_row", "i32"),
            ("c_col", "i32"),
        ],
        constants: &[("BLOCK_M", 128), ("BLOCK_N", 128), ("BLOCK_K", 64), ("GROUP_M", 8), ("EVEN", 0)],
    },
    Case {
        name: "attention f16 64×64×64",
        source: Source::Attention,
        kernel: "attention",
        types: &[
            ("q", "*fp16"),
            ("k", "*fp16"),
            ("v", "*fp16"),
            ("out", "*fp16"),
            ("lse", "*fp32"),
            ("length", "i32"),
            ("head_stride", "i32"),
            ("row_stride", "i32"),
            ("scale", "fp32"),
        ],
        constants: &[("CAUSAL", 0), ("HEAD_DIM", 64), ("BLOCK_M", 64), ("BLOCK_N", 64), ("EVEN", 0)],
    },
];

/// A long kernel, and how it is compiled.
struct Long {
    name: &'static str,
    kernel: &'static str,
    signature: &'static str,
}

const LONG_KERNELS: &[Long] = &[
    Long {
        name: "attention backward f16 64×64×64",
        kernel: "attention_backward",
        signature: "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp16:16, *fp16:16, *fp16:16, i32, i32, \
                    i32, fp32, CAUSAL=True, HEAD_DIM=64, BLOCK=64",
    },
    Long {
        name: "chunked delta rule bf16 128×128×64",
        kernel: "chunked_delta_rule",
        signature: "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *fp32:16, *bf16:16, i32, HEAD_DIM=128, VALUE_DIM=128, CHUNK=64",
    },
    Long {
        name: "pooling 3×3×3 f16",
        kernel: "max_pool_3d",
        signature: "*fp16:16, *fp16:16, *i32:16, i32, i32, i32, BLOCK=1024",
    },
];

/// What a long kernel may take, in seconds.
const LONG_BUDGET: f64 = 0.5;

/// Fresh processes that a cold compilation is measured in.
const PROCESSES: usize = 5;

pub(super) fn benches() -> Vec<Bench> {
    let mut benches: Vec<Bench> = CASES
        .iter()
        .map(|case| Bench { name: format!("compile {}", case.name), run: Box::new(move |s| against_triton(s, case)) })
        .collect();
    benches.extend(LONG_KERNELS.iter().map(|long| Bench {
        name: format!("compile {}", long.name),
        run: Box::new(move |session| within_budget(session, long)),
    }));
    benches.push(Bench { name: "compile large tile".into(), run: Box::new(large_tile) });
    benches
}

/// Parsing, lowering, passes, code generation and loading of a kernel that nobody has compiled.
fn compile_once(job: &Job) -> Result<f64, Failure> {
    let start = Instant::now();
    let kernel: Kernel = Module::from_source(&job.file, &job.text)?.kernel(&job.kernel)?.on(Device::cpu());
    let specs = kernel.read_signature(&job.signature)?;
    kernel.compile_uncached(&specs)?;
    Ok(start.elapsed().as_secs_f64())
}

/// A kernel to compile.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    file: String,
    text: String,
    kernel: String,
    signature: String,
}

/// The hidden command that [`cold`] starts: reads a job, compiles it as the first thing, says how long it took.
pub(crate) fn measure() -> Result<(), Failure> {
    let unreadable = |why: String| Failure::new(format!("cannot read the job: {why}"));
    let text = std::io::read_to_string(std::io::stdin()).map_err(|why| unreadable(why.to_string()))?;
    let job: Job = serde_json::from_str(&text).map_err(|why| unreadable(why.to_string()))?;
    outln!("{}", compile_once(&job)?);
    Ok(())
}

/// How long the first compilation in a fresh process takes: the shortest of several processes.
fn cold(session: &Session, job: &Job) -> Result<f64, Failure> {
    let failed = |why: String| Failure::new(format!("cannot measure compilation: {why}"));
    let [program, first @ ..] = session.command.as_slice() else {
        return Err(failed("this program does not know how to start itself again".into()));
    };
    let mut shortest = f64::INFINITY;
    for _ in 0..PROCESSES {
        let mut child = Command::new(program)
            .args(first)
            .arg("measure-compile")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| failed(why.to_string()))?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(json!(job).to_string().as_bytes()).map_err(|why| failed(why.to_string()))?;
        }
        let output = child.wait_with_output().map_err(|why| failed(why.to_string()))?;
        let seconds = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>();
        shortest = shortest.min(seconds.map_err(|_| failed("the child process failed".into()))?);
    }
    Ok(shortest)
}

fn against_triton(session: &Session, case: &Case) -> Result<Vec<Row>, Failure> {
    let types = case.types.iter().map(|(name, ty)| {
        let aligned = if ty.starts_with('*') { ":16" } else { "" };
        format!("{name}={ty}{aligned}")
    });
    let constants = case.constants.iter().map(|(name, value)| format!("{name}={}", constant(name, *value)));
    let signature = types.chain(constants).collect::<Vec<_>>().join(", ");
    let ours = cold(
        session,
        &Job {
            file: case.source.file().to_owned(),
            text: case.source.text().to_owned(),
            kernel: case.kernel.to_owned(),
            signature,
        },
    )?;
    let signature: serde_json::Map<String, Value> =
        case.types.iter().map(|(name, ty)| ((*name).to_owned(), json!(ty))).collect();
    let constants: serde_json::Map<String, Value> = case
        .constants
        .iter()
        .map(|(name, value)| ((*name).to_owned(), if is_flag(name) { json!(*value != 0) } else { json!(value) }))
        .collect();
    let request = json!({
        "source": case.source.text(), "kernel": case.kernel, "signature": signature, "constants": constants,
    });
    let label = format!("{} cold", case.name);
    if !Peer::Triton.is_there() {
        session.alone("compile", &label, Unit::Milliseconds, ours);
        return Ok(Vec::new());
    }
    match triton_cold(&request) {
        Ok(theirs) => Ok(vec![Row::times("compile", &label, Unit::Milliseconds, ours, "triton to PTX", theirs)]),
        Err(why) => {
            session.left_out(&label, Peer::Triton, &why);
            Ok(Vec::new())
        }
    }
}

impl Long {
    fn job(&self) -> Job {
        Job {
            file: "cold_kernels.py".into(),
            text: include_str!("cold_kernels.py").into(),
            kernel: self.kernel.into(),
            signature: self.signature.into(),
        }
    }
}

fn within_budget(session: &Session, long: &Long) -> Result<Vec<Row>, Failure> {
    let label = format!("{} cold", long.name);
    Ok(vec![Row::times("compile", &label, Unit::Milliseconds, cold(session, &long.job())?, "budget", LONG_BUDGET)])
}

/// The first compilation in a fresh Python process that has Triton imported: the shortest of several processes.
fn triton_cold(request: &Value) -> Result<f64, String> {
    let mut shortest = f64::INFINITY;
    for _ in 0..PROCESSES {
        shortest = shortest.min(kernels::prepared(Peer::Triton, 1, request)?.best(0.0)?);
    }
    Ok(shortest)
}

fn is_flag(name: &str) -> bool {
    ["EVEN", "CAUSAL"].contains(&name)
}

fn constant(name: &str, value: i64) -> String {
    match (is_flag(name), value) {
        (true, 0) => "False".into(),
        (true, _) => "True".into(),
        (false, _) => value.to_string(),
    }
}

const ELEMENTWISE: &str = "\
import shoal
import shoal.language as tl


@shoal.jit
def elementwise(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n)
    tl.store(out + at, tl.exp(a) * b + tl.where(a > b, a, b * 2), mask=at < n)
";

fn large_tile(session: &Session) -> Result<Vec<Row>, Failure> {
    let job = |block: usize| Job {
        file: "elementwise.py".into(),
        text: ELEMENTWISE.into(),
        kernel: "elementwise".into(),
        signature: format!("*fp32:16, *fp32:16, *fp32:16, i32, BLOCK={block}"),
    };
    let (mut small, mut large) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..session.rounds * 3 {
        small = small.min(compile_once(&job(256))?);
        large = large.min(compile_once(&job(65536))?);
    }
    Ok(vec![Row::times(
        "compile",
        "elementwise, tile of 65536",
        Unit::Milliseconds,
        large,
        "shoal, tile of 256",
        small,
    )])
}

#[cfg(test)]
mod tests {
    use super::{LONG_KERNELS, compile_once};

    #[test]
    fn long_kernels_compile() {
        for long in LONG_KERNELS {
            assert!(compile_once(&long.job()).is_ok(), "{}", long.name);
        }
    }
}
