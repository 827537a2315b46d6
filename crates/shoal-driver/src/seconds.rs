//! Times that people give in seconds: one rule for variables of the environment, options and arguments.

use core::time::Duration;

/// What they give: the words for errors.
pub const SECONDS: &str = "a number of seconds, above 0 and up to 136 years, such as 30 or 0.5";

/// The longest that something may last: 136 years. What a clock says can be moved on by so much.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// Whether something may last so long: above 0, up to 136 years.
#[must_use]
pub fn can_last(time: Duration) -> bool {
    !time.is_zero() && time <= LONGEST
}

/// A time from a number; see [`SECONDS`].
#[must_use]
pub fn from_seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|&time| can_last(time))
}

/// A time from a text; see [`SECONDS`].
#[must_use]
pub fn parse_seconds(text: &str) -> Option<Duration> {
    from_seconds(text.trim().parse().ok()?)
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
