//! The built-in skills as a person meets them: what "help" says of them works, in both languages, and a column
//! is found by its name in the other language.

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
