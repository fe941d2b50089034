//! The words that make a sentence an order for a skill, and those that make it a sentence about one.
//! Data only, in English and Chinese (tidy:allow-cjk).

pub(super) const SENTENCE_ENDS: &str = ".!?。！？";
pub(super) const CLAUSE_ENDS: &[char] = &[',', ';', '，', '；', '、'];

/// What order a skill at the beginning of a clause.
#[rustfmt::skip]
pub(super) const VERBS: &[&str] = &[
    "use", "using", "run", "enter", "start", "invoke", "call", "activate", "load", "apply", "launch", "trigger",
    "try", "with", "via", "through",
];
/// Those that do so with a name that has a hyphen, too.
#[rustfmt::skip]
pub(super) const CALLS: &[&str] = &[
    "use", "using", "run", "enter", "start", "invoke", "call", "activate", "load", "launch",
];
/// What a skill is wanted by, and no order even at the head of a clause: `with the deploy skill, half of our servers
/// went down`.
pub(super) const MEANS: &[&str] = &["with", "using", "via", "through"];
pub(super) const ARTICLES: &[&str] = &["the", "my", "our", "your", "this", "a", "an"];
pub(super) const KINDS: &[&str] = &["skill", "skills", "workflow", "workflows"];
/// What joins two calls.
pub(super) const JOINTS: &[&str] = &["and", "then", "plus", "&"];
/// What may stand before an order.
pub(super) const OPENINGS: &[&[&str]] = &[
    &["please"],
    &["pls"],
    &["kindly"],
    &["ok"],
    &["okay"],
    &["hi"],
    &["hey"],
    &["hello"],
    &["now"],
    &["then"],
    &["next"],
    &["first"],
    &["finally"],
    &["also"],
    &["and"],
    &["so"],
    &["just"],
    &["yes"],
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["let's"],
    &["lets"],
    &["let", "us"],
    &["go", "ahead", "and"],
    &["i", "want", "to"],
    &["i'd", "like", "to"],
    &["i", "would", "like", "to"],
    &["i", "need", "to"],
    &["i", "want", "you", "to"],
    &["i'd", "like", "you", "to"],
    &["i", "need", "you", "to"],
];
#[rustfmt::skip]
pub(super) const QUESTIONS: &[&str] = &[
    "what", "what's", "whats", "why", "how", "who", "who's", "when", "where", "which", "whose", "whom", "should",
    "is", "are", "was", "were", "am", "do", "does", "did", "has", "have", "had", "may", "might", "must", "shall",
    "will", "would", "could", "can", "if", "whether", "because", "although", "though", "while", "since", "unless",
    "until", "after", "before", "once", "whenever", "suppose", "assuming",
];
/// What begins a sentence about something.
#[rustfmt::skip]
pub(super) const SUBJECTS: &[&str] = &[
    "i", "we", "they", "he", "she", "it", "you", "one", "this", "that", "these", "those", "there", "the", "a", "an",
    "my", "our", "their", "his", "her", "your", "its", "nobody", "everyone", "someone", "people", "never", "not",
    "no", "none", "only", "don't", "dont",
];
#[rustfmt::skip]
pub(super) const NEGATIONS: &[&str] = &[
    "not", "never", "no", "don't", "dont", "doesn't", "didn't", "can't", "cannot", "won't", "wouldn't", "shouldn't",
    "mustn't", "isn't", "aren't", "wasn't", "without", "instead", "rather", "avoid", "avoiding", "refuse", "stop",
    "nobody", "none", "neither", "nor", "forbid", "forbidden", "unless", "except",
];
/// What makes the rest of a clause a quotation, or something that is only mentioned.
#[rustfmt::skip]
pub(super) const SUBORDINATES: &[&str] = &[
    "how", "that", "which", "who", "whom", "whose", "why", "what", "when", "where", "whether", "if", "because",
    "while", "until", "before", "after", "about", "saying", "says", "said", "say", "called", "to", "we", "i", "they",
    "he", "she", "you", "wrong", "problem", "problems", "issue", "issues", "error", "errors", "failure", "trouble",
    "bug", "bugs", "question", "questions", "experience", "difference", "differences", "work", "works", "compatible", "should", "would", "could", "can", "may", "must",
    "word", "words", "phrase", "line", "string", "text", "sentence",
];
/// What a clause that says one of these makes of those behind it.
#[rustfmt::skip]
pub(super) const GUARDS: &[&str] = &[
    "if", "unless", "whether", "when", "whenever", "say", "says", "said", "saying", "tell", "tells", "told", "wrote",
    "asked", "ask", "asks", "think", "thinks", "thought", "wonder", "wondering", "means", "phrase", "sentence",
    "quote", "string", "words", "translate", "explain", "repeat", "echo", "example", "e.g", "e.g.", "why", "how",
];
/// What makes a whole sentence a quotation.
pub(super) const REPORTS: &[&str] =
    &["said", "says", "told", "wrote", "asked", "claims", "claimed", "suggested", "suggests"];
/// Verbs whose clause is about a skill that it names with *with*.
#[rustfmt::skip]
pub(super) const ABOUT: &[&str] = &[
    "explain", "describe", "compare", "list", "tell", "fix", "debug", "help", "discuss", "understand", "check",
    "review", "replace", "integrate", "document", "deal", "find", "investigate", "learn", "familiarise",
    "familiarize", "delete", "remove", "start", "stop", "continue", "begin", "experiment", "play", "mess", "merge",
];
/// What may stand behind a name that is called without the word *skill*.
#[rustfmt::skip]
pub(super) const BEHIND: &[&str] = &[
    "again", "and", "as", "at", "for", "from", "here", "in", "instead", "now", "on", "over", "please", "then", "to",
    "with",
];
/// What may follow a skill that is ordered.
#[rustfmt::skip]
pub(super) const TAILS: &[&str] = &[
    "again", "all", "and", "asap", "at", "because", "can", "each", "first", "for", "from",
    "here", "immediately", "in", "instead", "into", "it", "me", "my", "next", "now", "of", "on", "our", "over",
    "please", "right", "since", "so", "that", "the", "them", "then", "these", "this", "those", "to", "today",
    "together", "twice", "using", "via", "which", "while", "with", "you",
];
/// What may follow a call and leaves it a plain order.
#[rustfmt::skip]
pub(super) const TAILS_ALONE: &[&str] = &[
    "again", "asap", "first", "here", "immediately", "instead", "now", "please", "pls", "right", "thanks", "today",
    "together", "twice",
];
/// What may do so with a place, a person, a file or a task behind it.
pub(super) const PREPOSITIONS: &[&str] =
    &["to", "on", "for", "in", "at", "with", "from", "into", "over", "of"];
/// What a later clause begins with that leaves an order as it is.
#[rustfmt::skip]
pub(super) const LATER: &[&str] = &[
    "please", "pls", "thanks", "thank", "then", "and", "also", "now", "don't", "dont", "don’t", "do", "tell", "show",
    "write", "use", "run",
];
/// Behind `use the deploy skill as` or `for`: then it is material.
#[rustfmt::skip]
pub(super) const AS_WHAT: &[&str] = &[
    "example", "examples", "inspiration", "input", "material", "reference", "model", "template", "basis", "comparison",
    "ideas",
];
/// Behind `use the deploy skill and`: then something is said about it.
pub(super) const PRONOUNS: &[&str] =
    &["you", "it", "we", "they", "i", "he", "she", "everything", "things", "nothing"];
/// What makes an order depend on something, or takes a part of it back, where it stands behind the call or opens a
/// later clause. What only a user may start is then not started.
#[rustfmt::skip]
pub(super) const RESERVATIONS: &[&str] = &[
    "if", "unless", "until", "till", "when", "whenever", "once", "after", "before", "only", "but", "not", "never",
    "provided", "assuming", "except", "later", "tomorrow",
];
/// What else does: it puts an order off, or says what has to be first.
#[rustfmt::skip]
pub(super) const DOUBTS: &[&str] = &[
    "afternoon", "allowing", "approval", "approve", "approved", "approves", "case", "condition", "conditional",
    "conditionally", "conditions", "confirm", "confirmation", "confirmed", "confirms", "consent", "contingent", "day",
    "days", "depending", "depends", "else", "evening", "event", "eventually", "fail", "failing", "fails", "finished",
    "friday", "given", "granted", "green", "hold", "hour", "hours", "long", "maybe", "midnight", "minute", "minutes",
    "moment", "monday", "month", "months", "morning", "night", "noon", "otherwise", "pass", "passed", "passes",
    "passing", "pending", "perhaps", "permission", "permitted", "permitting", "possibly", "presuming", "providing",
    "ready", "requires", "saturday", "second", "seconds", "signal", "someday", "sometime", "soon", "subject",
    "succeed", "succeeded", "succeeds", "success", "sunday", "suppose", "supposing", "thursday", "time", "tonight",
    "tuesday", "upon", "wait", "waiting", "wednesday", "week", "weekend", "weeks", "whether", "word",
];
/// Those of them that do so at the head of the next sentence, too.
pub(super) const AFTERTHOUGHTS: &[&str] = &["but", "not", "only", "unless", "except", "never"];
/// What makes the sentences behind it a text that something is to be done with, or puts them off.
#[rustfmt::skip]
pub(super) const QUOTATIONS: &[&str] = &[
    "say", "says", "said", "saying", "wrote", "means", "phrase", "sentence", "quote", "string", "words", "translate",
    "explain", "repeat", "echo", "example", "e.g", "e.g.", "paraphrase", "rephrase", "rewrite", "reword", "proofread",
    "pronounce", "spell", "following", "below", "wait", "until", "unless",
];
/// The last word of such a sentence: `shorten this.`
pub(super) const QUOTED_OBJECTS: &[&str] =
    &["this", "text", "message", "paragraph", "email", "line"];

pub(super) const CHINESE_KINDS: &[&str] = &["技能", "工作流"];
/// What joins two names.
pub(super) const CHINESE_JOINTS: &[&str] = &["以及", "还有", "和", "与", "及", "跟"];
/// The longer ones first.
#[rustfmt::skip]
pub(super) const CHINESE_VERBS: &[&str] = &[
    "使用", "调用", "启动", "运行", "激活", "进入", "执行", "加载", "采用", "利用", "借助", "通过", "启用", "用",
];
#[rustfmt::skip]
pub(super) const CHINESE_OPENINGS: &[&str] = &[
    "请你", "请", "麻烦你", "麻烦", "帮我们", "帮我", "帮忙", "然后", "接着", "随后", "最后", "首先", "现在", "直接", "我想让你",
    "我想", "我要", "我们来", "让我们", "你能不能", "你能", "你可以", "能不能", "能否", "可否", "可以", "你", "再", "先", "就", "来", "并",
    "please",
];
/// Those of the verbs that also say by which means something happened.
pub(super) const CHINESE_MEANS: &[&str] = &["利用", "借助", "通过"];
/// What makes an order depend on something or takes a part of it back.
#[rustfmt::skip]
pub(super) const CHINESE_RESERVATIONS: &[&str] = &[
    "但", "不过", "如果", "要是", "假如", "除非", "只有", "只在", "前提", "等我", "等到", "以后再", "明天", "先不", "先别", "暂时不",
];
/// What else does.
#[rustfmt::skip]
pub(super) const CHINESE_DOUBTS: &[&str] = &[
    "等", "待", "再说", "时候", "的时", "前提", "若", "一旦", "只要", "万一", "视", "取决", "看情况", "通过", "确认", "同意", "批准",
    "审批", "审核", "许可", "允许", "点头", "授权", "没问题", "成功", "之前", "以前", "才", "今晚", "晚上", "下午", "中午", "上午",
    "早上", "凌晨", "半夜", "后天", "下周", "周一", "周二", "周三", "周四", "周五", "周六", "周日", "周末", "星期", "礼拜", "小时",
    "分钟", "稍", "回头", "也许", "可能", "或许", "条件",
];
/// What a later clause begins with that leaves an order as it is.
#[rustfmt::skip]
pub(super) const CHINESE_LATER: &[&str] = &[
    "然后", "接着", "随后", "最后", "并", "再", "不要", "别", "请", "谢谢", "多谢", "用", "使用", "调用", "运行", "把", "将", "告诉",
    "给", "帮",
];
/// What makes the sentences behind it a text that something is to be done with, or puts them off.
#[rustfmt::skip]
pub(super) const CHINESE_QUOTATIONS: &[&str] =
    &["翻译", "解释", "改写", "润色", "复述", "朗读", "什么意思", "这句", "这段", "以下", "等我", "等到"];
/// Those that ask for something to be done.
pub(super) const CHINESE_POLITE: &[&str] =
    &["你能", "你可以", "能不能帮", "能否帮", "可以帮", "可否帮", "可以请", "能请"];
#[rustfmt::skip]
pub(super) const CHINESE_ARTICLES: &[&str] = &["一下", "这个", "那个", "我的", "我们的", "名为", "叫做", "叫", "名叫"];
pub(super) const CHINESE_QUESTION_ENDS: &[&str] = &["吗", "呢", "么", "没有"];
/// What follows where the skill is the subject, or where something is said about its use.
#[rustfmt::skip]
pub(super) const CHINESE_TAIL_BLOCKS: &[&str] = &[
    "的", "是", "会", "有", "没", "不", "了", "过", "时", "之", "以前", "以后", "前", "后", "失败", "出错", "报错", "崩溃", "怎",
    "为什么", "为何", "什么", "做什么", "吗", "呢", "吧？", "需要", "应该", "能", "可", "行不行", "好", "安全", "要多", "要花", "是否",
    "和", "与", "或", "坏", "已", "还", "都", "总", "经常", "曾", "技能",
];
/// What follows in a report of what came of its use.
pub(super) const CHINESE_TAIL_REPORTS: &[&str] =
    &["失败", "报错", "出错", "崩溃", "怎么", "为什么", "是不是", "会不会", "行不行", "好不好"];
/// What a clause that says one of these makes of those behind it.
#[rustfmt::skip]
pub(super) const CHINESE_GUARDS: &[&str] = &[
    "如果", "若", "要是", "假如", "一旦", "除非", "的时候", "的话", "说", "问", "为什么", "怎么", "如何", "是否", "不要", "别", "勿",
    "禁止", "不得", "不能", "不可", "不许", "翻译", "解释", "文本", "句", "例如", "比如",
];
pub(super) const NEGATIVE_CHARACTERS: &[&str] =
    &["不", "别", "勿", "没", "禁", "怎", "如何", "谁", "什么"];
