//! What `oshrun --tag-output` prints, as lines of ranks. It puts a tag before each piece that a rank has written, not before
//! each line: on a busy machine, pieces of one line come apart, and those of other ranks in between.

use std::collections::BTreeMap;

/// The lines of one of its two outputs.
#[derive(Debug, Default)]
pub(super) struct TaggedLines {
    /// What ranks have written since their last whole line.
    begun: BTreeMap<usize, Vec<u8>>,
    /// Whose the rest of a long line is.
    cut: Option<usize>,
}

/// A line, and whose it is; `None`: of `oshrun` itself.
pub(super) type Line = (Option<usize>, Vec<u8>);

impl TaggedLines {
    /// The lines that end with a line of the output, or with a piece of a long one.
    pub(super) fn after(&mut self, line: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let (mut of, mut rest) = (self.cut.take(), line);
        loop {
            let next = next_tag(rest);
            let piece = &rest[..next.as_ref().map_or(rest.len(), |tag| tag.begin)];
            match of {
                Some(rank) => {
                    let begun = self.begun.entry(rank).or_default();
                    begun.extend_from_slice(piece);
                    if piece.ends_with(b"\n") {
                        lines.extend(self.begun.remove(&rank).map(|whole| (Some(rank), whole)));
                    }
                }
                None if piece.is_empty() => {}
                None => lines.push((None, ended(piece.to_vec()))),
            }
            let Some(tag) = next else {
                self.cut = of.filter(|_| !line.ends_with(b"\n"));
                return lines;
            };
            (of, rest) = (Some(tag.rank), &rest[tag.end..]);
        }
    }

    /// The last lines, which have no end.
    pub(super) fn rest(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.begun).into_iter().map(|(rank, line)| (Some(rank), ended(line))).collect()
    }
}

fn ended(mut line: Vec<u8>) -> Vec<u8> {
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    line
}

/// `[1,3]<stdout>:`, where it is and of which rank.
struct Tag {
    begin: usize,
    end: usize,
    rank: usize,
}

fn next_tag(text: &[u8]) -> Option<Tag> {
    const BEGIN: &[u8] = b"[1,";
    let tag_at = |begin: usize| {
        let number = text[begin..].strip_prefix(BEGIN)?;
        let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let stream = &number[digits..];
        let is_tag = stream.starts_with(b"]<stdout>:") || stream.starts_with(b"]<stderr>:");
        let rank = std::str::from_utf8(&number[..digits]).ok()?.parse().ok().filter(|_| is_tag)?;
        Some(Tag { begin, end: begin + BEGIN.len() + digits + b"]<stdout>:".len(), rank })
    };
    (0..text.len()).filter(|&at| text[at] == b'[').find_map(tag_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: Vec<Line>) -> Vec<(Option<usize>, String)> {
        lines.into_iter().map(|(rank, line)| (rank, String::from_utf8(line).unwrap())).collect()
    }

    #[test]
    fn whole_lines_are_those_of_their_rank() {
        let mut lines = TaggedLines::default();
        assert_eq!(told(lines.after(b"[1,3]<stdout>:[hello]\n")), [(Some(3), "[hello]\n".to_owned())]);
        assert_eq!(told(lines.after(b"[1,12]<stderr>:\n")), [(Some(12), "\n".to_owned())]);
        assert_eq!(told(lines.after(b"oshrun noticed [1,x]\n")), [(None, "oshrun noticed [1,x]\n".to_owned())]);
        assert_eq!(lines.rest(), []);
    }

    #[test]
    fn long_lines_come_in_pieces() {
        let mut lines = TaggedLines::default();
        assert_eq!(lines.after(b"[1,3]<stdout>:a long "), []);
        assert_eq!(told(lines.after(b"line\n")), [(Some(3), "a long line\n".to_owned())]);
        assert_eq!(told(lines.after(b"oshrun's\n")), [(None, "oshrun's\n".to_owned())]);
    }

    #[test]
    fn pieces_of_ranks_are_put_together() {
        let mut lines = TaggedLines::default();
        let first = lines.after(b"[1,0]<stderr>:WorldError[1,0]<stderr>:: [1,2]<stderr>:Trace[1,0]<stderr>:late\n");
        assert_eq!(told(first), [(Some(0), "WorldError: late\n".to_owned())]);
        assert_eq!(told(lines.after(b"[1,2]<stderr>:back\n")), [(Some(2), "Traceback\n".to_owned())]);
        assert_eq!(told(lines.after(b"[1,1]<stderr>:no end[1,2]<stderr>:\n")), [(Some(2), "\n".to_owned())]);
        assert_eq!(told(lines.rest()), [(Some(1), "no end\n".to_owned())]);
    }
}
