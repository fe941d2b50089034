//! Requests written by hand, each with the skill that should fire, or none.
//!
//! They were written before they were first measured. Some are meant to fail a router that only
//! counts words: they share words with a skill and want something else.

/// For the compiled-in skills.
pub(crate) const BUILT_IN: &[(&str, Option<&str>)] = &[
    ("summarise examples/sales.csv by region", Some("csv-summary")),
    ("sum the units per product in examples/sales.csv", Some("csv-summary")),
    ("what is the average price by product in sales.csv?", Some("csv-summary")),
    ("give me totals and averages of orders.csv grouped by customer", Some("csv-summary")),
    (
        "I have an export from the shop, ~/Downloads/export_2025.csv, and need the minimum and maximum of each numeric column",
        Some("csv-summary"),
    ),
    ("break down expenses.tsv by month", Some("csv-summary")),
    ("/csv-summary data/report.csv", Some("csv-summary")),
    ("use csv-summary on data/report.csv", Some("csv-summary")),
    ("按地区汇总 examples/sales.csv", Some("csv-summary")),
    ("把 sales.csv 按产品分组，算出总和和平均值", Some("csv-summary")),
    ("统计 orders.csv 每个字段的平均值", Some("csv-summary")),
    ("is contacts.csv clean? look for empty values and duplicate rows", Some("profile-csv")),
    (
        "check this data export for missing values and mixed types before I load it",
        Some("profile-csv"),
    ),
    ("profile customers.csv", Some("profile-csv")),
    ("find duplicate rows in list.csv", Some("profile-csv")),
    ("检查 contacts.csv 的数据质量，看看有没有重复和空值", Some("profile-csv")),
    ("give me an overview of this project", Some("project-overview")),
    (
        "I just cloned this repository, what is it written in and how is it laid out?",
        Some("project-overview"),
    ),
    ("which programming languages does this codebase use", Some("project-overview")),
    ("new to this repo - where do I start?", Some("project-overview")),
    ("how many lines of code are there in this project, by language?", Some("project-overview")),
    ("给我一个项目概览", Some("project-overview")),
    ("这个代码仓库用什么语言写的？", Some("project-overview")),
    ("write a new skill for filling in our travel forms", Some("write-skill")),
    ("my skill does not trigger, can you improve its description?", Some("write-skill")),
    ("help me write the frontmatter of a SKILL.md", Some("write-skill")),
    ("帮我编写一个新的技能", Some("write-skill")),
    ("review the skill in skills/pdf before we share it", Some("review-skill")),
    ("audit this SKILL.md, can it be trusted?", Some("review-skill")),
    ("use the review-skill skill on ./skills/deploy", Some("review-skill")),
    ("审查这个技能是否安全", Some("review-skill")),
];

/// Close to the compiled-in skills, and none of theirs. Larger shelves have skills for some of them.
pub(crate) const NEAR_MISSES: &[(&str, Option<&str>)] = &[
    ("draw a chart from sales.csv", None),
    ("convert sales.csv to an Excel workbook with two sheets", None),
    ("review this pull request for bugs", None),
    ("what changed in the last three commits of this repository?", None),
    ("write unit tests for the parser", None),
    ("do not use csv-summary, just tell me what CSV stands for", None),
    ("use the spreadsheet-wizard skill on sales.csv", None),
    ("I want to improve my skills in cooking", None),
    ("summarise this article in three sentences", None),
    ("把这篇文章翻译成英文", None),
    ("修复登录页面的错误", None),
    ("deploy the service to production", None),
    ("send an email to the team about the party on Friday", None),
];

/// Nothing to do with any skill.
pub(crate) const UNRELATED: &[(&str, Option<&str>)] = &[
    ("what is the capital of France?", None),
    ("hello", None),
    ("thanks, that was great!", None),
    ("remind me to call my mother tomorrow at six", None),
    ("今天天气怎么样？", None),
    ("帮我订一张去上海的火车票", None),
    ("why is the sky blue", None),
    ("who won the football match last night", None),
    ("tell me a joke", None),
    ("how do I boil an egg", None),
    ("我想学弹吉他", None),
    ("my knee hurts when I run", None),
    ("what should I name my dog", None),
    ("is 91 prime?", None),
    ("my neighbour is noisy, what can I do", None),
    ("what does entropy mean", None),
    ("when was Beethoven born", None),
    ("", None),
];

/// About skills of the trigger file's shelf, which are public and widely known.
pub(crate) const OTHERS: &[(&str, Option<&str>)] = &[
    ("merge these three PDFs into one and add a watermark", Some("pdf")),
    ("extract the tables from report.pdf", Some("pdf")),
    ("make a slide deck for the board meeting from these notes", Some("pptx")),
    ("put speaker notes into talk.pptx", Some("pptx")),
    ("turn this into a Word document with a table of contents", Some("docx")),
    ("accept the tracked changes in contract.docx", Some("docx")),
    ("add a formula column to budget.xlsx", Some("xlsx")),
    ("build an MCP server that wraps our ticket API", Some("mcp-builder")),
    ("make an animated gif for Slack of a dancing cat", Some("slack-gif-creator")),
    ("make some generative art with p5.js, flow fields please", Some("algorithmic-art")),
    ("prove this olympiad inequality for positive reals", Some("math-olympiad")),
    ("write the PR description for this branch", Some("pr-description-skill")),
    ("/tailwind tidy up the classes in Header.tsx", Some("tailwind")),
    ("合并这几个 PDF 文件", Some("pdf")),
    ("做一份季度汇报的幻灯片", Some("pptx")),
];
