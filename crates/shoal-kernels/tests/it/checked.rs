//! Every kernel of the library under exploration: no race, no deadlock, all outputs written, in many worlds, sizes and
//! sequences of launches; and every piece of synchronisation of the collectives is needed, or its line says why not.
//!
//! Each has a share that runs always, and the whole, which is for a release:
//! `cargo nextest run -p shoal-kernels --run-ignored all -E 'test(checked::)'`, or `shoal check --library`.

use shoal::check::{CheckOptions, Mutants, Mutated, Values, check, mutate, speed, sweep};
use shoal_kernels::{Source, harness};

/// Files whose kernels run on several ranks that meet.
const COLLECTIVES: [Source; 8] = [
    Source::AllGather,
    Source::AllReduce,
    Source::AllReduceRmsNorm,
    Source::AllToAll,
    Source::Broadcast,
    Source::Puts,
    Source::ReduceScatter,
    Source::GemmRanks,
];

#[test]
fn every_kernel_is_clean() {
    every_kernel_is_clean_in(&[2, 3, 4], 24);
}

#[test]
#[ignore = "takes minutes: for a release"]
fn every_kernel_is_clean_in_many_schedules() {
    every_kernel_is_clean_in(&[2, 3, 4], 200);
}

fn every_kernel_is_clean_in(worlds: &[usize], schedules: usize) {
    for source in Source::ALL {
        let module = harness::module(source).expect("it parses");
        for harness in module.harnesses() {
            for &ranks in worlds {
                let options = CheckOptions { ranks, schedules, ..CheckOptions::default() };
                let verdict = check(&module, &harness.name, &options)
                    .unwrap_or_else(|error| panic!("{}:{}: {error}", source.file(), harness.name));
                assert!(verdict.is_clean(), "{}:{}:\n{verdict}", source.file(), harness.name);
                assert!(verdict.outcome().schedules == schedules || verdict.outcome().exhaustive);
            }
        }
    }
}

/// Functions of a file that no harness launches are called by others of the file.
#[test]
fn every_kernel_has_a_harness() {
    for source in Source::ALL {
        let module = harness::module(source).expect("it parses");
        let launched: Vec<String> = module.harnesses().into_iter().flat_map(|harness| harness.kernels).collect();
        assert!(!launched.is_empty(), "{}", source.file());
        for kernel in module.kernels().iter().filter(|kernel| !launched.contains(kernel)) {
            let pieces: Vec<&str> = source.text().split(&format!("{kernel}(")).collect();
            let called = pieces[..pieces.len() - 1].iter().any(|before| !before.ends_with("def "));
            assert!(called, "{}: no harness launches `{kernel}`, and nothing calls it", source.file());
        }
    }
}

#[test]
fn collectives_are_clean_in_any_world_and_size() {
    collectives_are_clean_in(&[1, 2, 5], 2, 1);
}

#[test]
#[ignore = "takes minutes: for a release"]
fn collectives_are_clean_in_all_worlds_up_to_nine() {
    collectives_are_clean_in(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 8, 3);
}

/// Sizes from nothing over one element to tails, ragged splits, and launches on what earlier ones left.
fn collectives_are_clean_in(worlds: &[usize], schedules: usize, launches: usize) {
    for source in COLLECTIVES {
        let module = harness::module(source).expect("it parses");
        for harness in module.harnesses() {
            let swept = |name: &str| harness.params.iter().any(|param| param == name);
            let mut settings = Vec::new();
            if swept("n") {
                settings.push(("n".to_owned(), Values::Range(0, 40)));
            } else if swept("case") {
                settings.push(("case".to_owned(), Values::Range(0, 20)));
            } else if swept("rows") {
                settings.push(("rows".to_owned(), Values::Range(0, 7)));
            }
            let options = CheckOptions { schedules, launches, ..CheckOptions::default() };
            let swept = sweep(&module, &harness.name, worlds, &settings, &options, &mut ())
                .unwrap_or_else(|error| panic!("{}:{}: {error}", source.file(), harness.name));
            assert!(swept.verdict.is_clean(), "{}:{}:\n{}", source.file(), harness.name, swept.verdict);
        }
    }
}

#[test]
fn a_weaker_all_reduce_is_found() {
    mutants_are_found_or_explained(&[Source::AllReduce], &["check_one_shot_all_reduce"], 16);
}

#[test]
#[ignore = "takes minutes: for a release"]
fn weaker_collectives_are_found() {
    let mutants = mutants_are_found_or_explained(&COLLECTIVES, &[], 60);
    assert!(mutants.all().len() >= 40, "{} mutants", mutants.all().len());
}

/// Mutants of these harnesses, or of all where none is named.
fn mutants_are_found_or_explained(sources: &[Source], named: &[&str], schedules: usize) -> Mutants {
    let options = CheckOptions { schedules, ..CheckOptions::default() };
    let mut mutants = Mutants::default();
    for &source in sources {
        let module = harness::module(source).expect("it parses");
        for harness in module.harnesses() {
            if named.is_empty() || named.contains(&harness.name.as_str()) {
                let mutated = Mutated { harness: &harness.name, kernel: None };
                mutate(&mut mutants, &module, mutated, (&[3, 2], &options), &mut ()).expect("they run");
            }
        }
    }
    let unexplained: Vec<_> = mutants.unexplained().collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert!(mutants.all().len() >= 8, "{:#?}", mutants.all());
    mutants
}

/// What following accesses costs against the plain interpreter, in processor time.
#[test]
#[ignore = "measures: for a release"]
fn following_accesses_costs_at_most_five_times_as_much() {
    let cases = [
        (Source::AllReduce, "check_two_shot_all_reduce_in_place"),
        (Source::GemmRanks, "check_gemm_reduce_scatter"),
        (Source::GemmRanks, "check_all_gather_matmul"),
        (Source::GemmRanks, "check_copied_all_gather_matmul"),
    ];
    for (source, harness) in cases {
        let module = harness::module(source).expect("it parses");
        let options = CheckOptions { ranks: 4, schedules: 20, ..CheckOptions::default() };
        let speed = speed(&module, harness, &options, 5).expect("it runs");
        let times = speed.checked.as_secs_f64() / speed.plain.as_secs_f64();
        let (schedules, accesses) = (speed.schedules as f64, speed.accesses as f64 / 1e6);
        let seconds = speed.checked.as_secs_f64();
        println!(
            "{harness}: {times:.2} times, {:.0} schedules/s, {:.1} M accesses/s",
            schedules / seconds,
            accesses / seconds
        );
        assert!(times <= 5.0, "{harness}: {times:.2} times");
    }
}
