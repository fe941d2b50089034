//! A time as text, in UTC: `2026-11-16T07:08:42.123Z`. Texts sort as their times do.
//!
//! The days are counted by the usual arithmetic on years that begin in March, so that the leap day
//! is the last of its year.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time as text; one before 1970 is the start of 1970.
pub fn text(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let milli = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a day counted from the first of 1970.
fn date(days: u64) -> (u64, u64, u64) {
    // From the first of March of the year 0: 719,468 days earlier.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_right_around_leap_days_and_centuries() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_399, "2000-02-28T23:59:59.250Z"),
            (951_782_400, "2000-02-29T00:00:00.250Z"),
            (1_709_251_199, "2024-02-29T23:59:59.250Z"),
            (1_735_689_599, "2024-12-31T23:59:59.250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.250Z"),
        ] {
            let time = UNIX_EPOCH + Duration::new(seconds, 250_000_000);
            assert_eq!(text(time), expected);
        }
    }
}
