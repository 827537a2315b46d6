//! Sweeps: one harness in many worlds and sizes, and the smallest case in which something is wrong.
//!
//! That the harness is clean for all of them is a property; a case that breaks it is shrunk: fewer ranks, fewer launches,
//! the first values that still show it.

use super::shrink::{Shrinkable, Size, below, sizes};
use super::{CheckOptions, HarnessValue, Verdict, Watcher, explored, file_harness};
use crate::{Error, Module};

/// The values of a parameter of a harness that are tried.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Each of these, in all combinations with those of other parameters.
    Each(Vec<HarnessValue>),
    /// Some of the integers from the first to the last: both ends, their neighbours, and others at random.
    Range(i128, i128),
}

/// Values that a parameter of a harness takes in turn.
pub type Setting = (String, Values);

/// What came of a sweep.
#[derive(Debug)]
pub struct Sweep {
    /// The last verdict: of the first case that is not clean, or of the last case.
    pub verdict: Verdict,
    /// Cases checked.
    pub checked: usize,
}

/// Numbers of a range that are picked at random.
const PICKED: u64 = 4;

/// Checks a harness in every world of `ranks` and with every combination of the settings, until one is not clean.
///
/// # Errors
/// As [`check`](super::check).
pub fn sweep(
    module: &Module,
    harness: &str,
    ranks: &[usize],
    settings: &[Setting],
    options: &CheckOptions,
    watcher: &mut dyn Watcher,
) -> Result<Sweep, Error> {
    let mut combinations = vec![options.params.clone()];
    for (at, (name, values)) in settings.iter().enumerate() {
        let tried = values.tried(options.seed.wrapping_add(at as u64));
        let with = |params: &Vec<(String, HarnessValue)>, value: &HarnessValue| {
            let mut params = params.clone();
            params.push((name.clone(), value.clone()));
            params
        };
        combinations = combinations.iter().flat_map(|params| tried.iter().map(move |v| with(params, v))).collect();
    }
    let mut checked = 0;
    let mut last = None;
    for &ranks in ranks {
        for params in &combinations {
            let options = CheckOptions { ranks, params: params.clone(), ..options.clone() };
            let mut free = sizes(module, harness, &options);
            free.extend(settings.iter().filter_map(|setting| simpler(setting, params)));
            let mut record = |options: &CheckOptions| file_harness::record(module, harness, options);
            let verdict = explored(&mut Shrinkable { record: &mut record, sizes: free }, &options, watcher)?;
            checked += 1;
            if !verdict.is_clean() || watcher.is_interrupted() {
                return Ok(Sweep { verdict, checked });
            }
            last = Some(verdict);
        }
    }
    let verdict = last
        .ok_or_else(|| Error::Text("a sweep needs at least one world size and one value for each parameter".into()))?;
    Ok(Sweep { verdict, checked })
}

/// The values of a swept parameter that come before the one it has.
fn simpler((name, values): &Setting, params: &[(String, HarnessValue)]) -> Option<Size> {
    let (_, has) = params.iter().find(|(given, _)| given == name)?;
    let before = match (values, has) {
        (Values::Each(values), has) => values.iter().take_while(|value| *value != has).cloned().collect(),
        (Values::Range(low, _), HarnessValue::Int(n)) => below(*low, *n),
        (Values::Range(..), _) => Vec::new(),
    };
    Some((name.clone(), before))
}

impl Values {
    fn tried(&self, seed: u64) -> Vec<HarnessValue> {
        let (low, high) = match self {
            Values::Each(values) => return values.clone(),
            Values::Range(low, high) => (*low, *high),
        };
        let span = high.saturating_sub(low).max(0);
        let mut state = seed;
        let mut picked = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            low + i128::from(state >> 33) % (span + 1)
        };
        let mut numbers = vec![low, low.saturating_add(1), high.saturating_sub(1), high];
        numbers.extend((0..PICKED).map(|_| picked()));
        numbers.retain(|n| (low..=high).contains(n));
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(HarnessValue::Int).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i128]) -> Vec<HarnessValue> {
        values.iter().copied().map(HarnessValue::Int).collect()
    }

    #[test]
    fn ranges_have_their_ends_and_others() {
        let tried = Values::Range(0, 1000).tried(1);
        for end in ints(&[0, 1, 999, 1000]) {
            assert!(tried.contains(&end), "{tried:?}");
        }
        assert!(tried.len() > 4 && tried.len() <= 8, "{tried:?}");
        assert_eq!(Values::Range(3, 3).tried(9), ints(&[3]));
        assert_eq!(Values::Range(3, 2).tried(9), ints(&[]));
    }

    #[test]
    fn simpler_values_come_before() {
        let has = |n| vec![("n".to_owned(), HarnessValue::Int(n))];
        let setting = ("n".to_owned(), Values::Range(2, 100));
        assert_eq!(simpler(&setting, &has(9)), Some(("n".into(), ints(&[2, 3, 4, 6]))));
        let setting = ("n".to_owned(), Values::Each(ints(&[7, 1, 5])));
        assert_eq!(simpler(&setting, &has(5)), Some(("n".into(), ints(&[7, 1]))));
    }
}
