//! `shoal check`.

mod library;

use std::path::Path;

use serde_json::{Value as Json, json};
use shoal::check::{
    CheckOptions, DEVICES, HarnessDecl, HarnessValue, Token, Verdict, Watcher, check_watched, device_named, mutate,
    replay_token, sweep,
};
use shoal::{Arg, Module, Style};

use crate::command_line::CheckCommand;
use crate::failure::Failure;
use crate::progress::Progress;

/// The worlds of a sweep: small ones, primes among them.
const SWEPT_RANKS: [usize; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// The worlds that are checked unless the user says otherwise.
const RANKS: [usize; 3] = [2, 3, 4];

pub(crate) fn check(command: &CheckCommand) -> Result<(), Failure> {
    let (module, name) = target(&command.target)?;
    let harnesses = harnesses(&module, name.as_deref(), &command.target)?;
    let mut results = Vec::new();
    let mut clean = true;
    for harness in &harnesses {
        let result = if command.mutate {
            mutants(command, &module, harness)?
        } else if let Some(token) = &command.replay {
            let token: Token = token.parse()?;
            vec![replay_token(&module, &harness.name, &token, &params(command)?)?].into()
        } else if command.sweep.is_some() {
            swept(command, &module, harness)?
        } else {
            explored(command, &module, harness)?
        };
        clean &= result.clean;
        show(command, harness, &result);
        results.push(json!({ "harness": harness.name, "results": result.json }));
    }
    if command.json {
        outln!("{}", json!({ "target": command.target, "clean": clean, "harnesses": results }));
    }
    if clean { Ok(()) } else { Err(Failure::Found) }
}

/// What came of one harness.
struct Outcome {
    clean: bool,
    text: String,
    json: Vec<Json>,
}

impl From<Vec<Verdict>> for Outcome {
    fn from(verdicts: Vec<Verdict>) -> Outcome {
        let style = Style::Plain;
        Outcome {
            clean: verdicts.iter().all(Verdict::is_clean),
            text: verdicts.iter().map(|verdict| verdict.render(style)).collect(),
            json: verdicts.iter().map(Verdict::json).collect(),
        }
    }
}

fn show(command: &CheckCommand, harness: &HarnessDecl, outcome: &Outcome) {
    if command.json {
        return;
    }
    for line in outcome.text.lines() {
        match line.starts_with("clean") || line.contains(" finding") {
            true => outln!("{}: {line}", harness.name),
            false => outln!("{line}"),
        }
    }
}

/// The file or library kernel that a target names, and the harness or kernel in it.
fn target(target: &str) -> Result<(Module, Option<String>), Failure> {
    let (file, name) = match target.rsplit_once(':') {
        Some((file, name)) if !name.contains(['/', '.']) => (file, Some(name.to_owned())),
        _ => (target, None),
    };
    if file.contains(".py") || Path::new(file).exists() {
        return Ok((Module::from_file(Path::new(file))?, name));
    }
    library::find(file)
}

/// The harnesses that a name stands for: one of that name, those that launch a kernel of that name, or all.
fn harnesses(module: &Module, name: Option<&str>, target: &str) -> Result<Vec<HarnessDecl>, Failure> {
    let all = module.harnesses();
    if all.is_empty() {
        return Err(Failure::new(format!(
            "{target} has no harness: add a function with the decorator `@shoal.harness` that says how the kernel is \
             launched (docs/checking.md)"
        )));
    }
    let Some(name) = name else { return Ok(all) };
    let fits = |harness: &&HarnessDecl| harness.name == name || harness.kernels.iter().any(|kernel| kernel == name);
    let some: Vec<HarnessDecl> = all.iter().filter(fits).cloned().collect();
    match some.is_empty() {
        false => Ok(some),
        true => {
            let names = all.iter().map(|h| format!("`{}`", h.name)).collect::<Vec<_>>().join(", ");
            Err(Failure::new(format!("no harness is called `{name}` or launches it; there are {names}")))
        }
    }
}

fn params(command: &CheckCommand) -> Result<Vec<(String, HarnessValue)>, Failure> {
    let read = |item: &String| {
        let (name, text) = item.split_once('=').ok_or_else(|| Failure::new(format!("--set {item}: NAME=VALUE")))?;
        Ok((name.trim().to_owned(), value(text.trim())?))
    };
    command.set.iter().map(read).collect()
}

fn value(text: &str) -> Result<HarnessValue, Failure> {
    match Arg::parse_constant(text) {
        Some(Arg::None) => Ok(HarnessValue::None),
        Some(Arg::Bool(b)) => Ok(HarnessValue::Bool(b)),
        Some(Arg::Int(i)) => Ok(HarnessValue::Int(i)),
        Some(Arg::Float(x)) => Ok(HarnessValue::Float(x)),
        Some(Arg::Text(text)) => Ok(HarnessValue::Str(text.into_owned())),
        _ => Err(Failure::new(format!("`{text}` is no value: write a number, a text in quotes, True, False or None"))),
    }
}

fn options(command: &CheckCommand) -> Result<CheckOptions, Failure> {
    let resident = match (&command.device, command.resident) {
        (_, Some(room)) => Some(room),
        (None, None) => None,
        (Some(name), None) => match device_named(name) {
            Some(device) => Some(device.units),
            None => {
                let names: Vec<&str> = DEVICES.iter().map(|device| device.name).collect();
                return Err(Failure::new(format!("no device is known as `{name}`; there are {}", names.join(", "))));
            }
        },
    };
    if resident == Some(0) {
        return Err(Failure::new("--resident 0: a device has room for at least one program"));
    }
    Ok(CheckOptions {
        ranks: command.ranks.first().copied().unwrap_or(2),
        launches: command.launches,
        schedules: command.schedules.max(1),
        seed: command.seed,
        resident,
        params: params(command)?,
    })
}

fn explored(command: &CheckCommand, module: &Module, harness: &HarnessDecl) -> Result<Outcome, Failure> {
    let ranks = if command.ranks.is_empty() { &RANKS[..] } else { &command.ranks };
    let mut verdicts = Vec::new();
    for &ranks in ranks {
        let options = CheckOptions { ranks, ..options(command)? };
        let mut progress = Bar::new(options.schedules, format!("{}, {ranks} ranks", harness.name));
        let verdict = check_watched(module, &harness.name, &options, &mut progress)?;
        let clean = verdict.is_clean();
        verdicts.push(verdict);
        // The smallest world in which it is seen is the one to look at.
        if !clean {
            break;
        }
    }
    Ok(verdicts.into())
}

fn swept(command: &CheckCommand, module: &Module, harness: &HarnessDecl) -> Result<Outcome, Failure> {
    let ranks = if command.ranks.is_empty() { &SWEPT_RANKS[..] } else { &command.ranks };
    let mut settings = Vec::new();
    for item in command.sweep.iter().flatten().filter(|item| !item.is_empty()) {
        let (name, list) = item.split_once('=').ok_or_else(|| Failure::new(format!("--sweep {item}: NAME=A,B,…")))?;
        let values = list.split(',').map(|text| value(text.trim())).collect::<Result<_, _>>()?;
        settings.push((name.trim().to_owned(), values));
    }
    let options = options(command)?;
    let mut progress = Bar::new(options.schedules, format!("{}, sweep", harness.name));
    let (last, verdict, checked) = sweep(module, &harness.name, ranks, &settings, &options, &mut progress)?;
    let mut outcome = Outcome::from(vec![verdict]);
    let params: Vec<String> = last.params.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let told = match outcome.clean {
        true => format!("clean in all {checked} worlds and sizes"),
        false => format!("the smallest case: {} ranks {}", last.ranks, params.join(" ")),
    };
    outcome.text.push_str(&format!("{told}\n"));
    Ok(outcome)
}

fn mutants(command: &CheckCommand, module: &Module, harness: &HarnessDecl) -> Result<Outcome, Failure> {
    let options = CheckOptions { ranks: command.ranks.first().copied().unwrap_or(3), ..options(command)? };
    let mut progress = Bar::new(0, format!("{}, mutants", harness.name));
    let mutants = mutate(module, &harness.name, &options, &mut progress)?;
    let mut text = String::new();
    for mutant in &mutants {
        let end = mutant.killed_by.as_deref().map_or("SURVIVES".to_owned(), |by| format!("found: {by}"));
        text.push_str(&format!("{}: {}: {end}\n", mutant.place, mutant.change));
    }
    let survivors = mutants.iter().filter(|mutant| mutant.killed_by.is_none()).count();
    text.push_str(&format!("{survivors} of {} mutants survive\n", mutants.len()));
    let one = |m: &shoal::check::Mutant| json!({ "place": m.place, "change": m.change, "killed_by": m.killed_by });
    Ok(Outcome { clean: survivors == 0, text, json: mutants.iter().map(one).collect() })
}

/// Progress of an exploration.
struct Bar {
    progress: Progress,
    what: String,
}

impl Bar {
    fn new(steps: usize, what: String) -> Bar {
        Bar { progress: Progress::new(steps), what }
    }
}

impl Watcher for Bar {
    fn progress(&mut self, _schedules: usize) {
        self.progress.step(self.what.clone());
    }
}
