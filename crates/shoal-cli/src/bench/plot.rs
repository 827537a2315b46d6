//! The ratios as a picture.

use std::fmt::Write;

use super::row::Row;
use crate::numbers::digits;

const LEFT: f64 = 420.0;
const WIDTH: f64 = 520.0;
const ROW: f64 = 26.0;
const TOP: f64 = 64.0;

/// Horizontal bars on a logarithmic scale, from the line where both sides are equal.
pub(crate) fn svg(title: &str, rows: &[Row]) -> String {
    let reach = rows.iter().map(|row| row.ratio.log10().abs()).filter(|r| r.is_finite()).fold(0.5, f64::max) * 1.1;
    let x = |ratio: f64| LEFT + WIDTH / 2.0 * (1.0 + ratio.log10().clamp(-reach, reach) / reach);
    let (width, height) = (LEFT + WIDTH + 200.0, TOP + ROW * rows.len() as f64 + 40.0);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"16\">{}</text>\n\
         <text x=\"16\" y=\"46\" fill=\"#666\">ratio to the peer; to the right of the line Shoal is better</text>\n",
        escape(title)
    );
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + ROW * at as f64;
        let (from, to) = (x(1.0).min(x(row.ratio)), x(1.0).max(x(row.ratio)));
        let color = if row.ratio >= 1.0 { "#2a7f62" } else { "#c0562f" };
        let label = format!("{} {} / {}", row.bench, row.case, row.peer);
        let number = format!("{}×  ({} {})", digits(row.ratio), digits(row.ours), row.metric);
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n\
             <rect x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"{color}\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#333\">{}</text>\n",
            LEFT - 10.0,
            y + 15.0,
            escape(&label),
            y + 3.0,
            (to - from).max(1.0),
            ROW - 8.0,
            to + 6.0,
            y + 15.0,
            escape(&number),
        );
    }
    let bottom = height - 24.0;
    let _ = write!(
        out,
        "<line x1=\"{0:.1}\" y1=\"{1}\" x2=\"{0:.1}\" y2=\"{bottom}\" stroke=\"#333\"/>\n</svg>\n",
        x(1.0),
        TOP - 8.0
    );
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::row::Unit;
    use super::*;

    #[test]
    fn a_picture_has_a_bar_for_each_row() {
        let row = |peers| Row::times("matmul", "a < b", Unit::Milliseconds, 1.0, "numpy", peers);
        let picture = svg("on this & that", &[row(2.0), row(0.5), row(1.0)]);
        assert_eq!(picture.matches("<rect").count(), 4);
        assert!(picture.contains("a &lt; b") && picture.contains("this &amp; that"));
        assert!(picture.ends_with("</svg>\n"));
    }
}
