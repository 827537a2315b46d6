//! The command `shoal`: run, compile, look at and measure tile kernels. A program of its own, and part of the Python
//! package.
#![forbid(unsafe_code)]

#[macro_use]
mod out;

mod bench;
mod cache;
mod check;
mod command_line;
mod compile;
mod demo;
mod doctor;
mod failure;
mod given;
mod launch;
mod numbers;
mod opt;
mod progress;
mod ranks;
mod run;
mod table;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches};
use shoal::Style;

use command_line::{Command, CommandLine};
use failure::Failure;
use given::Given;

/// What the command must know of the program that it is part of.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// How to start the command again, in another process: the program and its first arguments.
    pub command: Vec<OsString>,
    /// The Python that runs the command, if one does.
    pub python: Option<OsString>,
    /// Where else the runtime of kernels that are compiled ahead of time may lie.
    pub runtime: Vec<PathBuf>,
}

/// Does what the words after the program's name say, and gives the exit status.
#[must_use]
pub fn run(surroundings: &Surroundings, words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = [OsString::from("shoal")].into_iter().chain(words);
    let read = CommandLine::command()
        .try_get_matches_from(words)
        .and_then(|matches| Ok((CommandLine::from_arg_matches(&matches)?, Given::of(&matches))));
    let (command_line, given) = match read {
        Ok(read) => read,
        Err(answer) => {
            // Help and the version come this way too. Where nobody reads the answer, the status must do.
            let _ = answer.print();
            return u8::try_from(answer.exit_code()).unwrap_or(u8::MAX);
        }
    };
    bench::peers::runs_in(surroundings.python.clone());
    let done = match &command_line.command {
        Command::Run(options) => run::run(options, &given, &surroundings.command),
        Command::Compile(options) => compile::compile(options, &surroundings.runtime),
        Command::Check(options) => check::check(options),
        Command::Opt(options) => opt::opt(options),
        Command::Bench(options) => bench::bench(options, &given, &surroundings.command),
        Command::Demo(options) => demo::demo(options),
        Command::Launch(options) => launch::launch(options),
        Command::Doctor => doctor::doctor(),
        Command::Cache(options) => cache::cache(&options.action),
        Command::MeasureRank(options) => bench::measure_rank(options),
        Command::MeasureCompile => bench::compiling::measure(),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            report(&failure);
            failure.code()
        }
    }
}

fn report(failure: &Failure) {
    let style = if std::io::stderr().is_terminal() { Style::Colour } else { Style::Plain };
    match failure {
        // Diagnostics bring their own heading.
        Failure::Shoal(error @ (shoal::Error::Compile(_) | shoal::Error::Argument(_))) => {
            eprintln!("{}", error.render(style).trim_end());
        }
        // The findings were told.
        Failure::Found => {}
        Failure::Unchecked(failure) => report(failure),
        other => eprintln!("error: {other}"),
    }
}
