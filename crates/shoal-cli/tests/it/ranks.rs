//! Kernels of several ranks from the command line.

use crate::shoal::Workplace;

#[test]
fn run_checks_every_rank() {
    let place = Workplace::new();
    let called = place.ok(&["run", "two_shot_all_reduce", "--ranks", "3", "--size", "1001", "--dtype", "bf16"]);
    assert!(called.out.contains("two_shot_all_reduce [1001] bfloat16 on 3 ranks (threads), cpu"), "{}", called.out);
    assert_eq!(called.out.matches(" ok\n").count(), 3, "{}", called.out);
}

#[test]
fn run_starts_processes() {
    let place = Workplace::new();
    let args = ["run", "all_to_all", "--ranks", "2", "--engine", "processes", "--size", "7,33", "--repeat", "2"];
    let called = place.ok(&args);
    assert!(called.out.contains("on 2 ranks (processes), cpu"), "{}", called.out);
    // Two outputs of each rank.
    assert_eq!(called.out.matches(" ok\n").count(), 4, "{}", called.out);
}

#[test]
fn all_kernels_run_in_one_job_of_processes() {
    let place = Workplace::new();
    let args = ["run", "all", "--ranks", "2", "--engine", "processes", "--filter", "broadcast", "--check", "interp"];
    let called = place.ok(&args);
    assert!(called.out.contains("ok     broadcast ["), "{}", called.out);
    let each = called.out.lines().all(|line| line.starts_with("ok     ") && line.contains("the same bits on both"));
    assert!(each, "{}", called.out);
}

#[test]
fn run_interprets_kernels_of_ranks() {
    let place = Workplace::new();
    let called = place.ok(&["run", "two_shot_all_reduce", "--ranks", "3", "--size", "37", "--check", "interp"]);
    assert_eq!(called.out.matches(" ok\n").count(), 6, "{}", called.out);
    assert!(called.out.contains("on 3 ranks (threads), interp"), "{}", called.out);
}

#[test]
fn run_says_what_cannot_be_run() {
    let place = Workplace::new();
    let refuses = |args: &[&str]| place.refuses(&[&["run"], args].concat());
    assert!(refuses(&["one_shot_all_reduce"]).contains("is for several ranks: say how many, with --ranks"));
    assert!(refuses(&["all"]).contains("`all` is every kernel of several ranks: say how many, with --ranks"));
    assert!(refuses(&["matmul", "--ranks", "2"]).contains("matmul is for one rank: leave out --ranks"));
    let nonsense = refuses(&["nonsense", "--ranks", "2"]);
    assert!(nonsense.contains("no kernel of several ranks `nonsense`; there are one_shot_all_reduce, "), "{nonsense}");
    let slip = "`all_gather_matmull`; did you mean `all_gather_matmul`?";
    assert!(refuses(&["all_gather_matmull", "--ranks", "2"]).contains(slip));
    assert!(refuses(&["all_gather_matmull"]).contains(slip));
    let none = refuses(&["all", "--ranks", "2", "--filter", "nonsense"]);
    assert!(none.contains("the name of no kernel of several ranks contains `nonsense`; there are one_"), "{none}");
    let absent = place.fails(&["run", "ring.py:ring", "--ranks", "2"]);
    assert!(absent.contains("cannot read ring.py: No such file"), "{absent}");
    place.write("ring.py", "");
    let of_a_file = refuses(&["ring.py:ring", "--ranks", "2"]);
    assert!(of_a_file.contains("--ranks is for kernels of the library"), "{of_a_file}");
    assert!(of_a_file.contains("`shoal check ring.py` checks them"), "{of_a_file}");
    for ranks in ["0", "-1", "4097", "999999999", "99999999999999999999", "two"] {
        assert!(refuses(&["broadcast", "--ranks", ranks]).contains("a world has from 1 to 4096 ranks"), "{ranks}");
    }
    assert!(refuses(&["broadcast", "--ranks", "2", "--dtype", "fp64"]).contains("fp32, fp16 and bf16, not for `fp64`"));
    assert!(refuses(&["broadcast", "--ranks", "2", "--size", "1,2"]).contains("takes the sizes n, each at least 1"));
}

#[test]
fn numbers_that_mean_nothing_are_told_before_anything_starts() {
    let place = Workplace::new();
    let run = ["run", "broadcast", "--ranks", "2"];
    let bench = ["bench", "broadcast", "--ranks", "2"];
    let check = ["check", "broadcast", "--ranks", "2"];
    for (command, option, values) in [
        (&run, "--size", &["0", "-4", "", "x", "8,0", "99999999999999999999"][..]),
        (&run, "--repeat", &["-1", "", "1.5"]),
        (&run, "--seed", &["-1", ""]),
        (&bench, "--size", &["0", "-4", "", "x", "8,0", "99999999999999999999"]),
        (&bench, "--rounds", &["0", "-3", ""]),
        (&check, "--schedules", &["0", "-1", ""]),
        (&check, "--launches", &["0", "-1", ""]),
        (&check, "--resident", &["0", "-1", ""]),
        (&check, "--seed", &["-1", ""]),
    ] {
        for value in values {
            let called = place.call(&[&command[..], &[option, value]].concat());
            let told = called.err.contains("invalid value") && called.err.contains(option);
            assert!(called.code == Some(2) && called.out.is_empty() && told, "{option} {value}: {}", called.err);
        }
    }
    for (args, told) in [
        (["bench", "broadcast", "--size", "1,2"], "broadcast takes the sizes n, each at least 1, not [1, 2]"),
        (["bench", "broadcast", "--engine", "cuda"], "invalid value 'cuda' for '--engine"),
        (
            ["check", "broadcast", "--device=h100", "--resident=3"],
            "the argument '--device <DEVICE>' cannot be used with",
        ),
    ] {
        let called = place.call(&args);
        assert!(called.code == Some(2) && called.out.is_empty(), "{args:?}: {} {}", called.out, called.err);
        assert!(called.err.starts_with(&format!("error: {told}")), "{}", called.err);
    }
}

#[test]
fn engines_that_a_device_has_not_are_told() {
    let place = Workplace::new();
    for engine in ["processes", "openshmem", "cuda", "nvshmem"] {
        for target in ["broadcast", "all"] {
            let called = place.call(&["run", target, "--ranks", "2", "--engine", engine, "--device", "interp"]);
            let told = match engine {
                "processes" | "openshmem" => "error: the interpreter runs ranks as threads: leave out --engine\n",
                _ => "error: --engine cuda and nvshmem have their memory on GPUs: leave out --backend, or ",
            };
            assert!(called.code == Some(2) && called.out.is_empty(), "{}", called.out);
            assert!(called.err.starts_with(told), "{}", called.err);
        }
    }
}

#[test]
fn an_error_of_the_world_names_its_rank_once() {
    let place = Workplace::new();
    for engine in ["threads", "processes"] {
        let args = ["run", "two_shot_all_reduce", "--ranks", "3", "--size", "8", "--engine", engine];
        let called = place.call_with(&args, &[("SHOAL_TIMEOUT", "0.000001")]);
        assert!(called.code == Some(1) && called.err.contains("waited 1 µs"), "{engine}: {}", called.err);
        let twice = |rank: usize| called.err.contains(&format!("rank {rank}: rank {rank}"));
        assert!(!(0..3).any(twice), "{engine}: {}", called.err);
    }
}

#[test]
fn options_that_mean_nothing_are_told() {
    let place = Workplace::new();
    place.write("add.py", "");
    for (args, told) in [
        (
            &["run", "broadcast", "--ranks", "2", "--grid", "4"][..],
            "--grid is not for a library kernel of several ranks",
        ),
        (
            &["run", "broadcast", "--ranks", "2", "--filter", "b"],
            "--filter is not for a library kernel of several ranks",
        ),
        (&["run", "all", "--ranks", "2", "--size", "4"], "--size is not for every kernel of several ranks"),
        (
            &["run", "matmul", "-g", "4"],
            "--grid is not for a library kernel of one rank, which takes --backend, --check",
        ),
        (&["run", "matmul", "--engine", "threads"], "--engine is not for a library kernel of one rank"),
        (&["run", "add.py", "--dtype", "fp32"], "--dtype is not for a kernel of a file, which takes --grid, --arg"),
        (&["bench", "comm", "--dtype", "foo"], "--dtype is not for `bench comm`, which takes --json, --plot"),
        (&["bench", "comm", "--device", "cuda", "--filter", "x"], "--filter is not for `bench comm --device cuda`"),
        (&["bench", "cpu", "--ranks", "2"], "--ranks is not for `bench cpu`"),
        (&["bench", "broadcast", "--device", "cuda"], "--device is not for one kernel of several ranks"),
    ] {
        let said = place.fails(args);
        assert!(said.starts_with(&format!("error: {told}")), "{args:?}: {said}");
    }
}

#[test]
fn bench_measures_with_and_without_peers() {
    let place = Workplace::new();
    let (json, plot) = ("--json=rows.json", "--plot=ratios.svg");
    let start = ["bench", "two_shot_all_reduce_in_place", "--size", "4096", "--rounds", "1", json, plot];
    for engine in [["--engine", "threads", "--ranks", "1,2"], ["--engine", "processes", "--ranks", "1,2"]] {
        let called = place.ok(&[&start[..], &engine[..], &["--backend", "gloo"]].concat());
        assert!(called.out.contains("gloo is left out: torch is not installed"), "{}", called.out);
        assert!(called.out.contains(&format!("4096 fp32 2 {}", engine[1])), "{}", called.out);
        let doing = format!("[2/2] two_shot_all_reduce_in_place 4096 fp32 2 {}", engine[1]);
        assert!(called.err.contains(&doing), "{}", called.err);
        let rows = place.read("rows.json");
        assert_eq!(rows.matches("\"bench\": \"two_shot_all_reduce_in_place\"").count(), 2, "{rows}");
        assert!(place.read("ratios.svg").ends_with("</svg>\n"));
    }
    let said = place.fails(&["bench", "nonsense"]);
    assert!(
        said.contains("there is no benchmark `nonsense`; there are cpu, gpu, comm, check, one_shot_all_reduce"),
        "{said}"
    );
}

#[test]
fn bench_leaves_nothing_behind_when_it_fails() {
    let place = Workplace::new();
    let folder = place.path().join("temporary");
    std::fs::create_dir(&folder).expect("a folder");
    let folder = folder.to_str().expect("text");
    let args = ["bench", "broadcast", "--size", "8", "--ranks", "2", "--rounds", "1", "--backend", "mpi"];
    for timeout in ["60", "0.000001"] {
        let called = place.call_with(&args, &[("TMPDIR", folder), ("SHOAL_TIMEOUT", timeout)]);
        assert_eq!(called.success, timeout == "60", "{}", called.err);
        if called.success && called.out.contains("Open MPI is measured against") {
            assert!(
                called.out.lines().any(|line| line.contains("broadcast") && line.contains("Open MPI")),
                "{}",
                called.out
            );
        }
        let left: Vec<_> =
            std::fs::read_dir(folder).expect("the folder").map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("shoal")), "{left:?}");
    }
}

#[test]
fn a_timeline_shows_all_ranks() {
    let place = Workplace::new();
    for engine in ["threads", "processes"] {
        let args = ["run", "all_gather_matmul", "--ranks", "4", "--size", "40,33,20", "--timeline", "new/line"];
        let called = place.ok(&[&args[..], &["--engine", engine]].concat());
        assert!(
            called.out.contains("timeline: new/line.svg and new/line.png (a picture), new/line.html (a page)"),
            "{}",
            called.out
        );
        let trace: serde_json::Value = serde_json::from_str(&place.read("new/line.json")).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        for rank in 0..4 {
            let did = |task: &str| {
                let is = |event: &&serde_json::Value| {
                    event["pid"] == rank
                        && event["ph"] == "X"
                        && event["name"].as_str().is_some_and(|name| name.starts_with(task))
                };
                events.iter().filter(is).count()
            };
            assert!(
                did("copy from") >= 4 && did("multiply") == 4 && did("wait") == 3,
                "{engine}, rank {rank}: {trace}"
            );
        }
        assert!(place.read("new/line.svg").contains("copy from 3"));
    }
}
