//! How text is cut into words, folded and stemmed, one sentence a test; what is found with it
//! is in `tests`.

use super::stem::stem;
use super::tokenize::{Kind, Tokenizer};

fn stemmed(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}

fn tokens(text: &str) -> Vec<(String, Kind)> {
    let mut tokens = Vec::new();
    Tokenizer::default().run(text, |token| {
        tokens.push((token.text.to_owned(), token.kind));
    });
    tokens
}

fn words(text: &str) -> Vec<String> {
    let main = |kind| matches!(kind, Kind::Word | Kind::Gram);
    tokens(text).into_iter().filter(|&(_, kind)| main(kind)).map(|(text, _)| text).collect()
}

#[test]
fn forms_of_a_word_share_a_stem() {
    for family in [
        &["translate", "translates", "translated", "translating", "translation"][..],
        &["generate", "generation", "generator", "generating"],
        &["optimize", "optimise", "optimizer", "optimisation", "optimizing"],
        &["query", "queries"],
        &["verify", "verified", "verification"],
        &["plan", "plans", "planned", "planning"],
        &["code", "coding", "coded"],
        &["deploy", "deployment", "deploys"],
        &["box", "boxes"],
        &["quick", "quickly"],
    ] {
        for word in family {
            assert_eq!(stemmed(word), stemmed(family[0]), "{word}");
        }
    }
}

#[test]
fn words_that_only_look_related_stay_distinct() {
    for (a, b) in [
        ("custom", "customer"),
        ("string", "strong"),
        ("status", "state"),
        ("question", "quest"),
        ("business", "busy"),
        ("xlsx", "xls"),
        ("pass", "pas"),
    ] {
        assert_ne!(stemmed(a), stemmed(b));
    }
}

#[test]
fn numbers_extensions_and_signs_of_languages_are_words() {
    assert_eq!(
        words("a .xlsx, p5.js v4.1 C++ c# isn't"),
        ["a", "xlsx", "p5", "js", "v4", "1", "c++", "c#", "isnt"]
    );
}

#[test]
fn unspaced_scripts_give_pairs_of_characters() {
    assert_eq!(words("电子表格"), ["电子", "子表", "表格"]);
    assert_eq!(words("表"), ["表"]);
}

#[test]
fn mixed_text_is_cut_between_scripts() {
    assert_eq!(words("用Excel做表格v2"), ["用", "excel", "做表", "表格", "v2"]);
    assert_eq!(words("데이터 분석"), ["데이", "이터", "분석"]);
    assert_eq!(words("スキルを書く"), ["スキ", "キル", "ルを", "を書", "書く"]);
}

#[test]
fn width_accents_and_invisible_characters_are_folded() {
    assert_eq!(words("ＰＤＦ　Ｔｏｏｌ"), ["pdf", "tool"]);
    assert_eq!(
        words("Résumé naïve Straße Đặng ﬁne"),
        ["resume", "naive", "strasse", "dang", "fine"]
    );
    assert_eq!(
        words("re\u{301}sume\u{301} so\u{AD}ft zero\u{200B}width"),
        ["resume", "soft", "zerowidth"]
    );
}

#[test]
fn camel_case_has_humps_and_capitals_alone_have_none() {
    let humps = |text| {
        let tokens = tokens(text).into_iter();
        tokens.filter(|(_, kind)| *kind == Kind::Hump).map(|(text, _)| text).collect::<Vec<_>>()
    };
    assert_eq!(humps("parseXMLFile"), ["parse", "xml", "file"]);
    assert_eq!(humps("PDF"), Vec::<String>::new());
}
