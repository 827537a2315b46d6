//! Lowers one kernel of a file and prints its tile IR: `lower FILE KERNEL SIGNATURE`.

use std::process::ExitCode;

use shoal_lang::{Program, Specialization};
use shoal_source::{SourceMap, Style};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, kernel, signature] = args.as_slice() else {
        eprintln!("usage: lower FILE KERNEL SIGNATURE");
        return ExitCode::FAILURE;
    };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("cannot read {file}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut sources = SourceMap::default();
    let result = Program::parse(&mut sources, file, &text).and_then(|program| {
        let args = program.signature(kernel, signature)?;
        program.lower(kernel, &Specialization { args, ..Default::default() })
    });
    match result {
        Ok(lowered) => {
            eprint!("{}", lowered.notes.render(&sources, Style::Plain));
            print!("{}", lowered.module);
            ExitCode::SUCCESS
        }
        Err(errors) => {
            eprint!("{}", errors.render(&sources, Style::Plain));
            ExitCode::FAILURE
        }
    }
}
