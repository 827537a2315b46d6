//! Which options of a command were written, as opposed to those that have their defaults: one that means nothing for what
//! is asked is told, not left aside.

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};

use crate::command_line::CommandLine;
use crate::failure::Failure;

/// The long names of the options that were written, but for those that only Shoal writes itself.
#[derive(Debug)]
pub(crate) struct Given(Vec<String>);

impl Given {
    /// Those of the command that was read.
    pub(crate) fn of(matches: &ArgMatches) -> Given {
        let Some((name, matches)) = matches.subcommand() else { return Given(Vec::new()) };
        let command = CommandLine::command();
        let known = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
        let shown = known.filter(|arg| !arg.is_hide_set());
        let written = shown.filter(|arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine));
        Given(written.filter_map(|arg| arg.get_long().map(str::to_owned)).collect())
    }

    /// Whether this option was written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|given| given == name)
    }

    /// Refuses options other than these, which are all that `what` takes.
    pub(crate) fn only(&self, taken: &[&str], what: &str) -> Result<(), Failure> {
        let Some(other) = self.0.iter().find(|name| !taken.contains(&name.as_str())) else { return Ok(()) };
        Err(Failure::usage(format!("--{other} is not for {what}, which takes --{}", taken.join(", --"))))
    }
}
