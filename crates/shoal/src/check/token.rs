//! A run as a short text: the world's size, the launches, the resident programs and the schedule.

use std::fmt;
use std::str::FromStr;

use shoal_interp::explore::Schedule;

use crate::Error;

/// A run that can be repeated exactly: `n4.l2.k8:p3.1f` is a world of 4 ranks, 2 launches, 8 resident programs, and a
/// schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The world's size.
    pub ranks: usize,
    /// What the harness sees as `world.launches`.
    pub launches: usize,
    /// Resident programs of a rank, if limited.
    pub resident: Option<usize>,
    /// Whose turn it is.
    pub schedule: Schedule,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}.l{}", self.ranks, self.launches)?;
        if let Some(resident) = self.resident {
            write!(f, ".k{resident}")?;
        }
        write!(f, ":{}", self.schedule)
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Token, Error> {
        let wrong = || Error::Text(format!("`{text}` is no token; a report prints one, such as `n2.l2:rr`"));
        let (world, schedule) = text.split_once(':').ok_or_else(wrong)?;
        let schedule = schedule.parse().map_err(|_| wrong())?;
        let mut token = Token { ranks: 0, launches: 1, resident: None, schedule };
        for part in world.split('.') {
            let digits = part.get(1..).ok_or_else(wrong)?;
            let number: usize = digits.parse().ok().filter(|&n| n > 0 && n <= 1 << 20).ok_or_else(wrong)?;
            match part.as_bytes()[0] {
                b'n' => token.ranks = number,
                b'l' => token.launches = number,
                b'k' => token.resident = Some(number),
                _ => return Err(wrong()),
            }
        }
        if token.ranks == 0 { Err(wrong()) } else { Ok(token) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back() {
        for text in ["n4.l2.k8:p3.1f", "n2.l1:rr", "n3.l2:c0x5,2"] {
            assert_eq!(text.parse::<Token>().map(|token| token.to_string()).ok().as_deref(), Some(text));
        }
        for text in ["", "n4", "l2:rr", "n0:rr", "n4:zz", "nx:rr", "n99999999999:rr", ".:rr"] {
            assert!(text.parse::<Token>().is_err(), "{text}");
        }
    }
}
