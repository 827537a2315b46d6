//! Races and deadlocks between ranks, found by exploration.

use shoal_interp::check::{Cause, Unordered};
use shoal_interp::explore::{Buffer, Finding, Initial, Outcome, Scenario, Settings, explore, replay};
use shoal_interp::{Address, Arg, Heap, HostAction, RankLaunch};
use shoal_ir::Module;

use crate::support::module;

const HEAP: u64 = 64;

/// Where the heap of a rank is: a flag, a word of 32 bits at 8, and one at 16.
fn heap(rank: usize) -> Heap {
    Heap { base: Address(0x1000 * (rank as u64 + 1)), bytes: HEAP }
}

/// Launches kernel `k`, with the flag and the word at 8, on every rank, so many times.
fn scenario<'a>(module: &'a Module, args: &'a [[Arg; 2]], grid: u32, launches: usize) -> Scenario<'a> {
    let ranks = args.len();
    let launch = |rank: usize| RankLaunch {
        module,
        kernel: "k",
        grid: [grid, 1, 1],
        args: &args[rank],
        heap: Some(heap(rank)),
        room: None,
    };
    let buffer = |rank: usize| Buffer {
        address: heap(rank).base,
        contents: vec![0; HEAP as usize],
        name: format!("heap {rank}"),
        initial: Initial::Written,
    };
    Scenario {
        heaps: (0..ranks).map(heap).collect(),
        buffers: (0..ranks).map(buffer).collect(),
        hosts: (0..ranks).map(|rank| vec![HostAction::Launch(launch(rank)); launches]).collect(),
        outputs: Vec::new(),
        expected: Vec::new(),
    }
}

fn args(ranks: usize) -> Vec<[Arg; 2]> {
    let at = |rank, offset| Arg::Pointer(heap(rank).base.offset(offset));
    (0..ranks).map(|rank| [at(rank, 0), at(rank, 8)]).collect()
}

fn explored(text: &str, ranks: usize, grid: u32, launches: usize) -> Outcome {
    let (module, args) = (module(text), args(ranks));
    let settings = Settings { schedules: 40, max_steps: 100_000, ..Settings::default() };
    let scenario = scenario(&module, &args, grid, launches);
    let outcome = explore(&scenario, &settings, &mut ()).expect("it can be run");
    for found in &outcome.found {
        let (again, turns) = replay(&scenario, &settings, &found.schedule, &mut ()).expect("it can be run");
        assert!(!turns.is_empty(), "somebody moved");
        assert!(again.contains(&found.finding), "{} does not come again: {again:?}", found.finding);
    }
    outcome
}

/// Rank 0 writes a word to rank 1 and then sets its flag; rank 1 waits for the flag and reads the word.
fn message(write: &str, read: &str) -> String {
    format!(
        "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {{
  %zero = const {{value = 0}} () : i32
  %one = const {{value = 1}} () : i32
  %signal = const {{value = 1}} () : i64
  %r = rank () : i32
  %first = cmp {{is = eq}} (%r, %zero) : i1
  if (%first) do {{
    %there = symm_at (%x, %one) : ptr<i32>
    store (%there, %one)
    %far = symm_at (%flag, %one) : ptr<i64>
    {write}
    yield ()
  }} do {{
    {read}
    %v = load (%x) : i32
    yield ()
  }}
  return ()
}}"
    )
}

const RELEASE: &str = "atomic_store {sem = release, scope = sys} (%far, %signal)";
const ACQUIRE: &str = "%ok = atomic_poll {sem = acquire, scope = sys} (%flag, %signal) : i1";

#[test]
fn a_flag_that_orders_is_clean() {
    let outcome = explored(&message(RELEASE, ACQUIRE), 2, 1, 1);
    assert_eq!(outcome.found, []);
    assert!(outcome.exhaustive, "two programs have few schedules");
}

#[test]
fn what_a_flag_lacks_is_told() {
    let weak = [
        (RELEASE.replace("release", "relaxed"), ACQUIRE.to_owned(), Unordered::WriteOrder),
        (RELEASE.to_owned(), ACQUIRE.replace("acquire", "relaxed"), Unordered::ReadOrder),
    ];
    for (write, read, lacks) in weak {
        let outcome = explored(&message(&write, &read), 2, 1, 1);
        let [found] = &outcome.found[..] else { panic!("{:?}", outcome.found) };
        let Finding::Race(race) = &found.finding else { panic!("{:?}", found) };
        assert!(matches!(&race.cause, Cause::Flag { missing, .. } if *missing == lacks), "{race}");
        assert_eq!(found.schedule.to_string(), "rr");
    }
    let narrow = explored(&message(&RELEASE.replace("sys", "gpu"), ACQUIRE), 2, 1, 1);
    let races = narrow.found.iter().filter(|found| matches!(found.finding, Finding::Race(_))).count();
    assert_eq!(races, 2, "the flag itself, and the data behind it: {:?}", narrow.found);
}

#[test]
fn a_chain_of_read_modify_writes_carries_the_release() {
    let bump = "atomic_rmw {op = add, sem = relaxed, scope = sys} (%flag, %signal) : i64";
    let two = ACQUIRE.replace("(%flag, %signal)", "(%flag, %two)").replace("%ok", "%ok2");
    let first = ACQUIRE.replace("acquire", "relaxed");
    let text = message(RELEASE, &format!("{first}\n%two = add (%signal, %signal) : i64\n%old = {bump}\n{two}"));
    assert_eq!(explored(&text, 2, 1, 1).found, []);
}

#[test]
fn launches_of_one_rank_are_ordered_and_of_two_are_not() {
    let text = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
      %one = const {value = 1} () : i32
      store (%x, %one)
      return ()
    }";
    assert_eq!(explored(text, 2, 1, 3).found, []);
    let text = text.replace("store (%x, %one)", "%y = symm_at (%x, %one) : ptr<i32>\nstore (%y, %one)");
    let outcome = explored(&text, 2, 1, 1);
    assert!(matches!(&outcome.found[..], [found] if found.finding.kind() == "race"), "{:?}", outcome.found);
}

#[test]
fn programs_that_never_synchronise_are_checked_too() {
    let text = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
      %one = const {value = 1} () : i32
      store (%x, %one)
      return ()
    }";
    let outcome = explored(text, 1, 2, 1);
    let [found] = &outcome.found[..] else { panic!("{:?}", outcome.found) };
    assert!(found.finding.to_string().contains("program (0, 0, 0) writes"), "{}", found.finding);
}

#[test]
fn a_deadlock_tells_who_wrote_the_flag_last() {
    let text = message(
        &RELEASE.replace("%signal)", "%nine)").replace("atomic", "%nine = const {value = 9} () : i64\natomic"),
        ACQUIRE,
    );
    let outcome = explored(&text, 2, 1, 1);
    let [found] = &outcome.found[..] else { panic!("{:?}", outcome.found) };
    let text = found.finding.to_string();
    assert!(
        text.contains("rank 1, program (0, 0, 0) waits for 1 at 0x2000, which holds 9 (byte 0 of heap 1)"),
        "{text}"
    );
    assert!(text.contains("rank 0, program (0, 0, 0) wrote it last"), "{text}");
}
