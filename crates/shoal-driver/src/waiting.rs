//! Programs that wait, as a report of a stuck launch shows them.

use crate::{last_writer::LastWriter, source_site::SourceSite};
use core::fmt;
use shoal_abi::{WaitCondition, print::PrintKind};

/// A program that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The program's id.
    pub program: [u32; 3],
    /// Where it waits, when known.
    pub site: Option<SourceSite>,
    /// What it waits for, when it said so.
    pub value: Option<AwaitedValue>,
}

/// A number in memory that a program watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedValue {
    /// Where it is.
    pub address: usize,
    /// Where that is in the memory of an argument, when that is known.
    pub place: Option<String>,
    /// What kind of number it is.
    pub kind: PrintKind,
    /// When the program goes on.
    pub condition: WaitCondition,
    /// The bits that memory is compared with.
    pub expected: u64,
    /// The bits that were there when the launch was given up.
    pub held: u64,
    /// Who wrote it last, if that was recorded.
    pub last_writer: Option<LastWriter>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.program;
        write!(f, "program ({x}, {y}, {z}) waits")?;
        if let Some(site) = &self.site {
            write!(f, " at {site}")?;
        }
        if let Some(value) = &self.value {
            write!(f, " {value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AwaitedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "for {}{} at {:#x}", self.condition.words(), self.kind.number_text(self.expected), self.address)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        write!(f, ", where {} is", self.kind.number_text(self.held))?;
        match &self.last_writer {
            Some(writer) => write!(f, "; {writer}"),
            None => Ok(()),
        }
    }
}
