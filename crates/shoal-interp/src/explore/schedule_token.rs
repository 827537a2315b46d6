//! Schedules as short texts, to be printed and given again.
//!
//! | text | schedule |
//! |---|---|
//! | `rr` | each program in turn |
//! | `r1f` | random, seed 0x1f |
//! | `p3.1f.200` | random priorities of which 3 change, within 200 choices, seed 0x1f |
//! | `s1f` | ranks one after the other, seed 0x1f |
//! | `c0x5,2,1x3` | these choices, then no switch; each is counted from the program that ran last |
//! | `c1f@0x5` | the same, programs starting as in `r1f` |

use std::fmt;
use std::str::FromStr;

use crate::launch::Order;
use crate::pick::Picker;

/// Whose turn it is at every scheduling point of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// By a rule.
    Order(Order),
    /// By these choices.
    Choices {
        /// The seed of the order in which programs start; `None`: as the grid says.
        starts: Option<u64>,
        /// Each the place of a program among those that can run, counted from the one that ran last; after them
        /// programs are switched only when one cannot go on.
        choices: Vec<u32>,
    },
}

impl Schedule {
    pub(crate) fn picker(&self) -> Picker {
        match self {
            Schedule::Order(order) => Picker::new(*order),
            Schedule::Choices { starts, choices } => Picker::replaying(*starts, choices.clone()),
        }
    }

    /// Choices from programs that start as the grid says.
    #[must_use]
    pub fn choosing(choices: Vec<u32>) -> Schedule {
        Schedule::Choices { starts: None, choices }
    }

    /// The seed of the order in which programs start.
    pub(crate) fn starts(&self) -> Option<u64> {
        match self {
            Schedule::Order(Order::RoundRobin | Order::Overtaken { .. }) => None,
            Schedule::Order(Order::Random(seed) | Order::Pct { seed, .. } | Order::Skewed(seed)) => Some(*seed),
            Schedule::Choices { starts, .. } => *starts,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Order(Order::RoundRobin) => f.write_str("rr"),
            Schedule::Order(Order::Random(seed)) => write!(f, "r{seed:x}"),
            Schedule::Order(Order::Pct { seed, depth, horizon }) => write!(f, "p{depth}.{seed:x}.{horizon}"),
            Schedule::Order(Order::Skewed(seed)) => write!(f, "s{seed:x}"),
            Schedule::Order(Order::Overtaken { transfer, times }) => write!(f, "o{transfer:x}.{times}"),
            Schedule::Choices { starts, choices } => {
                f.write_str("c")?;
                if let Some(seed) = starts {
                    write!(f, "{seed:x}@")?;
                }
                let mut first = true;
                for run in choices.chunk_by(|a, b| a == b) {
                    let comma = if std::mem::take(&mut first) { "" } else { "," };
                    match run {
                        [one] => write!(f, "{comma}{one}")?,
                        many => write!(f, "{comma}{}x{}", many[0], many.len())?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// A text that is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no schedule; a report prints one, such as `rr`, `r1f`, `p3.1f.200`, `s1f`, `o1f.2` or `c0x5,2`")]
pub struct NoSchedule(String);

/// Choices of a token; more are a mistake or an attack.
const MAX_CHOICES: usize = 1 << 22;

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Schedule, NoSchedule> {
        let wrong = || NoSchedule(text.to_owned());
        let hex = |digits: &str| u64::from_str_radix(digits, 16).map_err(|_| wrong());
        if text == "rr" {
            return Ok(Schedule::Order(Order::RoundRobin));
        }
        if let Some(seed) = text.strip_prefix('r') {
            return Ok(Schedule::Order(Order::Random(hex(seed)?)));
        }
        if let Some((depth, seed)) = text.strip_prefix('p').and_then(|rest| rest.split_once('.')) {
            let depth = depth.parse().ok().filter(|&depth| depth <= 64).ok_or_else(wrong)?;
            let (seed, horizon) = seed.split_once('.').ok_or_else(wrong)?;
            let horizon = horizon.parse().map_err(|_| wrong())?;
            return Ok(Schedule::Order(Order::Pct { seed: hex(seed)?, depth, horizon }));
        }
        if let Some(seed) = text.strip_prefix('s') {
            return Ok(Schedule::Order(Order::Skewed(hex(seed)?)));
        }
        if let Some((transfer, times)) = text.strip_prefix('o').and_then(|rest| rest.split_once('.')) {
            let times = times.parse().map_err(|_| wrong())?;
            return Ok(Schedule::Order(Order::Overtaken { transfer: hex(transfer)?, times }));
        }
        let list = text.strip_prefix('c').ok_or_else(wrong)?;
        let (starts, list) = match list.split_once('@') {
            Some((seed, list)) => (Some(hex(seed)?), list),
            None => (None, list),
        };
        let mut choices = Vec::new();
        for item in list.split(',').filter(|item| !item.is_empty()) {
            let (choice, times) = item.split_once('x').unwrap_or((item, "1"));
            let choice: u32 = choice.parse().map_err(|_| wrong())?;
            let times: usize = times.parse().map_err(|_| wrong())?;
            if times > MAX_CHOICES - choices.len() {
                return Err(wrong());
            }
            choices.extend(std::iter::repeat_n(choice, times));
        }
        Ok(Schedule::Choices { starts, choices })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_schedules_are_the_same() {
        let schedules = [
            Schedule::Order(Order::RoundRobin),
            Schedule::Order(Order::Random(0x1f)),
            Schedule::Order(Order::Pct { seed: 7, depth: 3, horizon: 200 }),
            Schedule::Order(Order::Skewed(0x2a)),
            Schedule::Order(Order::Overtaken { transfer: 0x2a, times: 3 }),
            Schedule::choosing(vec![0, 0, 0, 2, 1, 1]),
            Schedule::choosing(vec![]),
            Schedule::Choices { starts: Some(0x1f), choices: vec![0, 0, 3] },
            Schedule::Choices { starts: Some(0), choices: vec![] },
        ];
        for schedule in schedules {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        assert_eq!(Schedule::choosing(vec![0, 0, 0, 2, 1, 1]).to_string(), "c0x3,2,1x2");
        for wrong in [
            "",
            "x",
            "rz",
            "p3",
            "p.1",
            "p3.1",
            "p3.1.",
            "s",
            "sz",
            "o1",
            "o1.",
            "c1y",
            "cz@1",
            "c0x99999999999",
            "c-1",
        ] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }
}
