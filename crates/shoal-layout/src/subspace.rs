//! Subspaces of F2ⁿ, given by vectors that span them.

use crate::elimination::Echelon;

/// Those of the candidates, in order, that are independent of `of` and of each other.
pub(crate) fn extension(of: &[u64], candidates: &[u64]) -> Vec<u64> {
    let mut echelon = Echelon::of(independent(of));
    candidates.iter().copied().filter(|&candidate| echelon.extend_by(candidate)).collect()
}

/// A basis of what the vectors span, out of the vectors themselves.
pub(crate) fn independent(vectors: &[u64]) -> Vec<u64> {
    let mut echelon = Echelon::default();
    vectors.iter().copied().filter(|&vector| echelon.extend_by(vector)).collect()
}

/// A basis of what both span.
pub(crate) fn intersection(a: &[u64], b: &[u64]) -> Vec<u64> {
    let a = independent(a);
    let b = independent(b);
    let mut echelon = Echelon::of(a.iter().copied());
    let mut kept: Vec<u64> = Vec::new();
    let mut common = Vec::new();
    for vector in b {
        // A sum of vectors of both is zero: its part out of `b` is also a sum of vectors of `a`.
        if let Some(sum) = echelon.solve(vector) {
            let own = kept.iter().enumerate().filter(|(at, _)| sum >> (a.len() + at) & 1 == 1);
            common.push(own.fold(vector, |total, (_, other)| total ^ other));
        } else {
            echelon.push(vector);
            kept.push(vector);
        }
    }
    common
}

/// Vectors that span a space with nothing in common with either of two subspaces of `whole`, as large as there is.
///
/// What lies outside both is free. Beyond that, vectors of the one that the other does not have are paired: their sum
/// is in neither.
pub(crate) fn avoiding(whole: &[u64], a: &[u64], b: &[u64]) -> Vec<u64> {
    let both = intersection(a, b);
    let (only_a, only_b) = (extension(&both, a), extension(&both, b));
    let occupied: Vec<u64> = both.iter().chain(&only_a).chain(&only_b).copied().collect();
    let mut free = extension(&occupied, whole);
    free.extend(only_a.iter().zip(&only_b).map(|(a, b)| a ^ b));
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_meet_in_a_line() {
        let common = intersection(&[0b001, 0b010], &[0b111, 0b100]);
        assert_eq!(common, [0b011]);
        assert!(intersection(&[0b001], &[0b010]).is_empty());
        assert_eq!(intersection(&[0b01, 0b10], &[0b11, 0b01]).len(), 2);
    }

    #[test]
    fn what_avoids_both_is_as_large_as_can_be() {
        let whole = [1, 2, 4, 8, 16, 32];
        let (a, b) = ([1, 2, 4], [4, 8, 16]);
        let free = avoiding(&whole, &a, &b);
        assert_eq!(free.len(), 3);
        for side in [a, b] {
            assert!(intersection(&free, &side).is_empty());
        }
    }
}
