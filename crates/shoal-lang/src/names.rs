//! "Did you mean …?"

/// The candidate closest to `name`, if one is close enough to be a slip of the pen.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=1 => 0,
        2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .filter(|c| *c != name && !c.is_empty())
        .map(|c| (distance(name, c), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(2))
        .min()
        .map(|(_, c)| c)
}

/// Edits (insert, delete, replace, swap neighbours) between two names; a change of case only costs nothing.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["arange", "load", "store", "program_id", "BLOCK"];
        let near = |n| nearest(n, names.iter().copied());
        assert_eq!(near("arrange"), Some("arange"));
        assert_eq!(near("laod"), Some("load"));
        assert_eq!(near("block"), Some("BLOCK"));
        assert_eq!(near("softmax"), None);
        assert_eq!(near("x"), None);
        assert_eq!(nearest("f", ["k"].into_iter()), None, "one letter is no slip of another");
    }
}
