//! Progress of long work, on the terminal only.

use std::borrow::Cow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that says what is being done; nothing when the output is no terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work in so many steps.
    pub(crate) fn new(steps: usize) -> Progress {
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{pos}/{len}] {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress(bar)
    }

    /// The next step begins.
    pub(crate) fn step(&self, what: impl Into<Cow<'static, str>>) {
        self.0.inc(1);
        self.0.set_message(what);
    }

    /// Ends, and clears the line.
    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
