//! What the command line asks to be checked.

use std::path::Path;

use shoal::check::{CheckOptions, DEVICES, HarnessDecl, HarnessValue, Room, Setting, Values, device_named};
use shoal::{Arg, Module};

use super::library;
use crate::command_line::CheckCommand;
use crate::failure::Failure;

/// Harnesses of a file.
pub(super) struct Target {
    pub(super) module: Module,
    pub(super) harnesses: Vec<HarnessDecl>,
    /// The kernel that was asked for, if it was one.
    pub(super) kernel: Option<String>,
}

/// The file or library kernel that a target names, and the harnesses in it that are meant.
pub(super) fn target(target: &str) -> Result<Target, Failure> {
    let (file, name) = match target.rsplit_once(':') {
        Some((file, name)) if !name.contains(['/', '.']) => (file, Some(name.to_owned())),
        _ => (target, None),
    };
    let (module, name) = match file.contains(".py") || Path::new(file).exists() {
        true => (Module::from_file(Path::new(file))?, name),
        false => library::find(file)?,
    };
    let harnesses = harnesses(&module, name.as_deref(), target)?;
    let is_kernel = |name: &String| harnesses.iter().all(|harness| harness.kernels.contains(name));
    let kernel = name.filter(is_kernel);
    Ok(Target { module, harnesses, kernel })
}

/// The harnesses that a name stands for: one of that name, those that launch a kernel of that name, or all.
fn harnesses(module: &Module, name: Option<&str>, target: &str) -> Result<Vec<HarnessDecl>, Failure> {
    let all = module.harnesses();
    if all.is_empty() {
        return Err(Failure::usage(format!(
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
            Err(Failure::usage(format!("no harness is called `{name}` or launches it; there are {names}")))
        }
    }
}

pub(super) fn options(command: &CheckCommand) -> Result<CheckOptions, Failure> {
    let room = match (&command.device, command.resident) {
        (_, Some(room)) => Room::Programs(room),
        (None, None) => Room::All,
        (Some(name), None) => match device_named(name) {
            Some(device) => Room::Device(device),
            None => {
                let names: Vec<&str> = DEVICES.iter().map(|device| device.name).collect();
                return Err(Failure::usage(format!("no device is known as `{name}`; there are {}", names.join(", "))));
            }
        },
    };
    Ok(CheckOptions {
        ranks: command.ranks.first().copied().unwrap_or(2),
        launches: command.launches,
        schedules: command.schedules,
        seed: command.seed,
        room,
        params: params(command)?,
        grid_cut: None,
    })
}

/// The parameters of harnesses that are set.
pub(super) fn params(command: &CheckCommand) -> Result<Vec<(String, HarnessValue)>, Failure> {
    let read = |item: &String| {
        let (name, text) = item.split_once('=').ok_or_else(|| Failure::usage(format!("--set {item}: NAME=VALUE")))?;
        Ok((name.trim().to_owned(), value(text.trim())?))
    };
    command.set.iter().map(read).collect()
}

/// `n=0,1,37` or `n=0..100`.
pub(super) fn setting(item: &str) -> Result<Setting, Failure> {
    let wrong = || Failure::usage(format!("--sweep {item}: write NAME=A,B,… or NAME=FIRST..LAST"));
    let (name, list) = item.split_once('=').ok_or_else(wrong)?;
    let values = match list.split_once("..") {
        Some((first, last)) => {
            let number = |text: &str| text.trim().parse::<i64>().map(i128::from).map_err(|_| wrong());
            Values::Range(number(first)?, number(last)?)
        }
        None => Values::Each(list.split(',').map(|text| value(text.trim())).collect::<Result<_, _>>()?),
    };
    Ok((name.trim().to_owned(), values))
}

fn value(text: &str) -> Result<HarnessValue, Failure> {
    match Arg::parse_constant(text) {
        Some(Arg::None) => Ok(HarnessValue::None),
        Some(Arg::Bool(b)) => Ok(HarnessValue::Bool(b)),
        Some(Arg::Int(i)) => Ok(HarnessValue::Int(i)),
        Some(Arg::Float(x)) => Ok(HarnessValue::Float(x)),
        Some(Arg::Text(text)) => Ok(HarnessValue::Str(text.into_owned())),
        _ => {
            Err(Failure::usage(format!("`{text}` is no value: write a number, a text in quotes, True, False or None")))
        }
    }
}
