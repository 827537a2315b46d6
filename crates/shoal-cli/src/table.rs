//! Tables for people.

use std::fmt;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table with a heading.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
            cells.chain([self.columns[at].0.chars().count()]).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(width).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let line = |f: &mut fmt::Formatter<'_>, cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, &width), (_, align)) in cells.zip(&widths).zip(&self.columns) {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                match align {
                    Align::Left => text += &format!("{cell}{padding}  "),
                    Align::Right => text += &format!("{padding}{cell}  "),
                }
            }
            writeln!(f, "{}", text.trim_end())
        };
        line(f, &mut self.columns.iter().map(|(name, _)| *name))?;
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        line(f, &mut rule.iter().map(String::as_str))?;
        for row in &self.rows {
            line(f, &mut row.iter().map(String::as_str))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("name", Align::Left), ("time", Align::Right)]);
        table.row(["a", "1.5 ms"]);
        table.row(["long name", "2 s"]);
        assert_eq!(table.to_string(), "name         time\n─────────  ──────\na          1.5 ms\nlong name     2 s\n");
    }
}
