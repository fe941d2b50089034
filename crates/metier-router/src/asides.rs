//! What a request says aside, which changes nothing about the work: for whom it is (`for my boss`), how soon it is
//! wanted (`today`, `in a hurry`), and politeness, in English and Chinese (tidy:allow-cjk).
//!
//! A small grammar: a phrase is an aside by its form and its place, so `today` behind the file is one and `units of
//! today` is not, and `for the boss` is one and `for North` is not. Where the table has a column of time, no phrase
//! of time is. An order (`and send it to my boss`) has a verb that no aside has, and stays. Called by `unmet`.

use crate::entities::extension;

/// `a|b` is one of two words, `word?` may be missing, `#` is a time of day.
const POLITE: &[&str] = &[
    "if possible",
    "if you can|could|may|please|like|want|would",
    "if it's|its|that's ok|okay|fine|possible|alright",
    "if you don't|dont|wouldn't mind",
    "if|when|whenever|once you can|could",
    "if|when|whenever|once you have|get|find|got a? some? spare|free? chance|minute|moment|second|sec|time",
    "there's? no rush|hurry|pressure|problem|worries",
    "take your time",
    "much|really|greatly appreciated",
    "i|i'd|we|we'd would? really? appreciate it|that|this",
    "that|it would|would've be great|nice|helpful|awesome|lovely|good|amazing",
    "sorry to|for bother|bothering|disturb|disturbing|interrupt you? again?",
    "excuse me",
    "good morning|afternoon|evening|day",
    "thank you|u so? very? much? in? advance?",
    "many thanks",
    "thanks a|so|again|in lot|much|bunch|million|ton|advance?",
    "thx|ty|tia|tyvm|btw",
    "kind|best|warm regards|wishes",
    "by the way",
    "as always|usual",
    "quick question|one|favor|favour",
    "do me|us a favor|favour",
    "dear assistant|metier|agent|team|all",
    "would|do you mind",
    "at your earliest? convenience|leisure",
];
/// Asides only at the end of a part of the sentence, or at its beginning, and about a file without a column of time.
const TIMES: &[&str] = &[
    "today|tonight|tomorrow|now|immediately|urgently|urgent|asap|soon|fast",
    "right now|away",
    "it's|its|this|that's is? very|really|quite? urgent",
    "as soon|quickly|fast as possible|you can|could?",
    "at once",
    "i'm|i|im|we're|we am|are? in a bit|big? of? a? hurry|rush",
    "in a bit|big? of? a? hurry|rush",
    "by|before|until today|tonight|tomorrow|noon|lunch|midnight|dinner|breakfast|eod|cob",
    "by|before|until monday|tuesday|wednesday|thursday|friday|saturday|sunday",
    "by|before the? end of the? my? day|today",
    "by|before # am|pm|o'clock?",
    "by|before the|my|our|a|tomorrow's|today's|this? meeting|call|presentation|deadline|class|standup|demo|review",
    "later today",
    "first thing today|tomorrow? morning?",
    "this morning|afternoon|evening",
];
/// Words of a table's head that say when something was.
const TIME_COLUMNS: &[&str] = &[
    "date",
    "day",
    "time",
    "month",
    "year",
    "week",
    "quarter",
    "weekday",
    "hour",
    "timestamp",
    "when",
    "deadline",
    "due",
    "日期",
    "时间",
    "年",
    "月",
    "日",
    "季度",
    "星期",
    "周",
    "年份",
    "月份",
];
/// Who may want it, and what it may be wanted for.
#[rustfmt::skip]
const RECIPIENTS: &[&str] = &[
    "boss", "bosses", "manager", "managers", "lead", "supervisor", "director", "ceo", "cfo", "cto", "vp", "board", "team",
    "colleague", "colleagues", "coworker", "coworkers", "co-worker", "co-workers", "client", "clients", "partner",
    "partners", "investor", "investors", "stakeholders", "teacher", "professor", "student", "students", "class", "wife",
    "husband", "spouse", "mom", "mum", "mother", "dad", "father", "parents", "friend", "friends", "brother", "sister",
    "son", "daughter", "kid", "kids", "family", "accountant", "auditor", "auditors", "lawyer", "assistant", "intern",
    "meeting", "meetings", "presentation", "demo", "talk", "deck", "slides", "slide", "report", "memo", "newsletter",
    "email", "article", "blog", "post", "paper", "thesis", "essay", "homework", "assignment", "exam", "review", "audit",
    "interview", "call", "standup", "workshop", "lecture", "lesson", "course", "proposal", "pitch", "deadline", "records",
    "reference", "work", "school", "fun", "later", "curiosity", "notes",
];
/// What may stand before one of them.
#[rustfmt::skip]
const BEFORE_RECIPIENT: &[&str] = &[
    "my", "our", "his", "her", "their", "your", "the", "a", "an", "this", "that", "tomorrow's", "today's", "next", "new",
    "upcoming", "weekly", "monthly", "quarterly", "annual", "yearly", "big", "important", "internal", "personal", "own",
    "status", "team", "board", "future", "whole", "dear", "good", "best",
];
/// What a person does who wants it.
const WANTS: &str = "wants|needs|asked|asks|requested|requests|expects|would|is \
                     me|us|like|asking|waiting|to|for? for|about|to? know|see|have?";
/// What may follow an aside in the same part of a sentence.
#[rustfmt::skip]
const FOLLOWERS: &[&str] = &[
    "by", "per", "in", "from", "on", "and", "please", "thanks", "thank", "with", "using", "to", "so", "before", "today",
    "tonight", "tomorrow", "asap", "as", "if", "i", "we", "can", "could", "would",
];

/// The request without its asides. `columns` is what the table's head may hold, in lower case.
pub(crate) fn without(request: &str, files: &[String], columns: &str) -> String {
    let has_time = columns
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| TIME_COLUMNS.contains(&word) || word.ends_with(['月', '年', '日']));
    let times_are_asides = !files.is_empty() && !has_time;
    let is_column = |word: &str| columns.split(|c: char| !c.is_alphanumeric()).any(|it| it == word);
    if crate::entities::is_in_chinese(request) {
        return chinese(request, times_are_asides);
    }
    let words: Vec<&str> = request.split_whitespace().collect();
    let sentence = Sentence::new(&words);
    let mut kept: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let length = sentence
            .polite(at)
            .or_else(|| times_are_asides.then(|| sentence.time(at)).flatten())
            .or_else(|| sentence.recipient(at, &is_column))
            .or_else(|| sentence.asker(at, &is_column));
        let Some(length) = length else {
            kept.push(words[at].to_owned());
            at += 1;
            continue;
        };
        // The sign that ended the aside ends what stands before it.
        let sign = words[at + length - 1].chars().next_back().filter(|c| ",.;:?!".contains(*c));
        if let (Some(sign), Some(before)) = (sign, kept.last_mut())
            && !before.ends_with([',', '.', ';', ':', '?', '!'])
        {
            before.push(sign);
        }
        at += length;
    }
    kept.join(" ")
}

/// The words of a sentence, and where its parts end.
struct Sentence {
    words: Vec<String>,
    ends: Vec<bool>,
    files: Vec<bool>,
}

impl Sentence {
    fn new(words: &[&str]) -> Self {
        let bare = |word: &&str| {
            let word = word.replace('’', "'").to_lowercase();
            word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
        };
        let is_file = |word: &&str| {
            let word = word.trim_matches(|c: char| ",\"`'?!.".contains(c));
            extension(word).is_some()
        };
        Self {
            words: words.iter().map(bare).collect(),
            ends: words.iter().map(|word| word.ends_with([',', '.', ';', ':', '?', '!'])).collect(),
            files: words.iter().map(is_file).collect(),
        }
    }

    /// The word at a place, unless a sign stands before it inside the phrase that began at `from`.
    fn word(&self, at: usize, from: usize) -> Option<&str> {
        let inside = (from..at).all(|before| !self.ends[before]);
        self.words.get(at).filter(|_| inside).map(String::as_str)
    }

    fn begins(&self, at: usize) -> bool {
        at == 0 || self.ends[at - 1]
    }

    /// Whether a phrase that ends before `at` ends a part of the sentence.
    fn is_over(&self, at: usize) -> bool {
        self.words.get(at).is_none() || self.ends[at - 1]
    }

    fn any_of(&self, patterns: &[&str], at: usize) -> Option<usize> {
        patterns.iter().filter_map(|pattern| self.matches(pattern, at)).max()
    }

    fn polite(&self, at: usize) -> Option<usize> {
        self.any_of(POLITE, at)
    }

    fn time(&self, at: usize) -> Option<usize> {
        let length = self.any_of(TIMES, at)?;
        let behind = at + length;
        let closes = self.is_over(behind)
            || self.matches("please|thanks|thank|for|and|if", behind).is_some();
        // `units today` may be those of today; behind a file or a sign it is when the work is wanted.
        let is_placed = self.begins(at) || self.files[at - 1] || self.wants_before(at);
        let closes = closes || self.begins(at);
        (closes && is_placed).then_some(length)
    }

    /// Whether the part of the sentence says before `at` that something is wanted: `I need it today`.
    fn wants_before(&self, at: usize) -> bool {
        let start = (0..at).rev().find(|before| self.ends[*before]).map_or(0, |end| end + 1);
        let part = &self.words[start..at];
        part.iter().any(|word| matches!(word.as_str(), "need" | "want" | "needs" | "it" | "this"))
            && part
                .last()
                .is_some_and(|last| matches!(last.as_str(), "it" | "this" | "that" | "me" | "us"))
    }

    /// `for my boss`, `for the weekly meeting`.
    fn recipient(&self, at: usize, is_column: &impl Fn(&str) -> bool) -> Option<usize> {
        if self.words[at] != "for" || self.ends[at] {
            return None;
        }
        let mut end = at + 1;
        while self.word(end, at).is_some_and(|word| BEFORE_RECIPIENT.contains(&word)) {
            end += 1;
        }
        // `for the team` ends with what may also stand before another one.
        let is_recipient = |at: usize| {
            self.words.get(at).is_some_and(|it| RECIPIENTS.contains(&it.as_str()) && !is_column(it))
        };
        if self.word(end, at).is_some() && is_recipient(end) {
            end += 1;
            if !self.ends[end - 1] && is_recipient(end) {
                end += 1;
            }
        } else if end == at + 1 || !is_recipient(end - 1) {
            return None;
        }
        let follows = self.words.get(end).is_none_or(|next| FOLLOWERS.contains(&next.as_str()));
        (self.ends[end - 1] || follows || self.files.get(end) == Some(&true)).then_some(end - at)
    }

    /// `my boss wants`, at the beginning.
    fn asker(&self, at: usize, is_column: &impl Fn(&str) -> bool) -> Option<usize> {
        if !self.begins(at)
            || !matches!(self.words[at].as_str(), "my" | "our" | "the" | "his" | "her")
        {
            return None;
        }
        let who = self.word(at + 1, at).filter(|who| RECIPIENTS.contains(who) && !is_column(who));
        let length = who.and_then(|_| self.matches(WANTS, at + 2))?;
        (!self.ends[at + 1]).then_some(length + 2)
    }

    /// How many words from `at` on a pattern takes.
    fn matches(&self, pattern: &str, from: usize) -> Option<usize> {
        let mut at = from;
        for token in pattern.split_whitespace() {
            let (token, optional) = match token.strip_suffix('?') {
                Some(token) => (token, true),
                None => (token, false),
            };
            let fits = self.word(at, from).is_some_and(|word| match token {
                "#" => is_time_of_day(word),
                _ => token.split('|').any(|choice| choice == word),
            });
            match (fits, optional) {
                (true, _) => at += 1,
                (false, true) => {}
                (false, false) => return None,
            }
        }
        (at > from).then(|| at - from)
    }
}

/// `5`, `5pm`, `17:30`.
fn is_time_of_day(word: &str) -> bool {
    let digits = word.trim_end_matches("am").trim_end_matches("pm");
    (1..=5).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit() || c == ':')
}

#[rustfmt::skip]
const CHINESE_POLITE: &[&str] = &[
    "如果可以的话", "如果方便的话", "方便的话", "可以的话", "有空的话", "有时间的话", "有空的时候", "有空时", "不好意思", "打扰一下", "打扰了",
    "拜托了", "拜托", "辛苦你了", "辛苦了", "麻烦了", "多谢", "感谢", "劳驾", "不用着急", "不着急", "不急", "早上好", "上午好", "下午好", "晚上好",
    "越快越好",
];
#[rustfmt::skip]
const CHINESE_TIMES: &[&str] = &[
    "今天之内", "今天内", "今天下班前", "今天下班之前", "明天之前", "明天前", "明天开会要用", "明天要用", "今天要用", "今天", "今晚", "明天", "现在", "马上", "立刻",
    "立即", "尽快", "赶紧", "赶快", "急用", "很急", "比较急", "有点急", "挺急", "着急", "赶时间", "下班之前", "下班前",
];
/// What binds a time to the data, behind it and before it.
const CHINESE_BINDS: (&str, &str) = ("的", "从自到至除和");
#[rustfmt::skip]
const CHINESE_RECIPIENTS: &[&str] = &[
    "老板", "领导", "经理", "主管", "上司", "总监", "同事", "团队", "客户", "老师", "教授", "导师", "同学", "学生", "老婆", "老公", "妻子", "丈夫", "妈妈",
    "爸爸", "朋友", "家人", "会计", "股东", "投资人", "董事会", "开会", "会议", "汇报", "演示", "作业", "报告", "论文", "课程", "周报", "月报",
];
/// What stands before one of them, nearest first, and behind it; of each row one may be there.
const CHINESE_BEFORE_RECIPIENT: [&[&str]; 2] = [
    &["新", "大"],
    &[
        "我的",
        "我们的",
        "咱们的",
        "我们",
        "咱们",
        "我",
        "明天的",
        "今天的",
        "下周的",
        "这次的",
        "下午的",
        "明天",
        "今天",
        "下周",
        "写",
        "做",
    ],
];
/// What says that it is for them: one of these before, or one of those behind.
const CHINESE_FOR: &[&str] = &["这是给", "要给", "是给", "给", "为了", "为", "替", "用于"];
#[rustfmt::skip]
const CHINESE_WANTS: &[&str] = &[
    "看一下", "看看", "看", "要用的", "要用", "用的", "用", "过目", "参考", "准备的", "做准备", "准备", "要的", "要看", "要", "让我做的", "让我", "叫我", "想知道", "想看", "需要", "在催", "催",
];
/// A verb before it makes an order of it: 发给老板.
const CHINESE_ORDERS: &str = "发送寄传转交递件信知享";

fn chinese(request: &str, times_are_asides: bool) -> String {
    let mut text = request.to_owned();
    for word in CHINESE_POLITE {
        text = text.replace(word, " ");
    }
    for word in CHINESE_TIMES.iter().filter(|_| times_are_asides) {
        text = replaced(&text, word, |before, behind| {
            let binds = |c: Option<char>, list: &str| c.is_some_and(|c| list.contains(c));
            let stays = binds(behind.chars().next(), CHINESE_BINDS.0)
                || binds(before.chars().next_back(), CHINESE_BINDS.1);
            (!stays).then_some((0, 0))
        });
    }
    for word in CHINESE_RECIPIENTS {
        text = replaced(&text, word, around_recipient);
    }
    text
}

/// The bytes before and behind a recipient that belong to the aside.
fn around_recipient(before: &str, behind: &str) -> Option<(usize, usize)> {
    let mut rest = before;
    for list in CHINESE_BEFORE_RECIPIENT {
        rest = list.iter().find_map(|word| rest.strip_suffix(word)).unwrap_or(rest);
    }
    let lead = CHINESE_FOR.iter().find_map(|word| rest.strip_suffix(word));
    let wants = CHINESE_WANTS.iter().find_map(|word| behind.strip_prefix(word));
    rest = lead.unwrap_or(rest);
    let left = wants.unwrap_or(behind);
    let left = left.strip_prefix('的').unwrap_or(left);
    let is_order = rest.chars().next_back().is_some_and(|c| CHINESE_ORDERS.contains(c));
    // Alone it is a word of the task: 写报告.
    let is_aside = !is_order && (lead.is_some() || wants.is_some());
    is_aside.then_some((before.len() - rest.len(), behind.len() - left.len()))
}

/// The text with a blank for each place of `word` that `around` takes, and what it takes around it.
fn replaced(
    text: &str,
    word: &str,
    around: impl Fn(&str, &str) -> Option<(usize, usize)>,
) -> String {
    let mut text = text.to_owned();
    let mut from = 0;
    while let Some(at) = text[from..].find(word).map(|at| at + from) {
        let end = at + word.len();
        match around(&text[..at], &text[end..]) {
            Some((before, behind)) => {
                text.replace_range(at - before..end + behind, " ");
                from = at - before + 1;
            }
            None => from = end,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::entities::RequestEntities;
    use crate::unmet::{ScriptRun, unmet};

    const ABOUT: &str = "csv-summary\nSummarise a CSV or TSV file - count, sum, mean, minimum and maximum of its \
        numeric columns, for the whole table or grouped by a column.";

    fn not_done_with(request: &str, columns: &str) -> Vec<String> {
        let output = format!("sales.csv: 5 rows, 4 columns ({columns})\n\nunits by region:\n");
        let args = ["--by", "region", "--column", "units", "sales.csv"].map(str::to_owned);
        let run = ScriptRun { args: &args, about: ABOUT, body: "", output: &output };
        unmet(request, &RequestEntities::of(request, &[]), &run)
    }

    fn not_done(request: &str) -> Vec<String> {
        not_done_with(request, "product, region, units, price")
    }

    #[test]
    fn what_is_said_aside_is_not_named() {
        for request in [
            "sum units by region in sales.csv for my boss",
            "sum units by region in sales.csv for my boss, please thanks",
            "for my boss: sum units by region in sales.csv today",
            "please thanks, sum units by region in sales.csv",
            "Sum units by region in sales.csv today.",
            "I'm in a hurry, sum units by region in sales.csv",
            "sum units by region in sales.csv, I am in a bit of a rush",
            "in a hurry: units by region in sales.csv",
            "my manager wants units by region in sales.csv",
            "our team needs to know the units by region in sales.csv",
            "sum units by region in sales.csv for the weekly meeting",
            "for tomorrow's presentation, sum units by region in sales.csv",
            "sum units by region in sales.csv for my records",
            "sum units by region in sales.csv for a friend",
            "sum units by region in sales.csv asap",
            "sum units by region in sales.csv as soon as possible, it's urgent!",
            "sum units by region in sales.csv when you get a chance",
            "if you don't mind, sum units by region in sales.csv",
            "sum units by region in sales.csv if you can, no rush",
            "sum units by region in sales.csv by tomorrow",
            "sum units by region in sales.csv before 5pm, thank you so much",
            "good morning! sum units by region in sales.csv. Thanks in advance!",
            "I need it today: sum units by region in sales.csv",
            "sorry to bother you again, sum units by region in sales.csv for our clients",
            "quick question: what is the sum of units by region in sales.csv? much appreciated",
            "sum units by region in sales.csv right now, my boss is waiting",
        ] {
            assert_eq!(not_done(request), [""; 0], "{request}");
        }
        for request in [
            "给老板看看 sales.csv 按 region 汇总 units",
            "老板要 sales.csv 按 region 的 units 总和",
            "帮我按 region 汇总 sales.csv 的 units，老板在催",
            "按 region 汇总 sales.csv 的 units，今天要用",
            "今天按 region 汇总 sales.csv 的 units",
            "尽快按 region 汇总 sales.csv 的 units，谢谢",
            "按 region 汇总 sales.csv 的 units，比较急",
            "马上按 region 汇总 sales.csv 的 units",
            "为了明天的会议，按 region 汇总 sales.csv 的 units",
            "按 region 汇总 sales.csv 的 units，开会用",
            "按 region 汇总 sales.csv 的 units，给客户看",
            "我的老师需要 sales.csv 按 region 的 units 总和",
            "麻烦按 region 汇总 sales.csv 的 units，辛苦了",
            "不好意思打扰一下，按 region 汇总 sales.csv 的 units",
            "有空的话按 region 汇总 sales.csv 的 units，不急",
            "按 region 汇总 sales.csv 的 units，给同事参考",
            "拜托，按 region 汇总 sales.csv 的 units",
            "如果可以的话，按 region 汇总 sales.csv 的 units，多谢",
            "领导让我按 region 汇总 sales.csv 的 units",
            "按 region 汇总 sales.csv 的 units，写周报用",
            "下班前按 region 汇总 sales.csv 的 units",
            "早上好，按 region 汇总 sales.csv 的 units",
            "现在按 region 汇总 sales.csv 的 units，赶时间",
            "按 region 汇总 sales.csv 的 units，明天开会要用",
            "给我们团队按 region 汇总 sales.csv 的 units",
            "sales.csv 里有没有空值，按 region 汇总 units",
        ] {
            assert_eq!(not_done(request), [""; 0], "{request}");
        }
    }

    #[test]
    fn an_order_or_a_filter_is_named_whatever_stands_beside_it() {
        for (request, part) in [
            ("sum units by region in sales.csv and send it to my boss", "send"),
            ("sum units by region in sales.csv for my boss and email it to him today", "email"),
            ("sum units by region in sales.csv and delete the file", "delete"),
            ("please thanks, delete sales.csv after you sum units by region", "delete"),
            ("sum units by region in sales.csv today and upload it for my team", "upload"),
            ("plot units by region in sales.csv for the meeting", "plot"),
            ("sum units by region in sales.csv for North", "North"),
            ("sum units by region in sales.csv for Anna", "Anna"),
            ("sum the units of today by region in sales.csv", "today"),
            ("sum units today by region in sales.csv", "today"),
            ("sum units by region in sales.csv since Monday", "since"),
            ("sum units by region in sales.csv for my store", "store"),
            ("sum units by region in sales.csv for the boss of North", "North"),
            ("sum units by region in sales.csv for the team in Berlin", "Berlin"),
            ("sum units by region in sales.csv in 2024, asap", "2024"),
            ("in a hurry: the median of units by region in sales.csv", "median"),
            ("if you can, sum units by region in sales.csv where price is above 3", "price"),
            ("my boss wants units by region in sales.csv without North", "without North"),
            ("sum units by region in sales.csv, then save it for later", "save"),
            ("sum units by region in sales.csv excluding North, thanks a lot", "excluding North"),
            ("sum units by region in sales.csv for the last quarter", "last quarter"),
            ("sum units by region in sales.csv and post it for my friends", "post"),
            ("no rush: sum units by region in sales.csv, sorted", "sorted"),
            ("good morning, translate sales.csv and sum units by region", "translate"),
            ("sum units by region in sales.csv and share it with my team tonight", "share"),
            ("按 region 汇总 sales.csv 的 units，并发给老板", "发给老板"),
            ("按 region 汇总 sales.csv 的 units，然后发邮件给客户", "发邮件"),
            ("今天按 region 汇总 sales.csv 的 units，并删除它", "删除它"),
            ("给老板看看 sales.csv 按 region 的 units，除 North 外", "除 North 外"),
            ("马上按 region 汇总 sales.csv 的 units，排除 North", "排除 North"),
            ("sales.csv 里上海的 units 总和，老板要", "上海"),
            ("sales.csv 今天的 units 总和", "今天"),
            ("尽快上传 sales.csv 并按 region 汇总 units", "上传"),
            ("按 region 汇总 sales.csv 的 units，并分享给团队", "分享"),
            ("麻烦按 region 汇总 sales.csv 的 units，然后保存", "保存"),
            ("辛苦了，把 sales.csv 翻译成英文再按 region 汇总 units", "翻译"),
            ("开会用：sales.csv 里 units 的中位数", "中位数"),
            ("2024 年 sales.csv 的 units 总和，老板要", "2024 年"),
            ("从今天起 sales.csv 按 region 的 units 总和", "今天"),
            ("按 region 汇总 sales.csv 的 units，同时通知同事", "通知"),
            ("拜托，统计 sales.csv 里大于 2 的 units", "大于 2"),
            ("按 region 汇总 sales.csv 的 units，最后导出给会计", "导出"),
            ("给客户看，sales.csv 里北方的 units 总和", "北方"),
            ("按 region 汇总 sales.csv 的 units，画图给领导看", "画"),
            ("不急，按 region 汇总 sales.csv 的 units 并排序", "排序"),
            ("多谢，按 region 汇总 sales.csv 的 units，再重命名", "重命名"),
            ("为了会议，比较 sales.csv 的 units", "比较"),
            ("有空的话，复制 sales.csv 并按 region 汇总 units", "复制"),
            ("下班前按 region 汇总 sales.csv 的 units，写入报告", "写入"),
            ("给老师看，只看 North：sales.csv 的 units", "只看"),
            ("按 region 汇总 sales.csv 的 units，并写报告", "写报告"),
            ("按 region 汇总 sales.csv 的 units，给报告加标题", "标题"),
        ] {
            let found = not_done(request);
            assert!(found.iter().any(|it| it.contains(part)), "{request}: {found:?}");
        }
        // A table with a column of time may be meant.
        for request in
            ["sum units by region in sales.csv today", "今天按 region 汇总 sales.csv 的 units"]
        {
            assert_ne!(not_done_with(request, "date, region, units"), [""; 0], "{request}");
        }
    }
}
