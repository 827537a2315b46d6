//! Gaussian elimination over F2, on columns of up to 64 bits.

/// A matrix in echelon form: which columns are independent, and how to write a vector as a sum of those.
#[derive(Clone, Default)]
pub(crate) struct Echelon {
    rows: Vec<Row>,
    /// The number of columns so far.
    columns: u32,
    /// Bit `i` is set if column `i` is the sum of columns before it.
    dependent: u64,
}

/// A vector in the span of the columns.
#[derive(Clone)]
struct Row {
    vector: u64,
    /// The highest set bit of `vector`; no other row has it as its highest.
    pivot: u64,
    /// The columns whose sum it is.
    columns: u64,
}

impl Echelon {
    /// The echelon form of a matrix with these columns, 64 at most.
    pub(crate) fn of(columns: impl IntoIterator<Item = u64>) -> Self {
        let mut echelon = Self::default();
        for column in columns {
            echelon.push(column);
        }
        echelon
    }

    /// Adds one more column.
    pub(crate) fn push(&mut self, column: u64) {
        let own = 1 << self.columns;
        self.columns += 1;
        let (rest, used) = self.reduce(column);
        if rest == 0 {
            self.dependent |= own;
        } else {
            let pivot = 1 << rest.ilog2();
            let at = self.rows.partition_point(|row| row.pivot > pivot);
            self.rows.insert(at, Row { vector: rest, pivot, columns: used | own });
        }
    }

    /// Adds the column if it is no sum of the others, and says whether it did.
    pub(crate) fn extend_by(&mut self, column: u64) -> bool {
        let independent = !self.spans(column);
        if independent {
            self.push(column);
        }
        independent
    }

    /// Whether `vector` is a sum of columns.
    pub(crate) fn spans(&self, vector: u64) -> bool {
        self.reduce(vector).0 == 0
    }

    /// The dimension of the space that the columns span.
    pub(crate) fn rank(&self) -> usize {
        self.rows.len()
    }

    /// The columns that are sums of columns before them, as a mask.
    pub(crate) fn dependent_columns(&self) -> u64 {
        self.dependent
    }

    /// The columns whose sum is `vector`, as a mask over the independent ones; `None` if there is no such sum.
    pub(crate) fn solve(&self, vector: u64) -> Option<u64> {
        let (rest, used) = self.reduce(vector);
        (rest == 0).then_some(used)
    }

    /// What is left of `vector` after taking away columns, and which were taken. The rows stand with the highest pivot
    /// first, so each bit is settled when its row has been passed.
    fn reduce(&self, vector: u64) -> (u64, u64) {
        self.rows.iter().fold((vector, 0), |(rest, used), row| {
            if rest & row.pivot == 0 { (rest, used) } else { (rest ^ row.vector, used ^ row.columns) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_columns_are_found() {
        let echelon = Echelon::of([0b011, 0b110, 0b101, 0, 0b100]);
        assert_eq!(echelon.rank(), 3);
        assert_eq!(echelon.dependent_columns(), 0b01100);
    }

    #[test]
    fn solutions_use_independent_columns_only() {
        let columns = [0b011u64, 0b110, 0b101, 0b1000];
        let echelon = Echelon::of(columns);
        let solution = echelon.solve(0b1101).expect("it is in the span");
        let sum = (0..4).filter(|bit| solution >> bit & 1 == 1).fold(0, |sum, bit| sum ^ columns[bit]);
        assert_eq!(sum, 0b1101);
        assert_eq!(solution & echelon.dependent_columns(), 0);
        assert_eq!(echelon.solve(0b001), None);
        assert_eq!(echelon.solve(0), Some(0));
    }

    #[test]
    fn the_highest_bit_is_no_special_case() {
        let echelon = Echelon::of([1 << 63, 1 << 63 | 1]);
        assert_eq!(echelon.solve(1), Some(0b11));
    }
}
