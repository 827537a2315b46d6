//! `shoal check --mutate`.

use serde_json::{Value as Json, json};
use shoal::check::{Mutant, Mutants, Mutated, mutate};

use super::request::Target;
use super::watch::{Bar, Interrupt};
use super::{Report, request};
use crate::command_line::CheckCommand;
use crate::failure::Failure;

/// The worlds in which a mutant is looked at until something is found.
const RANKS: [usize; 2] = [3, 2];

/// Mutants of all harnesses together: what one of them shows is found.
pub(super) fn report(command: &CheckCommand, files: &[Target], interrupt: &Interrupt) -> Result<Report, Failure> {
    let options = request::options(command)?;
    let ranks = if command.ranks.is_empty() { &RANKS[..] } else { &command.ranks };
    let mut mutants = Mutants::default();
    for Target { module, harnesses, kernel } in files {
        for harness in harnesses {
            let mut progress = Bar::new(0, format!("{}, mutants", harness.name), interrupt);
            let mutated = Mutated { harness: &harness.name, kernel: kernel.as_deref() };
            mutate(&mut mutants, module, mutated, (ranks, &options), &mut progress)?;
        }
    }
    if !command.json {
        for mutant in mutants.all() {
            outln!("{}: {}: {}", mutant.place, mutant.change, end(mutant));
        }
        let (survive, open) = (mutants.survivors().count(), mutants.unexplained().count());
        outln!("{survive} of {} mutants survive, {open} of them unexplained", mutants.all().len());
    }
    let one =
        |m: &Mutant| json!({ "place": m.place, "change": m.change, "killed_by": m.killed_by, "reason": m.reason });
    let results: Vec<Json> = mutants.all().iter().map(one).collect();
    let names: Vec<&str> = files.iter().flat_map(|file| &file.harnesses).map(|h| h.name.as_str()).collect();
    let clean = mutants.unexplained().count() == 0;
    Ok(Report { clean, harnesses: vec![json!({ "harness": names.join(", "), "mutants": results })] })
}

fn end(mutant: &Mutant) -> String {
    match (&mutant.killed_by, &mutant.reason) {
        (Some(by), _) => format!("found: {by}"),
        (None, Some(reason)) => format!("survives: {reason}"),
        (None, None) => "SURVIVES".to_owned(),
    }
}
