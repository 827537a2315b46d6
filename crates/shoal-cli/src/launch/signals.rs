//! Signals to the launcher, passed on to the ranks.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use shoal::world::launch::Groups;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};

use crate::failure::Failure;

/// What was passed on.
pub(super) struct Forwarded {
    terminating: Arc<AtomicI32>,
}

impl Forwarded {
    /// The signal that asked the job to end, if one did.
    pub(super) fn terminating(&self) -> Option<i32> {
        Some(self.terminating.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
    }
}

/// Who the signals are passed on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Ranks,
    /// It ends the ranks, and removes what they have left in shared memory, when it is asked to end; not by `SIGQUIT`,
    /// which it does not catch.
    Oshrun,
}

impl To {
    fn as_known(self, signal: i32) -> i32 {
        if self == To::Oshrun && signal == SIGQUIT { SIGTERM } else { signal }
    }
}

/// Begins to pass signals on. The ranks have process groups of their own, so that those of the terminal reach them only
/// this way.
pub(super) fn forward(groups: Groups, to: To) -> Result<Forwarded, Failure> {
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT];
    let mut signals =
        Signals::new(wanted).map_err(|reason| Failure::new(format!("cannot handle signals: {reason}")))?;
    let terminating = Arc::new(AtomicI32::new(0));
    let noted = Arc::clone(&terminating);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if [SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains(&signal) {
                // The first counts.
                let _ = noted.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
            }
            groups.send(to.as_known(signal));
            if signal == SIGTSTP {
                // Stops the launcher as well. If that fails, the shell keeps waiting for it, as for any program.
                let _ = emulate_default_handler(signal);
            }
        }
    });
    Ok(Forwarded { terminating })
}

/// `SIGKILL`, or `signal 77`.
pub(super) fn name(signal: i32) -> String {
    signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}
