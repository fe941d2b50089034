//! A small generator of random numbers that gives the same numbers everywhere, for ever.
//!
//! `SplitMix64`. The bootstrap draws from it with a seed that it makes from the data, so that the same results
//! give the same report to the byte; it must not be used for anything that has to be unpredictable.

/// The odd constant that `SplitMix64` advances by: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of numbers that its seed determines.
#[derive(Debug, Clone)]
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream that belongs to these numbers, whatever they are.
    pub fn for_values(values: impl IntoIterator<Item = f64>) -> Self {
        let seed = values.into_iter().fold(0, |seed, value| {
            // Adding 0.0 makes -0.0 and 0.0 one.
            Self::new(seed ^ (value + 0.0).to_bits()).next_u64()
        });
        Self::new(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`, each equally likely to within 2^-64.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product's upper half is below `limit`"
    )]
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next_u64()) * limit as u128) >> 64) as usize
    }

    /// A number from 0 up to and without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
