//! How long programs may wait in vain, unless a launch says it.

use crate::error::DeviceError;
use core::time::Duration;
use std::env;

const VARIABLE: &str = "SHOAL_WAIT_TIMEOUT";

/// What a variable of the environment takes that says how long something may last.
pub const SECONDS: &str = "a number of seconds above 0, such as 30 or 0.5";

/// The longest that something may last: 136 years.
pub const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// 30 seconds, or what `SHOAL_WAIT_TIMEOUT` says.
///
/// # Errors
///
/// When the variable holds no number of seconds.
pub fn wait_timeout() -> Result<Duration, DeviceError> {
    let value = env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    match value.filter(|value| !value.is_empty()) {
        Some(value) => {
            parse_seconds(&value).ok_or(DeviceError::Environment { name: VARIABLE, value, expected: SECONDS })
        }
        None => Ok(Duration::from_secs(30)),
    }
}

/// A time as variables of the environment say it: see [`SECONDS`].
#[must_use]
pub fn parse_seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|&seconds| !seconds.is_zero() && seconds <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_numbers_above_zero() {
        assert_eq!(parse_seconds(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(parse_seconds("4294967295"), Some(LONGEST));
        for wrong in ["-1", "0", "-0.0", "1e-12", "soon", "", "nan", "inf", "1e300", "4294967296"] {
            assert_eq!(parse_seconds(wrong), None, "{wrong}");
        }
    }
}
