//! `shoal opt`.

use std::io::Read;

use shoal::opt::{cpu_pipeline, passes, run_passes};

use crate::command_line::OptOptions;
use crate::failure::{Failure, read};
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
            let text = String::from_utf8(read(path)?);
            let text = text.map_err(|_| Failure::new(format!("{} is not UTF-8 text", path.display())))?;
            Ok((path.display().to_string(), text))
        }
        _ => {
            let mut text = String::new();
            let done = std::io::stdin().read_to_string(&mut text);
            done.map_err(|reason| Failure::File { verb: "read", path: "the standard input".into(), reason })?;
            Ok(("<stdin>".into(), text))
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
