//! Profiles: what programs, streams and hosts of all ranks did, and when.
//!
//! A kernel records into a [buffer](ProfileBuffer) of 64-bit words, which is one of its arguments; a host records what
//! it does itself with a [`Recorder`]. Both give [tracks](Track) of named spans. Those of all ranks make a [`Profile`],
//! which becomes a trace for Perfetto or a picture. Times are nanoseconds of the host's monotonic clock, which all ranks
//! of a host share; ranks with clocks of their own are [shifted](Track::shift).

mod buffer;
mod font;
mod perfetto;
mod picture;
mod png;
mod recorder;
mod timeline;

use serde::{Deserialize, Serialize};

pub use buffer::ProfileBuffer;
pub use recorder::{Recorder, clock_ahead, now};

/// Something that took some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// What it was.
    pub task: String,
    /// When it began, in nanoseconds.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

impl Span {
    /// What it is without a number at its end: copies from several ranks are of one kind.
    fn kind(&self) -> &str {
        self.task.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end()
    }

    fn waits(&self) -> bool {
        self.task.starts_with("wait")
    }
}

/// What one of those who act did, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Who it is.
    pub name: String,
    /// What it did, in the order of the ends.
    pub spans: Vec<Span>,
}

impl Track {
    /// Moves all of it in time: the clock it was recorded with is so many nanoseconds ahead.
    pub fn shift(&mut self, ahead: i64) {
        for span in &mut self.spans {
            span.start = span.start.saturating_add_signed(ahead.saturating_neg());
            span.end = span.end.saturating_add_signed(ahead.saturating_neg());
        }
    }
}

/// The tracks of all ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Those of each rank.
    pub ranks: Vec<Vec<Track>>,
}

impl Profile {
    fn spans(&self) -> impl Iterator<Item = &Span> {
        self.ranks.iter().flatten().flat_map(|track| &track.spans)
    }

    /// Nanoseconds from the first span's beginning to the last one's end; none if there are no spans.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.extent().map_or(0, |(start, end)| end - start)
    }

    /// When the first span begins and the last one ends.
    fn extent(&self) -> Option<(u64, u64)> {
        let start = self.spans().map(|span| span.start).min()?;
        let end = self.spans().map(|span| span.end).max()?;
        Some((start, end.max(start + 1)))
    }

    /// Of the time in which a rank does one thing, the share in which it does another as well, over all ranks. Things are
    /// named by how their tasks begin. `None` if nobody does the first.
    #[must_use]
    pub fn overlap(&self, one: &str, other: &str) -> Option<f64> {
        let (mut both, mut total) = (0, 0);
        for tracks in &self.ranks {
            let times = |prefix: &str| {
                let spans = tracks.iter().flat_map(|track| &track.spans).filter(|span| span.task.starts_with(prefix));
                merged(spans.map(|span| (span.start, span.end)).collect())
            };
            let (ones, others) = (times(one), times(other));
            total += ones.iter().map(|(start, end)| end - start).sum::<u64>();
            for (start, end) in &ones {
                let common = |&(from, to): &(u64, u64)| to.min(*end).saturating_sub(from.max(*start));
                both += others.iter().map(common).sum::<u64>();
            }
        }
        (total > 0).then(|| both as f64 / total as f64)
    }
}

/// When tracks of a rank do different things at once. Waiting is not doing.
fn at_once(tracks: &[Track]) -> Vec<(u64, u64)> {
    let busy = || tracks.iter().flat_map(|track| &track.spans).filter(|span| !span.waits());
    let mut both = Vec::new();
    for one in busy() {
        for other in busy().filter(|other| other.kind() < one.kind()) {
            let (start, end) = (one.start.max(other.start), one.end.min(other.end));
            if start < end {
                both.push((start, end));
            }
        }
    }
    merged(both)
}

/// Intervals without those that touch or overlap.
fn merged(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    let mut result: Vec<(u64, u64)> = Vec::new();
    for (start, end) in intervals {
        match result.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => result.push((start, end)),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(name: &str, spans: &[(&str, u64, u64)]) -> Track {
        let span = |&(task, start, end): &(&str, u64, u64)| Span { task: task.to_owned(), start, end };
        Track { name: name.to_owned(), spans: spans.iter().map(span).collect() }
    }

    fn profile() -> Profile {
        let rank = || {
            vec![
                track("program 0", &[("wait", 100, 200), ("multiply <a>", 200, 600)]),
                track("stream", &[("copy", 100, 300), ("copy", 250, 500)]),
            ]
        };
        Profile { ranks: vec![rank(), rank()] }
    }

    #[test]
    fn overlap_is_a_share_of_time() {
        assert_eq!(profile().overlap("copy", "multiply"), Some(0.75));
        assert_eq!(profile().overlap("multiply", "copy"), Some(0.75));
        assert_eq!(profile().overlap("nothing", "copy"), None);
    }

    #[test]
    fn traces_have_an_event_for_each_span_and_a_name_for_each_track() {
        let trace: serde_json::Value = serde_json::from_str(&profile().to_perfetto_json()).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
        assert_eq!((of("X"), of("M")), (8, 6));
        let first = events.iter().find(|event| event["ph"] == "X").expect("a span");
        assert_eq!(
            (first["ts"].as_f64(), first["dur"].as_f64(), first["pid"].as_u64()),
            (Some(0.0), Some(0.1), Some(0))
        );
    }

    #[test]
    fn pictures_have_a_bar_for_each_span() {
        let picture = profile().to_svg("two < ranks");
        assert_eq!(picture.matches("<title>").count(), 8);
        assert!(picture.contains("multiply &lt;a&gt;") && picture.contains("two &lt; ranks"));
        assert!(profile().to_html("two ranks").contains(&profile().to_svg("two ranks")));
        assert!(Profile::default().to_svg("nothing").ends_with("</svg>\n"));
    }

    #[test]
    fn doing_two_things_at_once_is_marked() {
        // Neither waits nor two tracks that do the same are two things.
        assert_eq!(at_once(&profile().ranks[0]), [(200, 500)]);
        let copies = [track("a", &[("copy from 1", 0, 9)]), track("b", &[("copy from 12", 0, 9), ("wait", 0, 9)])];
        assert_eq!(at_once(&copies), []);
        let picture = profile().to_svg("two ranks");
        assert_eq!(picture.matches(timeline::MARK).count(), 1 + 2, "a word about it, and one in each rank");
        assert!(!Profile { ranks: vec![copies.to_vec()] }.to_svg("copies").contains(timeline::MARK));
    }

    #[test]
    fn things_that_differ_by_a_number_are_of_one_colour() {
        let copies = [track("stream", &[("copy from 1", 0, 9), ("copy from 2", 10, 19)])];
        let picture = Profile { ranks: vec![copies.to_vec()] }.to_svg("copies");
        assert_eq!(picture.matches("copy from</text>").count(), 1);
        assert_eq!(picture.matches("copy from 2: 0.0 µs").count(), 1);
    }

    #[test]
    fn clocks_can_be_aligned() {
        let mut late = track("x", &[("a", 100, 200)]);
        late.shift(30);
        assert_eq!((late.spans[0].start, late.spans[0].end), (70, 170));
    }
}
