//! How long programs may wait in vain, unless a launch says it.

use crate::error::DeviceError;
use crate::seconds::{SECONDS, parse_seconds};
use core::time::Duration;
use std::env;

const VARIABLE: &str = "SHOAL_WAIT_TIMEOUT";

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
