//! Times as people write them: `30m`, `8h`, `7d`.
//! Only what is typed is read here; times of day are `guard::time_text`'s.

/// The message for anything else.
pub(crate) const EXPECTED_FORMAT: &str = "a time is a number and s, m, h or d: `a 30m`";

/// The seconds of a number followed by `s`, `m`, `h` or `d`; `None` for anything else, and for zero.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let each: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return None,
    };
    let number: u64 = text[..text.len() - unit.len_utf8()].trim().parse().ok()?;
    number.checked_mul(each).filter(|seconds| *seconds > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        let cases = [
            ("45s", Some(45)),
            ("30m", Some(1800)),
            ("8h", Some(28_800)),
            ("7 d", Some(604_800)),
            ("0h", None),
            ("h", None),
            ("8", None),
            ("-1h", None),
            ("8é", None),
            ("", None),
            ("99999999999999999999d", None),
            ("9999999999999999999d", None),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
