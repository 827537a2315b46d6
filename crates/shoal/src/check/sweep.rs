//! Sweeps: one harness in many worlds and sizes, and the smallest in which something is wrong.

use super::{CheckOptions, HarnessValue, Verdict, Watcher, check_watched};
use crate::{Error, Module};

/// Values that a parameter of a harness takes in turn.
pub type Setting = (String, Vec<HarnessValue>);

/// Checks a harness in every world of `ranks` and with every combination of the settings, the smallest first. Gives the
/// options and the verdict of the first that is not clean, or of the last; the number of combinations checked.
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
) -> Result<(CheckOptions, Verdict, usize), Error> {
    let mut combinations = vec![options.params.clone()];
    for (name, values) in settings {
        let with = |params: &Vec<(String, HarnessValue)>, value: &HarnessValue| {
            let mut params = params.clone();
            params.push((name.clone(), value.clone()));
            params
        };
        combinations = combinations.iter().flat_map(|params| values.iter().map(move |v| with(params, v))).collect();
    }
    let mut last = None;
    let mut checked = 0;
    for &ranks in ranks {
        for params in &combinations {
            let options = CheckOptions { ranks, params: params.clone(), ..options.clone() };
            let verdict = check_watched(module, harness, &options, watcher)?;
            checked += 1;
            let clean = verdict.is_clean();
            last = Some((options, verdict));
            if !clean || watcher.is_interrupted() {
                return last.map(|(o, v)| (o, v, checked)).ok_or_else(nothing);
            }
        }
    }
    last.map(|(options, verdict)| (options, verdict, checked)).ok_or_else(nothing)
}

fn nothing() -> Error {
    Error::Text("a sweep needs at least one world size and one value for each parameter".into())
}
