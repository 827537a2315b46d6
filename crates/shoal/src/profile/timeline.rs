//! Pictures of profiles: a row for each track, a bar for each span.

use std::fmt::Write;

use super::picture::{Anchor, Picture, Shape, escape};
use super::{Profile, Span, at_once};

/// Room for a rank and the longest name of a track, "program 113 on SM 117".
const LEFT: f64 = 230.0;
const WIDTH: f64 = 1000.0;
const ROW: f64 = 20.0;
const GAP: f64 = 12.0;
const TOP: f64 = 74.0;

/// Colours of kinds of tasks, in the order in which they appear.
const COLOURS: [&str; 8] = ["#2a7f62", "#d98324", "#4a6fa5", "#b04a5a", "#7d6b91", "#8a8d3f", "#3d9aa8", "#8c6d5a"];

const BLACK: &str = "#000000";
const GREY: &str = "#555555";

/// What waits is pale: it does nothing.
const PALE: &str = "#d6d6d6";

/// What lies behind a rank that does different things at once.
pub(super) const MARK: &str = "#ffd75e";

impl Profile {
    /// The tasks of the profile, in the order in which they appear.
    fn tasks(&self) -> Vec<&str> {
        once(self.spans().map(|span| span.task.as_str()))
    }

    /// A picture with the ranks below each other.
    #[must_use]
    pub fn to_svg(&self, title: &str) -> String {
        self.picture(title).to_svg()
    }

    /// The same picture as a PNG file.
    #[must_use]
    pub fn to_png(&self, title: &str) -> Vec<u8> {
        self.picture(title).to_png()
    }

    fn picture(&self, title: &str) -> Picture {
        let kinds = once(self.spans().filter(|span| !span.waits()).map(Span::kind));
        let colour = |span: &Span| match kinds.iter().position(|kind| *kind == span.kind()) {
            Some(at) => COLOURS[at % COLOURS.len()],
            None => PALE,
        };
        let mut legend: Vec<(&str, &str)> = Vec::new();
        for entry in self.spans().map(|span| (span.kind(), colour(span))) {
            if !legend.contains(&entry) {
                legend.push(entry);
            }
        }
        if self.ranks.iter().any(|tracks| !at_once(tracks).is_empty()) {
            legend.push(("both at once", MARK));
        }
        let rows: usize = self.ranks.iter().map(Vec::len).sum();
        let bottom = TOP + ROW * rows as f64 + GAP * self.ranks.len() as f64;
        let title = Shape::Words {
            x: 16.0,
            y: 26.0,
            anchor: Anchor::Start,
            colour: BLACK,
            text: title.to_owned(),
            large: true,
        };
        let mut shapes = vec![title];
        let mut at = LEFT;
        for (text, colour) in legend {
            shapes.push(Shape::Bar { x: at, y: 40.0, width: 12.0, height: 12.0, colour, about: None });
            shapes.push(words(at + 17.0, 51.0, Anchor::Start, BLACK, text.to_owned()));
            at += 34.0 + 7.5 * text.chars().count() as f64;
        }
        let extent = self.extent().unwrap_or((0, 1));
        let mut y = TOP;
        for tracks in &self.ranks {
            let height = ROW * tracks.len() as f64;
            for (from, to) in at_once(tracks) {
                let (x, end) = (place(extent, from), place(extent, to));
                let (width, around) = ((end - x).max(0.5), GAP / 3.0);
                let (y, height) = (y - around, height + 2.0 * around);
                shapes.push(Shape::Bar { x, y, width, height, colour: MARK, about: None });
            }
            y += height + GAP;
        }
        draw_ticks(extent, bottom, &mut shapes);
        y = TOP;
        for (rank, tracks) in self.ranks.iter().enumerate() {
            shapes.push(words(16.0, y + 14.0, Anchor::Start, BLACK, format!("rank {rank}")));
            for track in tracks {
                shapes.push(words(LEFT - 8.0, y + 14.0, Anchor::End, GREY, track.name.clone()));
                for span in &track.spans {
                    let (from, to) = (place(extent, span.start), place(extent, span.end));
                    let microseconds = span.end.saturating_sub(span.start) as f64 / 1e3;
                    shapes.push(Shape::Bar {
                        x: from,
                        y: y + 2.0,
                        width: (to - from).max(0.5),
                        height: ROW - 4.0,
                        colour: colour(span),
                        about: Some(format!("{}: {microseconds:.1} µs", span.task)),
                    });
                }
                y += ROW;
            }
            y += GAP;
        }
        Picture { width: LEFT + WIDTH + 40.0, height: bottom + 40.0, shapes }
    }

    /// The picture as a page, with the time that each rank spent on each task.
    #[must_use]
    pub fn to_html(&self, title: &str) -> String {
        let tasks = self.tasks();
        let mut out = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n<style>body {{ font-family: sans-serif; }} \
             td, th {{ padding: 2px 12px; text-align: right; }}</style>\n",
            escape(title)
        );
        out += &self.to_svg(title);
        out += "<table>\n<tr><th>rank</th>";
        for task in &tasks {
            let _ = write!(out, "<th>{}</th>", escape(task));
        }
        out += "</tr>\n";
        for (rank, tracks) in self.ranks.iter().enumerate() {
            let _ = write!(out, "<tr><td>{rank}</td>");
            for task in &tasks {
                let spans = tracks.iter().flat_map(|track| &track.spans).filter(|span| span.task == *task);
                let total: u64 = spans.map(|span| span.end.saturating_sub(span.start)).sum();
                let _ = write!(out, "<td>{:.1} µs</td>", total as f64 / 1e3);
            }
            out += "</tr>\n";
        }
        out + "</table>\n"
    }
}

/// Each of them once, in the order in which they appear.
fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn words(x: f64, y: f64, anchor: Anchor, colour: &'static str, text: String) -> Shape {
    Shape::Words { x, y, anchor, colour, text, large: false }
}

/// Where a moment between two others is, from left to right.
fn place((begin, end): (u64, u64), time: u64) -> f64 {
    LEFT + WIDTH * (time.saturating_sub(begin)) as f64 / (end - begin) as f64
}

fn draw_ticks(extent: (u64, u64), bottom: f64, shapes: &mut Vec<Shape>) {
    let (begin, end) = extent;
    let step = tick_step(end - begin);
    for time in (0..=end - begin).step_by(step as usize) {
        let x = place(extent, begin + time);
        shapes.push(Shape::Line { x, from: TOP - 6.0, to: bottom, colour: "#bbbbbb" });
        shapes.push(words(x, bottom + 16.0, Anchor::Middle, GREY, spell(time, step)));
    }
}

/// A round number of nanoseconds between two ticks, of which there are five to ten.
fn tick_step(length: u64) -> u64 {
    let mut step: u64 = 1;
    // 1, 2, 5, 10, 20, 50, …
    for factor in [2.0, 2.5, 2.0].into_iter().cycle() {
        if length / step <= 10 {
            break;
        }
        step = (step as f64 * factor) as u64;
    }
    step
}

/// A time in the unit that suits the distance of ticks.
fn spell(time: u64, step: u64) -> String {
    match step {
        1_000_000.. => format!("{} ms", time / 1_000_000),
        100_000.. => format!("{:.1} ms", time as f64 / 1e6),
        1_000.. => format!("{} µs", time / 1_000),
        _ => format!("{:.1} µs", time as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_round_times() {
        assert_eq!([7, 73, 1_500_000, 26_778_700].map(tick_step), [1, 10, 200_000, 5_000_000]);
        assert_eq!(spell(15_000_000, 5_000_000), "15 ms");
        assert_eq!(spell(600_000, 200_000), "0.6 ms");
        assert_eq!(spell(40_000, 20_000), "40 µs");
        assert_eq!(spell(150, 50), "0.1 µs");
    }
}
