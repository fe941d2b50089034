//! The numbers of the ranking, in one place, with what they were measured on.
//!
//! Chosen on 7,200 requests out of 5,252 public skills (lines of their "when to use" sections, phrases that
//! their bodies and descriptions quote, each held apart from what is searched), in shelves of 160 and of
//! 1,200; the trigger queries of ten skills were for measuring. All lie on flat optima: a third more or
//! less changes recall by about a point. Tried and left out, for they gained nothing: expansion from the
//! first results, weights for negated words, for the first words of a description, for words in quotes
//! and for the request's verb, a bonus for coverage, latent semantic analysis of the index, general word
//! vectors of a hundred dimensions, and words that go together in the bodies of skills. So were a bonus for
//! words that stand close together, less weight for words that mostly come together, and a table of the
//! nearest words by a sentence model. That model itself (all-MiniLM-L6-v2, added to the score) finds up to
//! eight in a hundred more of such requests and no more of the trigger queries; averages of its token
//! vectors, which would fit into some megabytes, find one more in a hundred of some and as many less of
//! others. What counts against a document counts as much as what counts for it: from half to half again as
//! much, it is the same within a point.

/// The weights of the parts of a score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// BM25 k1: how soon repeating a word stops helping.
    pub(super) saturation: f32,
    /// How many mentions in the description one word of the name is worth.
    pub(super) name_weight: f32,
    /// BM25 b of the name.
    pub(super) name_length: f32,
    /// BM25 b of the description.
    pub(super) description_length: f32,
    /// Weight of a function word of the request (the, of, with).
    pub(super) stop: f32,
    /// Weight of a word of politeness or framing (please, want, skill).
    pub(super) chatter: f32,
    /// Weight of a word inside a path or URL; its extension keeps full weight.
    pub(super) path: f32,
    /// Weight of a synonym of a word that was asked for.
    pub(super) synonym: f32,
    /// Weight of words that begin with an unknown word.
    pub(super) prefix: f32,
    /// Weight of words one slip away from an unknown word.
    pub(super) one_slip: f32,
    /// Weight of words two slips away.
    pub(super) two_slips: f32,
    /// Weight of two request words that a document writes as one.
    pub(super) joined: f32,
    /// Weight of the doer for the deed, and the other way round (scrape, scraper).
    pub(super) kin: f32,
    /// How many words after the first ones a word weighs half.
    pub(super) half_weight_after: f32,
    /// The part of their weight that even the latest words keep.
    pub(super) late: f32,
    /// Bonus for two neighbouring words that are neighbours in the document too.
    pub(super) pair: f32,
    /// Bonus for a name whose words are in the request.
    pub(super) name_cover: f32,
    /// Bonus for words that a description gives in quotes and the request repeats.
    pub(super) quoted: f32,
    /// How much a clause that sends a request elsewhere is held against a document.
    pub(super) against: f32,
}

impl Tuning {
    pub(super) const DEFAULT: Self = Self {
        saturation: 0.7,
        name_weight: 1.5,
        name_length: 0.4,
        description_length: 0.5,
        stop: 0.12,
        chatter: 0.5,
        path: 0.6,
        synonym: 0.5,
        prefix: 0.5,
        one_slip: 0.7,
        two_slips: 0.4,
        joined: 0.5,
        kin: 0.5,
        half_weight_after: 40.0,
        late: 0.4,
        pair: 0.5,
        name_cover: 0.2,
        quoted: 0.5,
        against: 1.0,
    };
}
