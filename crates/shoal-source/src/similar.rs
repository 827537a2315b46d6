//! "Did you mean …?"

/// The candidate that `name` was probably meant to be: the same but for case and underscores, or for a slip or two of
/// the keyboard. Short names have little room for slips, so that nothing unlike is ever suggested.
#[must_use]
pub fn similar<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(name);
    candidates
        .filter(|candidate| *candidate != name && !candidate.is_empty())
        .filter_map(|candidate| {
            let letters = folded(candidate);
            let limit = match letters.len().min(wanted.len()) {
                0..=2 => 0,
                3..=5 => 1,
                _ => 2,
            };
            Some((edits(&wanted, &letters), candidate)).filter(|(edits, _)| *edits <= limit)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// A name's letters, without what people mix up. Names longer than any real one are cut.
fn folded(name: &str) -> Vec<char> {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).take(64).collect()
}

/// How many letters must be added, removed, changed or swapped with their neighbour to make one name of the other.
fn edits(a: &[char], b: &[char]) -> usize {
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
    use super::similar;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["arange", "load", "store", "program_id", "BLOCK", "rand", "num_warps", "sum"];
        let near = |n| similar(n, names.iter().copied());
        assert_eq!(near("arrange"), Some("arange"));
        assert_eq!(near("laod"), Some("load"));
        assert_eq!(near("block"), Some("BLOCK"));
        assert_eq!(near("BLOKC"), Some("BLOCK"));
        assert_eq!(near("numWarps"), Some("num_warps"));
        assert_eq!(near("programid"), Some("program_id"));
        for stranger in ["softmax", "x", "tanh", "add", "max", "storage", ""] {
            assert_eq!(near(stranger), None, "{stranger}");
        }
        assert_eq!(similar("f", ["k"].into_iter()), None, "one letter is no slip of another");
        assert_eq!(similar("é", ["É"].into_iter()), Some("É"));
    }
}
