//! What can go wrong with a device and with a launch, in words for users.

use crate::{source_site::SourceSite, waiting::Waiting};
use core::{fmt, time::Duration};

/// A device could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// An environment variable holds something unusable.
    #[error("{name}={value} cannot be used: it must be {expected}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// More threads than a device may have.
    #[error("a device has at most {most} threads, not {threads}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// How many there may be.
        most: usize,
    },
    /// The system refused a worker thread.
    #[error("cannot start a worker thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A launch failed. The device stays usable; memory the kernel wrote has whatever was written before the failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The grid has more programs than can be counted.
    #[error("grid ({}, {}, {}) is too large: at most 2^62 programs can be launched", .grid[0], .grid[1], .grid[2])]
    Grid {
        /// The grid asked for.
        grid: [u32; 3],
    },
    /// The argument block does not have the size the kernel's parameters have.
    #[error("kernel `{kernel}` takes {expected} bytes of arguments, but {got} were given")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Size of the kernel's parameters.
        expected: usize,
        /// Size of the block.
        got: usize,
    },
    /// The kernel was compiled for a CPU feature that cannot be used here.
    #[error("kernel `{kernel}` was compiled for {feature}, which this machine cannot use; compile it again here")]
    Feature {
        /// The kernel.
        kernel: String,
        /// The missing feature.
        feature: &'static str,
    },
    /// The system has no more memory for scratch or for stacks.
    #[error("kernel `{kernel}`: no memory for {what}")]
    Memory {
        /// The kernel.
        kernel: String,
        /// What the memory was for.
        what: String,
    },
    /// A program failed: an assertion of the kernel, a run-time trap, or a print sink that panicked.
    #[error("{}", failed_message(.kernel, .failure))]
    Failed {
        /// The kernel.
        kernel: String,
        /// The first failure.
        failure: Box<Failure>,
    },
    /// The launch's [`Interrupt`](crate::Interrupt) asked for it to stop.
    #[error("kernel `{kernel}` was interrupted: programs that had not ended were stopped or not started")]
    Interrupted {
        /// The kernel.
        kernel: String,
    },
    /// The process was forked during the launch, from a print or from the question whether to stop, and this is the
    /// child.
    #[error("kernel `{kernel}` was launched by the process that this one was forked from: launch it again here")]
    Forked {
        /// The kernel.
        kernel: String,
    },
    /// Programs wait, and none has started, ended or moved for the wait timeout.
    #[error("{}", stuck_message(.kernel, .waiting, *.more, .looping, *.unstarted, *.after))]
    Stuck {
        /// The kernel.
        kernel: String,
        /// Who waits where, lowest program first; a limited number of them.
        waiting: Vec<Waiting>,
        /// How many more wait than are listed.
        more: usize,
        /// Programs that ran all the time without coming to a place where they would wait; a limited number of them.
        looping: Vec<[u32; 3]>,
        /// Programs that were not started.
        unstarted: u64,
        /// How long nothing had moved.
        after: Duration,
    },
}

/// Why a program ended a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The program's id.
    pub program: [u32; 3],
    /// The line of the kernel, when known.
    pub site: Option<SourceSite>,
    /// What happened.
    pub message: String,
    /// The failure as a runner shows it that has the kernel's source at hand, the interpreter.
    pub report: Option<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.program;
        write!(f, "{}\n  in program ({x}, {y}, {z})", self.message)?;
        match &self.site {
            Some(site) => write!(f, " at {site}"),
            None => Ok(()),
        }
    }
}

fn failed_message(kernel: &str, failure: &Failure) -> String {
    match &failure.report {
        Some(report) => report.clone(),
        None => format!("kernel `{kernel}` failed: {failure}"),
    }
}

impl LaunchError {
    /// Of a launch that is stuck, what its programs wait for: `in kernel `k`: 1 program waits`, and a line for each.
    #[must_use]
    pub fn waits(&self) -> Option<String> {
        let Self::Stuck { kernel, waiting, more, looping, unstarted, .. } = self else { return None };
        let count = who_does_what(waiting, *more, looping);
        Some(format!("in kernel `{kernel}`: {count}{}", listed(waiting, *more, looping, *unstarted)))
    }
}

fn stuck_message(
    kernel: &str,
    waiting: &[Waiting],
    more: usize,
    looping: &[[u32; 3]],
    unstarted: u64,
    after: Duration,
) -> String {
    let tenths = Duration::from_millis(100) * (after.as_secs_f64() * 10.0).round() as u32;
    let count = who_does_what(waiting, more, looping);
    let listed = listed(waiting, more, looping, unstarted);
    format!("kernel `{kernel}` is stuck: {count}, and none has moved for {tenths:?}{listed}")
}

/// `1 program waits`; if none does, how many run.
fn who_does_what(waiting: &[Waiting], more: usize, looping: &[[u32; 3]]) -> String {
    let (count, one, several) = match (waiting.len() + more, looping.len()) {
        (0, 0) => return "no program has come to a wait".to_owned(),
        (0, looping) => (looping, "program runs", "programs run"),
        (waiting, _) => (waiting, "program waits", "programs wait"),
    };
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The programs, each on a line of its own.
fn listed(waiting: &[Waiting], more: usize, looping: &[[u32; 3]], unstarted: u64) -> String {
    use fmt::Write;
    let mut out = String::new();
    for waiting in waiting {
        let _ = write!(out, "\n  {waiting}");
    }
    if more > 0 {
        let _ = write!(out, "\n  and {more} more");
    }
    for [x, y, z] in looping {
        let _ = write!(out, "\n  program ({x}, {y}, {z}) runs on and on, and has not come to a wait");
    }
    if unstarted > 0 {
        let _ = write!(out, "\n  {unstarted} programs were not started");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::AwaitedValue;
    use shoal_abi::{WaitCondition, print::PrintKind};

    #[test]
    fn stuck_lists_who_waits_where() {
        let site = SourceSite { file: "lock.py".into(), line: 7, col: 5, what: "atomic_cas".into() };
        let value = AwaitedValue {
            address: 0x1000,
            place: Some("byte 4 of `flags` (8 bytes)".into()),
            kind: PrintKind::I32,
            condition: WaitCondition::Equal,
            expected: u64::from(u32::MAX),
            held: 3,
            last_writer: None,
        };
        let error = LaunchError::Stuck {
            kernel: "k".into(),
            waiting: vec![
                Waiting { program: [0, 0, 0], site: Some(site), value: None },
                Waiting { program: [1, 0, 0], site: None, value: Some(value) },
            ],
            more: 3,
            looping: vec![[2, 0, 0]],
            unstarted: 0,
            after: Duration::from_micros(2_000_052),
        };
        assert_eq!(
            error.to_string(),
            "kernel `k` is stuck: 5 programs wait, and none has moved for 2s\n  program (0, 0, 0) waits at \
             lock.py:7:5 (atomic_cas)\n  program (1, 0, 0) waits for -1 at 0x1000 \
             (byte 4 of `flags` (8 bytes)), where 3 is\n  and 3 more\n  program (2, 0, 0) \
             runs on and on, and has not come to a wait"
        );
    }

    #[test]
    fn a_launch_in_which_no_program_waits_does_not_say_that_some_do() {
        let said = |looping: Vec<[u32; 3]>, unstarted| {
            let stuck = LaunchError::Stuck {
                kernel: "k".into(),
                waiting: Vec::new(),
                more: 0,
                looping,
                unstarted,
                after: Duration::ZERO,
            };
            stuck.waits().expect("it is stuck")
        };
        assert_eq!(
            said(vec![[3, 0, 0]], 0),
            "in kernel `k`: 1 program runs\n  program (3, 0, 0) runs on and on, and has not come to a wait"
        );
        assert!(said(vec![[3, 0, 0], [4, 0, 0]], 0).starts_with("in kernel `k`: 2 programs run\n"));
        assert_eq!(said(Vec::new(), 8), "in kernel `k`: no program has come to a wait\n  8 programs were not started");
    }
}
