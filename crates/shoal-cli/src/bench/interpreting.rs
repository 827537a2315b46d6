//! Our interpreter against Triton's.

use serde_json::{Value, json};
use shoal::{DType, Device};
use shoal_kernels::{Library, Source, find};

use super::peers::Peer;
use super::row::{Row, Unit};
use super::timing::interleaved;
use super::{Bench, Session};
use crate::failure::Failure;

const N: usize = 1 << 20;
const ROWS: usize = 256;
const COLS: usize = 1024;

pub(super) fn benches() -> Vec<Bench> {
    let vector_add = |session: &Session| {
        let arguments = json!({"x": [N], "y": [N], "out": [N], "n": N, "BLOCK": 16384});
        measure(session, "vector_add", &[N], Source::VectorAdd, arguments, N / 16384)
    };
    let softmax = |session: &Session| {
        let arguments = json!({
            "x": [ROWS, COLS], "out": [ROWS, COLS], "x_stride": COLS, "out_stride": COLS, "rows": ROWS, "cols": COLS,
            "BLOCK": COLS,
        });
        measure(session, "softmax", &[ROWS, COLS], Source::Softmax, arguments, 8)
    };
    vec![
        Bench { name: "interpret vector_add".into(), run: Box::new(vector_add) },
        Bench { name: "interpret softmax".into(), run: Box::new(softmax) },
    ]
}

fn measure(
    session: &Session,
    kernel: &str,
    sizes: &[usize],
    source: Source,
    arguments: Value,
    programs: usize,
) -> Result<Vec<Row>, Failure> {
    if !Peer::TritonInterpreter.is_there() {
        session.left_out(
            &format!("interpret {kernel}"),
            Peer::TritonInterpreter,
            "needs triton and numpy in one Python",
        );
        return Ok(Vec::new());
    }
    let item = find(kernel).ok_or_else(|| Failure::new(format!("no kernel {kernel}")))?;
    let workload = item.workload(sizes, DType::F32)?;
    let library = Library::on(Device::Interpreter);
    let request = json!({"source": source.text(), "kernel": kernel, "arguments": arguments, "grid": [programs]});
    let (names, mut processes) = session.start(&[Peer::TritonInterpreter], 1, &request);
    let best = interleaved(session.rounds.min(3), &mut || Ok(workload.run(&library)?), &mut processes)?;
    let mut rows = Vec::new();
    let label = format!("{kernel} {sizes:?}");
    for (peer, seconds) in names.iter().zip(best.peers) {
        match seconds {
            Ok(seconds) => {
                rows.push(Row::times("interpret", &label, Unit::Milliseconds, best.ours, peer.name(), seconds));
            }
            Err(why) => session.left_out(&label, *peer, &why),
        }
    }
    Ok(rows)
}
