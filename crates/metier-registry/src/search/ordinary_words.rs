//! Words that stand before *skill* without being a name: "use the right skill" asks for no skill called
//! `right`. Data only.
//! tidy:allow-cjk
//!
//! Names are chosen by strangers. A clone that has a skill called `best` would otherwise be called by a
//! sentence that means none. `/best` and `"best"` still call it.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Folded as names are, so `built-in` is `built in`.
#[rustfmt::skip]
const ORDINARY: &[&str] = &[
    "above", "actual", "added", "all", "alternative", "another", "any", "appropriate", "available", "bad", "basic",
    "below", "best", "better", "big", "both", "broken", "built in", "builtin", "certain", "chosen", "closest",
    "common", "complete", "configured", "core", "correct", "current", "custom", "default", "different", "disabled",
    "each", "easiest", "easy", "either", "enabled", "entire", "every", "exact", "existing", "external", "fastest",
    "favorite", "favourite", "few", "first", "fitting", "following", "full", "general", "given", "good", "great",
    "helpful", "ideal", "important", "installed", "internal", "last", "latest", "least", "less", "likely", "listed",
    "local", "main", "many", "matching", "mentioned", "missing", "more", "most", "multiple", "named", "nearest",
    "necessary", "needed", "new", "newest", "next", "nice", "no", "old", "older", "one", "only", "open", "optimal",
    "ordinary", "original", "other", "own", "particular", "perfect", "plain", "possible", "preferred", "previous",
    "private", "proper", "public", "quick", "real", "recent", "recommended", "related", "relevant", "required",
    "right", "safe", "same", "second", "selected", "several", "shared", "short", "shortest", "similar", "simple",
    "simplest", "single", "small", "some", "special", "specific", "standard", "such", "suggested", "suitable",
    "that", "their", "these", "third", "this", "those", "trusted", "two", "unknown", "unused", "updated", "useful",
    "usual", "valid", "various", "what", "whatever", "which", "whichever", "whole", "working", "worst", "wrong",
    "一个", "一些", "上面", "下面", "不同", "两个", "主要", "任何", "任意", "你的", "其他", "其它", "具体", "内置", "内部", "别的",
    "原来", "另一个", "可用", "合适", "各种", "同样", "哪个", "哪些", "唯一", "多个", "好的", "完整", "对的", "对应", "已有", "常用",
    "当前", "我的", "所有", "指定", "新", "新的", "旧的", "更好", "最佳", "最合适", "最好", "最新", "有用", "某个", "标准", "正确",
    "每个", "特定", "现有", "相关", "相应", "第一个", "自己", "简单", "这个", "这些", "适合", "适当", "那个", "那些", "默认",
];

/// Whether a folded name is a word that says which skill is meant without naming it.
pub(super) fn is_ordinary(key: &str) -> bool {
    // Asked for each word of each request.
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| ORDINARY.iter().copied().collect());
    WORDS.contains(key.trim_end_matches('的')) || WORDS.contains(key)
}
