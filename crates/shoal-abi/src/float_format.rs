//! Floating-point formats: their bits to `f64` and back.
//!
//! Every format narrower than `f64` is contained in it exactly, so `f64` is the common ground, and a conversion is one
//! rounding.

use core::fmt;

/// How a conversion to a narrower float rounds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
}

impl Rounding {
    /// Every variant.
    pub const ALL: &'static [Self] = &[Self::Nearest, Self::Zero];

    /// The spelling in the text of programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nearest => "rtne",
            Self::Zero => "rtz",
        }
    }

    /// The variant with that spelling.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a format does at and beyond its ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// Infinities and NaNs in the top exponent.
    Ieee,
    /// No infinities; NaN is all ones below the sign (`e4m3fn`).
    AllOnesNan,
    /// No infinities, no negative zero; NaN is the sign bit alone (`fnuz`).
    SignNan,
    /// Neither infinities nor NaN; both become the greatest number.
    Saturating,
}

/// The layout of a format's bits: sign, exponent, mantissa.
#[derive(Copy, Clone, Debug)]
pub struct FloatFormat {
    /// Exponent bits.
    pub exponent: u32,
    /// Mantissa bits stored.
    pub mantissa: u32,
    /// Exponent bias.
    pub bias: i32,
    /// Its ends.
    pub non_finite: NonFinite,
}

impl FloatFormat {
    /// 4 exponent bits, 3 mantissa bits, bias 7, no infinities (`e4m3fn`).
    pub const F8E4M3: Self = Self::new(4, 3, 7, NonFinite::AllOnesNan);
    /// 5 exponent bits, 2 mantissa bits, bias 15, IEEE-like.
    pub const F8E5M2: Self = Self::new(5, 2, 15, NonFinite::Ieee);
    /// 4 exponent bits, 3 mantissa bits, bias 15, no infinities, no NaN.
    pub const F8E4B15: Self = Self::new(4, 3, 15, NonFinite::Saturating);
    /// 4 exponent bits, 3 mantissa bits, bias 8, one zero, one NaN (`e4m3fnuz`).
    pub const F8E4M3_FNUZ: Self = Self::new(4, 3, 8, NonFinite::SignNan);
    /// 5 exponent bits, 2 mantissa bits, bias 16, one zero, one NaN (`e5m2fnuz`).
    pub const F8E5M2_FNUZ: Self = Self::new(5, 2, 16, NonFinite::SignNan);
    /// IEEE half precision.
    pub const F16: Self = Self::new(5, 10, 15, NonFinite::Ieee);
    /// The upper half of an `f32`.
    pub const BF16: Self = Self::new(8, 7, 127, NonFinite::Ieee);
    /// IEEE single precision.
    pub const F32: Self = Self::new(8, 23, 127, NonFinite::Ieee);
    /// IEEE double precision.
    pub const F64: Self = Self::new(11, 52, 1023, NonFinite::Ieee);

    const fn new(exponent: u32, mantissa: u32, bias: i32, non_finite: NonFinite) -> Self {
        Self { exponent, mantissa, bias, non_finite }
    }

    const fn sign_bit(self) -> u64 {
        1 << (self.exponent + self.mantissa)
    }

    /// Whether a conversion to the format gives its greatest number for what is too great, infinities included. Formats
    /// of eight bits do, as the instructions of GPUs do (`satfinite`): their range is so small that infinities would be
    /// everywhere. NaN stays NaN where the format has one.
    #[must_use]
    pub const fn saturates(self) -> bool {
        self.exponent + self.mantissa < 8
    }

    /// The bits of the greatest finite number.
    #[must_use]
    pub const fn max_finite(self) -> u64 {
        match self.non_finite {
            NonFinite::Ieee => (((1 << self.exponent) - 1) << self.mantissa) - 1,
            NonFinite::AllOnesNan => self.sign_bit() - 2,
            NonFinite::SignNan | NonFinite::Saturating => self.sign_bit() - 1,
        }
    }

    fn nan(self) -> u64 {
        match self.non_finite {
            NonFinite::Ieee => (((1u64 << self.exponent) - 1) << self.mantissa) | (1 << (self.mantissa - 1)),
            NonFinite::AllOnesNan => self.sign_bit() - 1,
            NonFinite::SignNan => self.sign_bit(),
            NonFinite::Saturating => self.max_finite(),
        }
    }

    /// The bits that stand for a magnitude too great for the format: an infinity where it has one and does not saturate.
    fn overflow(self) -> u64 {
        match self.non_finite {
            NonFinite::Ieee if !self.saturates() => ((1 << self.exponent) - 1) << self.mantissa,
            NonFinite::Ieee | NonFinite::AllOnesNan | NonFinite::SignNan | NonFinite::Saturating => self.max_finite(),
        }
    }
}

/// The number that `bits` stand for.
#[must_use]
pub fn decode_float(format: FloatFormat, bits: u64) -> f64 {
    if format.mantissa == 52 {
        return f64::from_bits(bits);
    }
    let negative = bits & format.sign_bit() != 0;
    let magnitude = bits & (format.sign_bit() - 1);
    let exponent = (magnitude >> format.mantissa) as i32;
    let mantissa = magnitude & ((1 << format.mantissa) - 1);
    let top = (1 << format.exponent) - 1;
    let special = match format.non_finite {
        NonFinite::Ieee if exponent == top => Some(if mantissa == 0 { f64::INFINITY } else { f64::NAN }),
        NonFinite::AllOnesNan if magnitude == format.sign_bit() - 1 => Some(f64::NAN),
        NonFinite::SignNan if bits == format.sign_bit() => Some(f64::NAN),
        NonFinite::Ieee | NonFinite::AllOnesNan | NonFinite::SignNan | NonFinite::Saturating => None,
    };
    let value = special.unwrap_or_else(|| {
        let (significand, exponent) =
            if exponent == 0 { (mantissa, 1) } else { (mantissa | (1 << format.mantissa), exponent) };
        significand as f64 * 2f64.powi(exponent - format.bias - format.mantissa as i32)
    });
    if negative { -value } else { value }
}

/// The bits for `value`, rounded once. Formats of eight bits saturate ([`FloatFormat::saturates`]).
#[must_use]
pub fn encode_float(format: FloatFormat, value: f64, rounding: Rounding) -> u64 {
    if format.mantissa == 52 {
        return value.to_bits();
    }
    let sign = if value.is_sign_negative() { format.sign_bit() } else { 0 };
    if value.is_nan() {
        return if format.non_finite == NonFinite::SignNan { format.nan() } else { sign | format.nan() };
    }
    if value.is_infinite() {
        return sign | format.overflow();
    }
    let magnitude = round_magnitude(format, value.abs(), rounding);
    if magnitude > format.max_finite() {
        return match rounding {
            Rounding::Nearest => sign | format.overflow(),
            Rounding::Zero => sign | format.max_finite(),
        };
    }
    if magnitude == 0 && format.non_finite == NonFinite::SignNan {
        return 0;
    }
    sign | magnitude
}

/// Exponent and mantissa bits of a finite magnitude as if the exponent had no upper end.
fn round_magnitude(format: FloatFormat, magnitude: f64, rounding: Rounding) -> u64 {
    let bits = magnitude.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    if bits >> 52 == 0 {
        // Zero, or a subnormal f64: far below half of any narrower format's least number.
        return 0;
    }
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    let min_exponent = 1 - format.bias;
    let below = (min_exponent - exponent).max(0) as u32;
    let shift = (52 - format.mantissa) + below;
    if shift >= 64 {
        return 0;
    }
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Zero => false,
    };
    // A carry out of the mantissa moves into the exponent by itself.
    let base = if below > 0 { 0 } else { ((exponent - min_exponent) as u64) << format.mantissa };
    base + kept + u64::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_narrow_pattern_survives_the_round_trip() {
        for (format, width) in [
            (FloatFormat::F8E4M3, 8),
            (FloatFormat::F8E5M2, 8),
            (FloatFormat::F8E4B15, 8),
            (FloatFormat::F8E4M3_FNUZ, 8),
            (FloatFormat::F8E5M2_FNUZ, 8),
            (FloatFormat::F16, 16),
            (FloatFormat::BF16, 16),
        ] {
            for bits in 0..1u64 << width {
                let value = decode_float(format, bits);
                if value.is_nan() {
                    assert!(decode_float(format, encode_float(format, value, Rounding::Nearest)).is_nan());
                } else if value.is_infinite() && format.saturates() {
                    let sign = bits & format.sign_bit();
                    assert_eq!(encode_float(format, value, Rounding::Nearest), sign | format.max_finite());
                } else {
                    assert_eq!(encode_float(format, value, Rounding::Nearest), bits, "{format:?} {bits:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn eight_bits_saturate_and_keep_nan() {
        for (format, greatest) in [
            (FloatFormat::F8E4M3, 448.0),
            (FloatFormat::F8E5M2, 57344.0),
            (FloatFormat::F8E4B15, 1.875),
            (FloatFormat::F8E4M3_FNUZ, 240.0),
            (FloatFormat::F8E5M2_FNUZ, 57344.0),
        ] {
            for rounding in Rounding::ALL.iter().copied() {
                for value in [greatest * 1.01, greatest * 4.0, f64::MAX, f64::INFINITY] {
                    for signed in [value, -value] {
                        let back = decode_float(format, encode_float(format, signed, rounding));
                        assert_eq!(back, greatest.copysign(signed), "{format:?} {signed} {rounding}");
                    }
                }
                let nan = decode_float(format, encode_float(format, f64::NAN, rounding));
                assert_eq!(nan.is_nan(), format.non_finite != NonFinite::Saturating, "{format:?}");
            }
        }
        let half = encode_float(FloatFormat::F16, 1e6, Rounding::Nearest);
        assert_eq!(decode_float(FloatFormat::F16, half), f64::INFINITY);
    }

    #[test]
    fn f32_and_f16_round_like_the_hardware() {
        let (f32s, f16s) = (FloatFormat::F32, FloatFormat::F16);
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = f64::from_bits(state);
            if value.is_nan() {
                continue;
            }
            assert_eq!(encode_float(f32s, value, Rounding::Nearest), u64::from((value as f32).to_bits()));
            let near = value.abs() % 70000.0 * value.signum();
            assert_eq!(
                encode_float(f16s, near, Rounding::Nearest),
                u64::from(half::f16::from_f64(near).to_bits()),
                "{near}"
            );
        }
    }
}
