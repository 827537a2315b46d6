use shoal_interp::{Arg, Awaited, Error, Memory};

use crate::support::{alloc_i32, in_many_orders, read_i32};

/// Takes a lock by compare-and-swap, adds one to a counter without atomics, gives the lock back.
pub(crate) const SPIN_LOCK: &str = "kernel @k(%lock: ptr<i32>, %count: ptr<i32>) {
    %zero = const {value = 0} () : i32
    %one = const {value = 1} () : i32
    while () do {
        %old = atomic_cas {sem = acquire, scope = gpu} (%lock, %zero, %one) : i32
        %taken = cmp {is = ne} (%old, %zero) : i1
        condition (%taken)
    } do {
        yield ()
    }
    %before = load (%count) : i32
    %peek = atomic_load {sem = relaxed, scope = gpu} (%lock) : i32
    %after = add (%before, %peek) : i32
    store (%count, %after)
    %x = atomic_rmw {op = xchg, sem = release, scope = gpu} (%lock, %zero) : i32
    return ()
}";

fn two_words(memory: &mut Memory) -> Vec<Arg> {
    vec![Arg::Pointer(alloc_i32(memory, &[0])), Arg::Pointer(alloc_i32(memory, &[0]))]
}

fn word(memory: &Memory, arg: &Arg) -> i32 {
    match arg {
        Arg::Pointer(p) => read_i32(memory, *p)[0],
        Arg::Scalar(_) | Arg::Desc { .. } => panic!("a pointer"),
    }
}

#[test]
fn a_spin_lock_excludes_in_every_order() {
    in_many_orders(SPIN_LOCK, [100, 1, 1], two_words, |memory, args, result| {
        result.unwrap();
        assert_eq!(word(memory, &args[1]), 100);
        assert_eq!(word(memory, &args[0]), 0);
    });
}

#[test]
fn a_lock_that_is_never_given_back_is_a_deadlock() {
    let text = SPIN_LOCK
        .replace("xchg, sem = release, scope = gpu} (%lock, %zero)", "xchg, sem = release, scope = gpu} (%lock, %one)");
    in_many_orders(&text, [3, 1, 1], two_words, |_, _, result| {
        let error = result.unwrap_err();
        let Error::Deadlock { waiting, .. } = &error else { panic!("{error}") };
        assert_eq!(waiting.len(), 2);
        assert!(waiting.iter().all(|w| w.awaited == Awaited::LoopExit && w.at.span.start < w.at.span.end));
        assert!(error.to_string().contains("deadlock"), "{error}");
    });
}

/// The last program of the grid sets the flag that all others wait for.
const FLAG: &str = "kernel @k(%flag: ptr<i32>, %count: ptr<i32>) {
    %pid = program_id {axis = 0} () : i32
    %n = num_programs {axis = 0} () : i32
    %one = const {value = 1} () : i32
    %last = sub (%n, %one) : i32
    %is_last = cmp {is = eq} (%pid, %last) : i1
    if (%is_last) do {
        atomic_store {sem = release, scope = gpu} (%flag, %one)
        yield ()
    } do {
        %ok = atomic_poll {sem = acquire, scope = gpu} (%flag, %one) : i1
        %add = cast {round = rtne} (%ok) : i32
        %old = atomic_rmw {op = add, sem = relaxed, scope = gpu} (%count, %add) : i32
        yield ()
    }
    return ()
}";

#[test]
fn all_programs_may_be_live_at_once() {
    in_many_orders(FLAG, [200, 1, 1], two_words, |memory, args, result| {
        result.unwrap();
        assert_eq!(word(memory, &args[1]), 199);
    });
}

#[test]
fn a_plain_load_in_a_loop_sees_other_programs() {
    let text = FLAG.replace(
        "%ok = atomic_poll {sem = acquire, scope = gpu} (%flag, %one) : i1",
        "%ok = while () : i1 do {
            %now = load {mode = volatile} (%flag) : i32
            %unset = cmp {is = ne} (%now, %one) : i1
            %set = cmp {is = eq} (%now, %one) : i1
            condition (%unset, %set)
        } do (%v: i1) {
            yield ()
        }",
    );
    in_many_orders(&text, [20, 1, 1], two_words, |memory, args, result| {
        result.unwrap();
        assert_eq!(word(memory, &args[1]), 19);
    });
}

#[test]
fn polls_for_what_nobody_writes_say_so() {
    let text = FLAG.replace("atomic_store {sem = release, scope = gpu} (%flag, %one)", "");
    in_many_orders(&text, [3, 1, 1], two_words, |_, args, result| {
        let error = result.unwrap_err();
        let Error::Deadlock { waiting, .. } = &error else { panic!("{error}") };
        assert_eq!(waiting.len(), 2);
        let Arg::Pointer(flag) = &args[0] else { panic!("a pointer") };
        assert_eq!(waiting[0].awaited, Awaited::Value { address: flag.0, expected: 1, found: 0 });
    });
}

#[test]
fn timeouts_run_out_when_nothing_else_can_happen() {
    let text = FLAG
        .replace("atomic_store {sem = release, scope = gpu} (%flag, %one)", "")
        .replace("(%flag, %one) : i1", "(%flag, %one, %time) : i1")
        .replace("%ok = ", "%time = const {value = 1000000000} () : i64\n%ok = ");
    in_many_orders(&text, [5, 1, 1], two_words, |memory, args, result| {
        result.unwrap();
        assert_eq!(word(memory, &args[1]), 0, "every poll gave false");
    });
}

#[test]
fn loops_that_never_repeat_end_at_the_limit() {
    let text = "kernel @k(%a: ptr<i32>, %b: ptr<i32>) {
        %zero = const {value = 0} () : i64\n%one = const {value = 1} () : i64
        %r = while (%zero) : i64 do (%i: i64) {
            %go = cmp {is = ge} (%i, %zero) : i1
            condition (%go, %i)
        } do (%j: i64) {
            %k = add (%j, %one) : i64
            yield (%k)
        }
        return ()
    }";
    in_many_orders(text, [2, 1, 1], two_words, |_, _, result| {
        assert!(matches!(result, Err(Error::StepLimit { steps: 100_000, .. })));
    });
}

#[test]
fn an_empty_loop_is_found_without_a_limit() {
    let text = "kernel @k(%a: ptr<i32>, %b: ptr<i32>) {
        while () do {\n%go = const {value = true} () : i1\ncondition (%go)\n} do {\nyield ()\n}
        return ()
    }";
    in_many_orders(text, [2, 1, 1], two_words, |_, _, result| {
        assert!(matches!(result, Err(Error::Deadlock { .. })));
    });
}

/// Counts to two, printing, without ever looking at memory.
const COUNTS: &str = "kernel @k() {
    %pid = program_id {axis = 0} () : i32
    %zero = const {value = 0} () : i32
    %one = const {value = 1} () : i32
    %two = const {value = 2} () : i32
    %r = while (%zero) : i32 do (%i: i32) {
        %more = cmp {is = lt} (%i, %two) : i1
        condition (%more, %i)
    } do (%j: i32) {
        print {prefix = \"pid\"} (%pid)
        %next = add (%j, %one) : i32
        yield (%next)
    }
    return ()
}";

#[test]
fn programs_that_cannot_meet_run_one_after_another() {
    in_many_orders(
        COUNTS,
        [3, 1, 1],
        |_| Vec::new(),
        |_, _, result| {
            let prints = result.unwrap().prints;
            let programs: Vec<&str> = prints.iter().filter_map(|line| line.split(' ').next_back()).collect();
            assert_eq!(programs, ["0", "0", "1", "1", "2", "2"], "{prints:?}");
        },
    );
}

/// Waits until a flag is set, or a time is over that no program would ever see by its steps; tells which it was.
const FLAG_OR_TIME: &str = "kernel @k(%flag: ptr<i32>, %result: ptr<i32>) {
    %pid = program_id {axis = 0} () : i32
    %zero = const {value = 0} () : i32
    %one = const {value = 1} () : i32
    %hour = const {value = 3600000000000} () : i64
    %sets = cmp {is = ne} (%pid, %zero) : i1
    if (%sets) do {
        store (%flag, %one)
        yield ()
    } do {
        %start = clock () : i64
        LOOP
        %now = atomic_load {sem = acquire, scope = gpu} (%flag) : i32
        %told = add (%now, %one) : i32
        store (%result, %told)
        yield ()
    }
    return ()
}";

/// Looks at the flag and at the clock before each trip.
const UNTIL_TIME: &str = "while () do {
        %v = atomic_load {sem = acquire, scope = gpu} (%flag) : i32
        %a = cmp {is = eq} (%v, %zero) : i1
        %t = clock () : i64
        %passed = sub (%t, %start) : i64
        %b = cmp {is = lt} (%passed, %hour) : i1
        %c = and (%a, %b) : i1
        condition (%c)
    } do {";

/// Loops that time ends: one that looks at the clock in its condition, one that carries what it saw, one in another.
const TIMED_LOOPS: [&str; 3] = [
    "UNTIL_TIME
        yield ()
    }",
    "%last = while (%start) : i64 do (%t: i64) {
        %v = atomic_load {sem = acquire, scope = gpu} (%flag) : i32
        %a = cmp {is = eq} (%v, %zero) : i1
        %passed = sub (%t, %start) : i64
        %b = cmp {is = lt} (%passed, %hour) : i1
        %c = and (%a, %b) : i1
        condition (%c, %t)
    } do (%u: i64) {
        %next = clock () : i64
        yield (%next)
    }",
    "UNTIL_TIME
        %begin = clock () : i64
        %short = const {value = 100000} () : i64
        while () do {
            %s = clock () : i64
            %slept = sub (%s, %begin) : i64
            %sleeps = cmp {is = lt} (%slept, %short) : i1
            condition (%sleeps)
        } do {
            yield ()
        }
        yield ()
    }",
];

fn with_loop(timed: &str) -> String {
    FLAG_OR_TIME.replace("LOOP", timed).replace("UNTIL_TIME", UNTIL_TIME)
}

#[test]
fn loops_that_look_at_the_clock_end_when_nobody_else_can_act() {
    for timed in TIMED_LOOPS {
        let text = with_loop(timed);
        in_many_orders(&text, [1, 1, 1], two_words, |memory, args, result| {
            result.unwrap();
            assert_eq!(word(memory, &args[1]), 1, "by the clock");
        });
        in_many_orders(&text, [2, 1, 1], two_words, |memory, args, result| {
            result.unwrap();
            assert_eq!(word(memory, &args[1]), 2, "by the flag");
        });
    }
}

#[test]
fn a_loop_that_time_does_not_end_is_a_deadlock() {
    // One that carries what it saw is not known to do without it.
    for timed in TIMED_LOOPS.iter().filter(|timed| !timed.contains("(%t: i64)")) {
        // However late it is.
        let text = with_loop(timed).replace("{is = lt} (%passed, %hour)", "{is = ge} (%passed, %passed)");
        in_many_orders(&text, [1, 1, 1], two_words, |_, _, result| {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Deadlock { .. }), "{error}");
        });
    }
}
