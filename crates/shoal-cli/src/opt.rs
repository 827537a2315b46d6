//! `shoal opt`.

use std::fs::File;

use shoal::opt::{cpu_pipeline, passes, run_passes};
use shoal::read_source;

use crate::command_line::OptOptions;
use crate::failure::Failure;
use crate::numbers::duration;
use crate::table::{Align, Table};

pub(crate) fn opt(options: &OptOptions) -> Result<(), Failure> {
    if options.list {
        list();
        return Ok(());
    }
    let (name, text) = input(options)?;
    let names: Vec<&str> = options.passes.iter().map(String::as_str).collect();
    let after = run_passes(&name, &text, &names)?;
    if options.time {
        let mut table = Table::new(&[("pass", Align::Left), ("time", Align::Right)]);
        for step in &after {
            table.row([step.pass.to_owned(), duration(step.took)]);
        }
        eprint!("{table}");
    }
    if options.print_after_all {
        for step in &after {
            outln!("// after {}\n{}", step.pass, step.text.trim_end());
        }
    } else if let Some(last) = after.last() {
        outln!("{}", last.text.trim_end());
    }
    Ok(())
}

fn input(options: &OptOptions) -> Result<(String, String), Failure> {
    match &options.file {
        Some(path) if path.as_os_str() != "-" => {
            let text = File::open(path).and_then(read_source);
            let failed = |reason| Failure::File { verb: "read", path: path.clone(), reason };
            Ok((path.display().to_string(), text.map_err(failed)?))
        }
        _ => {
            let failed = |reason| Failure::File { verb: "read", path: "the standard input".into(), reason };
            Ok(("<stdin>".into(), read_source(std::io::stdin()).map_err(failed)?))
        }
    }
}

fn list() {
    let mut table = Table::new(&[("pass", Align::Left), ("what it does", Align::Left)]);
    for pass in passes() {
        table.row([pass.name, pass.doc]);
    }
    outln!("{table}");
    outln!("cpu = {}", cpu_pipeline().join(","));
}
