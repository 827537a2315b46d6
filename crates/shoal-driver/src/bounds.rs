//! Which memory the programs of a launch may touch, for code that checks its accesses.

use core::ops::Range;
use shoal_abi::{ANYWHERE, AccessBase, AccessKind, CheckedAccess};

/// Memory that one run-time parameter points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgMemory {
    /// The parameter's name.
    pub name: String,
    /// Its first byte.
    pub start: usize,
    /// Its size.
    pub bytes: usize,
}

impl ArgMemory {
    fn title(&self) -> String {
        format!("`{}` ({} bytes)", self.name, self.bytes)
    }

    fn range(&self) -> Range<u64> {
        self.start as u64..(self.start + self.bytes) as u64
    }
}

/// The memory of all arguments of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    args: Vec<Option<(ArgMemory, Range<u64>)>>,
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Place,
    Alignment,
}

impl Bounds {
    /// The memory of each run-time parameter in order; `None` for those that are no pointers, and for pointers to
    /// memory of unknown size, which are not checked.
    ///
    /// Arguments that overlap are parts of one tensor: through each of them, all of it may be reached.
    #[must_use]
    pub fn new(args: Vec<Option<ArgMemory>>) -> Self {
        let mut joined: Vec<Range<u64>> = args.iter().flatten().map(ArgMemory::range).collect();
        joined.sort_by_key(|range| range.start);
        joined.dedup_by(|next, range| {
            let overlaps = next.start < range.end;
            if overlaps {
                range.end = range.end.max(next.end);
            }
            overlaps
        });
        let reach = |memory: ArgMemory| {
            let own = memory.range();
            let around = joined.iter().find(|range| range.start <= own.start && own.end <= range.end);
            let reach = around.cloned().unwrap_or(own);
            (memory, reach)
        };
        Self { args: args.into_iter().map(|arg| arg.map(reach)).collect() }
    }

    /// For each run-time parameter, where the memory that may be reached through it begins and ends; all that can be memory
    /// where that is not known.
    #[must_use]
    pub(crate) fn reaches(&self) -> Vec<Range<u64>> {
        let reach = |arg: &Option<(ArgMemory, Range<u64>)>| arg.as_ref().map_or(ANYWHERE, |(_, reach)| reach.clone());
        self.args.iter().map(reach).collect()
    }

    /// The memory of the parameter that addresses are computed from, if it is known.
    fn memory(&self, base: AccessBase) -> Option<&(ArgMemory, Range<u64>)> {
        match base {
            AccessBase::Param(param) => self.args.get(param as usize)?.as_ref(),
            AccessBase::SomeParam | AccessBase::Unknown => None,
        }
    }

    /// Whether the bytes `first..last` may be accessed as `access` does.
    pub(crate) fn allow(&self, access: &CheckedAccess, first: u64, last: u64) -> bool {
        let inside = |range: &Range<u64>| range.start <= first && last <= range.end;
        match AccessBase::from_number(access.base) {
            AccessBase::SomeParam => self.args.iter().flatten().any(|(_, reach)| inside(reach)),
            base => inside(self.memory(base).map_or(&ANYWHERE, |(_, reach)| reach)),
        }
    }

    fn wrong(&self, access: &CheckedAccess, address: u64) -> Option<Wrong> {
        let bytes = u64::from(access.bytes);
        if !self.allow(access, address, address.saturating_add(bytes)) {
            return Some(Wrong::Place);
        }
        (!address.is_multiple_of(bytes)).then_some(Wrong::Alignment)
    }

    /// Where in the memory of which argument an address lies.
    pub(crate) fn place(&self, address: u64) -> Option<String> {
        let (memory, _) = self.args.iter().flatten().find(|(memory, _)| memory.range().contains(&address))?;
        Some(format!("byte {} of {}", address - memory.range().start, memory.title()))
    }

    /// What is wrong with the first of these addresses that may not be accessed.
    pub(crate) fn complaint(&self, access: &CheckedAccess, addresses: impl Iterator<Item = u64>) -> Option<String> {
        let (address, wrong) = addresses.filter_map(|a| Some((a, self.wrong(access, a)?))).next()?;
        let (verb, bytes) = (verb(access), access.bytes);
        let place = match wrong {
            Wrong::Place => self.describe(access, address),
            Wrong::Alignment => format!("which is not a multiple of {bytes}"),
        };
        Some(format!("the program {verb} {bytes} bytes at {address:#x}, {place}"))
    }

    /// Where an address lies, seen from the argument it was computed from or else from the nearest one.
    fn describe(&self, access: &CheckedAccess, address: u64) -> String {
        let distance = |range: &Range<u64>| range.start.saturating_sub(address).max(address.saturating_sub(range.end));
        let nearest = || self.args.iter().flatten().min_by_key(|(memory, _)| distance(&memory.range()));
        let found = match AccessBase::from_number(access.base) {
            AccessBase::SomeParam => nearest(),
            base => self.memory(base),
        };
        let Some((memory, _)) = found else { return "where no memory is".into() };
        let (range, title) = (memory.range(), memory.title());
        if address < range.start {
            format!("{} bytes before {title}", range.start - address)
        } else if address < range.end {
            format!("at byte {} of {title}", address - range.start)
        } else {
            format!("{} bytes past the end of {title}", address - range.end)
        }
    }
}

/// What an access does, in words.
fn verb(access: &CheckedAccess) -> &'static str {
    match AccessKind::from_number(access.kind) {
        Some(AccessKind::Read) => "reads",
        Some(AccessKind::Write) => "writes",
        Some(AccessKind::Atomic) | None => "atomically accesses",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;
    use shoal_abi::Site;

    fn access(base: AccessBase) -> CheckedAccess {
        let site = Site { file: ptr::null(), file_len: 0, line: 0, col: 0, what: ptr::null(), what_len: 0 };
        CheckedAccess { site, bytes: 4, kind: AccessKind::Read.number(), base: base.number() }
    }

    fn bounds() -> Bounds {
        let memory = |name: &str, start, bytes| Some(ArgMemory { name: name.into(), start, bytes });
        // `x` and `y` are neighbours; `part` lies in `y`.
        Bounds::new(vec![memory("x", 0x10000, 16), None, memory("y", 0x10010, 32), memory("part", 0x10018, 8)])
    }

    #[test]
    fn an_argument_ends_where_it_ends() {
        let bounds = bounds();
        let complaint = |base, address| bounds.complaint(&access(base), [address].into_iter());
        assert_eq!(complaint(AccessBase::Param(0), 0x1000c), None);
        assert_eq!(
            complaint(AccessBase::Param(0), 0x10010).unwrap(),
            "the program reads 4 bytes at 0x10010, 0 bytes past the end of `x` (16 bytes)"
        );
        assert_eq!(
            complaint(AccessBase::Param(0), 0x1000e).unwrap(),
            "the program reads 4 bytes at 0x1000e, at byte 14 of `x` (16 bytes)"
        );
        assert_eq!(
            complaint(AccessBase::Param(2), 0x10008).unwrap(),
            "the program reads 4 bytes at 0x10008, 8 bytes before `y` (32 bytes)"
        );
        assert_eq!(
            complaint(AccessBase::Param(0), 0x10002).unwrap(),
            "the program reads 4 bytes at 0x10002, which is not a multiple of 4"
        );
        assert_eq!(complaint(AccessBase::Param(3), 0x10010), None, "a part of a tensor reaches all of it");
        assert_eq!(complaint(AccessBase::SomeParam, 0x10010), None);
        assert_eq!(complaint(AccessBase::Unknown, 0x5000_0000), None);
        assert_eq!(complaint(AccessBase::Unknown, 8).unwrap(), "the program reads 4 bytes at 0x8, where no memory is");
        for beyond in [1 << 63, u64::MAX - 3] {
            assert!(complaint(AccessBase::Unknown, beyond).unwrap().ends_with("where no memory is"));
        }
    }
}
