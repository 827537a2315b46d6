//! `shoal check`: status 0 if all is clean, 1 if something was found, 2 if it could not be checked, 130 after Ctrl-C.

mod library;
mod mutants;
mod request;
mod watch;

use std::io::IsTerminal;

use serde_json::{Value as Json, json};
use shoal::check::{CheckOptions, HarnessDecl, Token, Verdict, check_watched, replay_token, sweep};
use shoal::{Module, Style};

use crate::command_line::CheckCommand;
use crate::failure::Failure;
use watch::{Bar, Interrupt};

/// The worlds of a sweep: small ones, primes among them.
const SWEPT_RANKS: [usize; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// The worlds that are checked unless the user says otherwise.
const RANKS: [usize; 3] = [2, 3, 4];

/// The form of what `--json` prints. It grows when a field goes or changes its meaning, not when one is added.
const JSON_VERSION: u32 = 1;

pub(crate) fn check(command: &CheckCommand) -> Result<(), Failure> {
    checked(command).map_err(|failure| match failure {
        found @ (Failure::Found | Failure::Interrupted) => found,
        failure => {
            let error = failure.to_string();
            print_json(command, json!({ "clean": false, "interrupted": false, "harnesses": [], "error": error }));
            Failure::Unchecked(Box::new(failure))
        }
    })
}

/// What came of the command, if it is asked for in this form.
fn print_json(command: &CheckCommand, mut object: Json) {
    if command.json {
        object["version"] = json!(JSON_VERSION);
        object["target"] = json!(command.target.as_deref().unwrap_or("library"));
        outln!("{object}");
    }
}

fn checked(command: &CheckCommand) -> Result<(), Failure> {
    let files = match &command.target {
        Some(target) => vec![request::target(target)?],
        None => library::all()?,
    };
    let interrupt = Interrupt::listen()?;
    let report = if command.mutate {
        mutants::report(command, &files, &interrupt)?
    } else {
        let mut report = Report::default();
        let all = files.iter().flat_map(|file| file.harnesses.iter().map(move |harness| (&file.module, harness)));
        let number = files.iter().map(|file| file.harnesses.len()).sum();
        for (at, (module, harness)) in all.enumerate() {
            let shown = shown(&harness.name, at, number);
            let outcome = outcome(command, module, harness, &shown, &interrupt)?;
            report.add(command, harness, outcome);
            if interrupt.is_requested() {
                break;
            }
        }
        report
    };
    let interrupted = interrupt.is_requested();
    let clean = report.clean && !interrupted;
    print_json(command, json!({ "clean": clean, "interrupted": interrupted, "harnesses": report.harnesses }));
    match (interrupted, report.clean) {
        (true, _) => Err(Failure::Interrupted),
        (false, true) => Ok(()),
        (false, false) => Err(Failure::Found),
    }
}

/// How progress calls a harness.
fn shown(name: &str, at: usize, of: usize) -> String {
    match of {
        1 => name.to_owned(),
        _ => format!("harness {} of {of}: {name}", at + 1),
    }
}

/// What came of all harnesses.
struct Report {
    clean: bool,
    harnesses: Vec<Json>,
}

impl Default for Report {
    fn default() -> Report {
        Report { clean: true, harnesses: Vec::new() }
    }
}

impl Report {
    /// Tells what came of a harness.
    fn add(&mut self, command: &CheckCommand, harness: &HarnessDecl, outcome: Outcome) {
        let Outcome { verdicts, remark } = outcome;
        self.clean &= verdicts.iter().all(Verdict::is_clean);
        if !command.json {
            let style = if std::io::stdout().is_terminal() { Style::Colour } else { Style::Plain };
            for verdict in &verdicts {
                out!("{}", verdict.findings(style));
                outln!("{}: {}", harness.name, verdict.summary());
                out!("{}", verdict.order());
            }
            if let Some(remark) = &remark {
                outln!("{}: {remark}", harness.name);
            }
        }
        let results: Vec<Json> = verdicts.iter().map(Verdict::json).collect();
        self.harnesses.push(json!({ "harness": harness.name, "results": results, "remark": remark }));
    }
}

/// What came of one harness.
struct Outcome {
    verdicts: Vec<Verdict>,
    /// What else is to be said.
    remark: Option<String>,
}

fn outcome(
    command: &CheckCommand,
    module: &Module,
    harness: &HarnessDecl,
    shown: &str,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    if let Some(token) = &command.replay {
        let mut token: Token = token.parse()?;
        // What the user sets wins over what the token was printed with.
        for (name, value) in request::params(command)? {
            token.params.retain(|(known, _)| *known != name);
            token.params.push((name, value));
        }
        return Ok(Outcome { verdicts: vec![replay_token(module, &harness.name, &token)?], remark: None });
    }
    match &command.sweep {
        Some(items) => swept(command, items, module, harness, shown, interrupt),
        None => explored(command, module, harness, shown, interrupt),
    }
}

fn explored(
    command: &CheckCommand,
    module: &Module,
    harness: &HarnessDecl,
    shown: &str,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let ranks = if command.ranks.is_empty() { &RANKS[..] } else { &command.ranks };
    let mut verdicts = Vec::new();
    for &ranks in ranks {
        let options = CheckOptions { ranks, ..request::options(command)? };
        let mut progress = Bar::new(options.schedules, format!("{shown}, {ranks} ranks"), interrupt);
        let verdict = check_watched(module, &harness.name, &options, &mut progress)?;
        let clean = verdict.is_clean();
        verdicts.push(verdict);
        // What is wrong in one world is told once.
        if !clean || interrupt.is_requested() {
            break;
        }
    }
    Ok(Outcome { verdicts, remark: None })
}

fn swept(
    command: &CheckCommand,
    items: &[String],
    module: &Module,
    harness: &HarnessDecl,
    shown: &str,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let ranks = if command.ranks.is_empty() { &SWEPT_RANKS[..] } else { &command.ranks };
    let settings = items.iter().filter(|item| !item.is_empty()).map(|item| request::setting(item));
    let settings = settings.collect::<Result<Vec<_>, _>>()?;
    let options = request::options(command)?;
    let mut progress = Bar::new(options.schedules, format!("{shown}, sweep"), interrupt);
    let swept = sweep(module, &harness.name, ranks, &settings, &options, &mut progress)?;
    let remark = match swept.verdict.is_clean() {
        true => format!("clean in all {} worlds and sizes", swept.checked),
        false => {
            format!("found in case {} of the sweep; the token names the smallest case that shows it", swept.checked)
        }
    };
    Ok(Outcome { verdicts: vec![swept.verdict], remark: Some(remark) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_many_harnesses_there_are() {
        assert_eq!(shown("ring", 0, 1), "ring");
        assert_eq!(shown("ring", 2, 31), "harness 3 of 31: ring");
    }
}
