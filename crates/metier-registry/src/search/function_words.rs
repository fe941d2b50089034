//! Words that say little about what is wanted: function words, politeness, framing.
//!
//! They get a low weight instead of being dropped, so that a request made of nothing else still
//! finds something and a name such as `the-way` can be found. English, and the most common
//! Chinese and Japanese function characters. Called when a request is read; documents keep all.
//!
//! tidy:allow-cjk

use std::collections::HashMap;
use std::sync::LazyLock;

/// How much a word of a request tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Salience {
    /// A function word.
    Hardly,
    /// Politeness, framing, and verbs that fit any request.
    Little,
    /// Everything else.
    Fully,
}

/// The two lists below, to look words up in.
static LISTED: LazyLock<HashMap<&'static str, Salience>> = LazyLock::new(|| {
    let framing = FRAMING.split_ascii_whitespace().chain(CHINESE_FRAMING.split_whitespace());
    let framing = framing.map(|word| (word, Salience::Little));
    let function = FUNCTION_WORDS.split_ascii_whitespace().map(|word| (word, Salience::Hardly));
    framing.chain(function).collect()
});

pub(super) const FUNCTION_WORDS: &str = "a about above after again against all also am an and any anyone \
    anything are arent as at be because been before being below between both but by can cannot \
    cant could couldnt did didnt do does doesnt doing dont down during each either else etc even \
    ever every everything few for from further get gets getting go goes going gonna got had has \
    have havent having he her here heres hers herself him himself his how i id if ill im in into \
    is isnt it its itself ive just least less lets like ll lot lots many may maybe me might mine \
    more most much must my myself near need needs no none nor not nothing now of off oh ok okay on \
    once one ones only onto or other others otherwise our ours ourselves out over own per quite \
    rather re really s same she should shouldnt since so some somehow someone something still such \
    t than that thats the their theirs them themselves then there theres these they theyre thing \
    things this those though through thus to too under until up upon us ve very via want wants was \
    wasnt we well were weve what whatever whats when whenever where whether which while who whole \
    whom whose why will with within without wont would wouldnt yes yet you youd your youre yours \
    yourself yourselves \
    au avec con da das de del der des die du ein eine el en es et la las le les los mit o para por \
    que se sur un una und une y";

const FRAMING: &str = "ability able actually already always ask asked asking asks best better bit call called \
    come current currently different done easy enable ensure example examples existing \
    explicitly fine first follow following full give given gives good great guy handle hello \
    help helped helpful helping helps hey hi instead invoke invoked keep kind know last later \
    latest let long look looking looks made make makes making mention mentions new next nice \
    old part people please pls possible provide provided provides providing put quick quickly \
    ready request requested requests requires right said say saying says second see seem seems \
    set show skill skills small sort start stuff supply sure take taken tell thank thanks \
    think three today tomorrow try trying turn two use used useful user users uses using \
    various way ways work working works yesterday";

/// Chinese pairs of characters that frame a request.
const CHINESE_FRAMING: &str = "一个 一些 一下 不是 不要 以及 以便 使用 例如 其他 可以 可能 如何 如果 已经 帮助 \
    帮忙 应该 开始 怎样 或者 所有 支持 时候 最新 有没 没有 现在 用于 用户 用来 直接 看看 知道 能够 处理 \
    觉得 进行 还是 适用 通过 部分 需要 非常 然后 今天 明天 昨天";

/// Chinese characters that are hardly ever part of a word that tells something.
const FUNCTION_CHARACTERS: &str = "的了吗呢吧啊把被我你您他她它们这那哪么什怎是很请帮给让";

/// What a word of a request tells, by its folded form.
pub(super) fn salience(word: &str) -> Salience {
    // One letter or a small number is an item of a list more often than a subject.
    let short = word.len() == 1 || (word.len() < 4 && word.bytes().all(|b| b.is_ascii_digit()));
    let unlisted = if short { Salience::Little } else { Salience::Fully };
    LISTED.get(word).copied().unwrap_or(unlisted)
}

/// What a pair of characters of an unspaced script tells. Japanese writes its endings and
/// particles in Hiragana, so a pair that has any is mostly grammar.
pub(super) fn gram_salience(gram: &str) -> Salience {
    let is_common =
        |c: char| matches!(c, '\u{3041}'..='\u{309F}') || FUNCTION_CHARACTERS.contains(c);
    if gram.chars().all(is_common) {
        Salience::Hardly
    } else if gram.chars().any(is_common) {
        Salience::Little
    } else {
        LISTED.get(gram).copied().unwrap_or(Salience::Fully)
    }
}
