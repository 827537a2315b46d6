//! Kernels compiled ahead of time, in C and Rust programs that are built and run here.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runtime;
use crate::shoal::Workplace;

const DOCS: &str = include_str!("../../../../docs/ahead-of-time.md");
const MAIN_C: &str = include_str!("../../../../examples/ahead-of-time/main.c");
const MAIN_RS: &str = include_str!("../../../../examples/ahead-of-time/main.rs");
const BUILD_RS: &str = include_str!("../../../../examples/ahead-of-time/build.rs");
const ADD: &str = include_str!("../../../../examples/add.py");
const KERNELS: &str = include_str!("../programs/kernels.py");

/// Two configurations, one of them with and without memory as bias.
const SCALE: [&str; 3] = [
    "*kfp16, *kfp32, *fp32, i32, i32, fp32, u1, 16",
    "*kfp16, None, *fp32, i32, i32:1, fp32, u1, 16",
    "*kfp16, None, *fp32, i32, i32:1, fp32, u1, BLOCK=64",
];

/// A folder with the kernels and the examples.
fn place() -> Workplace {
    let place = Workplace::new();
    place.write("examples/add.py", ADD);
    place.write("kernels.py", KERNELS);
    place.write("main.c", MAIN_C);
    place.write("main.rs", MAIN_RS);
    place
}

/// Calls the command with the runtime's library, which must succeed; returns what it says.
fn compile(place: &Workplace, args: &[&str]) -> String {
    let output = command(place, args).output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "shoal {args:?}\n{said}");
    said
}

fn command(place: &Workplace, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
    command.args(args).current_dir(place.path()).env("SHOAL_RUNTIME", runtime::archive());
    command.env_remove("CC");
    command
}

/// Runs a program in the folder; returns what it prints.
fn run(place: &Workplace, program: impl AsRef<Path>, args: &[&str]) -> String {
    let output = Command::new(program.as_ref()).args(args).current_dir(place.path()).output().expect("a program");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {args:?}\n{out}\n{err}", program.as_ref().display());
    out.into_owned()
}

/// The blocks of a language in the documentation.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    let starts = DOCS.split(start.as_str()).skip(1);
    starts.map(|rest| rest.split_once("```").expect("the block's end").0).collect()
}

#[test]
fn the_documentation_shows_the_examples() {
    assert_eq!(blocks("c"), [MAIN_C]);
    assert_eq!(blocks("rust")[..2], [BUILD_RS, MAIN_RS]);
}

#[test]
fn the_documented_commands_build_a_c_program_that_runs() {
    let command = Path::new(env!("CARGO_BIN_EXE_shoal")).parent().expect("a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(command).chain(std::env::split_paths(&others))).expect("a path");
    for script in blocks("sh") {
        let place = place();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", script]).current_dir(place.path());
        shell.env("PATH", &path).env("SHOAL_RUNTIME", runtime::archive());
        let output = shell.output().expect("a shell");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1000 by *kfp32, *kfp32, *fp32, i32, 1024\n", "{err}");
    }
}

#[test]
fn a_rust_program_runs_the_emitted_module() {
    let place = place();
    let aligned = "*kfp32:16, *kfp32:16, *fp32:16, i32:16, 1024";
    let any = "*kfp32, *kfp32, *fp32, i32, 1024";
    compile(&place, &["compile", "examples/add.py", "-s", aligned, "-s", any, "-e", "rust", "-o", "made"]);
    let program = runtime::rust_program(place.path(), "main.rs", &place.path().join("made"));
    assert_eq!(run(&place, program, &[]), "1000 by *kfp32, *kfp32, *fp32, i32, 1024\n");
}

#[test]
fn configurations_options_errors_and_threads_in_rust() {
    let place = place();
    place.write("scale.rs", include_str!("../programs/scale.rs"));
    let signatures = SCALE.map(|signature| ["-s", signature]).concat();
    let made = ["-e", "rust", "-o", "made"];
    compile(&place, &[&["compile", "kernels.py:scale"], &signatures[..], &made[..]].concat());
    let guarded = ["compile", "kernels.py:guarded", "-s", "*i32, i32, 16", "--debug"];
    compile(&place, &[&guarded[..], &made[..]].concat());
    let program = runtime::rust_program(place.path(), "scale.rs", &place.path().join("made"));
    let said = run(&place, program, &[]);
    assert!(said.starts_with("kernel `guarded` failed: x is negative\n  in program ("), "{said}");
    assert!(said.contains("at kernels.py:9"), "{said}");
}

/// The example of a build script, which another test runs as Cargo does.
mod build_script {
    include!("../../../../examples/ahead-of-time/build.rs");

    #[test]
    #[ignore = "is run by `a_build_script_makes_the_module`"]
    fn runs() {
        main().unwrap();
    }
}

#[test]
fn a_build_script_makes_the_module() {
    let place = place();
    let out_dir = place.path().join("out");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "ahead_of_time::build_script::runs", "--ignored", "--nocapture"])
        .current_dir(place.path())
        .env("OUT_DIR", &out_dir)
        .output()
        .expect("this program starts");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("cargo::rerun-if-changed=examples/add.py\n"), "{out}");
    let program = runtime::rust_program(place.path(), "main.rs", &out_dir);
    let said = run(&place, program, &[]);
    assert!(said.starts_with("1000 by *kfp32, *kfp32, *fp32, i32, 1024 for "), "{said}");
}

#[test]
fn results_choices_errors_and_threads_in_c() {
    let place = place();
    place.write("checks.c", include_str!("../programs/checks.c"));
    let add = [
        "*kfp32, *kfp32, *fp32, i64, 256",
        "*kfp32:16, *kfp32:16, *fp32:16, i32:16, 256",
        "*kfp32:16, *kfp32:16, *fp32:16, i32:1, 256",
    ];
    let signatures: Vec<&str> = add.iter().flat_map(|signature| ["-s", signature]).collect();
    compile(&place, &[&["compile", "examples/add.py", "--emit=so", "--output=."], &signatures[..]].concat());
    let guarded = ["compile", "kernels.py:guarded", "-s", "*i32:16, i32:16, 16", "--debug", "--emit=so", "--output=."];
    compile(&place, &guarded);
    run(
        &place,
        "cc",
        &[
            "checks.c",
            "-Wall",
            "-Werror",
            "-I.",
            "-L.",
            "-ladd",
            "-lguarded",
            "-lpthread",
            "-Wl,-rpath,.",
            "-o",
            "checks",
        ],
    );
    assert_eq!(run(&place, place.path().join("checks"), &[]), "right\n");
}

#[test]
fn several_kernels_configurations_and_null_in_one_static_program() {
    let place = place();
    place.write("configurations.c", include_str!("../programs/configurations.c"));
    let signatures = SCALE.map(|signature| ["-s", signature]).concat();
    compile(
        &place,
        &[&["compile", "kernels.py:scale", "--emit=c", "-o=.", "--target=generic"], &signatures[..]].concat(),
    );
    compile(&place, &["compile", "examples/add.py", "-s", "*kfp32, *kfp32, *fp32, i32, 16", "--emit=c", "-o", "."]);
    let corner = "tensordesc<fp32[2, 4]>, (i32, (fp32, 3)), *fp32";
    compile(&place, &["compile", "kernels.py:corner", "-s", corner, "--emit=c", "-o", "."]);
    let runtime = runtime::archive();
    let runtime = runtime.to_str().expect("a plain path");
    let sources = ["configurations.c", "scale.c", "add.c", "corner.c", runtime];
    let options = ["-Wall", "-Werror", "-std=c99", "-pedantic", "-lpthread", "-ldl", "-lm", "-o", "program"];
    run(&place, "cc", &[&sources[..], &options[..]].concat());
    let expected = "-6 -42 16\n0.75 0 64\n\
        *kfp16, None, *fp32, i32, i32:1, fp32, i1, 16\n*kfp16, *kfp32, *fp32, i32, i32, fp32, i1, 16\n\
        3: kernel `scale` has no configuration 2; it has 2, counted from 0\n\
        101.5 211.5\nadded\n";
    assert_eq!(run(&place, place.path().join("program"), &[]), expected);
}

#[test]
fn libraries_need_only_the_c_library_and_show_only_their_functions() {
    let place = place();
    compile(&place, &["compile", "examples/add.py", "-s", "*fp32, *fp32, *fp32, i32, 64", "-e", "so", "--name", "sum"]);
    let needed = run(&place, "readelf", &["-d", "libsum.so"]);
    let needed: Vec<&str> =
        needed.lines().filter_map(|line| line.split_once("Shared library: [")).map(|x| x.1).collect();
    assert!(!needed.is_empty());
    for library in needed {
        let known = ["libc.so", "libm.so", "libgcc_s.so", "libpthread.so", "libdl.so", "ld-linux"];
        assert!(known.iter().any(|known| library.starts_with(known)), "{library}");
    }
    let shown = run(&place, "nm", &["-D", "--defined-only", "libsum.so"]);
    let mut shown: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().last()).collect();
    shown.sort_unstable();
    assert_eq!(shown, ["sum_error", "sum_launch", "sum_load", "sum_variant"]);
}

#[test]
fn code_for_another_cpu_is_refused_and_the_best_that_runs_is_taken() {
    let place = place();
    let signature = "*kfp32, *kfp32, *fp32, i32, 1024";
    let made = |cpus: &str| {
        compile(&place, &["compile", "examples/add.py", "-s", signature, "-e", "so", "--target", cpus, "-o", "made"]);
        run(&place, "cc", &["main.c", "-Imade", "-Lmade", "-ladd", "-Wl,-rpath,made", "-o", "main"]);
        let output = Command::new(place.path().join("main")).current_dir(place.path()).output().expect("a program");
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // No CPU has both what only AMD's have and what only Intel's have.
    let refused = [made("znver5"), made("sapphirerapids")];
    let told = |(_, err): &&(String, String)| err.starts_with("kernel `add` was compiled for CPUs with ");
    let (out, err) = refused.iter().find(told).unwrap_or_else(|| panic!("{refused:?}"));
    assert!(out.is_empty() && err.contains("which this one does not have"), "{err}");
    // With a general variant beside it the program runs everywhere.
    let (out, err) = made("znver5,sapphirerapids,generic");
    assert!(out.starts_with("1000 by *kfp32, *kfp32, *fp32, i32, 1024 for "), "{out}\n{err}");
    let (out, err) = made("generic");
    assert_eq!(out, format!("1000 by {signature}\n"), "{err}");
}

#[test]
fn what_is_missing_is_told() {
    let place = place();
    let signature = "*kfp32, *kfp32, *fp32, i32, 1024";
    let args = ["compile", "examples/add.py", "-s", signature, "--emit", "so"];
    let fails = |command: &mut Command| {
        let output = command.output().expect("the command starts");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = fails(command(&place, &args).env("SHOAL_RUNTIME", "/nowhere/libshoal_runtime.a"));
    assert!(said.contains("the runtime libshoal_runtime.a was not found; looked for /nowhere/"), "{said}");
    assert!(said.contains("cargo build --release -p shoal-runtime"), "{said}");
    let said = fails(command(&place, &args).env("CC", "/nowhere/cc"));
    assert!(said.contains("needs the C compiler `/nowhere/cc`, which cannot be started"), "{said}");
    assert!(said.contains("apt install gcc"), "{said}");
    let said = fails(&mut command(&place, &[&args[..], &["--name", "a-b"]].concat()));
    assert!(said.contains("`a-b` cannot be the name of a function"), "{said}");
    let said = fails(&mut command(&place, &[&args[..], &["-s", "*kfp16, *kfp32, *fp32, i32, 1024"]].concat()));
    assert!(said.contains("`x` is *fp32 in one signature and *fp16 in another"), "{said}");
    let said = fails(&mut command(&place, &[&args[..], &["-e", "tile", "-s", signature]].concat()));
    assert!(said.contains("show one signature on one target at a time"), "{said}");
    let left: Vec<PathBuf> = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!left.iter().any(|path| path.extension().is_some_and(|e| e == "so")), "{left:?}");
}
