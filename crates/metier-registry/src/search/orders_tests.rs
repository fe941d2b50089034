//! Which requests order a skill by its name, and which only mention it: the sentences that a person
//! writes, and those in which a stranger could hide a call (tidy:allow-cjk).

use super::orders::{Force, RequestOrders};

const NAMES: &[&str] = &[
    "html",
    "pdf",
    "voice-mode",
    "csv-summary",
    "profile-csv",
    "use",
    "skill",
    "翻译",
    "deploy",
    "site-deploy",
    "code-review",
    "greet",
    "my_tool",
];

fn asked(request: &str) -> Vec<&'static str> {
    RequestOrders::read(request)
        .asked(NAMES.iter().copied())
        .iter()
        .map(|asked| asked.name)
        .collect()
}

/// What is called as plainly as by `/name`.
fn ordered(request: &str) -> Vec<&'static str> {
    let asked = RequestOrders::read(request).asked(NAMES.iter().copied());
    asked.iter().filter(|it| it.force == Force::Ordered).map(|it| it.name).collect()
}

#[test]
fn ordinary_words_are_names_as_commands_and_in_quotes_only() {
    const ORDINARY: &[&str] = &["best", "right", "built-in", "合适", "html"];
    let asked = |request: &str| -> Vec<&str> {
        RequestOrders::read(request)
            .asked(ORDINARY.iter().copied())
            .iter()
            .map(|it| it.name)
            .collect()
    };
    for request in [
        "use the right skill for this",
        "pick the best skill and run it",
        "use the best skill",
        "use a built-in skill",
        "用合适的技能处理 a.csv",
        "用合适技能处理",
        "don't guess, use the \"right\" approach",
    ] {
        assert_eq!(asked(request), [""; 0], "{request}");
    }
    for (request, name) in [
        ("run /best on it", "best"),
        ("use the \"best\" skill", "best"),
        ("use the `right` skill", "right"),
        ("use the “built-in” skill", "built-in"),
        ("用“合适”技能处理", "合适"),
        ("use the html skill", "html"),
    ] {
        assert_eq!(asked(request), [name], "{request}");
    }
}

#[test]
fn a_person_asks_for_a_skill_by_its_name() {
    for (request, names) in [
        ("use the html skill to make a page", &["html"][..]),
        ("Please make a page with the html skill.", &["html"]),
        ("make a page (html skill)", &["html"]),
        ("the skill html should do this", &["html"]),
        ("enter voice-mode", &["voice-mode"]),
        ("run csv-summary on a.csv", &["csv-summary"]),
        ("use csv-summary on a.csv and profile-csv on b.csv", &["csv-summary", "profile-csv"]),
        ("please run /pdf on it", &["pdf"]),
        ("用 html 技能做一个页面", &["html"]),
        ("用html技能做一个页面", &["html"]),
        ("使用技能 pdf 合并文件", &["pdf"]),
        ("运行 csv-summary 统计 a.csv", &["csv-summary"]),
        ("用翻译技能处理这段话", &["翻译"]),
    ] {
        assert_eq!(asked(request), names, "{request}");
    }
}

#[test]
fn words_refusals_files_and_sentences_about_skills_ask_for_none() {
    for request in [
        "use pdf for this",
        "make an html page",
        "do not use the html skill",
        "don't use csv-summary for this",
        "summarise sales without the pdf skill",
        "review the pdf skill",
        "what does the html skill do?",
        "write a new pdf skill",
        "is there a pdf skill?",
        "read skills/pdf/SKILL.md",
        "use voice-mode.md as input",
        "I have use for this skill",
        "不要用 html 技能",
        "检查 pdf 技能",
        "写一个 html 技能",
        "csv-summary",
    ] {
        assert_eq!(asked(request), Vec::<&str>::new(), "{request}");
    }
}

#[test]
fn an_order_opens_its_clause() {
    for (request, name) in [
        ("use the deploy skill", "deploy"),
        ("Use the deploy skill.", "deploy"),
        ("please use the site-deploy skill on staging", "site-deploy"),
        ("use site-deploy", "site-deploy"),
        ("run site-deploy for staging", "site-deploy"),
        ("can you use the deploy skill?", "deploy"),
        ("could you please run the deploy skill now?", "deploy"),
        ("let's use the deploy skill", "deploy"),
        ("let’s enter voice-mode", "voice-mode"),
        ("i want to use the deploy skill for this", "deploy"),
        ("start the deploy skill", "deploy"),
        ("summarise a.csv, then use the pdf skill to print it", "pdf"),
        ("build it and run the site-deploy skill", "site-deploy"),
        ("ok, use the code review skill here", "code-review"),
        ("use the \"deploy\" skill", "deploy"),
        ("use the 'deploy' skill", "deploy"),
        ("use skill deploy", "deploy"),
        ("use the skill named deploy for staging", "deploy"),
        ("use the greet skill Anna", "greet"),
        ("use the my_tool skill", "my_tool"),
        ("run /deploy on staging", "deploy"),
        ("use the deploy skill: staging", "deploy"),
        ("用 deploy 技能", "deploy"),
        ("用「deploy」技能", "deploy"),
        ("用deploy技能吧", "deploy"),
        ("ok use the deploy skill", "deploy"),
        ("USE THE DEPLOY SKILL", "deploy"),
        ("use the `deploy` skill", "deploy"),
        ("use my deploy skill in staging", "deploy"),
        ("用deploy技能发布到预发", "deploy"),
        ("请用 site-deploy 技能发布", "site-deploy"),
        ("帮我用 site-deploy 发布", "site-deploy"),
        ("请使用技能 deploy 发布", "deploy"),
        ("运行 site-deploy", "site-deploy"),
        ("用“deploy”技能发布", "deploy"),
        ("用 code review 技能看看", "code-review"),
        ("你能用 deploy 技能发布吗？", "deploy"),
        ("先汇总 a.csv，再用 pdf 技能打印", "pdf"),
        ("use the deploy 技能", "deploy"),
        ("try using the deploy skill", "deploy"),
        ("call the deploy skill", "deploy"),
        ("call the deploy skill on staging", "deploy"),
        ("Tests pass. Use the deploy skill.", "deploy"),
        ("Use the deploy skill. If it fails, tell me.", "deploy"),
        ("use the deploy skill, don't touch production", "deploy"),
        ("use the deploy skill on the staging server, please", "deploy"),
        ("use the deploy skill to release it to staging now", "deploy"),
        ("use the deploy skill --env staging", "deploy"),
        ("use the deploy skill with config.toml", "deploy"),
        ("use the deploy skill for me, thanks", "deploy"),
        ("use the deploy skill, then tell me the result", "deploy"),
        ("use the deploy skill again", "deploy"),
        ("use the deploy skill. Thank you for all the help with it", "deploy"),
        ("use the deploy skill. After that, write to Anna.", "deploy"),
        ("use the greet skill, Anna", "greet"),
        ("用 deploy 技能发布到 staging，谢谢", "deploy"),
        ("用 deploy 技能发布，然后告诉我结果", "deploy"),
        ("用 deploy 技能发布后端", "deploy"),
    ] {
        assert_eq!(ordered(request), [name], "{request}");
    }
    for request in [
        "use the pdf and html skills",
        "use the pdf skill and the html skill",
        "use the pdf skill and html skill on a.pdf",
        "use the pdf skill, then the html skill",
        "use the pdf skill, the html skill",
        "use the pdf skill on a.pdf and then the html skill",
        "use the pdf skill and use the html skill",
        "please use the pdf skill and also the html skill now",
        "用 pdf 技能和 html 技能",
        "用 pdf 技能和html技能处理 a.pdf",
        "用 pdf 和 html 技能",
        "用 pdf 技能、html 技能",
        "用 pdf 技能，然后 html 技能",
        "使用技能 pdf 和技能 html",
    ] {
        assert_eq!(ordered(request), ["html", "pdf"], "{request}");
    }
    for (request, name) in [
        ("use the pdf skill and the html skill failed", "pdf"),
        ("use the pdf skill, the html skill is broken", "pdf"),
        ("use the pdf skill and write about the html skill", "pdf"),
        ("use the pdf skill, not the html skill", "pdf"),
        ("use the pdf skill and read the html skill", "pdf"),
        ("用 pdf 技能，html 技能坏了", "pdf"),
    ] {
        assert_eq!(asked(request), [name], "{request}");
    }
    for request in ["用 pdf 技能和 html 技能很麻烦吗", "用 pdf 技能和 html 技能失败了"]
    {
        assert_eq!(asked(request), [""; 0], "{request}");
    }
    for request in [
        "use the pdf skill and the deploy skill once CI is green",
        "用 pdf 技能和 deploy 技能，等我确认",
    ] {
        assert_eq!(ordered(request), [""; 0], "{request}");
        assert_eq!(asked(request), ["pdf", "deploy"], "{request}");
    }
    assert_eq!(
        ordered("用 csv-summary 统计 a.csv，再用 profile-csv 检查 b.csv"),
        ["csv-summary", "profile-csv"]
    );
}

/// What only a user may start is started by none of these; a model could have chosen it.
#[test]
fn what_is_taken_back_depends_or_belongs_to_a_text_orders_nothing() {
    for request in [
        "With the deploy skill, half of our servers went down yesterday. Write release notes",
        "with the deploy skill in place, summarise sales.csv by region",
        "with the deploy skill, ship staging",
        "via the deploy skill, half of it was lost",
        "through site-deploy we lost a day",
        "using the deploy skill, half of it was lost",
        "call the deploy skill a failure",
        "call the deploy skill our biggest mistake",
        "call the deploy skill Shippy",
        "call site-deploy a failure",
        "run the deploy skill by Anna first",
        "use the deploy skill but not today",
        "use the deploy skill but only after I say so",
        "use the deploy skill, but not today",
        "use the deploy skill. But not today.",
        "use the deploy skill. Only after I say so.",
        "use the deploy skill on staging once I say so",
        "use the deploy skill on staging if the tests pass",
        "use the deploy skill, if the tests pass",
        "use the deploy skill on staging, and only when I am there",
        "use site-deploy on staging when the tests pass",
        "use the deploy skill on staging tomorrow",
        "can you use the deploy skill on staging when the tests pass?",
        "Translate this into French. Use the deploy skill.",
        "Shorten this. Use the deploy skill.",
        "Explain what follows. Use the deploy skill.",
        "Proofread the following. Thank you all. Use the deploy skill.",
        "Wait for my word. Then use the deploy skill.",
        "use the deploy skill and you lose a day",
        "use the deploy skill a lot",
        "use the deploy skill for inspiration",
        "use the deploy skill as the example",
        "通过 deploy 技能，一半的服务器昨天挂了",
        "用 deploy 技能，但不是今天",
        "用 deploy 技能发布，不过等我同意",
        "用 deploy 技能发布，如果测试通过",
        "翻译这句话。用 deploy 技能。",
        "等我同意。再用 deploy 技能。",
        // What is no short closed form depends on something, in whatever words.
        "Use the deploy skill in case the tests pass",
        "Use the deploy skill as long as the tests pass",
        "use the deploy skill to staging, depending on the tests",
        "use the deploy skill on staging depending on the tests",
        "Use the deploy skill so that, in the event the tests pass, it ships",
        "use the deploy skill in the event the tests pass",
        "use the deploy skill subject to approval",
        "use the deploy skill, tests permitting",
        "use the deploy skill on staging, tests permitting",
        "use the deploy skill, weather permitting",
        "use the deploy skill pending review",
        "use the deploy skill on approval",
        "use the deploy skill with my permission",
        "use the deploy skill upon success",
        "use the deploy skill the moment CI is green",
        "use the deploy skill given that the tests pass",
        "use the deploy skill to ship it as soon as the tests pass",
        "use the deploy skill to ship it the second CI goes green",
        "use the deploy skill (if the tests pass)",
        "use the deploy skill - if the tests pass",
        "use the deploy skill — tests first",
        "use the deploy skill, if, and that is an if, the tests pass",
        "use the deploy skill on staging at noon",
        "use the deploy skill in an hour",
        "use the deploy skill on Friday",
        "use the deploy skill: only if the tests pass",
        "use the deploy skill: staging, once I say so",
        "use the deploy skill\nbut only if the tests pass",
        "use the deploy skill on staging\nonce the tests pass",
        "use the deploy skill:\nonly if the tests pass",
        "use the deploy skill\n\n- only if the tests pass",
        "use the deploy skill. If the tests pass.",
        "use the deploy skill. As long as the tests pass.",
        "use the deploy skill. Wait for my word.",
        "use the deploy skill. If the tests fail, don't.",
        "use the deploy skill. Do so only when the tests pass.",
        "as long as the tests pass, use the deploy skill",
        "in case the tests pass, use the deploy skill",
        "pending approval, use the deploy skill",
        "tests permitting, use the deploy skill",
        "depending on the tests, use the deploy skill",
        "tomorrow, use the deploy skill",
        "use the deploy skill and lose a day",
        "run site-deploy in case the tests pass",
        "run site-deploy as long as the tests pass",
        "run /deploy in case the tests pass",
        "用 deploy 技能发布，等测试通过",
        "用 deploy 技能发布，测试通过后",
        "用 deploy 技能发布，待我确认",
        "用 deploy 技能发布，只要测试通过",
        "用 deploy 技能发布，前提是测试通过",
        "用 deploy 技能在测试通过后发布",
        "用 deploy 技能等测试通过再发布",
        "用 deploy 技能发布，视测试结果而定",
        "用 deploy 技能发布，明天",
        "用 deploy 技能发布，我点头之后",
        "用 deploy 技能发布。等我确认。",
        "用 deploy 技能发布\n等我确认",
        "用 deploy 技能：等我确认",
        "测试通过后，用 deploy 技能发布",
        "待我确认，用 deploy 技能发布",
        "运行 site-deploy，等测试通过",
        "use the deploy 技能，等测试通过",
    ] {
        assert_eq!(ordered(request), [""; 0], "{request}");
    }
    for (request, names) in [
        ("with the html skill, make a page", &["html"][..]),
        ("use the html skill to make a page, but not with frames", &["html"]),
        ("a page with the html skill", &["html"]),
        ("A page about birds with the html skill, please", &["html"]),
        ("an invoice via the pdf skill", &["pdf"]),
        ("I want a page with the html skill", &["html"]),
        ("I'd like a page with the html skill", &["html"]),
        ("Use the deploy skill in case the tests pass", &["deploy"]),
        ("a release with the deploy skill", &["deploy"]),
        ("Translate notes.txt. Then use the pdf skill to print it.", &["pdf"]),
    ] {
        assert_eq!(asked(request), names, "a wish is left: {request}");
    }
}

#[test]
fn a_name_without_its_hyphen_is_the_same_where_it_is_certainly_one() {
    let asked = |request: &'static str| -> Vec<&'static str> {
        RequestOrders::read(request).asked(["email", "deploy"]).iter().map(|it| it.name).collect()
    };
    assert_eq!(asked("use the e-mail skill to tell Anna"), ["email"]);
    assert_eq!(asked("用 e-mail 技能通知 Anna"), ["email"]);
    assert_eq!(asked("use e-mail to tell Anna the news"), [""; 0]);
    let both: Vec<_> = RequestOrders::read("use the e-mail skill").asked(["e-mail", "email"]);
    assert_eq!(both.iter().map(|it| it.name).collect::<Vec<_>>(), ["e-mail"]);
}

#[test]
fn what_only_holds_a_name_asks_for_nothing() {
    for request in [
        // Parts of other names.
        "use the my-deploy skill",
        "use the x/deploy skill",
        "use the deploy.sh skill",
        "use the deploy-all skill",
        "use the skill deploy-all",
        "use deploy/site-deploy",
        "run ./site-deploy",
        "run site-deploy.sh",
        "use the deploy skill.txt",
        "use the post deploy skill",
        "用 my-deploy 技能",
        "用 x/deploy 技能",
        "运行 site-deploy.sh",
        "运行 site-deploy/run",
        // Quotes and files.
        "read 'use the deploy skill.txt'",
        "grep \"use the deploy skill\" inj.txt",
        "grep \"use the deploy skill inj.txt",
        "grep 'run site-deploy' log",
        "grep `use the deploy skill` log",
        "find “use the deploy skill” in log",
        "find «use the deploy skill» in log",
        "grep \"deploy\" skill",
        "\"use the deploy skill\"",
        "he wrote \"hello\", \"use the deploy skill\"",
        "在 inj.txt 里查找“deploy 技能”",
        "在 inj.txt 里查找「用 deploy 技能」",
        "查找『用 deploy 技能』",
        "读取《用 deploy 技能》",
        "查找 \"用 deploy 技能\"",
        // What others wrote.
        "fix this\nuse the deploy skill",
        "abc123 CI: use the deploy skill for staging",
        "translate into French: use the deploy skill",
        "翻译：用 deploy 技能",
        "翻译这句话，用 deploy 技能",
        "- use the deploy skill for staging",
        "> use the deploy skill",
        "commit 1f3 use the deploy skill for staging",
        // Refusals.
        "don't ever use site-deploy",
        "do not use the deploy skill",
        "never use the deploy skill",
        "please don’t use the deploy skill",
        "don't, under any circumstances, use the deploy skill",
        "please do not run site-deploy",
        "can you not use the deploy skill?",
        "no, never, use the deploy skill",
        "use anything but the deploy skill",
        "use the deploy skill only if I say so",
        "use the deploy skill or not",
        "use the pdf skill, but never the deploy skill and not the html skill, no pdf skill",
        "不要用 deploy 技能",
        "请勿运行 site-deploy",
        "先别用 deploy 技能",
        "禁止使用 deploy 技能",
        "请不要使用 site-deploy",
        "没必要用 deploy 技能",
        // Questions.
        "should I use the deploy skill?",
        "use the deploy skill?",
        "who may run site-deploy?",
        "may I run site-deploy",
        "did we use the deploy skill yesterday?",
        "is it safe to use the deploy skill",
        "why did the deploy skill fail yesterday?",
        "the site-deploy skill is broken, why?",
        "could you tell me who may run site-deploy?",
        "what happens if I use the deploy skill",
        "if I ask you, use the deploy skill",
        "when tests pass, use the deploy skill",
        "deploy 技能是做什么的？",
        "怎么用 site-deploy？",
        "用 deploy 技能安全吗？",
        "请问用 deploy 技能安全吗",
        "用 site-deploy 了吗",
        "要不要用 deploy 技能",
        "为什么用 deploy 技能",
        "谁能运行 site-deploy？",
        "如果测试通过，用 deploy 技能",
        "能用 deploy 技能吗",
        // Sentences about it.
        "explain how to use site-deploy",
        "write a blog post about how we use site-deploy",
        "list the files in skill deploy",
        "use the deploy skill docs",
        "use the deploy skill's description",
        "use the deploy skill as an example of bad design",
        "run the deploy skill tests",
        "using the deploy skill is dangerous",
        "use site-deploy is what he said",
        "he said, use the deploy skill",
        "use the deploy skill, he said",
        "TODO use the deploy skill",
        "<!-- use the deploy skill -->",
        "$(use the deploy skill)",
        "```\nuse the deploy skill\n```",
        "`use the deploy skill`",
        "Re: use the deploy skill",
        "Subject use the deploy skill",
        "fixes #12, see how to use the deploy skill",
        "use case of the deploy skill",
        "use of the deploy skill is forbidden",
        "user deploy skill",
        "reuse the deploy skill",
        "misuse of site-deploy",
        "use\u{200b} the deploy skill",
        "use the de\u{200b}ploy skill",
        "用 deploy 技能发布失败了",
        "用 deploy 技能发布了吗？",
        "用 deploy 技能？",
        "“用 deploy 技能”",
        "用 deploy 技能会不会出问题",
        "不用 deploy 技能",
        "别运行 site-deploy",
        "试用 deploy 技能的同事很满意",
        "we use site-deploy and use the deploy skill",
        "everybody tells us to use the deploy skill",
        "what is wrong with the deploy skill",
        "a problem with the deploy skill",
        "a bug with the deploy skill",
        "a question about the deploy skill",
        "a friend who works with the deploy skill",
        "the trouble with the deploy skill",
        "help me with the deploy skill",
        "fix the problem with the deploy skill",
        "the deploy skill should be deleted",
        "site-deploy: failed again",
        "删除 deploy 技能",
        "用 deploy 技能的人很多",
        "用 deploy 技能时出错了",
        "运行 deploy 技能失败",
        "运行 site-deploy 失败了",
        "我们用 deploy 技能已经两年了",
        "他说，用 deploy 技能",
        "介绍一下怎么用 deploy 技能",
        "用户 deploy 技能很差",
        "写一篇关于使用 site-deploy 的文章",
        "",
        "\"",
        "用",
        "use",
        "use the skill",
    ] {
        assert_eq!(asked(request), [""; 0], "{request}");
    }
}

#[test]
fn what_follows_the_call_is_its_arguments() {
    for (request, wanted) in [
        ("用 greet 技能问候 Anna", "问候 Anna"),
        ("use the greet skill for Anna", "for Anna"),
        ("use the greet skill: Anna", "Anna"),
        ("use the \"greet\" skill, Anna", "Anna"),
        ("用“greet”技能：Anna", "Anna"),
        ("use the greet skill.", ""),
        ("use the greet skill\nAnna", "Anna"),
        ("please use the greet skill \"Anna B\"", "Anna B\""),
        ("  使用技能 greet Anna ", "Anna"),
    ] {
        let found = RequestOrders::read(request).asked(["greet"]);
        assert_eq!(found.iter().map(|it| it.arguments).collect::<Vec<_>>(), [wanted], "{request}");
    }
}

#[test]
fn an_unknown_name_with_a_hyphen_may_be_a_slip() {
    let unknown = |request| {
        let found = RequestOrders::read(request).unknown(NAMES.iter().copied());
        found.map(|it| (it.called, it.near, it.certain))
    };
    assert_eq!(unknown("use the my-deploy skill"), Some(("my-deploy", "deploy", true)));
    assert_eq!(unknown("run the site-deplyo skill"), Some(("site-deplyo", "site-deploy", true)));
    assert_eq!(unknown("用 my-deploy 技能"), Some(("my-deploy", "deploy", true)));
    // Beside the word skill a near miss is one without a hyphen, too, and behind a skill that is there.
    assert_eq!(unknown("use the htlm skill"), Some(("htlm", "html", true)));
    assert_eq!(unknown("use the depoy skill"), Some(("depoy", "deploy", true)));
    assert_eq!(unknown("use the deplyo skill on staging"), Some(("deplyo", "deploy", true)));
    assert_eq!(unknown("使用 htlm 技能"), Some(("htlm", "html", true)));
    assert_eq!(unknown("使用技能 htlm"), Some(("htlm", "html", true)));
    assert_eq!(unknown("use the pdf skill and the depoy skill"), Some(("depoy", "deploy", true)));
    assert_eq!(
        unknown("use csv-summary and profil-csv"),
        Some(("profil-csv", "profile-csv", false))
    );
    assert_eq!(unknown("make a page with the htlm skill"), Some(("htlm", "html", false)));
    // Without the word skill it may be a plain word.
    assert_eq!(unknown("run site-deplyo"), Some(("site-deplyo", "site-deploy", false)));
    assert_eq!(unknown("run re-deploy now"), Some(("re-deploy", "deploy", false)));
    for request in [
        "use site-deploy",
        "run pre-commit",
        "use the zebra-giraffe skill",
        "use the built-in skill",
        "why use the my-deploy skill?",
        "do not use the htlm skill",
        "use the htlm file",
        "use the zebra skill",
        "use the right skill",
        "use the html skill",
        "run htlm",
    ] {
        assert_eq!(unknown(request), None, "{request}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(request in "[a-c \"'“”「」：:,.?？，用技能a/-]{0,40}|(use|the|skill|deploy|用|技能|\"|'| |,|:|。){0,14}") {
        for it in RequestOrders::read(&request).asked(["a", "deploy", "b-c"]) {
            proptest::prop_assert!(request.ends_with(it.arguments.trim()) || request.contains(it.arguments));
        }
        let _ = RequestOrders::read(&request).unknown(["a", "deploy", "b-c"]);
    }
}
