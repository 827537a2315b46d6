//! The command `shoal` as a program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use shoal_cli::Surroundings;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let named = words.next();
    let program = std::env::current_exe().map(Into::into).ok().or(named);
    let surroundings = Surroundings { command: program.into_iter().collect(), ..Surroundings::default() };
    ExitCode::from(shoal_cli::run(&surroundings, words))
}
