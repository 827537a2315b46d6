//! A run as a short text: the world, what the harness was given, the resident programs and the schedule.

use std::fmt;
use std::str::FromStr;

use serde_json::Value as Json;
use shoal_interp::explore::Schedule;

use super::{CheckOptions, HarnessValue, Room};
use crate::Error;

/// A run that can be repeated exactly. `n4.l2.s7.k8+n=5:p3.1f.200` is a world of 4 ranks, 2 launches, seed 7 (1 is left
/// out), 8 resident programs, the parameter `n` of the harness, and a schedule. Where kernels have different room,
/// `k132_264` names that of each, in the order of their first launch. `g2` cuts grids to 2 programs along each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// The world's size.
    pub ranks: usize,
    /// What the harness sees as `world.launches`.
    pub launches: usize,
    /// The seed of random contents.
    pub seed: u64,
    /// Resident programs of a rank: none if all are, one number for all kernels, or one for each.
    pub rooms: Vec<usize>,
    /// The most programs along an axis of a grid, if not what the harness says.
    pub grid_cut: Option<u32>,
    /// Parameters of the harness that do not have their defaults.
    pub params: Vec<(String, HarnessValue)>,
    /// Whose turn it is.
    pub schedule: Schedule,
}

/// The seed that no token needs to name.
const USUAL_SEED: u64 = 1;

impl Token {
    /// How a harness is run as the token says.
    #[must_use]
    pub fn options(&self) -> CheckOptions {
        let room = match self.rooms[..] {
            [] => Room::All,
            [one] => Room::Programs(one),
            [..] => Room::Kernels(self.rooms.clone()),
        };
        CheckOptions {
            ranks: self.ranks,
            launches: self.launches,
            seed: self.seed,
            room,
            grid_cut: self.grid_cut,
            params: self.params.clone(),
            ..CheckOptions::default()
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Token { ranks, launches, seed, rooms, grid_cut, params, schedule } = self;
        write!(f, "n{ranks}.l{launches}")?;
        if *seed != USUAL_SEED {
            write!(f, ".s{seed}")?;
        }
        if !rooms.is_empty() {
            let rooms: Vec<String> = rooms.iter().map(usize::to_string).collect();
            write!(f, ".k{}", rooms.join("_"))?;
        }
        if let Some(programs) = grid_cut {
            write!(f, ".g{programs}")?;
        }
        for (name, value) in params {
            write!(f, "+{name}={}", escaped(&json(value).to_string()))?;
        }
        write!(f, ":{schedule}")
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Token, Error> {
        let wrong = || Error::Text(format!("`{text}` is no token; a report prints one, such as `n2.l2:rr`"));
        let (world, schedule) = text.split_once(':').ok_or_else(wrong)?;
        let schedule = schedule.parse().map_err(|_| wrong())?;
        let mut parts = world.split('+');
        let numbers = parts.next().ok_or_else(wrong)?;
        let (rooms, params, grid_cut) = (Vec::new(), Vec::new(), None);
        let mut token = Token { ranks: 0, launches: 1, seed: USUAL_SEED, rooms, grid_cut, params, schedule };
        let count = |digits: &str| digits.parse::<usize>().ok().filter(|&n| n > 0 && n <= 1 << 20).ok_or_else(wrong);
        for part in numbers.split('.') {
            let digits = part.get(1..).ok_or_else(wrong)?;
            match part.as_bytes()[0] {
                b'n' => token.ranks = count(digits)?,
                b'l' => token.launches = count(digits)?,
                b's' => token.seed = digits.parse().map_err(|_| wrong())?,
                b'g' => token.grid_cut = Some(count(digits)? as u32),
                b'k' => token.rooms = digits.split('_').map(count).collect::<Result<_, _>>()?,
                _ => return Err(wrong()),
            }
        }
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = plain(value).and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(wrong)?;
            token.params.push((name.to_owned(), from_json(&value).ok_or_else(wrong)?));
        }
        if token.ranks == 0 { Err(wrong()) } else { Ok(token) }
    }
}

/// A parameter's value as JSON. Buffers are not parameters.
pub(super) fn json(value: &HarnessValue) -> Json {
    match value {
        HarnessValue::None | HarnessValue::Object(_) => Json::Null,
        HarnessValue::Bool(b) => Json::from(*b),
        HarnessValue::Int(i) => i64::try_from(*i).map_or_else(|_| Json::from(*i as f64), Json::from),
        HarnessValue::Float(x) => Json::from(*x),
        HarnessValue::Str(text) => Json::from(text.as_str()),
        HarnessValue::List(items) => items.iter().map(json).collect(),
    }
}

fn from_json(value: &Json) -> Option<HarnessValue> {
    Some(match value {
        Json::Null => HarnessValue::None,
        Json::Bool(b) => HarnessValue::Bool(*b),
        Json::Number(number) => match number.as_i64() {
            Some(i) => HarnessValue::Int(i.into()),
            None => HarnessValue::Float(number.as_f64()?),
        },
        Json::String(text) => HarnessValue::Str(text.clone()),
        Json::Array(items) => HarnessValue::List(items.iter().map(from_json).collect::<Option<_>>()?),
        Json::Object(_) => return None,
    })
}

/// Text that a shell and a token take as it is: everything else is written as `%` and its code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

fn plain(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let code = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back() {
        for text in [
            "n4.l2.k8:p3.1f.200",
            "n2.l1:rr",
            "n3.l2:c0x5,2",
            "n3.l2.s9:c1f@0x5,2",
            "n2.l1.k132_264:s3",
            "n2.l1.g1+n=5:rr",
            "n2.l1+n=5+x=-1.5+name=%22a%2bb%22+flag=true+none=null+list=%5b1%2c2%5d:rr",
        ] {
            assert_eq!(text.parse::<Token>().map(|token| token.to_string()).ok().as_deref(), Some(text));
        }
        for text in [
            "",
            "n4",
            "l2:rr",
            "n0:rr",
            "n4:zz",
            "nx:rr",
            "n99999999999:rr",
            ".:rr",
            "n2.k1_:rr",
            "n2.g0:rr",
            "n2.g:rr",
            "n2+n:rr",
            "n2+n=%2:rr",
            "n2+n={}:rr",
        ] {
            assert!(text.parse::<Token>().is_err(), "{text}");
        }
    }
}
