//! Which characters can hide, and which characters give them an honest reason to be there.
//!
//! The tables are whole blocks narrowed by general category where that is enough. They lean
//! towards generous: a joiner or selector that a visible character excuses carries one bit for
//! each character the reader sees, while a false alarm on Persian or on an emoji teaches people
//! to ignore the alarm. Only `scan` and its siblings use this file.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::HiddenKind;

/// The families of characters without a glyph of their own; each has its own excuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    /// U+E0000 to U+E007F.
    Tag,
    /// VS1 to VS256.
    Selector,
    /// The Mongolian free variation selectors.
    MongolianSelector,
    /// The Mongolian vowel separator.
    MongolianSeparator,
    /// U+200C and U+200D.
    Joiner,
    /// U+200B.
    ZeroWidthSpace,
    /// Word joiner, byte order mark, invisible operators: no excuse but the start of the text.
    ZeroWidth,
    /// Embeddings, overrides, isolates and what closes them.
    BidiControl,
    /// LRM, RLM, ALM.
    BidiMark,
    /// U+00AD.
    SoftHyphen,
    /// U+034F, the combining grapheme joiner.
    GraphemeJoiner,
    /// The Duployan format controls.
    Shorthand,
    /// U+2800, which is blank but as wide as a letter.
    BrailleBlank,
    /// Everything else; no excuse.
    Invisible,
}

impl Suspect {
    pub(super) fn kind(self) -> HiddenKind {
        match self {
            Self::Tag => HiddenKind::TagCharacters,
            Self::Selector | Self::MongolianSelector => HiddenKind::VariationSelectors,
            Self::MongolianSeparator | Self::Joiner | Self::ZeroWidthSpace | Self::ZeroWidth => {
                HiddenKind::ZeroWidth
            }
            Self::BidiControl | Self::BidiMark => HiddenKind::Bidi,
            Self::SoftHyphen
            | Self::GraphemeJoiner
            | Self::Shorthand
            | Self::BrailleBlank
            | Self::Invisible => HiddenKind::Invisible,
        }
    }
}

/// The family of `c`, or `None` when a reader sees it. Covers all of `Default_Ignorable_Code_Point`
/// and the interlinear annotation marks. Private use is not here: fonts draw it.
pub(super) fn suspect(c: char) -> Option<Suspect> {
    if c < '\u{AD}' {
        return None;
    }
    Some(match c {
        '\u{AD}' => Suspect::SoftHyphen,
        '\u{34F}' => Suspect::GraphemeJoiner,
        '\u{61C}' | '\u{200E}' | '\u{200F}' => Suspect::BidiMark,
        '\u{180B}'..='\u{180D}' | '\u{180F}' => Suspect::MongolianSelector,
        '\u{180E}' => Suspect::MongolianSeparator,
        '\u{200B}' => Suspect::ZeroWidthSpace,
        '\u{200C}' | '\u{200D}' => Suspect::Joiner,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Suspect::BidiControl,
        '\u{2060}'..='\u{2064}' | '\u{FEFF}' => Suspect::ZeroWidth,
        '\u{2800}' => Suspect::BrailleBlank,
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => Suspect::Selector,
        '\u{1BCA0}'..='\u{1BCA3}' => Suspect::Shorthand,
        '\u{E0000}'..='\u{E007F}' => Suspect::Tag,
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' // Hangul fillers
        | '\u{17B4}' | '\u{17B5}' // Khmer inherent vowels
        | '\u{2065}' | '\u{206A}'..='\u{206F}' // deprecated formatting
        | '\u{FFF0}'..='\u{FFFB}' // unassigned, interlinear annotation
        | '\u{1D173}'..='\u{1D17A}' // musical beams and slurs
        | '\u{E0080}'..='\u{E0FFF}' => Suspect::Invisible,
        _ => return None,
    })
}

type Ranges = &'static [(char, char)];

fn within(c: char, ranges: Ranges) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= ranges[after - 1].1
}

/// A letter that a reader sees. (The Hangul fillers are letters by category.)
pub(super) fn is_letter(c: char) -> bool {
    suspect(c).is_none() && c.general_category_group() == GeneralCategoryGroup::Letter
}

/// A mark that a reader sees. (Variation selectors are marks by category.)
pub(super) fn is_mark(c: char) -> bool {
    suspect(c).is_none() && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// True for a character of ordinary text; format characters count, since words and emoji need them.
pub(super) fn is_textual(c: char) -> bool {
    use GeneralCategory::{Control, PrivateUse, Unassigned};
    matches!(c, '\n' | '\t') || !matches!(c.general_category(), Control | PrivateUse | Unassigned)
}

/// Scripts written from right to left; every letter in these ranges is strongly so.
const RIGHT_TO_LEFT: Ranges = &[
    ('\u{590}', '\u{8FF}'), // Hebrew, Arabic, Syriac, Thaana, N'Ko, Samaritan, Mandaic
    ('\u{FB1D}', '\u{FDFF}'),
    ('\u{FE70}', '\u{FEFC}'),
    ('\u{10800}', '\u{10FFF}'),
    ('\u{1E800}', '\u{1EFFF}'),
];

/// A letter of a script written from right to left.
pub(super) fn is_rtl_letter(c: char) -> bool {
    within(c, RIGHT_TO_LEFT) && is_letter(c)
}

/// Blocks of scripts whose letters change shape beside ZWJ and ZWNJ.
const JOINING: Ranges = &[
    ('\u{600}', '\u{77F}'),     // Arabic, Syriac, Arabic Supplement
    ('\u{7C0}', '\u{7FF}'),     // N'Ko
    ('\u{840}', '\u{8FF}'),     // Mandaic, Syriac Supplement, Arabic Extended
    ('\u{900}', '\u{DFF}'),     // Devanagari to Malayalam, Sinhala
    ('\u{F00}', '\u{109F}'),    // Tibetan, Myanmar
    ('\u{1700}', '\u{18AF}'),   // Philippine scripts, Khmer, Mongolian
    ('\u{1900}', '\u{194F}'),   // Limbu
    ('\u{1A00}', '\u{1AAF}'),   // Buginese, Tai Tham
    ('\u{1B00}', '\u{1C4F}'),   // Balinese, Sundanese, Batak, Lepcha
    ('\u{1CD0}', '\u{1CFF}'),   // Vedic
    ('\u{A800}', '\u{A82F}'),   // Syloti Nagri
    ('\u{A840}', '\u{A8FF}'),   // Phags-pa, Saurashtra, Devanagari Extended
    ('\u{A930}', '\u{A95F}'),   // Rejang
    ('\u{A980}', '\u{AA7F}'),   // Javanese, Cham, Myanmar Extended
    ('\u{AAE0}', '\u{AAFF}'),   // Meetei Mayek Extensions
    ('\u{ABC0}', '\u{ABFF}'),   // Meetei Mayek
    ('\u{FB50}', '\u{FDFF}'),   // Arabic presentation forms
    ('\u{FE70}', '\u{FEFC}'),   // Arabic presentation forms
    ('\u{10A00}', '\u{10A5F}'), // Kharoshthi
    ('\u{10AC0}', '\u{10AFF}'), // Manichaean
    ('\u{10B80}', '\u{10BAF}'), // Psalter Pahlavi
    ('\u{10D00}', '\u{10D3F}'), // Hanifi Rohingya
    ('\u{10EC0}', '\u{10FDF}'), // Arabic Extended-C, Sogdian, Old Uyghur, Chorasmian
    ('\u{11000}', '\u{1189F}'), // Brahmi to Dogra
    ('\u{11900}', '\u{11AAF}'), // Dives Akuru to Soyombo
    ('\u{11B00}', '\u{11CBF}'), // Devanagari Extended-A to Marchen
    ('\u{11D00}', '\u{11DAF}'), // Masaram Gondi, Gunjala Gondi
    ('\u{1E900}', '\u{1E95F}'), // Adlam
];

/// A letter or mark (vowel sign, virama) of a script that uses ZWJ and ZWNJ.
pub(super) fn joins(c: char) -> bool {
    within(c, JOINING) && (is_letter(c) || is_mark(c))
}

/// Scripts written without spaces between words.
const UNSPACED: Ranges = &[
    ('\u{E00}', '\u{109F}'),  // Thai, Lao, Tibetan, Myanmar
    ('\u{1780}', '\u{17FF}'), // Khmer
    ('\u{A9E0}', '\u{A9FF}'), // Myanmar Extended-B
    ('\u{AA60}', '\u{AA7F}'), // Myanmar Extended-A
];

/// A letter or mark of a script that marks its word breaks with ZWSP.
pub(super) fn is_unspaced(c: char) -> bool {
    within(c, UNSPACED) && (is_letter(c) || is_mark(c))
}

/// A Mongolian, Todo, Sibe or Manchu letter.
pub(super) fn is_mongolian_letter(c: char) -> bool {
    matches!(c, '\u{1807}' | '\u{1820}'..='\u{18AA}') && (is_letter(c) || c == '\u{1807}')
}

/// A Duployan shorthand letter.
pub(super) fn is_duployan(c: char) -> bool {
    matches!(c, '\u{1BC00}'..='\u{1BC9F}')
}

/// Symbols that take part in emoji ZWJ sequences, skin tones among them.
const EMOJI: Ranges = &[
    ('\u{2190}', '\u{21FF}'),
    ('\u{2300}', '\u{23FF}'),
    ('\u{2600}', '\u{27BF}'),
    ('\u{2B00}', '\u{2BFF}'),
    ('\u{1F000}', '\u{1F1E5}'),
    ('\u{1F200}', '\u{1F6FF}'),
    ('\u{1F780}', '\u{1F7FF}'),
    ('\u{1F900}', '\u{1FAFF}'),
];

/// A symbol that can stand on either side of ZWJ.
pub(super) fn is_emoji(c: char) -> bool {
    within(c, EMOJI)
}

/// Further symbols that have, or are often given, a text and an emoji presentation.
const PRESENTED: Ranges = &[
    ('#', '#'),
    ('*', '*'),
    ('0', '9'),
    ('\u{A9}', '\u{A9}'),
    ('\u{AE}', '\u{AE}'),
    ('\u{203C}', '\u{203C}'),
    ('\u{2049}', '\u{2049}'),
    ('\u{20E3}', '\u{20E3}'),
    ('\u{2122}', '\u{2122}'),
    ('\u{2139}', '\u{2139}'),
    ('\u{2460}', '\u{24FF}'),
    ('\u{25A0}', '\u{25FF}'),
    ('\u{2900}', '\u{297F}'),
    ('\u{3030}', '\u{3030}'),
    ('\u{303D}', '\u{303D}'),
    ('\u{3297}', '\u{3297}'),
    ('\u{3299}', '\u{3299}'),
    ('\u{1F1E6}', '\u{1F1FF}'),
];

/// Characters with standardised variants under VS1 and up, and the last selector they take.
const STANDARDISED: &[(char, char, char)] = &[
    ('0', '0', '\u{FE00}'),
    ('\u{1000}', '\u{1080}', '\u{FE00}'), // Myanmar, dotted forms
    ('\u{2018}', '\u{2019}', '\u{FE01}'), // quotation marks by width
    ('\u{201C}', '\u{201D}', '\u{FE01}'),
    ('\u{210B}', '\u{2131}', '\u{FE01}'), // script capitals
    ('\u{2205}', '\u{22DB}', '\u{FE00}'), // mathematical operators
    ('\u{2A3C}', '\u{2ACC}', '\u{FE00}'),
    ('\u{3001}', '\u{3002}', '\u{FE01}'), // punctuation by corner or centre
    ('\u{A856}', '\u{A868}', '\u{FE00}'), // Phags-pa
    ('\u{AA60}', '\u{AA7A}', '\u{FE00}'),
    ('\u{FF01}', '\u{FF1F}', '\u{FE01}'),
    ('\u{10AC5}', '\u{10AE1}', '\u{FE00}'), // Manichaean
    ('\u{13000}', '\u{143FA}', '\u{FE06}'), // hieroglyphs, rotated
    ('\u{1D49C}', '\u{1D4B5}', '\u{FE01}'),
];

fn is_ideograph(c: char) -> bool {
    matches!(
        c,
        '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFD}'
    )
}

/// True when `selector` can give `base` another look.
pub(super) fn selects(base: char, selector: char) -> bool {
    match selector {
        '\u{FE0E}' | '\u{FE0F}' => is_emoji(base) || within(base, PRESENTED),
        '\u{FE00}'..='\u{FE0D}' => {
            is_ideograph(base) && selector <= '\u{FE02}'
                || STANDARDISED.iter().any(|&(first, last, last_selector)| {
                    (first..=last).contains(&base) && selector <= last_selector
                })
        }
        '\u{E0100}'..='\u{E01EF}' => is_ideograph(base),
        _ => false,
    }
}
