//! When to try again: backoff, and what a provider says about it.
//!
//! Pure: the time of day and the seed of chance come in. Which failures are worth another attempt
//! is decided by their kind, in `failure`.

use std::time::{Duration, SystemTime};

/// How often and how soon a request is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all.
    pub attempts: u32,
    /// The bound of the first delay; it doubles with each attempt.
    pub base: Duration,
    /// The largest bound of a delay.
    pub cap: Duration,
    /// The longest wait that a provider may ask for.
    pub longest_wait: Duration,
    /// The seed of the delays; nothing: another with every call.
    pub seed: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            longest_wait: Duration::from_mins(1),
            seed: None,
        }
    }
}

impl RetryPolicy {
    /// The largest delay after `attempt` attempts (from 1).
    pub fn bound(&self, attempt: u32) -> Duration {
        let doubled = 1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base.saturating_mul(doubled).min(self.cap)
    }

    /// A delay after `attempt` attempts: anything up to the bound ("full jitter"), so that many who
    /// failed together do not come back together.
    pub fn delay(&self, attempt: u32, chance: &mut Chance) -> Duration {
        let bound = u64::try_from(self.bound(attempt).as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(chance.below(bound.saturating_add(1)))
    }
}

/// A small source of chance (splitmix64). Nothing secret hangs on it.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// Starts from `seed`, or from anywhere.
    pub fn new(seed: Option<u64>) -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(seed.unwrap_or_else(|| RandomState::new().hash_one(0u8)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; nought where there is none.
    fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }
}

/// What a provider says about another attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint {
    /// How long to wait.
    pub wait: Option<Duration>,
    /// Whether another attempt makes sense.
    pub again: Option<bool>,
}

impl Hint {
    /// Reads the headers of a reply (`header` gives one by its name in small letters), and its words
    /// where they say nothing.
    pub fn read<'a>(
        header: impl Fn(&str) -> Option<&'a str>,
        words: &str,
        now: SystemTime,
    ) -> Self {
        let millis = || plain_number(header("retry-after-ms")?, 0.001);
        let after = || {
            let value = header("retry-after")?.trim();
            plain_number(value, 1.0).or_else(|| {
                let then = httpdate::parse_http_date(value).ok()?;
                Some(then.duration_since(now).unwrap_or_default())
            })
        };
        let again = header("x-should-retry").and_then(|value| match value.trim() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        });
        Self { wait: millis().or_else(after).or_else(|| wait_in_words(words)), again }
    }
}

/// A number that is not negative, times a unit in seconds.
fn plain_number(text: &str, unit: f64) -> Option<Duration> {
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds: f64 = plain.then(|| text.parse().ok()).flatten()?;
    // A number too large for a duration is still a wish to wait, and longer than anybody will.
    Some(Duration::try_from_secs_f64(seconds * unit).unwrap_or(Duration::MAX))
}

/// Words before a time, as providers write them.
const BEFORE_A_TIME: &[&str] = &[
    "try again in ",
    "try again after ",
    "retry in ",
    "retry after ",
    "\"retrydelay\": \"",
    "\"retrydelay\":\"",
];

/// The time in "try again in 11.054s", "in 1m30s", "in 20 seconds", `"retryDelay": "34s"`.
pub fn wait_in_words(words: &str) -> Option<Duration> {
    let words = words.to_ascii_lowercase();
    BEFORE_A_TIME.iter().find_map(|before| {
        let at = words.find(before)? + before.len();
        span(&words[at..])
    })
}

/// A span of time at the start of a text.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total: Option<Duration> = None;
    loop {
        let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start_matches(' ');
        let letters = after.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, after) = after.split_at(letters);
        let unit = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return total,
        };
        // A full stop at the end of the sentence is no digit of the number.
        let Some(part) = plain_number(number.trim_end_matches('.'), unit) else { return total };
        total = Some(total.unwrap_or_default().saturating_add(part));
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wait(name: &'static str, value: &'static str) -> Option<u128> {
        // Sun, 06 Nov 1994 08:49:30 GMT.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let hint = Hint::read(|asked| (asked == name).then_some(value), "", now);
        hint.wait.map(|wait| wait.as_millis())
    }

    #[test]
    fn headers_say_how_long_to_wait() {
        for (name, value, millis) in [
            ("retry-after", "7", Some(7000)),
            ("retry-after", " 1.5 ", Some(1500)),
            ("retry-after", "0", Some(0)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(7000)),
            ("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT", Some(7000)),
            ("retry-after", "Sun Nov  6 08:49:37 1994", Some(7000)),
            ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-5", None),
            ("retry-after", "", None),
            ("retry-after", "Sun, 40 Nov 1994 08:49:37 GMT", None),
            ("retry-after", "NaN", None),
            ("retry-after", "Mon, 29 Feb 2100 00:00:00 GMT", None),
            ("retry-after", "Sun, 06 Nov 1994 24:00:00 GMT", None),
        ] {
            assert_eq!(wait(name, value), millis, "{name}: {value}");
        }
        assert_eq!(wait("retry-after", "9999999999999999999999"), Some(Duration::MAX.as_millis()));
    }

    #[test]
    fn milliseconds_win_over_seconds_and_headers_over_words() {
        let now = SystemTime::UNIX_EPOCH;
        let both = |name: &str| match name {
            "retry-after" => Some("3"),
            "retry-after-ms" => Some("1200"),
            _ => None,
        };
        assert_eq!(
            Hint::read(both, "try again in 9s", now).wait,
            Some(Duration::from_millis(1200))
        );
        let none = |_: &str| None;
        assert_eq!(Hint::read(none, "try again in 9s", now).wait, Some(Duration::from_secs(9)));
        let should = |name: &str| (name == "x-should-retry").then_some("false");
        assert_eq!(Hint::read(should, "", now), Hint { wait: None, again: Some(false) });
    }

    #[test]
    fn words_say_how_long_to_wait() {
        for (words, millis) in [
            ("Rate limit reached. Please try again in 11.054s. Visit", Some(11_054)),
            ("Please try again in 6ms.", Some(6)),
            ("please try again in 7m12.288s", Some(432_288)),
            ("try again in 20 seconds.", Some(20_000)),
            ("Try again in 1 minute", Some(60_000)),
            ("retry after 30 seconds", Some(30_000)),
            (r#"{"@type":"RetryInfo","retryDelay": "34s"}"#, Some(34_000)),
            ("try again in 1h2m", Some(3_720_000)),
            ("try again in a moment", None),
            ("try again in 5", None),
            ("try again later", None),
            ("", None),
        ] {
            assert_eq!(wait_in_words(words).map(|wait| wait.as_millis()), millis, "{words}");
        }
    }

    #[test]
    fn a_fixed_seed_gives_the_same_delays() {
        let policy = RetryPolicy::default();
        let row = |seed| {
            let mut chance = Chance::new(Some(seed));
            (1..6).map(|attempt| policy.delay(attempt, &mut chance)).collect::<Vec<_>>()
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
    }

    proptest! {
        #[test]
        fn a_delay_keeps_to_its_bound_and_the_bound_to_the_cap(
            attempt in 0u32..200, seed: u64, base in 0u64..100_000, cap in 0u64..100_000,
        ) {
            let policy = RetryPolicy {
                base: Duration::from_millis(base),
                cap: Duration::from_millis(cap),
                ..RetryPolicy::default()
            };
            let delay = policy.delay(attempt, &mut Chance::new(Some(seed)));
            prop_assert!(delay <= policy.bound(attempt));
            prop_assert!(policy.bound(attempt) <= policy.cap);
            prop_assert!(policy.bound(attempt) <= policy.bound(attempt + 1));
        }

        #[test]
        fn delays_use_their_whole_range(seed: u64) {
            let policy = RetryPolicy::default();
            let mut chance = Chance::new(Some(seed));
            let half = policy.bound(3) / 2;
            let low = (0..200).filter(|_| policy.delay(3, &mut chance) < half).count();
            prop_assert!((40..160).contains(&low), "{low} of 200 in the lower half");
        }

        #[test]
        fn any_words_are_read_without_harm(words: String) {
            let _ = wait_in_words(&words);
            let _ = wait_in_words(&format!("try again in {words}"));
            let _ = httpdate::parse_http_date(&words);
        }
    }
}
