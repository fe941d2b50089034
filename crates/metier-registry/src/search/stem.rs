//! Light English stemming: plural, -ing, -ed, -ly, -ment and the -tion family.
//!
//! The stem is a key, not a word: `translate`, `translating`, `translation` and `translator`
//! meet in `transl`. Conservative: a suffix goes only when enough is left to tell words apart,
//! and words with digits or letters outside a-z stay as they are. In place, no allocation.

/// Words that end like other forms of words they have nothing to do with.
const WHOLE: &[&str] =
    &["alias", "always", "atlas", "bias", "canvas", "embed", "lens", "news", "pandas", "perhaps"];

/// Reduces a folded word to its stem.
pub(super) fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    if WHOLE.contains(&word.as_str()) {
        return;
    }
    plural(word);
    let verb = past_or_progressive(word);
    if !verb && word.len() > 5 {
        adverb(word);
        noun_of_action(word);
        agent(word);
    }
    final_vowel(word);
}

/// Whether the first `len` letters of the word hold a vowel (y counts after the first letter).
fn has_vowel(word: &str, len: usize) -> bool {
    word.bytes().take(len).enumerate().any(|(at, b)| is_vowel(b) || (b == b'y' && at > 0))
}

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// Cuts `suffix` when at least `keep` letters are left, and puts `instead` in its place.
fn replace(word: &mut String, suffix: &str, keep: usize, instead: &str) -> bool {
    if word.len() < suffix.len() + keep || !word.ends_with(suffix) {
        return false;
    }
    word.truncate(word.len() - suffix.len());
    word.push_str(instead);
    true
}

fn plural(word: &mut String) {
    let bytes = word.as_bytes();
    let len = bytes.len();
    if bytes[len - 1] != b's' || matches!(bytes[len - 2], b's' | b'u' | b'i') {
        return; // class, status, analysis
    }
    if replace(word, "ies", 2, "y") {
        return; // queries; but not ties
    }
    for suffix in ["sses", "shes", "ches", "xes", "zes"] {
        if replace(word, suffix, 1, &suffix[..suffix.len() - 2]) {
            return;
        }
    }
    word.pop();
}

fn past_or_progressive(word: &mut String) -> bool {
    if replace(word, "ied", 2, "y") {
        return true; // verified
    }
    let cut = if word.ends_with("ing") {
        3
    } else if word.ends_with("ed") && !word.ends_with("eed") {
        2
    } else {
        return false;
    };
    let left = word.len() - cut;
    if left < 3 || !has_vowel(word, left) {
        return false; // string, bring, red
    }
    word.truncate(left);
    undouble(word);
    if ["at", "iz", "is", "ys"].iter().any(|end| word.ends_with(end)) {
        word.push('e'); // generat- and optimis- become generate, optimise
    }
    true
}

/// plann -> plan, controll -> control; pass, buzz and short ones such as sell stay.
fn undouble(word: &mut String) {
    let bytes = word.as_bytes();
    let len = bytes.len();
    if len >= 4
        && bytes[len - 1] == bytes[len - 2]
        && !is_vowel(bytes[len - 1])
        && !matches!(bytes[len - 1], b's' | b'z')
        && (bytes[len - 1] != b'l' || len >= 6)
    {
        word.pop();
    }
}

fn adverb(word: &mut String) {
    let _ = replace(word, "ically", 3, "ic") || replace(word, "ly", 5, "");
}

fn noun_of_action(word: &mut String) {
    let _ = replace(word, "ification", 3, "ify")
        || replace(word, "ization", 3, "ize")
        || replace(word, "isation", 3, "ize")
        || replace(word, "ation", 4, "")
        || (!word.ends_with("stion")
            && (word.ends_with("tion") || word.ends_with("sion"))
            && replace(word, "ion", 5, ""))
        || replace(word, "ment", 5, "");
}

fn agent(word: &mut String) {
    if replace(word, "ator", 4, "ate") {
        return;
    }
    let _ = replace(word, "izer", 3, "ize") || replace(word, "iser", 3, "ize");
}

/// generate -> gener (as from generation), optimise -> optimiz, code -> cod (as from coding).
fn final_vowel(word: &mut String) {
    if replace(word, "ate", 4, "") || replace(word, "ise", 4, "iz") || replace(word, "yse", 4, "yz")
    {
        return;
    }
    replace(word, "e", 3, "");
}

/// The stems of the doer for a deed (`scrap` of scrape: `scraper`, `plan`: `planner`) and of the
/// deed for a doer. Too loose to share a stem: a customer is no custom.
pub(super) fn kin(stemmed: &str) -> Vec<String> {
    let bytes = stemmed.as_bytes();
    if bytes.len() < 3 || !bytes.iter().all(u8::is_ascii_lowercase) {
        return Vec::new();
    }
    if let Some(deed) = stemmed.strip_suffix("er").or_else(|| stemmed.strip_suffix("or"))
        && deed.len() >= 3
    {
        let mut deed = deed.to_owned();
        undouble(&mut deed);
        stem(&mut deed);
        return vec![deed];
    }
    let last = &stemmed[stemmed.len() - 1..];
    vec![format!("{stemmed}er"), format!("{stemmed}{last}er"), format!("{stemmed}or")]
}
