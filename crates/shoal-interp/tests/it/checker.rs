//! Races and deadlocks between ranks, found by exploration.

use shoal_interp::check::{Cause, Unordered};
use shoal_interp::explore::{Buffer, Finding, Initial, Outcome, Scenario, Schedule, Settings, explore, replay};
use shoal_interp::{Address, Arg, Compare, Heap, HostAction, RankLaunch, StreamAction};
use shoal_ir::{Module, OpKind, Span};

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
        topologies: Vec::new(),
    }
}

fn args(ranks: usize) -> Vec<[Arg; 2]> {
    let at = |rank, offset| Arg::Pointer(heap(rank).base.offset(offset));
    (0..ranks).map(|rank| [at(rank, 0), at(rank, 8)]).collect()
}

fn explored(text: &str, ranks: usize, grid: u32, launches: usize) -> Outcome {
    explored_in(40, text, ranks, grid, launches)
}

fn explored_in(schedules: usize, text: &str, ranks: usize, grid: u32, launches: usize) -> Outcome {
    let (module, args) = (module(text), args(ranks));
    let settings = Settings { schedules, max_steps: 100_000, ..Settings::default() };
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
    let outcome = explored_in(200, &message(RELEASE, ACQUIRE), 2, 1, 1);
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
    assert!(text.contains("rank 1, program (0, 0, 0) waits for 1 in byte 0 of heap 1, which holds 9"), "{text}");
    assert!(text.contains("rank 0, program (0, 0, 0) wrote it last"), "{text}");
}

fn fence(sem: &str, scope: &str) -> String {
    format!("fence {{sem = {sem}, scope = {scope}}} ()")
}

/// A relaxed flag with these fences before the write and after the read.
fn fenced_message(before: &str, after: &str) -> String {
    let (write, read) = (RELEASE.replace("release", "relaxed"), ACQUIRE.replace("acquire", "relaxed"));
    message(&format!("{before}\n{write}"), &format!("{read}\n{after}"))
}

#[test]
fn fences_order_what_is_around_relaxed_accesses() {
    for (before, after) in [("release", "acquire"), ("acq_rel", "acq_rel")] {
        let text = fenced_message(&fence(before, "sys"), &fence(after, "sys"));
        assert_eq!(explored(&text, 2, 1, 1).found, [], "{before}, {after}");
    }
    // Of each pair one fence is too weak, or too narrow.
    let lacking = [
        (fence("acquire", "sys"), fence("acquire", "sys"), Unordered::WriteOrder),
        (fence("release", "sys"), fence("release", "sys"), Unordered::ReadOrder),
        (fence("release", "gpu"), fence("acquire", "sys"), Unordered::WriteFence),
        (fence("release", "sys"), fence("acquire", "gpu"), Unordered::ReadFence),
        (fence("relaxed", "sys"), fence("acquire", "sys"), Unordered::WriteOrder),
    ];
    for (before, after, lacks) in lacking {
        let outcome = explored(&fenced_message(&before, &after), 2, 1, 1);
        let [found] = &outcome.found[..] else { panic!("{before} {after}: {:?}", outcome.found) };
        let Finding::Race(race) = &found.finding else { panic!("{:?}", found) };
        assert!(matches!(&race.cause, Cause::Flag { missing, .. } if *missing == lacks), "{before} {after}: {race}");
    }
}

#[test]
fn a_fence_publishes_nothing_that_comes_after_it() {
    let late = "%two = add (%one, %one) : i32\nstore (%there, %two)";
    let text = fenced_message(&format!("{}\n{late}", fence("release", "sys")), &fence("acquire", "sys"));
    assert!(explored(&text, 2, 1, 1).found.iter().any(|found| found.finding.kind() == "race"));
}

/// What the host of one rank does, with the flag at 0 and words at 8 and 16 of its heap.
fn streams(actions: Vec<HostAction<'_>>) -> Outcome {
    let buffer = Buffer {
        address: heap(0).base,
        contents: vec![0; HEAP as usize],
        name: "heap".into(),
        initial: Initial::Written,
    };
    let scenario =
        Scenario { heaps: vec![heap(0)], buffers: vec![buffer], hosts: vec![actions], ..Scenario::default() };
    explore(&scenario, &Settings { schedules: 40, ..Settings::default() }, &mut ()).expect("it can be run")
}

fn on(stream: u32, action: StreamAction<'_>) -> HostAction<'_> {
    HostAction::On(stream, action, Span::NONE)
}

#[test]
fn streams_are_ordered_by_events_values_and_their_host() {
    let text = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
      %one = const {value = 1} () : i32
      store (%x, %one)
      return ()
    }";
    let (module, args) = (module(text), args(1));
    let launch =
        RankLaunch { module: &module, kernel: "k", grid: [1, 1, 1], args: &args[0], heap: Some(heap(0)), room: None };
    let at = |offset| heap(0).base.offset(offset);
    let copy = |stream| on(stream, StreamAction::Copy { to: at(16), from: at(8), bytes: 4 });
    let value = StreamAction::WriteValue { address: at(0), bytes: 8, value: 1 };
    let wait = StreamAction::WaitValue { address: at(0), bytes: 8, compare: Compare::GreaterOrEqual, value: 1 };
    let go = || HostAction::Launch(launch);

    let unordered = streams(vec![go(), copy(1)]);
    let [found] = &unordered.found[..] else { panic!("{:?}", unordered.found) };
    assert!(found.finding.to_string().contains("stream 1 of rank 0"), "{}", found.finding);

    assert_eq!(streams(vec![go(), copy(0)]).found, [], "one stream");
    assert_eq!(streams(vec![go(), HostAction::Synchronize(0), copy(1)]).found, [], "the host waited");
    let events = [on(0, StreamAction::Record(7)), on(1, StreamAction::Wait(7))];
    assert_eq!(streams([vec![go()], events.to_vec(), vec![copy(1)]].concat()).found, [], "an event");
    let values = vec![go(), on(0, value), on(1, wait.clone()), copy(1)];
    assert_eq!(streams(values).found, [], "a value");

    let never = streams(vec![on(1, wait)]);
    let [found] = &never.found[..] else { panic!("{:?}", never.found) };
    assert!(
        found.finding.to_string().contains("stream 1 of rank 0 waits until byte 0 of heap >= 1; it holds 0"),
        "{}",
        found.finding
    );
}

/// Lanes 0 to 31 of a program write a word each, and lane 0 reads that of lane 1.
fn lanes(barrier: &str) -> Outcome {
    let text = format!(
        "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {{
      %lane = iota {{start = 0}} () : tile<32xi32>
      %four = const {{value = 4}} () : tile<32xi32>
      %mine = cmp {{is = lt}} (%lane, %four) : tile<32xi1>
      %all = splat (%x) : tile<32xptr<i32>>
      %at = ptr_add (%all, %lane) : tile<32xptr<i32>>
      store (%at, %lane, %mine)
      {barrier}
      %one = const {{value = 1}} () : tile<32xi32>
      %next = ptr_add (%all, %one) : tile<32xptr<i32>>
      %zero = const {{value = 0}} () : tile<32xi32>
      %first = cmp {{is = eq}} (%lane, %zero) : tile<32xi1>
      %v = load (%next, %first) : tile<32xi32>
      return ()
    }}"
    );
    let mut module = module(&text);
    let func = &mut module.funcs[0];
    let accesses =
        func.walk().into_iter().filter(|&op| matches!(func.op(op).kind, OpKind::Load(_) | OpKind::Store { .. }));
    for op in accesses.collect::<Vec<_>>() {
        func.by_lanes.insert(op);
    }
    let args = args(1);
    let settings = Settings { schedules: 4, ..Settings::default() };
    explore(&scenario(&module, &args, 1, 1), &settings, &mut ()).expect("it can be run")
}

#[test]
fn lanes_are_ordered_by_barriers() {
    let outcome = lanes("");
    let [found] = &outcome.found[..] else { panic!("{:?}", outcome.found) };
    let text = found.finding.to_string();
    assert!(text.contains("lane 1 writes") && text.contains("lane 0 reads"), "{text}");
    assert!(matches!(&found.finding, Finding::Race(race) if race.cause == Cause::Lanes), "{text}");
    assert_eq!(lanes("barrier ()").found, []);
}

/// Program 1 writes only if it looks between the third and the fourth step of program 0.
#[test]
fn a_counter_example_has_as_few_switches_as_it_needs() {
    let step = |number: usize| {
        format!("%s{number} = atomic_rmw {{op = add, sem = relaxed, scope = gpu}} (%flag, %inc) : i64\n")
    };
    let steps: String = (0..6).map(step).collect();
    let text = format!(
        "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {{
  %zero = const {{value = 0}} () : i32
  %none = const {{value = 0}} () : i64
  %inc = const {{value = 1}} () : i64
  %three = const {{value = 3}} () : i64
  %p = program_id {{axis = 0}} () : i32
  %first = cmp {{is = eq}} (%p, %zero) : i1
  if (%first) do {{
    store (%x, %zero)
    {steps}
    yield ()
  }} do {{
    %seen = atomic_rmw {{op = add, sem = relaxed, scope = gpu}} (%flag, %none) : i64
    %now = cmp {{is = eq}} (%seen, %three) : i1
    if (%now) do {{
      store (%x, %zero)
      yield ()
    }} do {{
      yield ()
    }}
    yield ()
  }}
  return ()
}}"
    );
    let outcome = explored_in(200, &text, 1, 2, 1);
    let [found] = &outcome.found[..] else { panic!("{outcome:?}") };
    assert_eq!(found.finding.kind(), "race");
    assert!(found.times < outcome.schedules, "most schedules are harmless");
    let Schedule::Choices { choices, .. } = &found.schedule else { panic!("{}", found.schedule) };
    assert_eq!(choices.iter().filter(|&&choice| choice != 0).count(), 1, "{}", found.schedule);
}

/// However many threads explore, the outcome is that of one after the other.
#[test]
fn explorations_repeat() {
    let text = message(RELEASE, &ACQUIRE.replace("acquire", "relaxed"));
    let (first, second) = (explored(&text, 2, 1, 3), explored(&text, 2, 1, 3));
    assert_eq!((first.found, first.schedules, first.steps), (second.found, second.schedules, second.steps));
}

/// Looks at the flag until it is 1, and counts how often it did.
const COUNTING_SPIN: &str = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
    %zero = const {value = 0} () : i32
    %one = const {value = 1} () : i32
    %signal = const {value = 1} () : i64
    %pid = program_id {axis = 0} () : i32
    %first = cmp {is = eq} (%pid, %zero) : i1
    if (%first) do {
        store (%x, %one)
        atomic_store {sem = release, scope = gpu} (%flag, %signal)
        yield ()
    } do {
        %looks = while (%zero) : i32 do (%now: i32) {
            %seen = atomic_load {sem = acquire, scope = gpu} (%flag) : i64
            %goes_on = cmp {is = ne} (%seen, %signal) : i1
            condition (%goes_on, %now)
        } do (%before: i32) {
            %next = add (%before, %one) : i32
            yield (%next)
        }
        %got = load (%x) : i32
        yield ()
    }
    return ()
}";

/// Under priorities or a skew, a loop that counts may be the one that always goes first: it must let others come.
#[test]
fn a_loop_that_counts_lets_others_come_first() {
    let outcome = explored_in(100, COUNTING_SPIN, 1, 3, 1);
    assert!(outcome.found.is_empty(), "{:?}", outcome.found);
}

/// Nobody writes what it waits for.
#[test]
fn loops_that_only_count_are_a_deadlock() {
    let text = COUNTING_SPIN
        .replace("(%flag, %signal)\n        yield", "(%flag, %none)\n        yield")
        .replace("%pid = ", "%none = const {value = 0} () : i64\n    %pid = ");
    let (module, args) = (module(&text), args(1));
    let settings = Settings { schedules: 3, ..Settings::default() };
    let outcome = explore(&scenario(&module, &args, 3, 1), &settings, &mut ()).expect("it can be run");
    let [found] = &outcome.found[..] else { panic!("{:?}", outcome.found) };
    let Finding::Deadlock(deadlock) = &found.finding else { panic!("{}", found.finding) };
    assert_eq!(deadlock.waits.len(), 2);
    assert_eq!(deadlock.waits[0].holds, Some(0));
}

/// A loop without an end is found once: other schedules would take as long.
#[test]
fn a_loop_without_an_end_ends_the_exploration() {
    let text = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
    %one = const {value = 1} () : i32
    %yes = const {value = true} () : i1
    %end = while (%one) : i32 do (%now: i32) {
        condition (%yes, %now)
    } do (%before: i32) {
        %next = add (%before, %one) : i32
        yield (%next)
    }
    return ()
}";
    let (module, args) = (module(text), args(1));
    let settings = Settings { schedules: 100, max_steps: 10_000, ..Settings::default() };
    let outcome = explore(&scenario(&module, &args, 1, 1), &settings, &mut ()).expect("it can be run");
    assert_eq!((outcome.schedules, outcome.found.len()), (1, 1));
    assert!(
        outcome.found[0].finding.to_string().contains("no end after 10000 operations"),
        "{}",
        outcome.found[0].finding
    );
}

/// Where programs wait for room, which of them start first is not part of the search.
#[test]
fn a_search_does_not_know_all_orders_of_starts() {
    let text = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
    return ()
}";
    let (module, args) = (module(text), args(1));
    let scenario = scenario(&module, &args, 4, 1);
    let run = |resident| {
        let settings = Settings { schedules: 40, resident, ..Settings::default() };
        let outcome = explore(&scenario, &settings, &mut ()).expect("it can be run");
        (outcome.schedules, outcome.exhaustive)
    };
    assert_eq!(run(Some(1)), (40, false));
    let (_, exhaustive) = run(Some(4));
    assert!(exhaustive || run(Some(4)).0 == 40);
}
