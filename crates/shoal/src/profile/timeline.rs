//! Pictures of profiles: a row for each track, a bar for each span.

use std::fmt::Write;

use super::Profile;

const LEFT: f64 = 150.0;
const WIDTH: f64 = 1000.0;
const ROW: f64 = 20.0;
const GAP: f64 = 12.0;
const TOP: f64 = 74.0;

/// Colours of tasks, in the order in which they appear.
const COLOURS: [&str; 8] = ["#2a7f62", "#d98324", "#4a6fa5", "#b04a5a", "#7d6b91", "#8a8d3f", "#3d9aa8", "#8c6d5a"];

/// What waits is pale: it does nothing.
const PALE: &str = "#d6d6d6";

impl Profile {
    /// The tasks of the profile, in the order in which they appear.
    fn tasks(&self) -> Vec<&str> {
        let mut tasks: Vec<&str> = Vec::new();
        for span in self.spans() {
            if !tasks.contains(&span.task.as_str()) {
                tasks.push(&span.task);
            }
        }
        tasks
    }

    /// A picture with the ranks below each other.
    #[must_use]
    pub fn to_svg(&self, title: &str) -> String {
        let tasks = self.tasks();
        let coloured: Vec<&str> = tasks.iter().copied().filter(|task| !task.starts_with("wait")).collect();
        let colour = |task: &str| match coloured.iter().position(|other| *other == task) {
            Some(at) => COLOURS[at % COLOURS.len()],
            None => PALE,
        };
        let (begin, end) = self.extent().unwrap_or((0, 1));
        let x = |time: u64| LEFT + WIDTH * (time.saturating_sub(begin)) as f64 / (end - begin) as f64;
        let rows: usize = self.ranks.iter().map(Vec::len).sum();
        let height = TOP + ROW * rows as f64 + GAP * self.ranks.len() as f64 + 40.0;
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"16\" y=\"26\" font-size=\"16\">{}</text>\n",
            LEFT + WIDTH + 40.0,
            escape(title)
        );
        let mut at = LEFT;
        for task in &tasks {
            let _ = writeln!(
                out,
                "<rect x=\"{at:.1}\" y=\"40\" width=\"12\" height=\"12\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"51\">{}</text>",
                colour(task),
                at + 17.0,
                escape(task)
            );
            at += 34.0 + 7.5 * task.chars().count() as f64;
        }
        let mut y = TOP;
        for (rank, tracks) in self.ranks.iter().enumerate() {
            let _ = writeln!(out, "<text x=\"16\" y=\"{:.1}\" font-weight=\"bold\">rank {rank}</text>", y + 14.0);
            for track in tracks {
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
                    LEFT - 8.0,
                    y + 14.0,
                    escape(&track.name)
                );
                for span in &track.spans {
                    let _ = writeln!(
                        out,
                        "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"><title>{}: {:.1} µs</title></rect>",
                        x(span.start),
                        y + 2.0,
                        (x(span.end) - x(span.start)).max(0.5),
                        ROW - 4.0,
                        colour(&span.task),
                        escape(&span.task),
                        span.end.saturating_sub(span.start) as f64 / 1e3
                    );
                }
                y += ROW;
            }
            y += GAP;
        }
        for tick in 0..=5 {
            let time = begin + (end - begin) * tick / 5;
            let _ = write!(
                out,
                "<line x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{0:.1}\" y2=\"{y:.1}\" stroke=\"#bbb\" stroke-width=\"0.5\"/>\n\
                 <text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\" fill=\"#555\">{3:.1} µs</text>\n",
                x(time),
                TOP - 6.0,
                y + 16.0,
                (time - begin) as f64 / 1e3
            );
        }
        out + "</svg>\n"
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
