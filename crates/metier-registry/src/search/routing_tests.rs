//! What the search promises about clauses that speak against a request, about names in prose, and
//! about when a document fires. How well it does so on real requests is measured in `tests/it`.

use super::clauses::{Sense, clauses};
use super::naming::{Naming, Prose};
use super::{Document, Hit, SearchIndex};

fn against(text: &str) -> Vec<String> {
    let (mut found, mut whole) = (Vec::new(), String::new());
    clauses(text, |sense, part| {
        whole.push_str(part);
        if sense == Sense::Against {
            found.push(part.trim().to_owned());
        }
    });
    assert_eq!(whole, text, "the parts are the whole");
    found
}

#[test]
fn clauses_that_send_a_request_elsewhere_are_found() {
    for (text, wanted) in [
        (
            "Edits text. Do NOT use for PDFs, e.g. forms. Fast.",
            &["Do NOT use for PDFs, e.g. forms."][..],
        ),
        ("Finds orphans (not for cost analysis), tags.", &["not for cost analysis"]),
        ("Reads .NET dumps; never use for Java. Also .NET 8.", &["never use for Java."]),
        (
            "Ships it. For rollbacks, see undo. For the rest, use this skill.",
            &["For rollbacks, see undo."],
        ),
        ("For plain files use copy instead. Copies trees.", &["For plain files use copy instead."]),
        ("Ads; excludes internal and personal notes.", &["excludes internal and personal notes."]),
        (
            "Tells news. Do NOT use it to update — it is about releases.",
            &["Do NOT use it to update"],
        ),
        (
            "Makes apps. Do not use when deploying — use deploy.",
            &["Do not use when deploying — use deploy."],
        ),
        ("审查合同。不适用于劳动仲裁；也看条款。", &["不适用于劳动仲裁；"]),
        // The one opener that ordinary sentences have, too; the price is small.
        (
            "Says \"I am not ranking\"; when builds do not use all cores.",
            &["do not use all cores."],
        ),
        ("Cannot fail. Note: nothing else. Another notation.", &[]),
        ("", &[]),
    ] {
        assert_eq!(against(text), wanted, "{text}");
    }
}

#[test]
fn what_a_skill_is_not_for_counts_against_it() {
    let shelf = [
        ("word", "Write and edit documents. Do NOT use for spreadsheets or invoices."),
        ("sheet", "Spreadsheets with formulas, and invoices."),
        ("notes", "Keep notes."),
    ];
    let index = SearchIndex::build(shelf.map(|(name, description)| Document { name, description }));
    let found = |query: &str| -> Vec<&str> {
        index.rank(query, 9).iter().map(|hit| shelf[hit.document].0).collect()
    };
    assert_eq!(found("invoices"), ["sheet"]);
    assert_eq!(found("documents with invoices and spreadsheets"), ["sheet", "word"]);
    // It goes down and stays on the list: it was found by other words.
    assert!(found("edit the invoices").contains(&"word"));
    let hits = index.rank("edit documents and invoices", 9);
    let word = hits.iter().find(|hit| hit.document == 0).expect("found by other words");
    assert_eq!(word.matched, ["edit", "documents"]);
}

#[test]
fn a_name_in_prose_is_called_declined_or_only_mentioned() {
    use Naming::{Called, Declined};
    for (request, wanted) in [
        ("/code-review this", Some(Called)),
        ("use code-review on this", Some(Called)),
        ("Please use Code Review as the workflow", Some(Called)),
        ("I want the code review skill here", Some(Called)),
        ("with the `code-review` skill, look at it", Some(Called)),
        ("code-review: look at it", Some(Called)),
        ("use pdf on a.pdf and then code-review on b.rs", Some(Called)),
        ("用 code-review 技能看一下", Some(Called)),
        ("使用code-review看一下", Some(Called)),
        ("do not use code-review", Some(Declined)),
        ("don't invoke the code review skill, just answer", Some(Declined)),
        ("just look at it, without the code-review skill", Some(Declined)),
        ("look at it instead of using code-review", Some(Declined)),
        ("rather than code-review, a summary", Some(Declined)),
        ("不要用 code-review", Some(Declined)),
        ("a code review would be nice", None),
        ("use skills/code-review/SKILL.md as a model", None),
        ("use code-review.md", None),
        ("the code-reviewer called", None),
        ("we use code reviews", None),
        ("use pdf and a code review", None),
        ("", None),
    ] {
        assert_eq!(Prose::read(request).naming("code review"), wanted, "{request:?}");
    }
    assert_eq!(Prose::read("用合同审查看这份合同").naming("合同审查"), Some(Called));
    assert_eq!(Prose::read("别用合同审查").naming("合同审查"), Some(Declined));
    assert_eq!(Prose::read("这份合同审查过了").naming("合同审查"), None);
}

const SKILLS: &[(&str, &str)] = &[
    ("csv-summary", "Sum and average columns of CSV tables, grouped by a column."),
    ("pdf", "Merge, split and fill PDF forms."),
    ("letters", "Draft formal letters and apologies to customers."),
    ("ship", "User-invoked workflow that ships a release to customers."),
];

fn best(request: &str) -> Option<(Hit, &'static str)> {
    let documents = SKILLS.iter().map(|&(name, description)| Document { name, description });
    let hit = SearchIndex::build(documents).rank(request, 1).into_iter().next()?;
    let name = SKILLS[hit.document].0;
    Some((hit, name))
}

fn fires(request: &str) -> Option<&'static str> {
    best(request).filter(|(hit, _)| hit.fires()).map(|(_, name)| name)
}

#[test]
fn a_document_fires_when_it_covers_the_request_and_is_ahead() {
    assert_eq!(fires("average the columns of data.csv"), Some("csv-summary"));
    assert_eq!(fires("merge these pdf forms"), Some("pdf"));
    assert_eq!(fires("draft an apology to a customer"), Some("letters"));
}

#[test]
fn one_shared_word_in_a_long_request_is_a_coincidence() {
    assert_eq!(
        fires("my boat has a leak below the column of the mast and the pump will not start, help"),
        None
    );
    assert_eq!(fires("what is the capital of France"), None);
    assert_eq!(fires(""), None);
}

#[test]
fn who_wants_a_subject_explained_gets_no_skill_that_works_on_it() {
    assert_eq!(fires("merge and split the pdf forms"), Some("pdf"));
    assert_eq!(fires("explain how merging and splitting pdf forms works"), None);
    assert_eq!(fires("explain the fields of this pdf form"), Some("pdf"));
}

#[test]
fn a_quoted_phrase_that_opens_a_long_request_fires() {
    let shelf = [
        ("proofs", "Checks proofs. Use for \"find a counterexample\" or \"is this correct\"."),
        (
            "maps",
            "Draw all maps of a compact island to have the largest value there, my tutor says.",
        ),
    ];
    let index = SearchIndex::build(shelf.map(|(name, description)| Document { name, description }));
    let sure = |request: &str| {
        let hits = index.rank(request, 2);
        hits.iter().find(|hit| hit.document == 0).map(|hit| hit.confidence)
    };
    let claim = "to this: all maps of a compact island have the largest value there";
    assert_eq!(sure(&format!("Find a counterexample {claim}")), Some(1.0));
    let mentioned = sure(&format!("My tutor says find a counterexample {claim}"));
    assert!(mentioned.is_some_and(|sure| sure < 1.0), "{mentioned:?}");
}

#[test]
fn everyday_words_count_as_little_in_a_small_shelf_as_in_a_large_one() {
    let few = [
        ("status", "Write the weekly report of a project for the team."),
        ("tides", "Predict tides and currents for sailing."),
    ];
    let fillers: Vec<String> = (0..300).map(|number| format!("filler{number}")).collect();
    let more = fillers.iter().map(|name| Document { name, description: "Zorgs a quux." });
    let document = |(name, description)| Document { name, description };
    let small = SearchIndex::build(few.map(document));
    let large = SearchIndex::build(few.map(document).into_iter().chain(more));
    let sure = |index: &SearchIndex, request| index.rank(request, 1)[0].confidence;
    for request in ["the team has a new project", "predict the currents of the week"] {
        let (in_small, in_large) = (sure(&small, request), sure(&large, request));
        assert!((in_small - in_large).abs() < 0.2, "{request}: {in_small} {in_large}");
    }
    let everyday = sure(&small, "run a test for the new project and write it to the file");
    assert!(everyday < sure(&small, "predict the tides"), "{everyday}");
}

#[test]
fn documents_that_cannot_be_distinguished_do_not_fire() {
    let twins = [("one", "Sum columns of tables."), ("two", "Sum columns of tables.")];
    let index = SearchIndex::build(twins.map(|(name, description)| Document { name, description }));
    let hits = index.rank("sum the columns of a table", 2);
    assert!(hits.iter().all(|hit| !hit.fires()), "{hits:?}");
    assert!(index.rank("use two to sum the columns", 1)[0].fires());
}

#[test]
fn only_the_skill_called_by_name_fires() {
    assert_eq!(fires("/letters merge these pdf forms"), Some("letters"));
    assert_eq!(fires("use the ship workflow"), Some("ship"));
    assert_eq!(fires("ship the release to customers with the workflow"), None, "only by its name");
    assert_eq!(fires("use /html to merge these pdf forms"), None, "another was called");
    assert_eq!(fires("use the form-filler skill to merge these pdf forms"), None);
    assert_eq!(fires("do not use pdf, just tell me what merge means"), None);
    assert_eq!(fires("split the pdf forms in /home"), Some("pdf"), "a path is no command");
}

#[test]
fn the_names_of_files_do_not_dilute_a_request() {
    let plain = best("average the columns of data.csv").map(|(hit, _)| hit.confidence);
    let long = "average the columns of ~/work/2025/q3/export_final_v2/zebra-giraffe.csv";
    assert_eq!(best(long).map(|(hit, _)| hit.confidence), plain);
}

/// Skills whose requests are easily mistaken.
fn fires_among_quoted(request: &str) -> Option<&'static str> {
    const SKILLS: &[(&str, &str)] = &[
        (
            "olympiad",
            "Solve competition math problems (IMO, Putnam) and verify proofs. Activates when asked to \
             'solve this IMO problem' or \"is this proof correct\".",
        ),
        ("weather", "Current weather and forecasts for a city."),
        ("odds", "Prediction markets. Use when asked \"what are the chances of X\"."),
        ("setup", "Chains a consultant into an approved build setup and a handoff."),
        ("files", "Static files: list, serve and cache the files of a directory of a site."),
    ];
    let documents = SKILLS.iter().map(|&(name, description)| Document { name, description });
    let hit = SearchIndex::build(documents).rank(request, 1).into_iter().next()?;
    hit.fires().then(|| SKILLS[hit.document].0)
}

#[test]
fn a_question_about_the_world_fires_only_what_mentions_what_it_asks_for() {
    for (request, skill) in [
        ("What's the difference between IMO and Putnam in difficulty?", None),
        ("What's a good textbook for learning competition math?", None),
        ("what's the weather forecast for Paris?", Some("weather")),
        (
            "is my proof of this IMO problem correct, or does it need to verify more?",
            Some("olympiad"),
        ),
    ] {
        assert_eq!(fires_among_quoted(request), skill, "{request}");
    }
}

#[test]
fn the_words_that_an_author_quotes_fire_and_what_is_to_be_left_out_does_not_count() {
    for (request, skill) in [
        ("is this proof correct", Some("olympiad")),
        ("what are the chances of rain", Some("odds")),
        ("revise the plan without starting a consultant build setup or handoff", None),
        ("run a consultant, the build setup and the handoff", Some("setup")),
    ] {
        assert_eq!(fires_among_quoted(request), skill, "{request}");
    }
}
