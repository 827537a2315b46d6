//! Progress of an exploration, and Ctrl-C, which ends it with what was found so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shoal::check::Watcher;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::failure::{Failure, INTERRUPTED};
use crate::progress::Progress;

/// Whether Ctrl-C was pressed.
#[derive(Clone)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. A second Ctrl-C ends the process at once.
    pub(super) fn listen() -> Result<Interrupt, Failure> {
        let pressed = Arc::new(AtomicBool::new(false));
        let cannot = |reason| Failure::new(format!("cannot handle signals: {reason}"));
        // The order matters: the first signal finds the flag down and raises it.
        flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), Arc::clone(&pressed)).map_err(cannot)?;
        flag::register(SIGINT, Arc::clone(&pressed)).map_err(cannot)?;
        Ok(Interrupt(pressed))
    }

    pub(super) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Progress of an exploration.
pub(super) struct Bar {
    progress: Progress,
    what: String,
    interrupt: Interrupt,
}

impl Bar {
    pub(super) fn new(steps: usize, what: String, interrupt: &Interrupt) -> Bar {
        Bar { progress: Progress::new(steps), what, interrupt: interrupt.clone() }
    }
}

impl Watcher for Bar {
    fn is_interrupted(&mut self) -> bool {
        self.interrupt.is_requested()
    }

    fn progress(&mut self, _schedules: usize) {
        self.progress.step(self.what.clone());
    }
}
