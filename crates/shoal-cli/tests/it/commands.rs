//! Each command, with what it prints and how it fails.

use crate::shoal::Workplace;

const ADD: &str = include_str!("../../../../examples/add.py");

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("add.py", ADD);
    place
}

const RUN: [&str; 13] = [
    "run",
    "add.py",
    "-a",
    "x=arange:fp32[6]",
    "-a",
    "y=ones:fp32[6]",
    "-a",
    "out=empty:fp32[6]",
    "-a",
    "n=5",
    "-a",
    "BLOCK=4",
    "--grid=n/BLOCK",
];

#[test]
fn run_shows_prints_and_saves() {
    let place = place();
    let called = place.ok(&[&RUN[..], &["--print", "out", "--save", "out=out.npy"]].concat());
    assert!(called.out.contains("out = float32 [6]\n  1 2 3 4 5 NaN\n"), "{}", called.out);
    assert!(called.err.contains("add on cpu: compiled in"), "{}", called.err);
    // What was saved can be passed on.
    let args = ["-a", "x=@out.npy", "-a", "y=@out.npy", "-a", "out=zeros:fp32[5]", "-a", "n=5", "-a", "BLOCK=8"];
    let again = place.ok(&[&["run", "add.py:add", "--print=out"], &args[..]].concat());
    assert!(again.out.contains("  2 4 6 8 10\n"), "{}", again.out);
}

#[test]
fn the_interpreter_is_asked_for_by_the_variable() {
    let place = place();
    let backend = |args: &[&str], value| place.call_with(args, &[("SHOAL_INTERPRET", value)]).err;
    assert!(backend(&RUN, "1").contains("add on interp: "), "{}", backend(&RUN, "1"));
    assert!(backend(&RUN, "0").contains("add on cpu: "));
    assert!(backend(&[&RUN[..], &["--backend=cpu"]].concat(), "1").contains("add on cpu: "), "the flag wins");
    assert!(backend(&RUN, "2").starts_with("error: SHOAL_INTERPRET=2"), "{}", backend(&RUN, "2"));
}

#[test]
fn accesses_are_checked_by_the_flag_and_by_the_variable() {
    let place = place();
    let outside = RUN.map(|arg| if arg == "n=5" { "n=7" } else { arg });
    let flagged = [&outside[..], &["--debug"]].concat();
    for (args, value) in [(&outside[..], "1"), (&flagged[..], "0")] {
        let called = place.call_with(args, &[("SHOAL_DEBUG", value)]);
        assert!(called.err.contains("0 bytes past the end of `x` (24 bytes)"), "{}", called.err);
    }
}

#[test]
fn a_second_run_finds_the_kernel_in_the_cache() {
    let place = place();
    assert!(place.ok(&RUN).err.contains("compiled in"));
    assert!(place.ok(&RUN).err.contains("loaded from the cache in"));
    assert!(place.ok(&["cache", "list"]).out.contains("1 compiled kernels"));
    // A change of the source is another kernel; a damaged entry is compiled again.
    place.write("add.py", &ADD.replace("total = ", "total = 0 + "));
    assert!(place.ok(&RUN).err.contains("compiled in"));
    for entry in std::fs::read_dir(place.path().join("cache")).unwrap() {
        std::fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    assert!(place.ok(&RUN).err.contains("compiled in"));
    assert!(place.ok(&["cache", "list"]).out.contains("(damaged)"));
    assert!(place.ok(&["cache", "clear"]).out.contains("removed 2 compiled kernels"));
    assert!(place.ok(&["cache", "path"]).out.contains("cache"));
}

#[cfg(unix)]
#[test]
fn a_cache_that_others_can_write_to_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    let cache = place.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    for _ in 0..2 {
        let called = place.ok(&RUN);
        assert!(called.err.contains("compiled in"), "{}", called.err);
        assert!(called.err.contains("can be written by others (mode 777)"), "{}", called.err);
    }
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
}

#[test]
fn backends_agree_on_library_kernels() {
    let place = place();
    let called = place.ok(&["run", "rms_norm", "--size", "3,50", "--dtype", "fp16", "--check", "interp"]);
    assert!(called.out.contains("on cpu") && called.out.contains("on interp"), "{}", called.out);
    for tolerance in ["nan", "inf", "-0.1", "little"] {
        let said = place.fails(&["run", "rms_norm", "--check", "interp", &format!("--tolerance={tolerance}")]);
        assert!(said.contains("a tolerance is a number, 0 or more"), "{said}");
    }
}

#[test]
fn compile_writes_every_form() {
    let place = place();
    let signature = "*fp32:16, *fp32:16, *fp32:16, i32, 256";
    place.ok(&["compile", "add.py", "-s", signature, "-e", "tile,tile-opt,llvm,asm,obj", "-o", "made", "--time"]);
    let timed = place.ok(&["compile", "add.py", "-s", signature, "-e", "ptx", "--target", "sm_80", "--time"]).err;
    assert!(timed.contains("codegen") && !timed.contains("load"), "code for a GPU is not loaded here: {timed}");
    assert!(place.read("made/add.tile").starts_with("kernel @add("));
    assert!(place.read("made/add.ll").contains("define"));
    assert!(place.read("made/add.s").contains(".text"));
    assert!(std::fs::read(place.path().join("made/add.o")).unwrap().starts_with(b"\x7fELF"));
    // The form after the front end goes through the passes as text, too.
    let called = place.ok(&["opt", "made/add.tile", "--passes", "cpu"]);
    assert_eq!(called.out, place.read("made/add.opt.tile"));
    let called = place.ok(&["opt", "made/add.tile", "-p", "cse,dce", "--print-after-all", "--time"]);
    assert!(called.out.contains("// after cse") && called.out.contains("// after dce"));
    assert!(place.ok(&["opt", "--list"]).out.contains("canonicalize"));
}

#[test]
fn code_for_another_cpu() {
    let place = place();
    let asm = |cpu: &str| {
        let signature = "*fp32:16, *fp32:16, *fp32:16, i32, 256";
        place.ok(&["compile", "add.py", "-s", signature, "-e", "asm", "--target", cpu]).out
    };
    assert!(asm("x86-64-v3").contains("ymm") && !asm("x86-64-v3").contains("zmm"));
    assert!(!asm("x86-64").contains("ymm"));
}

#[test]
fn sizes_that_no_machine_holds_are_errors() {
    let place = place();
    for wrong in [
        &["run", "vector_add", "--size", "18446744073709551615"][..],
        &["run", "matmul", "--size", "4294967296,4294967296,4294967296"],
        &["run", "add.py", "-a", "x=ones:f32[99999999999,99999999999]"],
    ] {
        let said = place.fails(wrong);
        assert!(said.contains("too large"), "{said}");
    }
}

#[test]
fn mistakes_are_told_in_the_users_words() {
    let place = place();
    place.write("two.py", &format!("{ADD}\n\n{}", ADD.replace("def add", "def sub")));
    place.write("empty.tile", "");
    place.write("bad.tile", "kernel @k() {\n  oops ()\n}\n");
    let said = [
        place.fails(&["run", "none.py"]),
        place.refuses(&["run", "two.py"]),
        place.refuses(&["run", "two.py:mul"]),
        place.refuses(&["run", "matmull"]),
        place.refuses(&["run", "matmul", "--size", "1,2"]),
        place.refuses(&["run", "matmul", "--dtype", "i32"]),
        place.refuses(&["run", "add.py", "-a", "x"]),
        place.refuses(&["run", "add.py", "-a", "x=randn:f33[2]"]),
        place.refuses(&["run", "add.py", "--grid", "m/2"]),
        place.refuses(&["run", "add.py"]),
        place.refuses(&[&RUN[..], &["--arg", "n=3"]].concat()),
        place.refuses(&[&RUN[..], &["--save", "out"]].concat()),
        place.refuses(&[&RUN[..], &["--print", "z"]].concat()),
        place.refuses(&["compile", "add.py", "-s", "*fp32, *fp32, *fp32, i32"]),
        place.refuses(&["compile", "add.py", "-s", "*fp32, *fp32, *fp32, i33, 256"]),
        place.fails(&["compile", "add.py", "-s", "*fp32, *fp32, *fp32, i32, 100"]),
        place.refuses(&["compile", "add.py", "-s", "*fp32, *fp32, *fp32, i32, 256", "-e", "sass"]),
        place.refuses(&["compile", "add.py", "-s", "*fp32, *fp32, *fp32, i32, 256", "-e", "obj"]),
        place.refuses(&["compile", "add.py", "-s", "*fp32, *fp32, *fp32, i32, 256", "-e", "asm", "--target", "z80"]),
        place.fails(&["opt", "bad.tile", "-p", "cse"]),
        place.refuses(&["opt", "empty.tile", "-p", "cs"]),
        place.fails(&["opt", "none.tile"]),
        place.refuses(&["bench", "cpu", "--filter", "nothing"]),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn doctor_says_what_is_there() {
    let called = place().ok(&["doctor"]);
    for word in ["shoal", "llvm", "cpu", "threads", "cache", "numpy", "not installed", "compile and run"] {
        assert!(called.out.contains(word), "{word}:\n{}", called.out);
    }
}

#[test]
fn bench_measures_without_peers_and_writes_rows() {
    let place = place();
    let called = place.ok(&["bench", "cpu", "--filter", "launch", "--rounds", "1", "--json", "rows.json"]);
    assert!(called.out.contains("empty kernel, 19 arguments, warm"), "{}", called.out);
    let rows: serde_json::Value = serde_json::from_str(&place.read("rows.json")).unwrap();
    let row = rows[0].as_object().unwrap();
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    assert_eq!(names, ["bench", "case", "metric", "ours", "peer", "peer_value", "ratio"]);
    assert!(row["ratio"].as_f64().unwrap() > 0.0);
    assert!(place.read("bench-cpu.svg").contains("<svg"));
}

/// Devices are files too: one that never ends is no source, and one that takes nothing is no place for output.
#[cfg(target_os = "linux")]
#[test]
fn devices_are_no_files_of_kernels() {
    let place = place();
    for args in [&["opt", "/dev/zero"][..], &["compile", "/dev/zero:add", "--signature", "i32"]] {
        let said = place.fails(args);
        assert!(said.contains("cannot read /dev/zero: it has more than 16 MiB"), "{said}");
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_shoal"))
        .args(["opt", "--list"])
        .stdout(full)
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write to the standard output"), "{said}");
}
