//! The three dates of HTTP (RFC 9110, 5.6.7), as a moment.
//! A provider says with one when to come again.

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The moment that `text` names; the day of the week is not looked at.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let (day, month, year, time) = match parts.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [_, day, month, year, time, "GMT" | "UTC"] => (*day, *month, *year, *time),
        // Sunday, 06-Nov-94 08:49:37 GMT
        [_, date, time, "GMT" | "UTC"] => {
            let mut pieces = date.splitn(3, '-');
            (pieces.next()?, pieces.next()?, pieces.next()?, *time)
        }
        // Sun Nov  6 08:49:37 1994
        &[_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let (day, short, year) = (number(day)?, year.len() == 2, number(year)?);
    // Two digits mean the century that puts the date nearest; replies are of today.
    let year = if short { year + if year < 70 { 2000 } else { 1900 } } else { year };
    if !(1970..=9999).contains(&year) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let mut clock = time.splitn(3, ':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<u64>()
        + (0..month).map(|month| days_in(year, month)).sum::<u64>()
        + day
        - 1;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// The days of a month, from 0.
const fn days_in(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_the_seconds_that_everybody_counts() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Wed, 31 Dec 2025 23:59:59 GMT", 1_767_225_599),
            ("Friday, 01-Mar-24 00:00:00 GMT", 1_709_251_200),
        ] {
            let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for bad in ["Mon, 29 Feb 2100 00:00:00 GMT", "x", "Sun, 06 Nov 1994 24:00:00 GMT", ""] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
