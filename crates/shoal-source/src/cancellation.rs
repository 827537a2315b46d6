//! Ending a compilation early.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a [`Watch`] asks its host.
const INTERVAL: Duration = Duration::from_millis(50);

/// The host's answer to the question whether a compilation is to end: Ctrl-C in Python. By default it never is.
///
/// The question is asked on the thread that compiles.
#[derive(Clone, Default)]
pub struct Cancellation(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Cancellation {
    /// Asks by calling `f`.
    pub fn new(f: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(f)))
    }

    /// Asks.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|f| f())
    }

    /// For code that does many small steps.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch { cancellation: self.clone(), asked: None }
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Cancellation(..)" } else { "Cancellation(never)" })
    }
}

/// Asks the host about every 50 ms, however often it is asked itself.
#[derive(Debug)]
pub struct Watch {
    cancellation: Cancellation,
    asked: Option<Instant>,
}

impl Watch {
    /// Whether the compilation is to end, as far as it is time to ask. The first question is always passed on.
    pub fn is_requested(&mut self) -> bool {
        if self.cancellation.0.is_none() || self.asked.is_some_and(|at| at.elapsed() < INTERVAL) {
            return false;
        }
        let requested = self.cancellation.is_requested();
        self.asked = Some(Instant::now());
        requested
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn hosts_are_asked_now_and_then() {
        assert!(!Cancellation::default().is_requested());
        assert!(!Cancellation::default().watch().is_requested());
        let asked = Arc::new(AtomicU32::new(0));
        let counter = asked.clone();
        let cancellation = Cancellation::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            true
        });
        let mut watch = cancellation.watch();
        assert!(watch.is_requested());
        while !watch.is_requested() {}
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert!(cancellation.is_requested());
    }
}
