//! Writing to the standard output. When nobody reads it any more (`shoal … | head`), the command ends quietly.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// Writes text.
pub(crate) fn write(text: Arguments<'_>) {
    match std::io::stdout().write_fmt(text) {
        Ok(()) => {}
        Err(why) if why.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(why) => {
            eprintln!("error: cannot write to the standard output: {why}");
            std::process::exit(1);
        }
    }
}

/// `print!` for commands.
macro_rules! out {
    ($($text:tt)*) => { $crate::out::write(format_args!($($text)*)) };
}

/// `println!` for commands.
macro_rules! outln {
    () => { $crate::out::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::write(format_args!("{}\n", format_args!($($text)*))) };
}
