//! How long programs may wait in vain, unless a launch says it.

use crate::error::DeviceError;
use core::time::Duration;
use std::env;

const VARIABLE: &str = "SHOAL_WAIT_TIMEOUT";

/// 30 seconds, or what `SHOAL_WAIT_TIMEOUT` says.
///
/// # Errors
///
/// When the variable holds no number of seconds.
pub fn wait_timeout() -> Result<Duration, DeviceError> {
    match env::var_os(VARIABLE) {
        Some(value) => parse_seconds(value.to_string_lossy().into_owned()),
        None => Ok(Duration::from_secs(30)),
    }
}

fn parse_seconds(value: String) -> Result<Duration, DeviceError> {
    let seconds = value.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let expected = "a number of seconds, such as 30 or 0.5";
    seconds.ok_or(DeviceError::Environment { name: VARIABLE, value, expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_numbers() {
        assert_eq!(parse_seconds(" 0.5 ".into()).unwrap(), Duration::from_millis(500));
        for wrong in ["-1", "soon", "", "nan", "inf", "1e300"] {
            let error = parse_seconds(wrong.into()).unwrap_err().to_string();
            let said = "cannot be used: it must be a number of seconds, such as 30 or 0.5";
            assert_eq!(error, format!("SHOAL_WAIT_TIMEOUT={wrong} {said}"));
        }
    }
}
