//! A time as text, in UTC (RFC 3339, milliseconds): `2026-11-16T07:08:42.123Z`. Texts sort as their
//! times do. Backups, runs and records carry their time in this form; what reads a clock is the caller.
//!
//! The calendar is `jiff`'s, without time zones: nothing is read from the system.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time as text; one before 1970 is the start of 1970.
pub fn utc_text(time: SystemTime) -> String {
    let time = time.max(SystemTime::UNIX_EPOCH);
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

/// The time that a text from [`utc_text`] stands for, in milliseconds since 1970.
pub fn utc_millis(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn dates_are_right_around_leap_days_and_centuries() {
        for (millis, expected) in [
            (250, "1970-01-01T00:00:00.250Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_250, "2024-02-29T23:59:59.250Z"),
            (1_735_689_599_250, "2024-12-31T23:59:59.250Z"),
            (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(utc_text(time), expected);
            assert_eq!(utc_millis(expected), Some(millis));
        }
        assert_eq!(utc_text(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
        assert_eq!(utc_millis("no time"), None);
    }

    #[test]
    fn a_fraction_is_cut_and_never_rounded_into_the_next_millisecond() {
        let time = UNIX_EPOCH + Duration::from_nanos(1_999_999_999);
        assert_eq!(utc_text(time), "1970-01-01T00:00:01.999Z");
    }
}
