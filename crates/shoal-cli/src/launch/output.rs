//! What ranks print, line by line, with the rank before each where that is wanted.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shoal::world::launch::Job;

use super::Lines;

/// Longer lines are shown in pieces, so that a rank that prints no line ends needs no memory here.
const LONGEST_LINE: u64 = 1 << 16;
/// How long to wait for the last lines: a process that left the rank's group may hold a pipe for ever.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Threads that pass on what ranks print.
pub(super) struct Output {
    /// Ends when all of them have.
    open: Receiver<()>,
}

impl Output {
    pub(super) fn of(job: &mut Job, lines: Lines) -> Output {
        let (held, open) = channel();
        let width = job.running().saturating_sub(1).to_string().len();
        for (rank, child) in job.processes() {
            let prefix = match lines {
                Lines::WithRank => format!("[{rank:>width$}] "),
                Lines::AsTheyAre => String::new(),
            };
            if let Some(pipe) = child.stdout.take() {
                pass_on(pipe, std::io::stdout, &prefix, &held);
            }
            if let Some(pipe) = child.stderr.take() {
                pass_on(pipe, std::io::stderr, &prefix, &held);
            }
        }
        Output { open }
    }

    /// Of one process that starts the ranks, and labels their lines itself: `label` makes, for each of its outputs, what
    /// gives a line as it is to appear, and at the end what is left. Long lines come in pieces.
    pub(super) fn of_launcher<L: FnMut(Option<&[u8]>) -> Vec<u8> + Send + 'static>(
        job: &mut Job,
        label: impl Fn() -> L,
    ) -> Output {
        let (held, open) = channel();
        for (_, child) in job.processes() {
            if let Some(pipe) = child.stdout.take() {
                pass_on_as(pipe, std::io::stdout, label(), &held);
            }
            if let Some(pipe) = child.stderr.take() {
                pass_on_as(pipe, std::io::stderr, label(), &held);
            }
        }
        Output { open }
    }

    /// Waits for the last lines.
    pub(super) fn finish(self) {
        let until = Instant::now() + LAST_LINES;
        // Nothing is ever sent: the only news is that all senders are gone.
        let _ = self.open.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

fn pass_on<W: Write>(
    pipe: impl Read + Send + 'static,
    to: impl Fn() -> W + Send + 'static,
    prefix: &str,
    held: &Sender<()>,
) {
    let prefix = prefix.to_owned();
    let label = move |line: Option<&[u8]>| {
        line.map_or_else(Vec::new, |line| {
            let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
            [prefix.as_bytes(), line, end].concat()
        })
    };
    pass_on_as(pipe, to, label, held);
}

fn pass_on_as<W: Write>(
    pipe: impl Read + Send + 'static,
    to: impl Fn() -> W + Send + 'static,
    mut label: impl FnMut(Option<&[u8]>) -> Vec<u8> + Send + 'static,
    held: &Sender<()>,
) {
    let held = held.clone();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        let mut pass = |line: Option<&[u8]>| {
            // In one piece, so that lines of different ranks do not mix.
            if let Err(why) = to().write_all(&label(line)) {
                give_up(&why);
            }
        };
        while lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            pass(Some(&line));
            line.clear();
        }
        pass(None);
        drop(held);
    });
}

/// Ends the launcher, and the ranks with it: what they print does not arrive. If nobody reads it any more, it ends as
/// programs do that write into such a pipe.
fn give_up(why: &Error) -> ! {
    if why.kind() == ErrorKind::BrokenPipe {
        std::process::exit(141);
    }
    let _ = writeln!(std::io::stderr(), "error: cannot pass on what ranks print, and end them: {why}");
    std::process::exit(1);
}
