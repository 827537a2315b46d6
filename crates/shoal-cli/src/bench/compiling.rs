//! Compile times: against Triton's, and of large tiles against small ones.

use std::time::Instant;

use serde_json::{Value, json};
use shoal::{Device, Kernel, Module};
use shoal_kernels::Source;

use super::peers::Peer;
use super::row::{Row, Unit};
use super::{Bench, Session};
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
        name: "vector_add",
        source: Source::VectorAdd,
        kernel: "vector_add",
        types: &[("x", "*fp32"), ("y", "*fp32"), ("out", "*fp32"), ("n", "i32")],
        constants: &[("BLOCK", 1024)],
    },
    Case {
        name: "matmul 128×128×64",
        source: Source::Matmul,
        kernel: "matmul",
        types: &[
            ("a", "*fp32"),
            ("b", "*fp32"),
            ("c", "*fp32"),
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
        name: "attention 64×64×64",
        source: Source::Attention,
        kernel: "attention",
        types: &[
            ("q", "*fp32"),
            ("k", "*fp32"),
            ("v", "*fp32"),
            ("out", "*fp32"),
            ("lse", "*fp32"),
            ("length", "i32"),
            ("head_stride", "i32"),
            ("row_stride", "i32"),
            ("scale", "fp32"),
        ],
        constants: &[("CAUSAL", 0), ("HEAD_DIM", 64), ("BLOCK_M", 64), ("BLOCK_N", 64)],
    },
];

pub(crate) fn benches() -> Vec<Bench> {
    let mut benches: Vec<Bench> = CASES
        .iter()
        .map(|case| Bench { name: format!("compile {}", case.name), run: Box::new(move |s| against_triton(s, case)) })
        .collect();
    benches.push(Bench { name: "compile large tile".into(), run: Box::new(large_tile) });
    benches
}

/// Parsing, lowering, passes, code generation and loading of a kernel that nobody has compiled: the shortest of several.
fn cold(rounds: usize, name: &str, text: &str, kernel: &str, signature: &str) -> Result<f64, Failure> {
    let mut shortest = f64::INFINITY;
    for _ in 0..rounds.max(3) {
        let start = Instant::now();
        let kernel: Kernel = Module::from_source(name, text)?.kernel(kernel)?.on(Device::cpu()?);
        let specs = kernel.read_signature(signature)?;
        kernel.compile_uncached(&specs)?;
        shortest = shortest.min(start.elapsed().as_secs_f64());
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
    let ours = cold(session.rounds, case.source.file(), case.source.text(), case.kernel, &signature)?;
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
    let (names, mut processes) = session.start(&[Peer::Triton], 1, &request);
    let mut rows = Vec::new();
    let label = format!("{} cold", case.name);
    for (peer, process) in names.iter().zip(&mut processes) {
        match process.best(1.0) {
            Ok(seconds) => rows.push(Row::times(
                "compile",
                &label,
                Unit::Milliseconds,
                ours,
                &format!("{} to PTX", peer.name()),
                seconds,
            )),
            Err(why) => session.left_out(&label, *peer, &why),
        }
    }
    if rows.is_empty() {
        session.alone("compile", &label, Unit::Milliseconds, ours);
    }
    Ok(rows)
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
    let time = |block: usize| {
        let signature = format!("*fp32:16, *fp32:16, *fp32:16, i32, BLOCK={block}");
        cold(session.rounds * 2, "elementwise.py", ELEMENTWISE, "elementwise", &signature)
    };
    // Once before, so that neither pays for first calls.
    time(1024)?;
    let (small, large) = (time(256)?, time(65536)?);
    Ok(vec![Row::times("compile", "elementwise, tile of 65536", Unit::Milliseconds, large, "shoal, tile of 256", small)])
}
