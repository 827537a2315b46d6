//! The command `shoal`: run, compile, look at and measure tile kernels.
#![forbid(unsafe_code)]

#[macro_use]
mod out;

mod bench;
mod cache;
mod command_line;
mod compile;
mod demo;
mod doctor;
mod failure;
mod numbers;
mod opt;
mod progress;
mod run;
mod table;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use shoal::Style;

use command_line::{Command, CommandLine};
use failure::Failure;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let done = match &command_line.command {
        Command::Run(options) => run::run(options),
        Command::Compile(options) => compile::compile(options),
        Command::Opt(options) => opt::opt(options),
        Command::Bench(options) => bench::bench(options),
        Command::Demo(options) => demo::demo(options),
        Command::Doctor => doctor::doctor(),
        Command::Cache(options) => cache::cache(&options.action),
        Command::MeasureCompile => bench::compiling::measure(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure);
            ExitCode::FAILURE
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
        other => eprintln!("error: {other}"),
    }
}
