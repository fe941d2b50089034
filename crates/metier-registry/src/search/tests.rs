//! What the ranking promises, one sentence a test, over a small shelf of invented skills.
//! How well it ranks real ones is measured over the corpus, not here.

use proptest::prelude::*;

use super::{Document, Hit, SearchIndex};

/// Invented, but of the shapes real skills have.
const SKILLS: &[(&str, &str)] = &[
    ("xlsx", "Create and edit spreadsheets: formulas, charts, formatting. Use for .xlsx files."),
    ("slide-maker", "Make slide decks for talks. Use when a presentation or .pptx is wanted."),
    ("pdf-tools", "Merge, split and fill PDF forms, extract text and tables from PDF files."),
    ("pdf", "Read documents that were printed."),
    ("code-review", "Review changes for bugs, naming and missing tests before they are merged."),
    ("translator", "Translate documents between languages and keep their layout."),
    ("gitHubIssues", "Open, label and close issues."),
    ("weather", "Forecast for a city, with rain and wind."),
    ("front-end", "Components in React and C++ bindings, accessible by keyboard."),
    ("合同审查", "审查合同条款，找出风险并给出修改建议。适用于劳动合同和采购合同。"),
    ("meeting-notes", "把会议录音整理成会议纪要，列出待办事项。"),
    ("acme:deploy", "Ship a service to the cluster and watch its health."),
];

fn index(shelf: &[(&str, &str)]) -> SearchIndex {
    SearchIndex::build(shelf.iter().map(|&(name, description)| Document { name, description }))
}

fn shelf() -> SearchIndex {
    index(SKILLS)
}

/// The names of the documents found, best first.
fn found(query: &str) -> Vec<&'static str> {
    shelf().rank(query, 100).iter().map(|hit| SKILLS[hit.document].0).collect()
}

fn first(query: &str) -> &'static str {
    found(query).first().copied().unwrap_or("nothing")
}

#[test]
fn nothing_is_found_for_nothing() {
    for query in ["", " \n\t", "—…!?", "\u{200B}", "🦀"] {
        assert_eq!(shelf().rank(query, 10), [], "{query:?}");
    }
    assert_eq!(shelf().rank("spreadsheet", 0), []);
    let empty = index(&[]);
    assert!(empty.is_empty());
    assert_eq!(empty.rank("spreadsheet", 10), []);
    assert_eq!(shelf().len(), SKILLS.len());
}

#[test]
fn what_was_ranked_before_changes_no_ranking() {
    let kept = shelf();
    let queries: Vec<String> =
        (0..40).map(|number| format!("rain in city {}", number % 20)).collect();
    for query in queries.iter().chain(&queries) {
        for limit in [2, 1, 100] {
            assert_eq!(kept.rank(query, limit), shelf().rank(query, limit), "{query}");
            assert_eq!(kept.rank_scores(query, limit), shelf().rank_scores(query, limit));
        }
    }
}

#[test]
fn a_word_of_the_description_finds_its_skill() {
    assert_eq!(first("formulas"), "xlsx");
    assert_eq!(first("rain"), "weather");
    assert_eq!(found("zebra"), Vec::<&str>::new());
}

#[test]
fn a_chatty_request_with_file_names_finds_the_right_skill() {
    assert_eq!(
        first(
            "hey, could you please help me? my boss sent ~/Downloads/q3/weather_station.xlsx and \
             I need a chart and some totals in it before lunch, thanks a lot"
        ),
        "xlsx"
    );
    assert_eq!(first("I would like to fill in this form, it is called tax-2024.pdf"), "pdf-tools");
}

#[test]
fn the_exact_name_comes_first_whatever_else_matches() {
    assert_eq!(first("pdf"), "pdf");
    for &(name, _) in SKILLS {
        for query in
            [name.to_owned(), format!("  {name}\n"), format!("/{name}"), format!("`{name}`")]
        {
            assert_eq!(first(&query), name, "{query:?}");
        }
    }
    assert_eq!(first("PDF Tools"), "pdf-tools");
    assert_eq!(first("deploy"), "acme:deploy");
}

#[test]
fn among_names_that_differ_by_case_the_one_as_written_wins() {
    let index = index(&[("PDF", "one"), ("pdf", "two"), ("Pdf", "three")]);
    let order = |query| index.rank(query, 9).iter().map(|hit| hit.document).collect::<Vec<_>>();
    assert_eq!(order("pdf"), [1, 0, 2]);
    assert_eq!(order("Pdf"), [2, 0, 1]);
    assert_eq!(order("pDF"), [0, 1, 2]);
}

#[test]
fn a_name_called_as_a_command_comes_before_what_the_words_say() {
    assert_eq!(
        first("/weather merge these pdf forms and extract the text of the tables"),
        "weather"
    );
    assert_eq!(first("use $acme:deploy for the spreadsheet charts"), "acme:deploy");
    assert_eq!(first("merge the pdf forms in /weather/forms"), "pdf-tools");
}

#[test]
fn other_forms_of_a_word_find_it() {
    assert_eq!(first("translating a letter"), "translator");
    assert_eq!(first("a translation"), "translator");
    assert_eq!(first("splitting"), "pdf-tools");
}

#[test]
fn slips_and_beginnings_are_forgiven() {
    assert_eq!(first("spreadsheat"), "xlsx"); // one letter wrong
    assert_eq!(first("formluas"), "xlsx"); // two swapped
    assert_eq!(first("wether"), "weather"); // one missing
    assert_eq!(first("presentashun"), "nothing"); // three are another word
    assert_eq!(first("langages betwean"), "translator");
    assert_eq!(first("accessibel"), "front-end");
    assert_eq!(first("spread"), "xlsx"); // the beginning of a word
    assert_eq!(first("tra"), "translator");
    assert_eq!(first("xy"), "nothing");
}

#[test]
fn an_exact_word_beats_a_guess_and_a_synonym_of_the_same_rarity() {
    let index = index(&[
        ("one", "about excel things"),
        ("two", "about spreadsheet things"),
        ("three", "about scraper things"),
        ("four", "about scrape things"),
    ]);
    let order = |query| index.rank(query, 9).iter().map(|hit| hit.document).collect::<Vec<_>>();
    assert_eq!(order("spreadsheet"), [1, 0]);
    assert_eq!(order("excel"), [0, 1]);
    assert_eq!(order("scrape"), [3, 2]);
    assert_eq!(order("scraper"), [2, 3]);
}

#[test]
fn everyday_names_of_file_types_mean_the_file_type() {
    assert_eq!(first("an excel file"), "xlsx");
    assert_eq!(first("powerpoint"), "slide-maker");
    assert_eq!(first("keynote deck"), "slide-maker");
    assert_eq!(first(".XLSX"), "xlsx");
}

#[test]
fn chinese_is_found_by_pairs_of_characters() {
    assert_eq!(first("帮我看看这份劳动合同有没有风险"), "合同审查");
    assert_eq!(first("整理会议纪要"), "meeting-notes");
}

#[test]
fn one_chinese_character_finds_the_words_that_have_it() {
    assert_eq!(found("险"), ["合同审查"]);
    assert_eq!(found("录"), ["meeting-notes"]);
}

#[test]
fn a_chinese_request_finds_an_english_skill_and_the_other_way_round() {
    assert_eq!(first("做一个电子表格"), "xlsx");
    assert_eq!(first("把这份文档翻译成英文"), "translator");
    assert_eq!(first("做一份关于产品的幻灯片"), "slide-maker");
    assert!(found("代码审查")[..2].contains(&"code-review"));
    assert_eq!(first("look over this agreement, any contract risk?"), "合同审查");
}

#[test]
fn mixed_text_is_cut_where_the_script_changes() {
    assert_eq!(first("把这些PDF合并，merge 成一个，再 extract 里面的 tables"), "pdf-tools");
}

#[test]
fn width_case_and_accents_do_not_matter() {
    assert_eq!(first("ＷＥＡＴＨＥＲ"), "weather");
}

#[test]
fn names_are_split_at_signs_and_humps_and_kept_whole() {
    assert_eq!(first("github"), "gitHubIssues");
    assert_eq!(first("issues"), "gitHubIssues");
    assert_eq!(first("frontend"), "front-end");
    assert_eq!(first("front end"), "front-end");
    assert_eq!(first("codereview"), "code-review");
    assert_eq!(first("c++"), "front-end");
}

#[test]
fn two_words_written_as_one_are_found_and_a_hyphen_between_them_earns_nothing() {
    let shelf = index(&[
        ("one", "Colours for a site in dark mode."),
        ("two", "Colours for a site in dark-mode."),
        ("three", "Colours for a site in darkmode."),
    ]);
    let hits = shelf.rank("a dark mode toggle", 10);
    let documents: Vec<usize> = hits.iter().map(|hit| hit.document).collect();
    assert_eq!(documents, [0, 1, 2]);
    assert_eq!(hits[0].score.to_bits(), hits[1].score.to_bits());
}

#[test]
fn function_words_find_something_only_when_there_is_nothing_else() {
    assert!(!found("with the").is_empty());
    assert_eq!(first("what is the weather with and of the for and"), "weather");
}

#[test]
fn a_hit_names_the_words_of_the_document_that_matched() {
    let hits = shelf().rank("merging the tables of PDFs", 1);
    assert_eq!(hits[0].matched, ["pdf", "merge", "tables"]);
    assert_eq!(shelf().rank("劳动合同的风险", 1)[0].matched, ["合同", "风险", "劳动合同"]);
}

#[test]
fn equal_documents_come_in_their_order() {
    let index = index(&[("a1", "same words"), ("a2", "same words"), ("a3", "same words")]);
    let order: Vec<_> = index.rank("same words", 9).iter().map(|hit| hit.document).collect();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn a_smaller_limit_gives_the_beginning_of_the_same_list() {
    let all = shelf().rank("review the documents, issues and changes", 100);
    for limit in 0..all.len() {
        assert_eq!(shelf().rank("review the documents, issues and changes", limit), all[..limit]);
    }
}

#[test]
fn scores_do_not_depend_on_the_order_of_the_documents() {
    let queries =
        ["fix the spreadsheat of the meetings", "合同 review", "险", "trans", "open close"];
    let mut turned = SKILLS.to_vec();
    for _ in 0..SKILLS.len() {
        turned.rotate_left(1);
        turned.swap(0, 5);
        for query in queries {
            let by_name = |index: &SearchIndex, shelf: &[(&'static str, &str)]| {
                let named = |hit: Hit| (shelf[hit.document].0, hit.score.to_bits(), hit.matched);
                let mut hits: Vec<_> = index.rank(query, 100).into_iter().map(named).collect();
                hits.sort();
                hits
            };
            assert_eq!(by_name(&index(&turned), &turned), by_name(&shelf(), SKILLS), "{query}");
        }
    }
}

#[test]
fn hostile_input_is_ranked_like_any_other() {
    let long_word = "a".repeat(100_000);
    let deep = "/".repeat(50_000);
    let marks = "e\u{301}\u{301}".repeat(10_000);
    let quotes = "'".repeat(10_000) + "''a''" + "#+".repeat(1_000).as_str();
    let texts = [&long_word, &deep, &marks, &quotes, "\0\u{1b}[31m\u{202e}", "\u{FFFD}\u{10FFFF}"];
    let index =
        SearchIndex::build(texts.iter().map(|text| Document { name: text, description: text }));
    for text in texts {
        for hit in index.rank(text, 10) {
            assert!(hit.score.is_finite() && hit.score > 0.0);
        }
    }
}

#[test]
fn of_a_pasted_file_only_the_beginning_is_read() {
    use std::fmt::Write as _;
    let mut pasted = String::from("merge these pdf forms: ");
    for number in 0..200_000 {
        let _ = write!(pasted, "word{number} ");
    }
    assert!(pasted.len() > 1_000_000);
    let asked = pasted.clone() + " formulas";
    assert_eq!(first(&pasted), "pdf-tools");
    assert_eq!(shelf().rank(&asked, 100), shelf().rank(&pasted, 100));
    assert_eq!(first(&("的".repeat(400_000) + "formulas")), "nothing");
}

#[test]
fn repeating_a_word_does_not_buy_the_first_place() {
    let stuffed = "invoice ".repeat(500);
    let index = index(&[("spam", &stuffed), ("invoices", "Write an invoice for a customer.")]);
    assert_eq!(index.rank("write an invoice for my customer", 2)[0].document, 1);
}

proptest! {
    #[test]
    fn any_text_gives_a_sorted_list_of_distinct_documents_and_its_own_name_first(
        documents in prop::collection::vec((any::<String>(), any::<String>()), 0..12),
        query in any::<String>(),
        limit in 0usize..20,
    ) {
        let index = SearchIndex::build(
            documents.iter().map(|(name, text)| Document { name, description: text }),
        );
        let hits = index.rank(&query, limit);
        prop_assert!(hits.len() <= limit.min(documents.len()));
        prop_assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite()));
        let in_order = |a: &Hit, b: &Hit| {
            a.score > b.score || (a.score.to_bits() == b.score.to_bits() && a.document < b.document)
        };
        prop_assert!(hits.is_sorted_by(in_order));
        prop_assert_eq!(&hits, &index.rank(&query, limit));
        for name in documents.iter().map(|(name, _)| name.trim()).filter(|name| !name.is_empty()) {
            let first = index.rank(name, 1).first().map(|hit| documents[hit.document].0.trim());
            let bare = name.trim_matches(['"', '`', '\'']);
            let bare = bare.strip_prefix(['/', '$', '@']).unwrap_or(bare);
            prop_assert!(first == Some(name) || first == Some(bare), "{:?}", first);
        }
    }
}
