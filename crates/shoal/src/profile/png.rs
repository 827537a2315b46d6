//! Pictures as PNG: every shape in pixels, twice as fine as the picture says, in at most 16 colours.
//!
//! Rows repeat a few colours in runs, so the compressed form only says how long each run is; no library is needed for it.

use super::font;
use super::picture::{Anchor, Picture, Shape};

/// Pixels for each pixel of the picture.
const FINE: usize = 2;

impl Picture {
    /// The picture as a PNG file.
    pub(super) fn to_png(&self) -> Vec<u8> {
        let mut canvas = Canvas::new(pixels(self.width), pixels(self.height));
        self.shapes.iter().for_each(|shape| canvas.draw(shape));
        canvas.to_png()
    }
}

fn pixels(length: f64) -> usize {
    (length * FINE as f64).round().max(0.0) as usize
}

struct Canvas {
    width: usize,
    height: usize,
    /// Colours by number.
    palette: Vec<[u8; 3]>,
    /// The number of each pixel's colour.
    dots: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Canvas {
        let (width, height) = (width.max(1), height.max(1));
        Canvas { width, height, palette: vec![[255; 3]], dots: vec![0; width * height] }
    }

    /// The number of a colour; where there are too many, the last one's.
    fn colour(&mut self, name: &str) -> u8 {
        let part = |at: usize| name.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
        let colour = [part(1), part(3), part(5)];
        let known = self.palette.iter().position(|&other| other == colour);
        let number = known.unwrap_or_else(|| {
            if self.palette.len() < 16 {
                self.palette.push(colour);
            }
            self.palette.len() - 1
        });
        u8::try_from(number).unwrap_or(15)
    }

    fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: u8) {
        for row in y..(y + height).min(self.height) {
            let end = (x + width).min(self.width);
            if x < end {
                self.dots[row * self.width + x..row * self.width + end].fill(colour);
            }
        }
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Bar { x, y, width, height, colour, .. } => {
                let colour = self.colour(colour);
                let (left, right) = (pixels(*x), pixels(x + width));
                self.fill(left, pixels(*y), (right - left).max(1), pixels(*height).max(1), colour);
            }
            Shape::Line { x, from, to, colour } => {
                let colour = self.colour(colour);
                self.fill(pixels(*x), pixels(*from), 1, pixels(to - from), colour);
            }
            Shape::Words { x, y, anchor, colour, text, large } => {
                let colour = self.colour(colour);
                let dot = if *large { FINE + 1 } else { FINE };
                let length = text.chars().count() * font::WIDTH * dot;
                let left = match anchor {
                    Anchor::Start => pixels(*x),
                    Anchor::Middle => pixels(*x).saturating_sub(length / 2),
                    Anchor::End => pixels(*x).saturating_sub(length),
                };
                let top = pixels(*y).saturating_sub(font::HEIGHT * dot);
                for (at, letter) in text.chars().enumerate() {
                    self.letter(left + at * font::WIDTH * dot, top, dot, letter, colour);
                }
            }
        }
    }

    fn letter(&mut self, left: usize, top: usize, dot: usize, letter: char, colour: u8) {
        for (column, bits) in font::columns(letter).into_iter().enumerate() {
            for row in (0..font::HEIGHT).filter(|row| bits >> row & 1 == 1) {
                self.fill(left + column * dot, top + row * dot, dot, dot, colour);
            }
        }
    }

    fn to_png(&self) -> Vec<u8> {
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes();
        // Four bits for each pixel, by number of a colour; no interlacing.
        chunk(&mut out, *b"IHDR", &[&size(self.width)[..], &size(self.height), &[4, 3, 0, 0, 0]].concat());
        chunk(&mut out, *b"PLTE", &self.palette.concat());
        let mut rows = Vec::new();
        for row in self.dots.chunks(self.width) {
            // The row as it is, not as a difference to others.
            rows.push(0);
            rows.extend(row.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)));
        }
        chunk(&mut out, *b"IDAT", &compressed(&rows));
        chunk(&mut out, *b"IEND", &[]);
        out
    }
}

fn chunk(out: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    out.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let checked = [&name[..], data].concat();
    out.extend(&checked);
    out.extend(crc(&checked).to_be_bytes());
}

/// The checksum of a chunk.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Bytes as zlib has them: one block with the codes that everybody knows, bytes that repeat as runs.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut bits = Bits { out: vec![0x78, 0x01], held: 0, count: 0 };
    bits.put(0b011, 3);
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take(1 + LONGEST_RUN).take_while(|&&byte| byte == bytes[at]).count();
        bits.literal(bytes[at]);
        at += 1;
        if run > SHORTEST_RUN {
            bits.run(run - 1);
            at += run - 1;
        }
    }
    // The end of the block.
    bits.put(0, 7);
    let (mut low, mut high) = (1u32, 0u32);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65521;
        high = (high + low) % 65521;
    }
    let mut out = bits.finish();
    out.extend((high << 16 | low).to_be_bytes());
    out
}

const SHORTEST_RUN: usize = 3;
const LONGEST_RUN: usize = 258;

/// The lengths of runs from which on a code stands, and the bits that follow it.
const LENGTHS: [(usize, u32); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

struct Bits {
    out: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    /// Lowest bit first.
    fn put(&mut self, value: u32, bits: u32) {
        self.held |= value << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.out.push((self.held & 0xff) as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// A code, whose highest bit comes first.
    fn code(&mut self, code: u32, bits: u32) {
        self.put(code.reverse_bits() >> (32 - bits), bits);
    }

    fn literal(&mut self, byte: u8) {
        match u32::from(byte) {
            low @ 0..=143 => self.code(0x30 + low, 8),
            high => self.code(0x190 + high - 144, 9),
        }
    }

    /// The byte before, so many times.
    fn run(&mut self, length: usize) {
        let at = LENGTHS.iter().rposition(|&(from, _)| from <= length).unwrap_or(0);
        let (from, extra) = LENGTHS[at];
        match u32::try_from(257 + at).unwrap_or(257) {
            symbol @ ..=279 => self.code(symbol - 256, 7),
            symbol => self.code(0xc0 + symbol - 280, 8),
        }
        self.put(u32::try_from(length - from).unwrap_or(0), extra);
        // One byte back.
        self.code(0, 5);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        assert_eq!(crc(b"IEND"), 0xae42_6082);
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn bytes_are_compressed_as_everybody_reads_them() {
        // What zlib makes of these with its fixed codes.
        assert_eq!(compressed(b""), [0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]);
        assert_eq!(compressed(b"a"), [0x78, 0x01, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00, 0x62]);
        // An `a`, then nine more of it.
        assert_eq!(compressed(&[b'a'; 10])[..5], [0x78, 0x01, 0x4b, 0x84, 0x03]);
    }

    #[test]
    fn shapes_become_pixels() {
        let bar = |x, width, colour| Shape::Bar { x, y: 1.0, width, height: 2.0, colour, about: None };
        let words =
            Shape::Words { x: 4.0, y: 9.0, anchor: Anchor::Start, colour: "#000000", text: "I".into(), large: false };
        let picture = Picture {
            width: 12.0,
            height: 10.0,
            shapes: vec![bar(1.0, 3.0, "#ff0000"), bar(8.0, 90.0, "#00ff00"), words],
        };
        let mut canvas = Canvas::new(24, 20);
        picture.shapes.iter().for_each(|shape| canvas.draw(shape));
        assert_eq!(canvas.palette, [[255; 3], [255, 0, 0], [0, 255, 0], [0; 3]]);
        assert_eq!(
            &canvas.dots[2 * 24..][..24],
            [0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2]
        );
        assert!(canvas.dots.contains(&3));
        let file = picture.to_png();
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x18\0\0\0\x14\x04\x03\0\0\0"));
        assert!(file.ends_with(b"IEND\xae\x42\x60\x82"));
    }
}
