//! Traces for Perfetto (and `chrome://tracing`): JSON, one process for each rank, one thread for each track.

use serde_json::{Value, json};

use super::Profile;

impl Profile {
    /// The trace as text.
    #[must_use]
    pub fn to_perfetto_json(&self) -> String {
        let begin = self.extent().map_or(0, |(begin, _)| begin);
        // Microseconds, with all digits.
        let micros = |ns: u64| ns as f64 / 1e3;
        let named = |kind: &str, pid: usize, tid: usize, name: &str| json!({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}});
        let mut events: Vec<Value> = Vec::new();
        for (rank, tracks) in self.ranks.iter().enumerate() {
            events.push(named("process_name", rank, 0, &format!("rank {rank}")));
            for (number, track) in tracks.iter().enumerate() {
                events.push(named("thread_name", rank, number, &track.name));
                for span in &track.spans {
                    let (start, took) = (micros(span.start - begin), micros(span.end.saturating_sub(span.start)));
                    events.push(
                        json!({"ph": "X", "name": span.task, "pid": rank, "tid": number, "ts": start, "dur": took}),
                    );
                }
            }
        }
        json!({"traceEvents": events, "displayTimeUnit": "ns"}).to_string() + "\n"
    }
}
