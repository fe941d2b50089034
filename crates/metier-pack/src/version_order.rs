//! Which of two versions is the older one, as far as their numbers say. Pure.
//!
//! Skills write versions as they like: `1`, `v1.2`, `2024.11.01`, `1.0.0-rc.1`. What is not numbers is not compared:
//! a wrong "older" would be worse than none. `outdated` and plans call this.

use std::cmp::Ordering;

/// Whether `version` is older than `than`; `false` where one of them says nothing that can be compared.
pub(crate) fn is_older(version: Option<&String>, than: Option<&String>) -> bool {
    let (Some(version), Some(than)) = (version, than) else { return false };
    compare(version, than) == Some(Ordering::Less)
}

fn compare(a: &str, b: &str) -> Option<Ordering> {
    let ((numbers_a, rest_a), (numbers_b, rest_b)) = (parts(a)?, parts(b)?);
    let length = numbers_a.len().max(numbers_b.len());
    let padded = |numbers: &[u64]| -> Vec<u64> {
        numbers.iter().copied().chain(std::iter::repeat(0)).take(length).collect()
    };
    let numbers = padded(&numbers_a).cmp(&padded(&numbers_b));
    Some(numbers.then_with(|| match (rest_a, rest_b) {
        // A version comes after its own release candidates.
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
        (Some(a), Some(b)) => compare_rest(a, b),
    }))
}

/// The numbers of a version, and what stands behind a hyphen; build metadata does not count.
fn parts(version: &str) -> Option<(Vec<u64>, Option<&str>)> {
    let version = version.trim();
    let version = version.strip_prefix(['v', 'V']).unwrap_or(version);
    let version = version.split_once('+').map_or(version, |(before, _)| before);
    let (numbers, rest) = match version.split_once('-') {
        Some((numbers, rest)) => (numbers, Some(rest)),
        None => (version, None),
    };
    let numbers: Option<Vec<u64>> = numbers.split('.').map(|number| number.parse().ok()).collect();
    Some((numbers?, rest))
}

fn compare_rest(a: &str, b: &str) -> Ordering {
    let of = |part: &str| match part.parse::<u64>() {
        Ok(number) => (0, number, String::new()),
        Err(_) => (1, 0, part.to_owned()),
    };
    a.split('.').map(of).cmp(b.split('.').map(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_older_is_called_older() {
        let older = |a: &str, b: &str| is_older(Some(&a.to_owned()), Some(&b.to_owned()));
        for (a, b) in [
            ("0.9", "1"),
            ("1.2", "1.10"),
            ("v1.2.3", "1.2.4"),
            ("1.0.0-rc.1", "1.0.0"),
            ("1.0-rc.2", "1.0-rc.10"),
            ("2024.10.31", "2024.11.01"),
        ] {
            assert!(older(a, b) && !older(b, a), "{a} {b}");
        }
        for (a, b) in
            [("1", "1.0"), ("1+a", "1+b"), ("x", "1"), ("1", "new"), ("", "1"), ("1.x", "2")]
        {
            assert!(!older(a, b) && !older(b, a), "{a} {b}");
        }
        assert!(!is_older(None, Some(&"1".to_owned())));
    }
}
