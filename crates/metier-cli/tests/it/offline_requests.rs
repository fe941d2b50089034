//! What the offline model does with everyday requests, in English and Chinese, through the binary: the
//! skill or the tool that it should use, or that it says that it cannot.

use metier_testkit::TestHome;

use crate::run_support::{events, holds_scripts};
use crate::support::run;

/// What should come of a request, and a part of the answer.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Skill(&'static str, &'static str),
    Tool(&'static str, &'static str),
    /// The skills are listed.
    Help(&'static str),
    /// Nothing is done, and it says so.
    Abstains,
}

use Expected::{Abstains, Help, Skill, Tool};

const SALES: &str = "product,region,units,price\napple,north,10,$300\npear,south,5,\"1,5\"\n\
                     apple,south,2,$20\nfig,north,30,$7\nplum,south,1,$9\n";

const ENGLISH: &[(&str, Expected)] = &[
    ("help", Help("csv-summary")),
    ("what can you do?", Help("for example")),
    ("list your skills", Help("project-overview")),
    ("ls", Tool("list_dir", "README.md")),
    ("list the files here", Tool("list_dir", "sales.csv")),
    ("what files are in src?", Tool("list_dir", "main.rs")),
    ("show me the files in src/", Tool("list_dir", "main.rs")),
    ("read notes.txt", Tool("read_file", "Call the plumber")),
    ("please show me notes.txt", Tool("read_file", "Call the plumber")),
    ("what does notes.txt say?", Tool("read_file", "Call the plumber")),
    ("cat src/main.rs", Tool("read_file", "fn main")),
    ("summarise README.md", Tool("read_file", "Keeps track of boats.")),
    ("give me a summary of notes.txt", Tool("read_file", "Call the plumber")),
    ("what is this project about?", Tool("read_file", "Keeps track of boats.")),
    ("grep TODO", Tool("grep", "main.rs")),
    ("search for \"the plumber\" in notes.txt", Tool("grep", "plumber")),
    ("where is open_harbour defined?", Tool("grep", "open_harbour")),
    ("which files mention plumber?", Tool("grep", "notes.txt")),
    ("summarise sales.csv by region", Skill("csv-summary", "units by region")),
    ("top 3 products by units in sales.csv", Skill("csv-summary", "The 3 largest of 4 groups")),
    ("sum the units in sales.csv", Skill("csv-summary", "48")),
    ("average price per region in sales.csv", Skill("csv-summary", "Read as numbers: price")),
    (
        "is the data in sales.csv clean? check its quality",
        Skill("profile-csv", "sales.csv has 5 rows"),
    ),
    (
        "check sales.csv for duplicate rows and empty values",
        Skill("profile-csv", "price has 5 numbers written as text, such as"),
    ),
    (
        "give me an overview of this codebase: languages and build files",
        Skill("project-overview", "About: Keeps track of boats."),
    ),
    ("use the profile-csv skill on sales.csv", Skill("profile-csv", "5 rows")),
    ("/csv-summary sales.csv", Skill("csv-summary", "Numeric columns")),
    ("what is in src?", Tool("list_dir", "main.rs")),
    ("list csv files", Tool("list_dir", "sales.csv\n\nThese are in this folder")),
    ("open the readme", Tool("read_file", "Keeps track of boats.")),
    ("read lines 2-3 of notes.txt", Tool("read_file", "Buy paint.")),
    ("show me the first 1 lines of notes.txt", Tool("read_file", "Call the plumber")),
    ("read data/数据.csv", Tool("read_file", "北京")),
    ("count TODOs in src", Tool("grep", "1 line holds TODO")),
    ("describe this repo", Tool("read_file", "Keeps track of boats.")),
    ("what does csv-summary do?", Help("Summarise a CSV or TSV file")),
    (
        "total units by region in sales.csv where region is north",
        Skill("csv-summary", "Not done: \"where region is north\""),
    ),
    (
        "sum the units in sales.csv, excluding north",
        Skill("csv-summary", "Not done: \"excluding north\""),
    ),
    (
        "summarise sales.csv by region and delete it",
        Skill("csv-summary", "Not done: \"and delete it\""),
    ),
    ("summarise sales.csv data/euro.csv", Skill("csv-summary", "Not done: \"data/euro.csv\"")),
    ("bottom 2 products by units in sales.csv", Skill("csv-summary", "Not done: \"bottom 2\"")),
    ("total units of north in sales.csv", Skill("csv-summary", "Not done: \"of north\"")),
    (
        "total units in sales.csv when price is above 3",
        Skill("csv-summary", "Not done: \"when price is above 3\""),
    ),
    (
        "sum the units of the first 2 rows in sales.csv",
        Skill("csv-summary", "Not done: \"first 2 rows\""),
    ),
    ("how many csv files are there?", Tool("list_dir", "There is 1 .csv file in this folder")),
    ("count files", Tool("list_dir", "files in this folder itself")),
    ("read lines 3-2 of notes.txt", Tool("read_file", "Buy paint.")),
    ("which product sold the most units in sales.csv?", Skill("csv-summary", "units by product")),
    ("what is the capital of France?", Abstains),
    ("translate notes.txt into Finnish", Abstains),
    ("tell me a joke", Abstains),
    ("write a haiku about rain", Abstains),
    ("book a flight to Oslo for Friday", Abstains),
    ("draw a chart of sales.csv", Abstains),
];

const CHINESE: &[(&str, Expected)] = &[
    ("帮助", Help("例如")),
    ("你能做什么？", Help("csv-summary")),
    ("有哪些技能", Help("没有语言模型时")),
    ("列出文件", Tool("list_dir", "README.md")),
    ("列出 src 目录", Tool("list_dir", "main.rs")),
    ("这里有哪些文件？", Tool("list_dir", "sales.csv")),
    ("读取 notes.txt", Tool("read_file", "Call the plumber")),
    ("看看 notes.txt 的内容", Tool("read_file", "Call the plumber")),
    ("总结 README.md", Tool("read_file", "完整的总结需要语言模型")),
    ("这个项目是做什么的？", Tool("read_file", "以上是 README.md 的开头")),
    ("搜索 TODO", Tool("grep", "main.rs")),
    ("哪些文件包含 plumber", Tool("grep", "notes.txt")),
    ("按 region 汇总 sales.csv", Skill("csv-summary", "没有使用语言模型")),
    ("统计 sales.csv 中 units 的总和", Skill("csv-summary", "48")),
    ("用 profile-csv 技能检查 sales.csv", Skill("profile-csv", "以上是技能 profile-csv")),
    ("sales.csv 的数据质量怎么样？", Skill("profile-csv", "sales.csv 共有 5 行、4 列。")),
    ("sales.csv 干净吗", Skill("profile-csv", "price 有 5 个数字写成了文本")),
    ("检查 sales.csv 有没有重复行", Skill("profile-csv", "处需要注意")),
    ("sales.csv 里销量最高的 3 个产品", Skill("csv-summary", "按 units 之和取最大的 3 组")),
    ("sales.csv 中哪些产品的销量最高", Skill("csv-summary", "按 product 统计的 units")),
    ("sales.csv 按地区的销量", Skill("csv-summary", "按 region 统计的 units")),
    ("计算 sales.csv 的总销量", Skill("csv-summary", "48")),
    ("sales.csv 有多少行", Skill("csv-summary", "5 行")),
    ("sales.csv 的平均价格是多少", Skill("csv-summary", "按数字读取：price")),
    (
        "概述一下这个代码库：语言和构建文件",
        Skill("project-overview", "简介：Keeps track of boats."),
    ),
    ("看看 sales.csv 里有没有空值", Skill("profile-csv", "处需要注意")),
    ("在 src 里查找 TODO", Tool("grep", "main.rs")),
    ("查找 src 目录里的 TODO", Tool("grep", "main.rs")),
    ("src 里有 TODO 吗", Tool("grep", "main.rs")),
    ("src 里有什么", Tool("list_dir", "main.rs")),
    ("列出所有 csv 文件", Tool("list_dir", "不含子文件夹")),
    ("看看 README", Tool("read_file", "Keeps track of boats.")),
    ("读取 notes.txt 的前 1 行", Tool("read_file", "Call the plumber")),
    ("把 notes.txt 打印出来", Tool("read_file", "Call the plumber")),
    ("csv-summary 是做什么的？", Help("显示全文")),
    ("把data/数据.csv按城市汇总", Skill("csv-summary", "按 城市 统计的 销量")),
    ("总结“data/数据.csv”", Skill("csv-summary", "数值列")),
    ("data/数据.csv 里每个城市的销量合计", Skill("csv-summary", "按 城市 统计的 销量")),
    ("按 region 和 product 汇总 sales.csv", Skill("csv-summary", "region / product")),
    ("sales.csv 前 2 个地区", Skill("csv-summary", "取最大的 2 组")),
    ("按 region 汇总 sales.csv，除 north 外", Skill("csv-summary", "没有做到：“除 north 外”")),
    ("按 region 汇总 sales.csv，并删除它", Skill("csv-summary", "没有做到：“删除它”")),
    ("sales.csv 里 north 的总 units", Skill("csv-summary", "没有做到：“north”")),
    ("统计 sales.csv 里北方的 units 总和", Skill("csv-summary", "没有做到：“北方”")),
    ("有几个 csv 文件？", Tool("list_dir", "有 1 个 .csv 文件")),
    ("把 sales.csv 按月份画成图表", Abstains),
    ("最高的山是哪座？", Abstains),
    ("法国的首都是哪里？", Abstains),
    ("讲个笑话", Abstains),
    ("把 notes.txt 翻译成芬兰语", Abstains),
    ("写一首关于雨的诗", Abstains),
];

fn project() -> TestHome {
    let home = TestHome::new();
    home.write(
        "project/README.md",
        "# Harbour\n\n[![ok](x)](y)\n\nKeeps track of boats.\n\n## Use\n\nMore.\n",
    );
    home.write("project/notes.txt", "Call the plumber on Monday.\n\nBuy paint.\n");
    home.write(
        "project/src/main.rs",
        "fn main() { open_harbour() } // TODO: tides\nfn open_harbour() {}\n",
    );
    home.write("project/sales.csv", SALES);
    home.write("project/data/数据.csv", "城市,销量\n北京,3\n上海,4\n");
    home.write("project/data/euro.csv", "product,units\nfig,1\n");
    home
}

/// The skills and the tools that the newest run used.
fn used(home: &TestHome) -> (Vec<String>, Vec<String>) {
    let (mut skills, mut tools) = (Vec::new(), Vec::new());
    for event in events(home).iter().map(ToString::to_string) {
        for name in
            ["csv-summary", "profile-csv", "project-overview", "write-skill", "review-skill"]
        {
            if event.contains(&format!("The skill `builtin:{name}` is loaded")) {
                skills.push(name.to_owned());
            }
        }
        for tool in ["list_dir", "read_file", "grep"] {
            if event.contains("\"call_tool\"") && event.contains(&format!("\"tool\":\"{tool}\"")) {
                tools.push(tool.to_owned());
            }
        }
    }
    tools.dedup();
    skills.dedup();
    (skills, tools)
}

fn all_as_expected(cases: &[(&str, Expected)]) {
    let home = project();
    let runs_scripts = holds_scripts(&home);
    let mut wrong = Vec::new();
    for &(request, expected) in cases {
        if matches!(expected, Skill(..)) && !runs_scripts {
            continue;
        }
        let output = run(&home, &["run", "--yes", request]);
        let (skills, tools) = used(&home);
        let (wanted_skills, wanted_tools, part): (&[&str], &[&str], &str) = match &expected {
            Skill(name, part) => (std::slice::from_ref(name), &[], part),
            Tool(name, part) => (&[], std::slice::from_ref(name), part),
            Help(part) => (&[], &[], part),
            Abstains => (&[], &[], ""),
        };
        let says = match expected {
            Abstains => {
                output.stdout.contains("nothing was done") || output.stdout.contains("什么都没有做")
            }
            _ => output.stdout.contains(part),
        };
        let language = !request.chars().any(|c| c > '\u{2fff}')
            || matches!(
                expected,
                Tool("list_dir" | "grep", _)
                    | Tool("read_file", "Call the plumber" | "Keeps track of boats.")
            )
            || output.stdout.chars().any(|c| c > '\u{2fff}');
        // What is done in full says nothing of parts that were not.
        let is_partial = part.contains("Not done") || part.contains("没有做到");
        let notes = ["Not done:", "没有做到："].iter().any(|note| output.stdout.contains(note));
        if skills != wanted_skills
            || tools != wanted_tools
            || !says
            || !language
            || notes != is_partial
        {
            wrong.push(format!(
                "{request}: {expected:?}, but {skills:?} {tools:?}: {}",
                output.stdout
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

#[test]
fn everyday_requests_get_their_skill_their_tool_or_an_honest_answer() {
    all_as_expected(ENGLISH);
}

#[test]
fn the_same_in_chinese() {
    all_as_expected(CHINESE);
}

#[test]
fn a_file_that_is_not_there_is_said_in_plain_words_with_the_nearest() {
    let home = project();
    for (request, says) in [
        ("read note.txt", "There is no file note.txt here. Did you mean notes.txt?"),
        ("read zzz.txt", "There is no file zzz.txt here."),
        ("读取 note.txt", "这里没有 note.txt 这个文件。是不是 notes.txt？"),
        ("read src/mian.rs", "There is no file src/mian.rs here. Did you mean src/main.rs?"),
    ] {
        let output = run(&home, &["run", request]);
        assert!(output.stdout.contains(says), "{request}: {output:?}");
        assert_eq!(output.code, 1, "{request}: {output:?}");
        assert!(!output.stdout.contains("path null"), "{output:?}");
        assert!(!output.stderr.contains("the model"), "{output:?}");
        assert!(!output.stderr.contains("exactly as `list_dir`"), "{output:?}");
    }
}

#[test]
fn the_only_table_is_taken_and_named() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    for flags in [&[][..], &["--file", "sales.csv"]] {
        let output = run(&home, &[&["run", "--yes", "top 3 products by units"], flags].concat());
        assert!(output.stdout.contains("The 3 largest of 4 groups"), "{output:?}");
        let is_named = output.stdout.contains("sales.csv was taken, the only table");
        assert_eq!(is_named, flags.is_empty(), "{output:?}");
    }
    home.write("project/other.csv", "a,b\n1,2\n");
    let output = run(&home, &["run", "--yes", "top 3 products by units"]);
    assert!(!output.stdout.contains("The 3 largest"), "{output:?}");
}

#[test]
fn a_file_from_elsewhere_reaches_the_script_however_it_is_written() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    home.write("elsewhere/out.csv", SALES);
    home.write("home/proj/sales.csv", SALES);
    home.write("home/proj/notes.txt", "Call the plumber.\n");
    let outside = home.path().join("elsewhere/out.csv");
    let outside = outside.to_string_lossy();
    let flags = ["run", "--yes", "total units by region", "--file", &outside];
    let output = run(&home, &flags);
    assert!(output.stdout.contains("units by region"), "{output:?}");
    let place = home.path().join("home").to_string_lossy().into_owned();
    let absolute = format!("{place}/proj/sales.csv");
    for file in ["proj/sales.csv", &absolute] {
        let output =
            run(&home, &["-C", &place, "run", "--yes", "total units by region", "--file", file]);
        assert!(output.stdout.contains("units by region"), "{file}: {output:?}");
    }
    // In the home directory each read is asked about.
    let output = run(&home, &["-C", &place, "run", "--yes", "read ~/proj/notes.txt"]);
    assert!(output.stdout.contains("Call the plumber."), "{output:?}");
}
