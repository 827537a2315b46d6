//! Every kernel of the library under exploration: no race, no deadlock, all outputs written.

use shoal::check::{CheckOptions, check, mutate};
use shoal_kernels::{Source, harness};

#[test]
fn every_kernel_is_clean() {
    every_kernel_is_clean_in(20);
}

#[test]
#[ignore = "takes minutes: for a release"]
fn every_kernel_is_clean_in_many_schedules() {
    every_kernel_is_clean_in(200);
}

fn every_kernel_is_clean_in(schedules: usize) {
    for source in Source::ALL {
        let module = harness::module(source).expect("it parses");
        for harness in module.harnesses() {
            for ranks in [2, 3, 4] {
                let options = CheckOptions { ranks, schedules, ..CheckOptions::default() };
                let verdict = check(&module, &harness.name, &options)
                    .unwrap_or_else(|error| panic!("{}:{}: {error}", source.file(), harness.name));
                assert!(verdict.is_clean(), "{}:{}:\n{verdict}", source.file(), harness.name);
                assert!(verdict.outcome().schedules == schedules || verdict.outcome().exhaustive);
            }
        }
    }
}

#[test]
fn every_kernel_has_a_harness() {
    for source in Source::ALL {
        let module = harness::module(source).expect("it parses");
        let launched: Vec<String> = module.harnesses().into_iter().flat_map(|harness| harness.kernels).collect();
        assert!(!launched.is_empty(), "{}", source.file());
    }
}

/// What a mutant survives by, and why that is right.
#[test]
fn a_weaker_all_reduce_is_found() {
    let module = harness::module(Source::AllReduce).expect("it parses");
    let options = CheckOptions { ranks: 3, schedules: 60, ..CheckOptions::default() };
    let mutants = mutate(&module, "check_one_shot_all_reduce", &options, &mut ()).expect("they run");
    assert!(mutants.len() >= 8, "{mutants:?}");
    let survivors: Vec<_> = mutants.iter().filter(|mutant| mutant.killed_by.is_none()).collect();
    // A program has one thread here, so its barriers can go.
    let explained = |change: &str| change.starts_with("barrier");
    assert!(survivors.iter().all(|mutant| explained(&mutant.change)), "{survivors:#?}");
}
