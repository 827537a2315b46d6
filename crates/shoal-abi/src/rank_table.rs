//! What a kernel on a GPU knows of the other ranks: a table in the GPU's memory, whose address is the kernel's last
//! parameter if its description says so ([`TableUse`](crate::TableUse)).
//!
//! ```text
//!  byte  0   u32   this rank's number
//!        4   u32   the number of ranks
//!        8   u64   where this rank's heap begins
//!       16   u64   the bytes of a heap
//!       24   u64   nanoseconds that a wait may take
//!       32   u64   the address of the report, in memory that the host sees too
//!       40   u64   where the words in which teams meet begin in each heap
//!       48   u32   the axes of the mesh
//!       56         for each of MAX_AXES axes: u32 position, u32 size
//!      120   u64   where the heap of rank 0 begins, as this GPU sees it
//!      128   u64   the distance from each rank's heap to the next one's
//!      136         a row for each team, by its handle: i32 members (0: no such team), i32 this rank's place (-1: none),
//!                  u32 each member as a rank of the world (room for all), i32 each rank's place (-1: none)
//! ```
//!
//! A program that cannot go on writes a [report](Entry) and ends. So the launch ends as others do, the GPU stays usable,
//! and the host reads why.
//!
//! ```text
//!  byte  0   u32   how many programs have something to say
//!        4   u32   not zero: the host wants all programs that wait to give up
//!      512         the entries of the first of them, 512 bytes each
//! ```

use crate::AccessKind;
use crate::team::{Topology, handle};

/// The offset of this rank's number.
pub const RANK_AT: u64 = 0;
/// The offset of the number of ranks.
pub const SIZE_AT: u64 = 4;
/// The offset of where this rank's heap begins.
pub const OWN_HEAP_AT: u64 = 8;
/// The offset of the bytes of a heap.
pub const HEAP_BYTES_AT: u64 = 16;
/// The offset of the nanoseconds that a wait may take.
pub const WAIT_LIMIT_AT: u64 = 24;
/// The offset of the report's address.
pub const REPORT_AT: u64 = 32;
/// The offset of where the words of teams begin in each heap.
pub const SYNC_WORDS_AT: u64 = 40;
/// The offset of the number of axes.
pub const AXES_AT: u64 = 48;
/// The offset of the axes.
pub const MESH_AT: u64 = 56;
/// The most axes of a mesh that kernels on a GPU see.
pub const MAX_AXES: usize = 8;
/// The offset of where the heap of rank 0 begins.
pub const FIRST_HEAP_AT: u64 = MESH_AT + 8 * MAX_AXES as u64;
/// The offset of the distance between heaps.
pub const HEAP_STRIDE_AT: u64 = FIRST_HEAP_AT + 8;
/// The offset of the rows of teams.
pub const TEAMS_AT: u64 = HEAP_STRIDE_AT + 8;

/// The offset of a team's number of members in its row.
pub const TEAM_SIZE_AT: u64 = 0;
/// The offset of this rank's place in a team's row.
pub const TEAM_PLACE_AT: u64 = 4;
/// The offset of the members in a team's row.
pub const TEAM_MEMBERS_AT: u64 = 8;

/// The bytes of a team's row, in a world of so many ranks.
#[must_use]
pub const fn team_row_bytes(ranks: u64) -> u64 {
    8 + 8 * ranks
}

/// The most programs that a report tells of.
pub const REPORT_ENTRIES: usize = 15;
/// The offset of the first entry, and the bytes of each.
pub const ENTRY_BYTES: usize = 512;
/// The offset of the word by which the host lets programs give up.
pub const STOP_AT: usize = 4;
/// The bytes of a report.
pub const REPORT_BYTES: usize = (REPORT_ENTRIES + 1) * ENTRY_BYTES;

/// Offsets in an entry of a report.
pub mod entry {
    /// What happened, a [`DeviceFailure`](super::DeviceFailure); written last.
    pub const FAILURE_AT: u64 = 0;
    /// The bits of the word, and the number of the [condition](crate::WaitCondition) that it was to meet.
    pub const WORD_AT: u64 = 4;
    /// The address that it is about.
    pub const ADDRESS_AT: u64 = 8;
    /// What was waited for, or the rank, team or axis that was asked for; of a wrong access, the number of its
    /// [base](crate::AccessBase).
    pub const WANTED_AT: u64 = 16;
    /// What was there instead; of a wrong access, its [form](super::AccessForm).
    pub const SEEN_AT: u64 = 24;
    /// The program's place in the grid, three numbers.
    pub const PROGRAM_AT: u64 = 32;
    /// The place in the source, see [`site_text`](super::site_text).
    pub const SITE_AT: u64 = 64;
}

/// The most bytes of a place in the source with what is said there.
pub const SITE_BYTES: usize = ENTRY_BYTES - entry::SITE_AT as usize;
/// Of those, the most that a message takes.
const MESSAGE_BYTES: usize = 256;

/// What a report says of a place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedSite {
    /// The file.
    pub file: String,
    /// Line and column, counted from 1; 0 when unknown.
    pub line: u32,
    /// The column.
    pub col: u32,
    /// What is done there, in the kernel's words.
    pub what: String,
    /// The kernel: launches return before it ends, so that the host may know of later ones.
    pub kernel: String,
    /// What the kernel's author says to it, such as the message of an assertion. May have several lines.
    pub message: String,
}

/// A place in the source as generated code carries it: file, line, column, what is done there and the kernel, one to a line, then
/// the message; with zeros behind, up to a multiple of 8 bytes. Of a long file name the end is kept, of a long message the
/// beginning.
#[must_use]
pub fn site_text(site: &ReportedSite) -> Vec<u8> {
    let ReportedSite { file, line, col, what, kernel, message } = site;
    let rest = format!("\n{line}\n{col}\n{what}\n{kernel}\n{}", beginning(message, MESSAGE_BYTES));
    let room = SITE_BYTES.saturating_sub(1 + rest.len());
    let cut = file.char_indices().map(|(at, _)| at).find(|at| file.len() - at <= room).unwrap_or(file.len());
    let mut text = beginning(&format!("{}{rest}", &file[cut..]), SITE_BYTES - 1).as_bytes().to_vec();
    text.resize((text.len() + 1).next_multiple_of(8), 0);
    text
}

/// As many characters from the start as fit into so many bytes.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// Reads what [`site_text`] wrote.
#[must_use]
pub fn read_site(bytes: &[u8]) -> Option<ReportedSite> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = text.splitn(6, '\n');
    let (file, line, col) = (lines.next()?.to_owned(), lines.next()?.parse().ok()?, lines.next()?.parse().ok()?);
    let mut rest = || lines.next().unwrap_or_default().to_owned();
    Some(ReportedSite { file, line, col, what: rest(), kernel: rest(), message: rest() })
}

/// How a program accessed memory that it may not: what a report of [`DeviceFailure::WrongAccess`] holds as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessForm {
    /// What it does.
    pub kind: AccessKind,
    /// Bytes of each element.
    pub bytes: u32,
    /// Elements, one behind the other.
    pub count: u32,
}

impl AccessForm {
    /// As one number.
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.bytes) | u64::from(self.kind.number()) << 16 | u64::from(self.count) << 32
    }

    /// Of one number.
    #[must_use]
    pub fn from_number(number: u64) -> Option<AccessForm> {
        let kind = AccessKind::from_number((number >> 16 & 0xffff) as u32)?;
        Some(AccessForm { kind, bytes: (number & 0xffff) as u32, count: (number >> 32) as u32 })
    }
}

/// Why a program on a GPU could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceFailure {
    /// It waited too long for a word.
    WaitedTooLong,
    /// It went round and round a loop that watches memory for too long.
    LoopedTooLong,
    /// A pointer was to be taken to another rank that is not into the heap.
    OutsideHeap,
    /// There is no such rank.
    NoSuchRank,
    /// The mesh has no such axis.
    NoSuchAxis,
    /// This rank is in no such team.
    NoSuchTeam,
    /// A team has no such member.
    NoSuchMember,
    /// A rank that is no member came to a team's meeting.
    NotAMember,
    /// Two programs of a rank came to a team's meeting at a time.
    TwoAtMeeting,
    /// A signal is not at a multiple of 8.
    Misaligned,
    /// Loads and stores do not reach the rank.
    OutOfReach,
    /// An assertion of the kernel does not hold.
    AssertFailed,
    /// Memory was to be accessed that is not the kernel's, or not aligned to its elements.
    WrongAccess,
}

impl DeviceFailure {
    /// All of them, by number from 1 on.
    pub const ALL: [DeviceFailure; 13] = [
        DeviceFailure::WaitedTooLong,
        DeviceFailure::LoopedTooLong,
        DeviceFailure::OutsideHeap,
        DeviceFailure::NoSuchRank,
        DeviceFailure::NoSuchAxis,
        DeviceFailure::NoSuchTeam,
        DeviceFailure::NoSuchMember,
        DeviceFailure::NotAMember,
        DeviceFailure::TwoAtMeeting,
        DeviceFailure::Misaligned,
        DeviceFailure::OutOfReach,
        DeviceFailure::AssertFailed,
        DeviceFailure::WrongAccess,
    ];

    /// Its number in a report.
    #[must_use]
    pub fn number(self) -> u32 {
        let at = DeviceFailure::ALL.iter().position(|&failure| failure == self);
        at.map_or(0, |at| at as u32 + 1)
    }

    /// The failure of this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<DeviceFailure> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        DeviceFailure::ALL.get(at).copied()
    }
}

/// What one program says in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What happened.
    pub failure: DeviceFailure,
    /// The bits of the word.
    pub bits: u32,
    /// The number of the condition that the word was to meet.
    pub condition: u32,
    /// The address that it is about.
    pub address: u64,
    /// What was waited for, or asked for.
    pub wanted: u64,
    /// What was there instead.
    pub seen: u64,
    /// The program's place in the grid.
    pub program: [u32; 3],
    /// The place in the source.
    pub site: Option<ReportedSite>,
}

/// How many programs have something to say in a report.
#[must_use]
pub fn reported(report: &[u8]) -> usize {
    number(report, 0, 4) as usize
}

/// What they say, as far as there is room.
#[must_use]
pub fn entries(report: &[u8]) -> Vec<Entry> {
    let all = report.chunks_exact(ENTRY_BYTES).skip(1).take(reported(report).min(REPORT_ENTRIES));
    let read = |bytes: &[u8]| {
        let word = |at: u64| number(bytes, at, 4) as u32;
        let long = |at: u64| number(bytes, at, 8);
        let kind = word(entry::WORD_AT);
        Some(Entry {
            failure: DeviceFailure::from_number(word(entry::FAILURE_AT))?,
            bits: kind & 0xff,
            condition: kind >> 8,
            address: long(entry::ADDRESS_AT),
            wanted: long(entry::WANTED_AT),
            seen: long(entry::SEEN_AT),
            program: [0, 4, 8].map(|more| word(entry::PROGRAM_AT + more)),
            site: read_site(&bytes[entry::SITE_AT as usize..][..SITE_BYTES]),
        })
    };
    all.filter_map(read).collect()
}

fn number(bytes: &[u8], at: u64, width: usize) -> u64 {
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at as usize..][..width]);
    u64::from_le_bytes(word)
}

/// How far heaps are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distances {
    /// Each is as far from the next, in the order of ranks.
    Equal,
    /// They lie where they happen to: kernels ask NVSHMEM, and the table has that of rank 0 alone.
    Any,
}

/// Where a rank's memory is, for [`encode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places<'a> {
    /// Where each rank's heap begins, as the GPU sees it.
    pub heaps: &'a [u64],
    /// How far they are from each other.
    pub distances: Distances,
    /// The bytes of a heap.
    pub heap_bytes: u64,
    /// Where the words of teams begin in each heap.
    pub sync_words: u64,
    /// Nanoseconds that a wait may take.
    pub wait_limit: u64,
    /// The address of the report.
    pub report: u64,
}

/// The table of a rank.
///
/// # Errors
/// When the mesh has more axes than fit, or heaps do not lie at equal distances.
pub fn encode(topology: &Topology, places: &Places<'_>) -> Result<Vec<u8>, String> {
    let ranks = topology.size();
    let mesh = topology.mesh();
    if mesh.len() > MAX_AXES {
        return Err(format!("a mesh of {} axes; kernels on a GPU see at most {MAX_AXES}", mesh.len()));
    }
    let mut table = Vec::new();
    let put = |table: &mut Vec<u8>, number: u32| table.extend(number.to_le_bytes());
    let put_long = |table: &mut Vec<u8>, number: u64| table.extend(number.to_le_bytes());
    put(&mut table, topology.rank());
    put(&mut table, ranks);
    let own = places.heaps.get(topology.rank() as usize).copied().unwrap_or(0);
    for number in [own, places.heap_bytes, places.wait_limit, places.report, places.sync_words] {
        put_long(&mut table, number);
    }
    put(&mut table, mesh.len() as u32);
    put(&mut table, 0);
    for axis in 0..MAX_AXES {
        let at = mesh.get(axis);
        put(&mut table, at.map_or(0, |at| at.position));
        put(&mut table, at.map_or(0, |at| at.size));
    }
    let first = places.heaps.first().copied().unwrap_or(0);
    let stride = match places.distances {
        Distances::Equal => places.heaps.get(1).map_or(0, |second| second.wrapping_sub(first)),
        Distances::Any => 0,
    };
    if places.distances == Distances::Equal
        && (0u64..).zip(places.heaps).any(|(rank, &heap)| heap != first.wrapping_add(rank.wrapping_mul(stride)))
    {
        return Err("the heaps of ranks on a GPU lie at equal distances".to_owned());
    }
    put_long(&mut table, first);
    put_long(&mut table, stride);
    for team in 0..handle::END {
        let members = topology.members(team).unwrap_or(&[]);
        let place = |rank: u32| members.iter().position(|&member| member == rank).map_or(-1, |place| place as i32);
        put(&mut table, members.len() as u32);
        put(&mut table, place(topology.rank()).cast_unsigned());
        for at in 0..ranks as usize {
            put(&mut table, members.get(at).copied().unwrap_or(0));
        }
        for rank in 0..ranks {
            put(&mut table, place(rank).cast_unsigned());
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::AxisPosition;

    #[test]
    fn every_failure_has_a_number_of_its_own_and_none_is_zero() {
        for failure in DeviceFailure::ALL {
            assert_eq!(DeviceFailure::from_number(failure.number()), Some(failure));
        }
        assert_eq!(DeviceFailure::from_number(0), None);
        assert_eq!(DeviceFailure::from_number(99), None);
    }

    #[test]
    fn a_table_is_where_kernels_look() {
        let mesh = vec![AxisPosition { position: 1, size: 3 }];
        let topology = Topology::new(1, 3).with_team(handle::FIRST_MADE, vec![2, 1]).with_mesh(mesh);
        let heaps = [0x1000, 0x2000, 0x3000];
        let places_of = |heaps| {
            let distances = Distances::Equal;
            Places { heaps, distances, heap_bytes: 0x800, sync_words: 0x100, wait_limit: 7, report: 0x9000 }
        };
        let table = encode(&topology, &places_of(&heaps)).unwrap();
        let word = |at: u64| number(&table, at, 4) as u32;
        let long = |at: u64| number(&table, at, 8);
        assert_eq!((word(RANK_AT), word(SIZE_AT), word(AXES_AT)), (1, 3, 1));
        assert_eq!((long(OWN_HEAP_AT), long(HEAP_BYTES_AT), long(SYNC_WORDS_AT)), (0x2000, 0x800, 0x100));
        assert_eq!((long(WAIT_LIMIT_AT), long(REPORT_AT)), (7, 0x9000));
        assert_eq!((word(MESH_AT), word(MESH_AT + 4)), (1, 3));
        assert_eq!((long(FIRST_HEAP_AT), long(HEAP_STRIDE_AT)), (0x1000, 0x1000));
        let row = TEAMS_AT + handle::FIRST_MADE as u64 * team_row_bytes(3);
        assert_eq!((word(row + TEAM_SIZE_AT), word(row + TEAM_PLACE_AT)), (2, 1));
        assert_eq!([0, 4].map(|at| word(row + TEAM_MEMBERS_AT + at)), [2, 1]);
        let places = row + TEAM_MEMBERS_AT + 4 * 3;
        assert_eq!([0, 4, 8].map(|at| word(places + at).cast_signed()), [-1, 1, 0]);
        let none = row + team_row_bytes(3);
        assert_eq!((word(none), word(none + 4).cast_signed()), (0, -1));
        assert!(encode(&topology, &Places { heaps: &[1, 2, 4], ..places_of(&heaps) }).is_err());
        let scattered = Places { heaps: &[1, 2, 4], distances: Distances::Any, ..places_of(&heaps) };
        assert!(encode(&topology, &scattered).is_ok(), "others than kernels with the table find them");
        assert_eq!(table.len() as u64, TEAMS_AT + handle::END as u64 * team_row_bytes(3));
    }

    #[test]
    fn reports_read_back() {
        let mut report = vec![0u8; REPORT_BYTES];
        report[0] = 20;
        let at = ENTRY_BYTES;
        report[at] = DeviceFailure::WaitedTooLong.number() as u8;
        report[at + 4..at + 6].copy_from_slice(&[64, 5]);
        report[at + 16] = 9;
        report[at + 36] = 3;
        assert_eq!(reported(&report), 20);
        let all = entries(&report);
        assert_eq!(all.len(), 1, "what is not written yet is left out");
        assert_eq!((all[0].bits, all[0].condition, all[0].wanted, all[0].program), (64, 5, 9, [0, 3, 0]));
    }

    #[test]
    fn sites_read_back() {
        let site = |file: &str, message: &str| ReportedSite {
            file: file.into(),
            line: 19,
            col: 5,
            what: "device_assert".into(),
            kernel: "add".into(),
            message: message.into(),
        };
        for message in ["", "x is negative", "two\nlines"] {
            let text = site_text(&site("kernels/sync.py", message));
            assert!(text.len().is_multiple_of(8) && text.len() < 100, "{}", text.len());
            assert_eq!(read_site(&text), Some(site("kernels/sync.py", message)));
        }
        let long = site_text(&site(&"ü".repeat(300), &"é".repeat(1000)));
        assert!(long.len() <= SITE_BYTES, "{}", long.len());
        let read = read_site(&long).unwrap();
        assert!(read.file.starts_with('ü') && read.file.len() > 80, "{}", read.file);
        assert!(read.message.starts_with('é') && read.message.len() == 256 && read.line == 19, "{}", read.message);
        assert_eq!(read_site(b"no end"), None);
    }

    #[test]
    fn forms_of_accesses_survive_their_number() {
        for kind in [AccessKind::Read, AccessKind::Write, AccessKind::Atomic] {
            let form = AccessForm { kind, bytes: 8, count: 16 };
            assert_eq!(AccessForm::from_number(form.number()), Some(form));
        }
        assert_eq!(AccessForm::from_number(7 << 16), None);
    }
}
