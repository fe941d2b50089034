//! The natural logarithm, computed here.
//!
//! Ranking needs it in two places. The system's would be the only reason to load its library of
//! mathematics, which is a twentieth of a millisecond of every start; and it differs in the last bit from system to
//! system, by which two skills that are equally good could change places.

/// The natural logarithm of a positive number, as exact as `f32` is.
pub(super) fn ln(number: f32) -> f32 {
    const MANTISSA_BITS: u32 = 52;
    const EXPONENT_OF_ONE: u64 = 1023;
    let bits = f64::from(number).to_bits();
    // number = part * 2^exponent, with the part from 1 up to 2, and then around 1.
    let exponent = (bits >> MANTISSA_BITS).saturating_sub(EXPONENT_OF_ONE);
    let below_one = EXPONENT_OF_ONE.saturating_sub(bits >> MANTISSA_BITS);
    let mut exponent = count(exponent) - count(below_one);
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let mut part = f64::from_bits(mantissa | (EXPONENT_OF_ONE << MANTISSA_BITS));
    if part > std::f64::consts::SQRT_2 {
        part /= 2.0;
        exponent += 1.0;
    }
    // ln part = 2 (s + s^3/3 + s^5/5 + ...) for s = (part - 1) / (part + 1), which is at most 0.172.
    let s = (part - 1.0) / (part + 1.0);
    let square = s * s;
    let series = [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0]
        .into_iter()
        .fold(0.0, |sum: f64, divisor| sum * square + 1.0 / divisor);
    narrow(2.0 * s * series + exponent * std::f64::consts::LN_2)
}

fn count(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn narrow(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn it_is_the_logarithm() {
        let mut number = 1e-6_f32;
        while number < 1e9 {
            let (ours, exact) = (f64::from(ln(number)), f64::from(number).ln());
            assert!((ours - exact).abs() <= exact.abs() * 1e-7 + 1e-9, "{number}: {ours} {exact}");
            number *= 1.003;
        }
        assert_eq!((ln(1.0), ln(2.0)), (0.0, std::f32::consts::LN_2));
    }
}
