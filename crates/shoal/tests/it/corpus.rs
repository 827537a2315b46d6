//! The corpus of protocols: mistakes that must be found, their right twins, and idioms that must be left alone.

use std::fs;
use std::path::{Path, PathBuf};

use shoal::Module;
use shoal::check::{CheckOptions, Room, Verdict, check, replay_token};

/// What the head of a file says.
struct Case {
    path: PathBuf,
    expected: Vec<String>,
    /// Kinds that must all be found.
    must: Vec<String>,
    /// What the report must say: why it is wrong, and what would mend it.
    says: Vec<String>,
    ranks: Vec<usize>,
    options: CheckOptions,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(name)
}

fn cases(name: &str) -> Vec<Case> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder(name)).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    assert!(!paths.is_empty(), "{name} is empty");
    paths.into_iter().map(case).collect()
}

fn case(path: PathBuf) -> Case {
    let text = fs::read_to_string(&path).expect("a text");
    let said = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {key}: ")));
        line.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let number = |key: &str| said(key).map(|words| words[0].parse::<usize>().expect("a number"));
    let ranks = said("ranks").map_or(vec![2, 3], |words| words.iter().map(|w| w.parse().expect("a number")).collect());
    let options = CheckOptions {
        launches: number("launches").unwrap_or(2),
        room: number("resident").map_or(Room::All, Room::Programs),
        schedules: number("schedules").unwrap_or(100),
        ..CheckOptions::default()
    };
    let must = said("must").unwrap_or_default();
    let says = text.lines().filter_map(|line| line.strip_prefix("# says: ")).map(str::to_owned).collect();
    Case { expected: said("expect").expect("what is expected"), must, says, ranks, options, path }
}

/// Checks every harness of a file in every world that it is for.
fn verdicts(case: &Case) -> Vec<(String, Verdict)> {
    let module = Module::from_file(&case.path).unwrap_or_else(|error| panic!("{}: {error}", case.path.display()));
    let harnesses = module.harnesses();
    assert!(!harnesses.is_empty(), "{} has no harness", case.path.display());
    let mut verdicts = Vec::new();
    for harness in harnesses {
        for &ranks in &case.ranks {
            let options = CheckOptions { ranks, ..case.options.clone() };
            let verdict = check(&module, &harness.name, &options)
                .unwrap_or_else(|error| panic!("{}:{}: {error}", case.path.display(), harness.name));
            for found in verdict.found() {
                let token = verdict.token(found);
                let again = replay_token(&module, &harness.name, &token).expect("it runs again");
                let same = again.found().iter().any(|other| other.finding == found.finding);
                assert!(same, "{token} does not show it again:\n{verdict}\n{again}");
            }
            verdicts.push((harness.name.clone(), verdict));
        }
    }
    verdicts
}

#[test]
fn mistakes_are_found() {
    for case in cases("fail") {
        for (harness, verdict) in verdicts(&case) {
            let kinds: Vec<&str> = verdict.found().iter().map(|found| found.finding.kind()).collect();
            let expected = !kinds.is_empty() && kinds.iter().all(|kind| case.expected.iter().any(|e| e == kind));
            assert!(expected, "{}:{harness}, {:?} expected:\n{verdict}", case.path.display(), case.expected);
            let missing: Vec<&String> = case.must.iter().filter(|must| !kinds.contains(&must.as_str())).collect();
            assert!(missing.is_empty(), "{}:{harness}, {missing:?} too:\n{verdict}", case.path.display());
            assert!(!case.says.is_empty(), "{} does not tell what is said of it:\n{verdict}", case.path.display());
            let told = verdict.to_string();
            let unsaid: Vec<&String> = case.says.iter().filter(|says| !told.contains(says.as_str())).collect();
            assert!(unsaid.is_empty(), "{}:{harness}, {unsaid:?} is not said:\n{verdict}", case.path.display());
        }
    }
}

#[test]
fn right_twins_are_clean() {
    let twins = cases("pass");
    for case in cases("fail") {
        let name = case.path.file_name();
        assert!(twins.iter().any(|twin| twin.path.file_name() == name), "{} has no twin", case.path.display());
    }
    for case in twins {
        for (harness, verdict) in verdicts(&case) {
            assert!(verdict.is_clean(), "{}:{harness}:\n{verdict}", case.path.display());
        }
    }
}

#[test]
fn idioms_are_left_alone() {
    let mut idioms = 0;
    for case in cases("idioms") {
        let verdicts = verdicts(&case);
        idioms += verdicts.len() / case.ranks.len();
        for (harness, verdict) in verdicts {
            assert!(verdict.is_clean(), "{}:{harness}:\n{verdict}", case.path.display());
        }
    }
    assert!(idioms >= 30, "{idioms} idioms");
}

/// The page teaches with a file of the corpus; what it shows is what is printed. `SHOAL_BLESS=1` writes it.
#[test]
fn the_page_shows_what_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checking.md");
    let text = fs::read_to_string(&page).expect("the page");
    let name = "tests/corpus/fail/relaxed_wait.py";
    let kernel = fs::read_to_string(folder("fail/relaxed_wait.py")).expect("the kernel");
    for piece in ["@shoal.jit\ndef ring", "@shoal.harness\ndef once"] {
        let end = kernel.find(piece).map(|at| kernel[at..].find("\n\n").map_or(kernel.len(), |end| at + end));
        let piece = &kernel[kernel.find(piece).expect("it is there")..end.expect("it is there")];
        assert!(text.contains(piece.trim_end()), "the page shows another kernel than {name}");
    }
    let module = Module::from_source(name, &kernel).expect("it parses");
    let verdict = check(&module, "once", &CheckOptions::default()).expect("it runs").to_string();
    // The command says of which harness the last line speaks.
    let (report, last) = verdict.rsplit_once('\n').expect("several lines");
    let printed = format!("{report}\nonce: {last}");
    let command = format!("$ shoal check {name} --ranks 2\n");
    let start = text.find(&command).expect("the command") + command.len();
    let end = start + text[start..].find("\n```").expect("the end of the block");
    if std::env::var_os("SHOAL_BLESS").is_some() {
        fs::write(&page, format!("{}{printed}{}", &text[..start], &text[end..])).expect("written");
    } else {
        assert_eq!(text[start..end], printed, "run with SHOAL_BLESS=1");
    }
}
