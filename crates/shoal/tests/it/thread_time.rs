//! How long a thread has worked, whatever else the machine does.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Runs `f` and gives the time that this thread worked on it.
pub(crate) fn thread_time<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
    };
    let start = now();
    let value = f();
    (value, now() - start)
}
