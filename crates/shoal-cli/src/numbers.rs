//! Numbers for people.

use std::time::Duration;

/// A time with three digits and a fitting unit.
pub(crate) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    format!("{} {unit}", digits(value))
}

/// A time with three digits and a fitting unit.
pub(crate) fn duration(duration: Duration) -> String {
    seconds(duration.as_secs_f64())
}

/// A number with about three digits.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".into()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.2e}")
    } else {
        let decimals = (2 - size.log10().floor() as i32).clamp(0, 6);
        format!("{value:.*}", decimals as usize)
    }
}

/// A size in bytes.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{} {}", digits(value), units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        assert_eq!(digits(0.123_456), "0.123");
        assert_eq!(digits(12.345), "12.3");
        assert_eq!(digits(1234.5), "1234");
        assert_eq!(digits(1.5e-7), "1.50e-7");
        assert_eq!(seconds(0.001_5), "1.50 ms");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(10), "10 B");
    }
}
