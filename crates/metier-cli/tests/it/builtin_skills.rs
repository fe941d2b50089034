//! The built-in skills as a person meets them: what "help" says of them works, in both languages, and a column
//! is found by its name in the other language. tidy:allow-cjk: requests in Chinese.

use metier_testkit::TestHome;

use crate::run_support::{events, holds_scripts, project};
use crate::support::run;

fn with_table() -> TestHome {
    let home = project();
    let table = "region,product,units\nNorth,Apple,10\nSouth,Pear,5\nNorth,Pear,7\n";
    home.write("project/orders.csv", table);
    home
}

/// The skills that a run loaded.
fn loaded(home: &TestHome) -> Vec<String> {
    let events: Vec<String> = events(home).iter().map(ToString::to_string).collect();
    let names = ["csv-summary", "profile-csv", "project-overview", "review-skill", "write-skill"];
    let is_loaded = |name: &&&str| {
        events.iter().any(|event| event.contains(&format!("The skill `builtin:{name}` is loaded")))
    };
    names.iter().filter(is_loaded).map(ToString::to_string).collect()
}

#[test]
fn each_has_an_example_of_its_own_that_leads_to_it() {
    let home = with_table();
    let help = run(&home, &["run", "help"]).stdout;
    let lines: Vec<&str> = help.lines().collect();
    let mut tried = 0;
    for pair in lines.windows(2) {
        let Some((name, _)) = pair[0].strip_prefix("- ").and_then(|line| line.split_once(':'))
        else {
            continue;
        };
        let said = pair[1].trim().strip_prefix("for example: `metier run \"").expect("an example");
        let said = said.strip_suffix("\"`").expect("its end");
        assert!(!said.contains('\u{2026}'), "{name} has no example of its own: {help}");
        run(&home, &["run", "--yes", said]);
        assert_eq!(loaded(&home), [name], "{said}");
        tried += 1;
    }
    assert_eq!(tried, 5, "{help}");
}

#[test]
fn a_column_named_in_the_other_language_is_found_and_said() {
    let home = with_table();
    if !holds_scripts(&home) {
        return;
    }
    let output = run(&home, &["run", "--yes", "按地区汇总 orders.csv"]);
    assert_eq!(output.code, 0, "{output:?}");
    for shown in ["按以下对应读取：地区 即 region。", "按 region 统计的行数：", "North      2"]
    {
        assert!(output.stdout.contains(shown), "{shown}: {output:?}");
    }
    home.write("project/zh.csv", "地区,销售额\n北,3\n");
    let output = run(&home, &["run", "--yes", "summarise zh.csv by region"]);
    assert!(output.stdout.contains("zh.csv: 1 row, 2 columns"), "{output:?}");
    assert!(output.stdout.contains("Read: region as 地区."), "{output:?}");
    // What no table knows is an error that names the columns.
    let output = run(&home, &["run", "--yes", "按颜色汇总 orders.csv"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("region, product, units"), "{output:?}");
}

#[test]
fn a_comma_means_the_same_in_all_of_a_column_or_the_column_is_named() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let two_ways = "Not read as numbers, for they are written in two ways: v";
    for (cells, said) in [
        ("\"1,5\"\n\"1,234\"", format!("{two_ways} (\"1,5\" and \"1,234\").")),
        ("\"1,5\"\n\"12,345,678\"", format!("{two_ways} (\"1,5\" and \"12,345,678\").")),
        ("\"1,5\"\n2.5", format!("{two_ways} (\"1,5\" and \"2.5\").")),
        ("$1234\n\u{20ac}5", format!("{two_ways} (\"$1234\" and \"\u{20ac}5\").")),
        ("50%\n0.5", format!("{two_ways} (\"0.5\" and \"50%\").")),
        ("\"1.234,50\"\n\"2,5\"", "Read as numbers: v (\"1.234,50\" as 1234.50).".to_owned()),
        ("\"1,234\"\n\"5\"", "Read as numbers: v (\"1,234\" as 1234).".to_owned()),
        ("\"0,123\"\n\"5\"", "Read as numbers: v (\"0,123\" as 0.123).".to_owned()),
        ("9007199254740993\n1", "Not summed, for more than 15 digits".to_owned()),
        ("1 234\n12 000", "Not read as numbers, for there are blanks".to_owned()),
    ] {
        home.write(
            "project/n.csv",
            format!("k,v\n{}\n", cells.replace('\n', "\nb,").replacen("", "a,", 1)),
        );
        let output =
            run(&home, &["exec", "--yes", "csv-summary", "scripts/summarise.sh", "--", "n.csv"]);
        assert_eq!(output.code, 0, "{cells}: {output:?}");
        assert!(output.stdout.contains(&said), "{cells}: {output:?}");
        assert_eq!(
            output.stdout.contains("Numeric columns"),
            said.starts_with("Read"),
            "{output:?}"
        );
        let only = [
            "exec",
            "--yes",
            "csv-summary",
            "scripts/summarise.sh",
            "--",
            "--column",
            "v",
            "n.csv",
        ];
        assert_eq!(run(&home, &only).code, i32::from(!said.starts_with("Read")), "{cells}");
    }
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_in_the_language_of_the_request() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let utf_16: Vec<u8> = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let gbk = b"\xb5\xd8\xc7\xf8,x\n\xb1\xb1,1\n".to_vec();
    for (name, bytes) in
        [("gbk.csv", gbk), ("utf16.csv", utf_16), ("binary.csv", vec![1, 2, 3, 4, 0, 0x89])]
    {
        std::fs::write(home.project().join(name), bytes).expect("a file");
        for (skill, script) in
            [("csv-summary", "scripts/summarise.sh"), ("profile-csv", "scripts/profile_csv.py")]
        {
            for (lang, said) in
                [("en", "is not UTF-8 text; save it"), ("zh", "不是 UTF-8 文本；请先")]
            {
                let output =
                    run(&home, &["exec", "--yes", skill, script, "--", "--lang", lang, name]);
                assert_eq!(output.code, 1, "{name}: {output:?}");
                assert!(output.stdout.is_empty(), "{name}: {output:?}");
                let shown = output.stderr.contains(&format!("{name} {said}"));
                assert!(shown, "{name}: {output:?}");
            }
        }
    }
    let output = run(&home, &["run", "--yes", "汇总 gbk.csv"]);
    assert_eq!(output.code, 1, "{output:?}");
    let missing =
        ["exec", "--yes", "csv-summary", "scripts/summarise.sh", "--", "--lang", "zh", "无.csv"];
    assert!(run(&home, &missing).stderr.contains("没有文件 无.csv"));
}

#[test]
fn the_overview_counts_files_of_any_letters_and_has_the_right_plural() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    home.write("project/one/main.rs", "fn main() {}\n");
    home.write("project/one/销售.csv", "a\n1\n");
    let overview = ["exec", "--yes", "project-overview", "scripts/overview.sh", "--", "one"];
    let output = run(&home, &overview);
    let words: Vec<&str> = output.stdout.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.contains("Rust 1 file 1 line") && words.contains("CSV 1 file 2 lines"),
        "{words}"
    );
    assert!(!words.contains("not counted"), "{words}");
}
