//! Words of a request that change nothing about what a script is to do. Data only, in English and Chinese
//! (tidy:allow-cjk).
//!
//! A word that narrows or changes a result must not be here: `North`, `half`, `last`, `not`, 大于. One that is missing is named
//! in the answer though it meant nothing.

/// What asks, is polite, or says what every request for a script says.
#[rustfmt::skip]
pub(crate) const FILLERS: &[&str] = &[
    "a", "about", "add", "again", "all", "along", "also", "altogether", "always", "am", "an", "and", "any", "anyone",
    "are", "as", "ask", "available", "back", "be", "been", "being", "both", "break", "broken", "bye", "calculate", "can", "cheers",
    "check", "column", "columns", "come", "compute", "contained", "contains", "content", "contents", "could", "count", "csv", "data",
    "dataset", "dear", "determine", "directory", "display", "do", "does", "doing", "done", "down", "each", "earned", "easy", "entire",
    "every", "everything", "exactly", "file", "figure", "figures", "find", "folder", "following", "found", "friend", "get",
    "gets", "give", "given", "go", "good", "got", "great", "group", "grouped", "groups", "had", "has", "have", "having", "hello",
    "help", "here", "hey", "hi", "how", "i", "i'd", "i'll", "i'm", "id", "including", "inspect", "into", "inside", "is", "it", "it's", "its", "item",
    "items", "just", "kind", "kindly", "know", "let", "let's", "lets", "like", "list", "look", "made", "make", "many", "me",
    "mine", "much", "must", "my", "name", "named", "names", "need", "needs", "new", "nice", "now", "number", "numbers", "ok", "okay", "on", "one",
    "ones", "our", "out", "outcome", "output", "overall", "overview", "per", "perform", "please", "pls", "print", "produce",
    "project", "provide", "quick", "quickly", "read", "really", "report", "result", "results", "return", "right", "row", "rows", "run", "say", "see",
    "sell", "sells", "sheet", "should", "show", "skill", "so", "sold", "some", "something", "spreadsheet", "stats", "statistics",
    "stored", "sum", "summaries", "summarise", "summarize", "summary", "sums", "table", "tables", "take", "tally", "tell", "thank",
    "thanks", "that", "the", "their", "them", "then", "there", "there's", "these", "they", "thing", "things", "think", "this", "those", "to", "together",
    "too", "total", "totals", "up", "us", "use", "using", "value", "values", "very", "via", "view", "want", "wanted", "was", "way", "we", "well",
    "were", "what", "what's", "whats", "glance", "gist", "rundown", "peek", "preview", "skim", "explore", "describe", "description", "explain", "contain", "brief", "briefly", "high-level", "looks", "which", "who", "whole", "whom", "will", "wish", "work", "would", "written", "yes", "you",
    "your", "did", "lot", "lots", "used", "uses", "attached", "enough", "ready", "already", "still", "by", "across", "according", "based", "breakdown", "amount", "amounts", "split",
];
/// What says how the words behind it are meant, and means nothing alone.
#[rustfmt::skip]
pub(crate) const JOINTS: &[&str] = &[
    "of", "for", "in", "from", "with", "within", "at", "over", "under", "above", "below", "than", "since", "until", "before",
    "after", "between", "but", "only", "if", "when", "where", "whose", "against", "first", "during", "through", "on", "or",
];
/// Those that may stand before a column and its value.
pub(crate) const CONDITIONS: &[&str] =
    &["if", "when", "whenever", "where", "whose", "with", "but", "for", "while", "whether"];
/// What a ranking does.
pub(crate) const SUPERLATIVES: &[&str] =
    &["top", "best", "largest", "biggest", "highest", "most", "greatest"];

/// The same in Chinese, as words of several characters: a single one may be a part of a name (上海). The longer ones
/// first where one begins another.
#[rustfmt::skip]
pub(crate) const CHINESE_FILLERS: &[&str] = &[
    "行数据", "分别是多少", "是多少", "有多少", "有哪些", "有没有", "是什么", "怎么样", "为什么", "能不能", "可不可以", "帮我", "帮忙", "谢谢", "你好", "麻烦", "请问", "请你", "给我", "告诉我",
    "我想要", "我想知道", "我想", "我要", "一下", "看看", "看一下", "查看", "统计", "汇总", "汇报", "计算", "求和", "总结", "概括", "概述", "概览", "摘要", "分析", "检查",
    "处理", "显示", "列出", "找出", "得出", "给出", "输出", "生成", "读取", "打开", "用于", "使用", "技能", "进行", "分组", "归类", "分类", "分布", "情况", "明细", "结果",
    "总和", "之和", "合计", "总计", "总数", "总量", "总共", "一共", "共有", "总的", "平均值", "平均数", "平均", "均值", "最大值", "最小值", "数量", "数值", "数字", "个数", "行数",
    "次数", "条数", "所有", "全部", "各个", "每个", "每种", "每一", "按照", "根据", "按", "每", "各", "文件夹", "文件", "表格", "数据", "内容", "目录", "项目", "代码库", "代码",
    "语言写的", "语言写成", "语言编写", "语言开发", "语言实现", "语言", "构建", "仓库", "质量", "干净", "重复行", "重复", "空值", "缺失", "问题", "介绍", "整个", "里面", "其中", "以及", "还有", "分别", "多少", "几个", "几行",
    "哪些", "哪个", "什么", "怎么", "怎样", "如何", "这个", "那个", "这些", "那些", "它们", "我们", "你们", "可以", "需要", "应该", "能够", "然后", "现在", "直接", "快速", "整理",
    "排名", "排行", "最高", "最多", "最好",
];
/// Characters that say nothing where a word has no others.
pub(crate) const CHINESE_SINGLES: &str = "的地得了着吗呢吧啊么里中内上在从到为成是有和与及跟并也都就再来去要想能会这那哪几或于以等共值数额\
     前行列个名种款项条份总求算做看查读用把将对给让请帮我你它按每各最一";
/// Those of them that may stand directly before a word, and behind one.
pub(crate) const CHINESE_BEFORE: &str = "的里在把将对从请按每各和与及是有给";
pub(crate) const CHINESE_BEHIND: &str = "的了吗呢吧里中是有和与及来";
