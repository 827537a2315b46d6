//! `shoal check` as people and their CI call it: text, JSON, exit status, tokens, mistakes, Ctrl-C.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::shoal::Workplace;

const RING: &str = include_str!("../../../../tests/corpus/fail/relaxed_wait.py");
const RIGHT_RING: &str = include_str!("../../../../tests/corpus/pass/relaxed_wait.py");

/// A race that only some schedules and sizes show, with parameters: the second program reads what the first one may
/// have written.
const LATE: &str = r#"
import shoal
import shoal.language as tl


@shoal.jit
def late(x, turn, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(x + at, at, mask=at < n)
        tl.atomic_xchg(turn, 1, sem="release", scope="gpu")
    elif tl.atomic_add(turn, 0, sem="relaxed", scope="gpu") == 1:
        tl.load(x + at, mask=at < n)


@shoal.harness
def twice(world, n=20, programs=3):
    x = world.buffer(n, "int32", "random")
    for launch in range(world.launches):
        late[(programs,)](x, world.buffer(1, "int32"), n, BLOCK=32)
"#;

/// Two kernels that one harness launches.
const TWO: &str = r#"
import shoal
import shoal.language as tl


@shoal.jit
def to_the_right(x, flag, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at, mask=at < n)
    tl.notify(flag, peer, comm_scope="intra_node")
    token = tl.wait(flag, 1, "sys", "acquire")
    x = tl.consume_token(x, token)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.jit
def to_the_left(x, flag, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + tl.num_ranks() - 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at, mask=at < n)
    tl.notify(flag, peer, comm_scope="intra_node")
    token = tl.wait(flag, 1, "sys", "acquire")
    x = tl.consume_token(x, token)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def both(world):
    x, y = world.symm(32, "fp32"), world.symm(32, "fp32")
    to_the_right[(1,)](x, world.symm(1, "int64"), 32, BLOCK=32)
    to_the_left[(1,)](y, world.symm(1, "int64"), 32, BLOCK=32)
"#;

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("ring.py", RING);
    place.write("right.py", RIGHT_RING);
    place.write("late.py", LATE);
    place
}

fn json(place: &Workplace, args: &[&str]) -> (Option<i32>, Json) {
    let called = place.call(&[&["check"], args, &["--json"]].concat());
    assert_eq!(called.err, "", "nothing but JSON");
    (called.code, serde_json::from_str(&called.out).unwrap_or_else(|why| panic!("{why}: {}", called.out)))
}

fn keys(value: &Json) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn clean_is_status_0_and_one_line_for_each_world() {
    let called = place().call(&["check", "right.py", "--ranks", "2,3", "--schedules", "20"]);
    assert_eq!(called.code, Some(0), "{}", called.err);
    assert_eq!(called.err, "", "no progress where nobody looks");
    let lines: Vec<&str> = called.out.lines().collect();
    assert!(lines[0].starts_with("once: clean: 2 ranks, 20 schedules, "), "{}", called.out);
    assert!(lines[1].starts_with("once: clean: 3 ranks, 20 schedules, ") && lines.len() == 2, "{}", called.out);
}

#[test]
fn a_finding_is_status_1_and_tells_all_about_it() {
    let called = place().call(&["check", "ring.py", "--ranks", "3"]);
    assert_eq!((called.code, called.err.as_str()), (Some(1), ""));
    for part in [
        "error: data race at byte 0 of `x of rank 0`",
        "--> ring.py:17:22",
        "rank 1, program (0, 0, 0) writes",
        "but the read acquires nothing",
        // Two ranks and one launch suffice, and so are told.
        "= note: to see it again: --replay n2.l1:",
        "= help: let the read of the flag acquire: `acquire` instead of `relaxed`",
        "once: 2 findings: 3 ranks, ",
    ] {
        assert!(called.out.contains(part), "{part}:\n{}", called.out);
    }
}

/// What `docs/checking.md` promises to programs.
#[test]
fn json_has_the_documented_form() {
    let place = place();
    let (code, answer) = json(&place, &["ring.py", "--ranks", "2", "--schedules", "10", "--seed", "7"]);
    assert_eq!(code, Some(1));
    assert_eq!(keys(&answer), ["clean", "harnesses", "interrupted", "target", "version"]);
    assert_eq!((&answer["version"], &answer["clean"]), (&Json::from(1), &Json::from(false)));
    let harness = &answer["harnesses"][0];
    assert_eq!(keys(harness), ["harness", "remark", "results"]);
    let result = &harness["results"][0];
    assert_eq!(
        keys(result),
        [
            "accesses",
            "clean",
            "device",
            "exhaustive",
            "findings",
            "interrupted",
            "launches",
            "needed_residency",
            "operations",
            "order",
            "params",
            "ranks",
            "report",
            "resident",
            "rooms",
            "schedules",
            "seed",
        ]
    );
    assert_eq!((&result["ranks"], &result["seed"]), (&Json::from(2), &Json::from(7)));
    let race = &result["findings"][0];
    assert_eq!(
        keys(race),
        [
            "accesses", "grid_cut", "kind", "launches", "message", "params", "ranks", "remedy", "times", "token",
            "where", "why"
        ]
    );
    assert_eq!(race["kind"], "race");
    let access = &race["accesses"][0];
    assert_eq!(keys(access), ["column", "does", "file", "line", "program", "rank", "who"]);
    assert_eq!((&access["file"], &access["line"]), (&Json::from("ring.py"), &Json::from(13)));
    let (code, answer) = json(&place, &["right.py", "--ranks", "2", "--schedules", "10"]);
    assert_eq!((code, &answer["clean"]), (Some(0), &Json::from(true)));
    assert_eq!(answer["harnesses"][0]["results"][0]["findings"], Json::from(Vec::<Json>::new()));
}

#[test]
fn a_deadlock_in_json_names_who_waits() {
    let place = place();
    place.write("stuck.py", include_str!("../../../../tests/corpus/fail/threshold_for_eight.py"));
    let (code, answer) = json(&place, &["stuck.py", "--ranks", "2", "--schedules", "10"]);
    let found = &answer["harnesses"][0]["results"][0]["findings"][0];
    assert_eq!((code, &found["kind"]), (Some(1), &Json::from("deadlock")));
    for key in ["hosts", "waits", "token"] {
        assert!(found.get(key).is_some(), "{key}: {found}");
    }
    assert!(found["waits"][0]["line"].is_number(), "{found}");
}

/// Who waits, for which word and value, what it holds, who wrote it last, and who could still write it.
#[test]
fn a_deadlock_tells_who_could_still_write() {
    let place = place();
    place.write("large.py", include_str!("../../../../tests/corpus/fail/grid_larger_than_room.py"));
    let called = place.call(&["check", "large.py", "--ranks", "2", "--resident", "1", "--launches", "1"]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    for part in [
        "waits for 1 in byte ",
        " of flags of rank ",
        "line 28: rank ",
        ", which holds 0; nobody wrote it; ",
        "nobody wrote it",
        "it could still be written by rank ",
        ", which has not started",
        " not started: there is no room",
        "= help: programs that wait for others need them resident: launch at most 1 program per rank",
    ] {
        assert!(called.out.contains(part), "{part}:\n{}", called.out);
    }
}

/// More programs than a device holds: what it needs is looked for without its limit.
#[test]
fn a_grid_too_large_for_a_device_says_how_many_it_needs() {
    let place = place();
    place.write("large.py", include_str!("../../../../tests/corpus/fail/grid_larger_than_room.py"));
    let called = place.call(&[
        "check",
        "large.py",
        "--ranks",
        "2",
        "--schedules",
        "4",
        "--launches",
        "1",
        "--device",
        "l4",
        "--set",
        "tiles=128",
    ]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    assert!(called.out.contains("has 58 units with 1 each"), "{}", called.out);
    assert!(called.out.contains("co-resident programs per rank, l4 holds 58"), "{}", called.out);
}

/// A race needs no more programs than take part in it, whatever grid the harness writes down.
#[test]
fn a_race_is_told_with_the_fewest_programs() {
    let place = place();
    let text = LATE.replace("late[(programs,)]", "late[(7, 2)]").replace(", programs=3", "");
    place.write("many.py", &text);
    let called = place.call(&["check", "many.py", "--ranks", "1"]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    let token = called.out.split("--replay ").nth(1).and_then(|rest| rest.lines().next()).expect("a token");
    assert!(token.starts_with("n1.l1.g"), "{token}");
    assert!(called.out.contains("along each axis suffice to show it"), "{}", called.out);
    let again = place.call(&["check", "many.py", "--replay", token]);
    assert_eq!(again.code, Some(1), "{}", again.out);
    assert_eq!(findings(&again.out).lines().next(), findings(&called.out).lines().next());
}

#[test]
fn a_loop_without_an_end_is_told_once() {
    let place = place();
    place.write(
        "endless.py",
        "import shoal\nimport shoal.language as tl\n\n@shoal.jit\ndef k(x):\n    i = 0\n    while i >= 0:\n        \
         i = (i + 1) & 7\n    tl.store(x, i)\n\n@shoal.harness\ndef once(world):\n    k[(1,)](world.symm(1, 'int32'))\n",
    );
    let called = place.call(&["check", "endless.py", "--ranks", "1"]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    assert!(called.out.contains("no end after 10000000 operations"), "{}", called.out);
    assert!(called.out.contains("once: 1 finding: 1 rank, 1 schedule"), "{}", called.out);
}

/// Everything but in how many schedules it was seen, and the order of the one that was run again.
fn findings(out: &str) -> String {
    let out = out.split("the order of this run").next().unwrap_or(out);
    let told = |line: &&str| !line.contains("= note: seen in ") && !line.contains(" finding");
    out.lines().filter(told).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_token_repeats_a_run_byte_by_byte() {
    let place = place();
    let first = place.call(&["check", "late.py", "--ranks", "3", "--seed", "5", "--set", "programs=2"]);
    assert_eq!(first.code, Some(1), "{}", first.out);
    let token = first.out.split("--replay ").nth(1).and_then(|rest| rest.lines().next()).expect("a token");
    // The seed of the contents and what was set are part of it; what was left alone is as small as it can be.
    assert!(token.starts_with("n1.l1.s5+programs=2+n="), "{token}");
    let again = place.call(&["check", "late.py", "--replay", token]);
    let once_more = place.call(&["check", "late.py", "--replay", token]);
    assert_eq!((again.code, &again.out), (Some(1), &once_more.out), "twice the same");
    assert_eq!(findings(&again.out), findings(&first.out), "and the same as when it was found");
    // Who moved when: the first program releases, the second one looks and reads.
    let order = again.out.split("the order of this run:\n").nth(1).expect("the order");
    assert!(order.contains("    1  rank 0, program (0, 0, 0): late.py:"), "{order}");
    assert!(order.contains("rank 0, program (1, 0, 0): late.py:") && order.contains(" to its end"), "{order}");
    // A run that shows nothing says so.
    let clean = place.call(&["check", "right.py", "--replay", "n2.l1:rr"]);
    assert_eq!(clean.code, Some(0));
    assert!(
        clean.out.starts_with("once: clean: the one schedule of n2.l1:rr\nthe order of this run:\n"),
        "{}",
        clean.out
    );
}

#[test]
fn what_cannot_be_checked_is_status_2_and_says_why() {
    let place = place();
    place.write("empty.py", "import shoal\n");
    place.write("broken.py", "import shoal\n\n@shoal.harness\ndef once(world):\n    world.symmetric(3)\n");
    place.write(
        "untyped.py",
        "import shoal\nimport shoal.language as tl\n\n@shoal.jit\ndef k(x):\n    tl.store(x, tl.nothing)\n\n\
         @shoal.harness\ndef once(world):\n    k[(1,)](world.symm(1))\n",
    );
    let cases: &[(&[&str], &str)] = &[
        (&["none.py"], "cannot read none.py"),
        (&["nonsense"], "`nonsense` is no file and no kernel of the library with a harness; there are all_gather"),
        (&["one_shot_all_reducee"], "with a harness; did you mean `one_shot_all_reduce`?"),
        (&["ring.py:other"], "no harness is called `other` or launches it; there are `once`"),
        (&["empty.py"], "empty.py has no harness: add a function with the decorator `@shoal.harness`"),
        (&["ring.py", "--replay", "nonsense"], "`nonsense` is no token; a report prints one"),
        (&["ring.py", "--replay", "n2.l1:x"], "`n2.l1:x` is no token"),
        (&["ring.py", "--replay", "n2.l1+n=3:rr"], "the harness `once` has no parameter `n`"),
        (&["ring.py", "--device", "h9000"], "no device is known as `h9000`; there are a10, a100, h100"),
        (&["ring.py", "--resident", "0"], "not a whole number from 1 on"),
        (&["ring.py", "--ranks", "0"], "a world has from 1 to 4096 ranks"),
        (&["ring.py", "--set", "n"], "--set n: NAME=VALUE"),
        (&["ring.py", "--set", "n=3"], "the harness `once` has no parameter `n`"),
        (&["ring.py", "--set", "n=("], "is no value"),
        (&["ring.py", "--sweep", "n=1..x"], "write NAME=A,B,… or NAME=FIRST..LAST"),
        (&["broken.py"], "a harness's world has no `symmetric`"),
        (&["untyped.py"], "nothing"),
        (&["ring.py", "--ranks", "two"], "invalid value"),
        (&["late.py", "--set", "programs=3000000000"], "a grid of 3000000000 programs is too large to be checked"),
        (&["late.py", "--replay", "n2.l1.g0:rr"], "is no token"),
        (&["ring.py", "--library"], "cannot be used with"),
        (&[], "<TARGET>"),
    ];
    for (args, why) in cases {
        let called = place.call(&[&["check"], *args].concat());
        assert_eq!((called.code, called.out.as_str()), (Some(2), ""), "{args:?}: {}", called.err);
        assert!(called.err.contains(why), "{args:?}: {why}:\n{}", called.err);
        assert!(!called.err.contains("panicked"), "{}", called.err);
    }
    let called = place.call(&["check", "broken.py", "--json"]);
    let answer: Json = serde_json::from_str(&called.out).expect("JSON");
    assert_eq!((called.code, &answer["clean"], &answer["target"]), (Some(2), &false.into(), &"broken.py".into()));
    let error = answer["error"].as_str().expect("a text");
    assert!(error.contains("a harness's world has no `symmetric`"), "{error}");
}

#[test]
fn a_sweep_tells_the_smallest_case() {
    let place = place();
    let called = place.call(&["check", "late.py", "--sweep", "n=0..50", "programs=1,2,3", "--schedules", "40"]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    // One program alone cannot race, and no element neither.
    assert!(called.out.contains("--replay n1.l1+n=1+programs=2:"), "{}", called.out);
    let clean = place.call(&["check", "late.py", "--sweep", "n=0,1,37", "--set", "programs=1", "--schedules", "5"]);
    assert_eq!(clean.code, Some(0), "{}", clean.out);
    assert!(clean.out.contains("twice: clean in all 27 worlds and sizes"), "{}", clean.out);
}

#[test]
fn a_device_has_room_for_so_many() {
    let place = place();
    place.write("large.py", include_str!("../../../../tests/corpus/fail/grid_larger_than_room.py"));
    let called = place.call(&["check", "large.py", "--ranks", "2", "--schedules", "20", "--resident", "2"]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    assert!(called.out.contains("co-resident programs per rank, there is room for 2"), "{}", called.out);
    let called = place.call(&["check", "right.py", "--ranks", "2", "--schedules", "10", "--device", "h20"]);
    assert_eq!(called.code, Some(0), "{}", called.out);
    assert!(called.out.contains("ring: h20 has 78 units with 1 each"), "{}", called.out);
    assert!(called.out.contains("needs 1 co-resident program per rank, h20 holds 78"), "{}", called.out);
}

/// What a launch names of its shape counts, as it does on a GPU.
#[test]
fn the_room_is_that_of_the_shape_that_a_launch_names() {
    let place = place();
    let launch = "late[(programs,)](x, world.buffer(1, \"int32\"), n, BLOCK=32";
    place.write("wide.py", &LATE.replace(launch, &format!("{launch}, num_warps=8")));
    let args = ["check", "wide.py", "--set", "programs=1", "--schedules", "2", "--device", "h100"];
    let called = place.call(&args);
    assert!(called.out.contains("a program takes 256 threads"), "{}", called.out);
    place.write("wide.py", &LATE.replace(launch, &format!("{launch}, num_warps=-1")));
    let called = place.call(&args);
    assert!(called.err.contains("`num_warps` must be a small whole number"), "{} {}", called.out, called.err);
}

/// An assembler that says how many registers a thread takes, and makes nothing.
#[cfg(unix)]
#[test]
fn registers_count_where_ptxas_tells_them() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    place.write(
        "ptxas",
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && : > \"$2\"; shift; done\n\
         echo 'ptxas info    : Used 40 registers, used 1 barriers' >&2\n",
    );
    let ptxas = place.path().join("ptxas");
    std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let child = Command::new(env!("CARGO_BIN_EXE_shoal"))
        .args(["check", "right.py", "--ranks", "2", "--schedules", "5", "--device", "h100"])
        .current_dir(place.path())
        .env("SHOAL_PTXAS", &ptxas)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (code, out) = end(child);
    assert_eq!(code, Some(0), "{out}");
    // 128 threads with 40 registers: 12 programs on each of 132 multiprocessors.
    assert!(out.contains("ring: h100 has 132 units with 12 each: a program takes 128 threads, 40 registers"), "{out}");
    assert!(out.contains("h100 holds 1584"), "{out}");
}

#[test]
fn mutants_without_a_reason_are_a_finding() {
    let place = place();
    let called = place.call(&["check", "right.py", "--mutate", "--schedules", "20"]);
    assert_eq!(called.code, Some(0), "{}", called.out);
    assert!(called.out.contains("wait: the order becomes `relaxed`: found: race"), "{}", called.out);
    assert!(called.out.contains("0 of ") && called.out.contains("mutants survive, 0 of them unexplained"));
    let needless = RIGHT_RING.replace("    at = tl.arange", "    tl.debug_barrier()\n    at = tl.arange");
    place.write("needless.py", &needless);
    let called = place.call(&["check", "needless.py", "--mutate", "--schedules", "20"]);
    assert_eq!(called.code, Some(1), "{}", called.out);
    assert!(called.out.contains("barrier: removed: SURVIVES"), "{}", called.out);
    let explained =
        needless.replace("debug_barrier()", "debug_barrier()  # shoal: redundant because nothing is before");
    place.write("needless.py", &explained);
    let called = place.call(&["check", "needless.py", "--mutate", "--schedules", "20"]);
    assert_eq!(called.code, Some(0), "{}", called.out);
    assert!(called.out.contains("barrier: removed: survives: nothing is before"), "{}", called.out);
}

#[test]
fn kernels_of_the_library_are_checked_by_name() {
    let called = place().call(&["check", "ring_put", "--ranks", "2", "--schedules", "5"]);
    assert_eq!(called.code, Some(0), "{}", called.out);
    assert!(called.out.starts_with("check_ring_put: clean: 2 ranks"), "{}", called.out);
    // By the name of what is run, too, whatever kernels that launches.
    for (name, harness) in [
        ("two_shot_all_reduce", "check_two_shot_all_reduce: clean"),
        ("two_shot_all_reduce_little", "check_two_shot_all_reduce_words: clean"),
        ("gemm_reduce_scatter_ce_persistent", "check_gemm_announced: clean"),
    ] {
        let called = place().call(&["check", name, "--ranks", "2", "--schedules", "2"]);
        assert_eq!(called.code, Some(0), "{name}: {}", called.out);
        assert!(called.out.contains(harness), "{name}: {}", called.out);
    }
}

#[test]
fn mutants_are_those_of_the_kernel_that_was_named() {
    let place = place();
    place.write("two.py", TWO);
    let places = |name: &str| {
        let called = place.call(&["check", &format!("two.py:{name}"), "--mutate", "--schedules", "20", "--ranks", "2"]);
        assert_eq!(called.code, Some(0), "{}", called.out);
        let lines = called.out.lines().filter_map(|line| line.strip_prefix("two.py:")?.split(':').next()?.parse().ok());
        lines.collect::<Vec<usize>>()
    };
    let (right, left) = (places("to_the_right"), places("to_the_left"));
    assert!(!right.is_empty() && right.len() == left.len(), "{right:?}, {left:?}");
    assert!(right.iter().max() < left.iter().min(), "{right:?}, {left:?}");
    assert_eq!(places("both").len(), right.len() + left.len());
}

/// Waits for the end of a process, but not for ever.
fn end(mut child: Child) -> (Option<i32>, String) {
    let give_up = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if Instant::now() > give_up => {
                child.kill().expect("it can be ended");
                panic!("the command does not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut out = String::new();
    child.stdout.take().expect("its output").read_to_string(&mut out).expect("a text");
    (status.code(), out)
}

#[cfg(unix)]
#[test]
fn control_c_ends_it_with_what_is_known() {
    let place = place();
    let child = Command::new(env!("CARGO_BIN_EXE_shoal"))
        .args(["check", "right.py", "--ranks", "4", "--schedules", "100000000", "--json"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_millis(1500));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success(), "the command was still running");
    let (code, out) = end(child);
    assert_eq!(code, Some(130), "{out}");
    let answer: Json = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&answer["interrupted"], &answer["clean"]), (&Json::from(true), &Json::from(false)));
    let result = &answer["harnesses"][0]["results"][0];
    assert!(result["schedules"].as_u64().is_some_and(|n| n < 100_000_000), "{result}");
}

/// `script` (of every Debian) gives the command a terminal.
#[cfg(unix)]
#[test]
fn a_terminal_sees_progress() {
    let place = place();
    let command = format!("{} check right.py --ranks 3 --schedules 400", env!("CARGO_BIN_EXE_shoal"));
    let child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else { return };
    let (code, out) = end(child);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("once, 3 ranks"), "no progress:\n{out}");
}
