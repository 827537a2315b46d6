//! Pictures made of rectangles, lines and words, as SVG; as PNG in [`png`](super::png).

use std::fmt::Write;

/// Where a word's place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// At its start.
    Start,
    /// At its middle.
    Middle,
    /// At its end.
    End,
}

/// One thing in a picture. Places are in pixels, from the upper left corner; colours are `#rrggbb`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A filled rectangle; what it is, is told who points at it.
    Bar { x: f64, y: f64, width: f64, height: f64, colour: &'static str, about: Option<String> },
    /// A thin vertical line.
    Line { x: f64, from: f64, to: f64, colour: &'static str },
    /// Words on a base line.
    Words { x: f64, y: f64, anchor: Anchor, colour: &'static str, text: String, large: bool },
}

/// A picture on white.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Later ones are drawn over earlier ones.
    pub(super) shapes: Vec<Shape>,
}

impl Picture {
    pub(super) fn to_svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            self.width, self.height
        );
        for shape in &self.shapes {
            let _ = match shape {
                Shape::Bar { x, y, width, height, colour, about } => {
                    let head = format!(
                        "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{colour}\""
                    );
                    match about {
                        Some(about) => writeln!(out, "{head}><title>{}</title></rect>", escape(about)),
                        None => writeln!(out, "{head}/>"),
                    }
                }
                Shape::Line { x, from, to, colour } => writeln!(
                    out,
                    "<line x1=\"{x:.1}\" y1=\"{from:.1}\" x2=\"{x:.1}\" y2=\"{to:.1}\" stroke=\"{colour}\" stroke-width=\"0.5\"/>"
                ),
                Shape::Words { x, y, anchor, colour, text, large } => {
                    let anchor = match anchor {
                        Anchor::Start => "",
                        Anchor::Middle => " text-anchor=\"middle\"",
                        Anchor::End => " text-anchor=\"end\"",
                    };
                    let size = if *large { " font-size=\"16\"" } else { "" };
                    let text = escape(text);
                    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor}{size} fill=\"{colour}\">{text}</text>")
                }
            };
        }
        out + "</svg>\n"
    }
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
