//! What all programs of one launch share: where prints go, and whether and why they are to end early.

use super::{bounds::Bounds, launch_options::LaunchOptions};
use crate::{
    error::Failure,
    interrupt::{HOST_POLL_INTERVAL, Interrupt},
    lock::lock,
    print_sink::PrintSink,
};
use core::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};
use std::{
    panic::catch_unwind,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// What a thread is to a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The launching thread: it stays to the end, and asks the host whether to stop.
    Owner,
    /// A worker: it leaves when it is of no use.
    Helper,
}

/// Why a launch ends before all its programs have.
#[derive(Debug)]
pub(crate) enum End {
    /// A program has failed.
    Failed(Failure),
    /// The host asked for it.
    Interrupted,
    /// Programs wait, and nothing has moved for so long.
    Stuck(Duration),
    /// The host's interrupt panicked.
    Panicked(Box<dyn Any + Send>),
}

/// State of one launch, which its hooks reach through their programs' contexts.
#[derive(Debug)]
pub(crate) struct LaunchState<'a> {
    sink: &'a PrintSink,
    interrupt: Option<&'a Interrupt>,
    bounds: Option<&'a Bounds>,
    /// How long programs may wait in vain, for launches in which programs wait.
    patience: Option<Duration>,
    end: Mutex<Option<End>>,
    ending: AtomicBool,
    /// Changes whenever a program starts, ends or does real work.
    moves: AtomicU64,
    /// Programs that wait.
    waiting: AtomicUsize,
    watch: Mutex<Watch>,
}

/// What the launching thread remembers between two polls.
#[derive(Debug, Default)]
struct Watch {
    next: Option<Instant>,
    /// The count of moves seen last, and when it was first seen.
    moves: Option<(u64, Instant)>,
}

impl<'a> LaunchState<'a> {
    pub(crate) fn new(options: &'a LaunchOptions, patience: Option<Duration>) -> Self {
        Self {
            sink: &options.print,
            interrupt: options.interrupt.as_ref(),
            bounds: options.bounds.as_deref(),
            patience,
            end: Mutex::new(None),
            ending: AtomicBool::new(false),
            moves: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            watch: Mutex::new(Watch::default()),
        }
    }

    pub(crate) fn sink(&self) -> &PrintSink {
        self.sink
    }

    /// The memory programs may touch, if it is known.
    pub(crate) fn bounds(&self) -> Option<&Bounds> {
        self.bounds
    }

    /// Ends the launch; only the first reason is kept.
    pub(crate) fn end(&self, why: End) {
        lock(&self.end).get_or_insert(why);
        self.ending.store(true, Ordering::Release);
    }

    /// Whether no more programs are to be started, and those that run are to end.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// How long nothing had moved, if that is why the launch ends.
    pub(crate) fn stuck_for(&self) -> Option<Duration> {
        match &*lock(&self.end) {
            Some(End::Stuck(after)) => Some(*after),
            Some(End::Failed(_) | End::Interrupted | End::Panicked(_)) | None => None,
        }
    }

    pub(crate) fn into_end(self) -> Option<End> {
        if !self.is_ending() {
            return None;
        }
        self.end.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some program started, ended, or came to wait after real work.
    pub(crate) fn moved(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// So many programs wait now.
    pub(crate) fn set_waiting(&self, programs: usize) {
        self.waiting.store(programs, Ordering::Relaxed);
    }

    /// Whether the launching thread has reasons to poll the host.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.interrupt.is_some() || self.patience.is_some()
    }

    /// Whether it is time for the launching thread to [poll the host](Self::poll_host).
    pub(crate) fn host_poll_is_due(&self, now: Instant) -> bool {
        if !self.is_watched() || self.is_ending() {
            return false;
        }
        let mut watch = lock(&self.watch);
        let due = *watch.next.get_or_insert(now + HOST_POLL_INTERVAL) <= now;
        if due {
            watch.next = Some(now + HOST_POLL_INTERVAL);
        }
        due
    }

    /// The launching thread finds out whether the launch should end: it asks the host, and counts for how long nothing
    /// has moved. Needs a large stack, because the host may do what it likes.
    pub(crate) fn poll_host(&self, now: Instant) {
        if let Some(interrupt) = self.interrupt {
            match catch_unwind(AssertUnwindSafe(|| interrupt.is_requested())) {
                Ok(false) => {}
                Ok(true) => self.end(End::Interrupted),
                Err(panic) => self.end(End::Panicked(panic)),
            }
        }
        let Some(patience) = self.patience else { return };
        let moves = self.moves.load(Ordering::Relaxed);
        let mut watch = lock(&self.watch);
        match watch.moves {
            Some((seen, since)) if seen == moves => {
                let quiet = now.saturating_duration_since(since);
                if quiet >= patience && self.waiting.load(Ordering::Relaxed) > 0 {
                    self.end(End::Stuck(quiet));
                }
            }
            Some(_) | None => watch.moves = Some((moves, now)),
        }
    }

    /// Polls the host if it is time to.
    pub(crate) fn poll_host_if_due(&self, now: Instant) {
        if self.host_poll_is_due(now) {
            self.poll_host(now);
        }
    }
}
