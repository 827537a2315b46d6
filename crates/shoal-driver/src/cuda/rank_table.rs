//! What kernels on a GPU are told of the other ranks, and what they report when they cannot go on.
//!
//! A launch passes the [table](shoal_abi::rank_table) of its rank; a kernel that only waits, and no rank, that of its
//! device. Programs that give up write into the report, which is memory of the host; whoever waits for the stream looks
//! there.

use core::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use std::sync::{Arc, Mutex, OnceLock};

use shoal_abi::{
    CheckedAccess, Site, WaitCondition,
    print::PrintKind,
    rank_table::{self, AccessForm, DeviceFailure, Distances, Entry, Places, REPORT_BYTES, ReportedSite, STOP_AT},
};

use super::{
    device::CudaDevice,
    error::CudaError,
    memory::{CudaBuffer, PinnedBuffer},
    stream::StreamRef,
};
use crate::{
    bounds::Bounds,
    error::{Failure, LaunchError},
    lock::lock,
    rank_view::RankView,
    source_site::SourceSite,
    wait_timeout::wait_timeout,
    waiting::{AwaitedValue, Waiting},
};

/// A rank's table and its report.
#[derive(Debug)]
pub struct RankTable {
    stream: StreamRef,
    table: CudaBuffer<u8>,
    report: PinnedBuffer,
    told: Mutex<Told>,
}

/// What the table says now.
#[derive(Debug)]
struct Told {
    view: Arc<RankView>,
    limit: Duration,
    /// The kernel that was launched last.
    kernel: String,
    /// The memory of its arguments, if its accesses are checked.
    bounds: Option<Arc<Bounds>>,
}

impl RankTable {
    /// The table of a rank that sees the others so; their heaps are memory that the stream's device reaches.
    ///
    /// # Errors
    /// When there is no memory, or the mesh has too many axes.
    pub fn new(stream: StreamRef, view: Arc<RankView>, limit: Duration) -> Result<RankTable, CudaError> {
        let report = PinnedBuffer::zeroed(stream.device(), REPORT_BYTES)?;
        let bytes = encode(&view, limit, report.device_address())?;
        let table = CudaBuffer::from_slice(stream, &bytes)?;
        Ok(RankTable {
            stream,
            table,
            report,
            told: Mutex::new(Told { view, limit, kernel: String::new(), bounds: None }),
        })
    }

    /// Where kernels find it, after it was made to say this in the stream's order.
    ///
    /// # Errors
    /// As [`RankTable::new`].
    pub fn telling(&self, kernel: &str, view: &Arc<RankView>, limit: Duration) -> Result<u64, CudaError> {
        let mut told = lock(&self.told);
        if !Arc::ptr_eq(&told.view, view) || told.limit != limit {
            if told.view.topology() != view.topology() || told.limit != limit {
                let bytes = encode(view, limit, self.report.device_address())?;
                self.table.copy_from(self.stream, &bytes)?;
            }
            (told.view, told.limit) = (Arc::clone(view), limit);
        }
        if told.kernel != kernel {
            kernel.clone_into(&mut told.kernel);
        }
        Ok(self.table.address())
    }

    /// Where kernels find it, for a launch that changes nothing of what it says.
    pub(super) fn launching(&self, kernel: &str) -> u64 {
        let mut told = lock(&self.told);
        if told.kernel != kernel {
            kernel.clone_into(&mut told.kernel);
        }
        self.table.address()
    }

    /// Remembers the memory of a launch's arguments, for what its programs report.
    pub fn checking(&self, bounds: &Arc<Bounds>) {
        lock(&self.told).bounds = Some(Arc::clone(bounds));
    }

    /// Whether a program has reported something. Costs no call of the driver.
    #[must_use]
    pub fn has_report(&self) -> bool {
        self.count().load(Ordering::Acquire) != 0
    }

    /// Why programs gave up, if some did. The stream's kernels have ended; what they reported is forgotten.
    #[must_use]
    pub fn take_report(&self) -> Option<LaunchError> {
        if !self.has_report() {
            return None;
        }
        let words = (0..REPORT_BYTES).step_by(4).map(|at| self.word(at).load(Ordering::Acquire));
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        self.forget();
        let told = lock(&self.told);
        let (count, mut entries) = (rank_table::reported(&bytes), rank_table::entries(&bytes));
        // Threads come in any order; what is told does not depend on it where all of them had room.
        entries.sort_by_key(|entry| (entry.program, entry.address));
        // Not the one that was launched last: launches return before their kernels end.
        let of_kernel = |entry: &Entry| entry.site.as_ref().map(|site| site.kernel.clone());
        let kernel = entries.first().and_then(of_kernel).unwrap_or_else(|| told.kernel.clone());
        let mut waiting = Vec::new();
        for entry in &entries {
            let place = entry.site.clone();
            let site = place.map(|ReportedSite { file, line, col, what, .. }| SourceSite { file, line, col, what });
            if let Some(message) = refusal(entry, &told) {
                let failure = Failure { program: entry.program, site, message, report: None };
                return Some(LaunchError::Failed {
                    kernel: of_kernel(entry).unwrap_or(kernel),
                    failure: Box::new(failure),
                });
            }
            let value = (entry.failure == DeviceFailure::WaitedTooLong).then(|| awaited(entry, &told.view));
            waiting.push(Waiting { program: entry.program, site, value });
        }
        waiting.sort_by_key(|waiting| waiting.program);
        Some(LaunchError::Stuck {
            kernel,
            more: count.saturating_sub(waiting.len()),
            waiting,
            looping: Vec::new(),
            unstarted: 0,
            after: told.limit,
        })
    }

    /// Lets programs that wait, now or until [`RankTable::forget`], give up: nobody will bring what they wait for.
    pub fn stop(&self) {
        self.word(STOP_AT).store(1, Ordering::Release);
    }

    /// Forgets what was reported, and that programs were to stop. The stream's kernels have ended.
    pub fn forget(&self) {
        for at in (0..REPORT_BYTES).step_by(4) {
            self.word(at).store(0, Ordering::Release);
        }
    }

    fn count(&self) -> &AtomicU32 {
        self.word(0)
    }

    /// A word of the report.
    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at < REPORT_BYTES, "byte {at}");
        // SAFETY: inside of the report, which is aligned to a page and lives as long as `self`; other accesses are the
        // GPU's.
        unsafe { AtomicU32::from_ptr(self.report.host_address().add(at).cast()) }
    }
}

fn encode(view: &RankView, limit: Duration, report: u64) -> Result<Vec<u8>, CudaError> {
    let heaps: Vec<u64> = view.heaps().map(|(_, heap)| heap as u64).collect();
    let places = Places {
        heaps: &heaps,
        distances: if view.is_scattered() { Distances::Any } else { Distances::Equal },
        heap_bytes: view.heap_bytes() as u64,
        sync_words: view.sync_words().unwrap_or(0) as u64,
        wait_limit: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
        report,
    };
    rank_table::encode(view.topology(), &places).map_err(CudaError::Invalid)
}

/// What was asked for that there is not; `None` if the program waited too long.
fn refusal(entry: &Entry, told: &Told) -> Option<String> {
    let view = &told.view;
    let (address, topology) = (entry.address as usize, view.topology());
    let number = entry.wanted as i32;
    let otherwise = |said: Result<String, String>| said.unwrap_or_else(|why| why);
    Some(match entry.failure {
        DeviceFailure::WaitedTooLong | DeviceFailure::LoopedTooLong => return None,
        DeviceFailure::OutsideHeap if entry.wanted.cast_signed() < 0 => {
            format!("{} bytes cannot be copied", entry.wanted.cast_signed())
        }
        DeviceFailure::OutsideHeap => {
            let bytes = usize::try_from(entry.wanted).unwrap_or(usize::MAX);
            let me = view.rank().cast_signed();
            otherwise(view.symmetric_range(address, bytes, me).map(|_| format!("{bytes} bytes cannot be reached")))
        }
        DeviceFailure::NoSuchRank => format!("there is no rank {number}; the world has {}", view.size()),
        DeviceFailure::NoSuchAxis => otherwise(topology.axis(number as u32).map(|_| format!("no axis {number}"))),
        DeviceFailure::NoSuchTeam => otherwise(topology.members(number).map(|_| format!("no team {number}"))),
        DeviceFailure::NoSuchMember => {
            format!("there is no member {number} of team {address}, which has {}", entry.seen)
        }
        DeviceFailure::NotAMember => {
            format!("rank {} is not a member of team {number}, so it cannot meet its members", view.rank())
        }
        DeviceFailure::TwoAtMeeting => format!(
            "two programs of rank {} are at meetings of team {number} at a time, or a launch was ended there; let one \
             program of each rank come",
            view.rank()
        ),
        DeviceFailure::Misaligned => format!("the signal at {address:#x} is not at a multiple of 8"),
        DeviceFailure::OutOfReach => {
            let me = view.rank();
            format!("rank {number} cannot be reached by load and store from rank {me}; use put, get and signals")
        }
        DeviceFailure::AssertFailed => entry.site.as_ref().map(|site| site.message.clone()).unwrap_or_default(),
        DeviceFailure::WrongAccess => match &entry.site {
            Some(site) if site.kernel != told.kernel => {
                format!(
                    "a wrong access at {:#x}; launches that came later have hidden the memory of its arguments",
                    entry.address
                )
            }
            _ => wrong_access(entry, told.bounds.as_deref()),
        },
    })
}

/// What is wrong with an access, as a CPU says it.
fn wrong_access(entry: &Entry, bounds: Option<&Bounds>) -> String {
    let Some(form) = AccessForm::from_number(entry.seen) else {
        return format!("a wrong access at {:#x}", entry.address);
    };
    let access = CheckedAccess {
        site: Site::UNKNOWN,
        bytes: form.bytes,
        kind: form.kind.number(),
        base: entry.wanted.cast_signed() as i32,
    };
    let each = (0..u64::from(form.count)).map(|at| entry.address.wrapping_add(at * u64::from(form.bytes)));
    let complaint = bounds.and_then(|bounds| bounds.complaint(&access, each));
    // Each element is where it should be, but they were to be accessed at once.
    complaint.unwrap_or_else(|| {
        let bytes = form.bytes * form.count;
        format!("the program accesses {bytes} bytes at {:#x}, which a hint says is a multiple of more", entry.address)
    })
}

fn awaited(entry: &Entry, view: &RankView) -> AwaitedValue {
    let kind = if entry.bits == 64 { PrintKind::U64 } else { PrintKind::U32 };
    let mask = if entry.bits == 64 { u64::MAX } else { u64::from(u32::MAX) };
    AwaitedValue {
        address: entry.address as usize,
        place: view.place(entry.address as usize),
        kind,
        condition: WaitCondition::from_number(entry.condition).unwrap_or(WaitCondition::Equal),
        expected: entry.wanted & mask,
        held: entry.seen & mask,
        last_writer: None,
    }
}

/// The table for kernels that wait and are launched by no rank: one for each device.
///
/// # Errors
/// When there is no memory for it.
pub fn table_of(device: CudaDevice) -> Result<&'static RankTable, CudaError> {
    static TABLES: Mutex<Vec<OnceLock<&'static RankTable>>> = Mutex::new(Vec::new());
    let mut tables = lock(&TABLES);
    let at = device.ordinal() as usize;
    if let Some(table) = tables.get(at).and_then(OnceLock::get) {
        return Ok(table);
    }
    let view = Arc::new(RankView::new(0, vec![0], 0));
    let made = RankTable::new(StreamRef::default_of(device), view, wait_timeout()?)?;
    let table: &'static RankTable = Box::leak(Box::new(made));
    if tables.len() <= at {
        tables.resize_with(at + 1, OnceLock::new);
    }
    Ok(tables[at].get_or_init(|| table))
}

#[cfg(test)]
mod tests {
    use shoal_abi::AccessKind;

    use super::*;
    use crate::bounds::ArgMemory;

    #[test]
    fn what_programs_asked_for_is_told_as_on_a_cpu() {
        let view = Arc::new(RankView::new(1, vec![0x1000, 0x8000], 0x100));
        let memory = ArgMemory { name: "x".into(), start: 0x20000, bytes: 40 };
        let bounds = Some(Arc::new(Bounds::new(vec![None, Some(memory)])));
        let told = Told { view: view.clone(), limit: Duration::ZERO, kernel: "k".into(), bounds };
        let entry = |failure, address, wanted| Entry {
            failure,
            bits: 64,
            condition: 0,
            address,
            wanted,
            seen: 2,
            program: [0; 3],
            site: None,
        };
        let said = |failure, address, wanted| refusal(&entry(failure, address, wanted), &told).unwrap_or_default();
        assert_eq!(said(DeviceFailure::NoSuchRank, 0x8000, 7), "there is no rank 7; the world has 2");
        let outside = said(DeviceFailure::OutsideHeap, 0x20, 1);
        assert_eq!(
            outside,
            "0x20 is not in the symmetric heap of rank 1; allocate it on all ranks together, as `symm_zeros` does"
        );
        assert_eq!(
            said(DeviceFailure::OutsideHeap, 0, 1),
            "0x0 is not in the symmetric heap of rank 1; an array without elements, and `None`, have no address: allocate \
             an element on all ranks together"
        );
        assert!(said(DeviceFailure::OutsideHeap, 0x80f0, 64).starts_with("64 bytes at 0x80f0 are not in"));
        assert_eq!(said(DeviceFailure::OutsideHeap, 0x8000, (-5i64).cast_unsigned()), "-5 bytes cannot be copied");
        assert_eq!(said(DeviceFailure::NoSuchMember, 0, 5), "there is no member 5 of team 0, which has 2");
        assert!(said(DeviceFailure::NoSuchAxis, 0, 1).contains("no mesh"));
        assert!(said(DeviceFailure::NoSuchTeam, 0, 17).contains("no team with the handle 17"));
        assert_eq!(refusal(&entry(DeviceFailure::LoopedTooLong, 0, 0), &told), None);
        let form = AccessForm { kind: AccessKind::Read, bytes: 4, count: 4 };
        let wrong = Entry { seen: form.number(), ..entry(DeviceFailure::WrongAccess, 0x20020, 1) };
        assert_eq!(
            refusal(&wrong, &told).unwrap(),
            "the program reads 4 bytes at 0x20028, 0 bytes past the end of `x` (40 bytes)"
        );
        let unaligned = Entry { seen: form.number(), ..entry(DeviceFailure::WrongAccess, 0x20004, 1) };
        assert!(refusal(&unaligned, &told).unwrap().contains("which a hint says"));
        let elsewhere = ReportedSite { kernel: "before".into(), ..ReportedSite::default() };
        let hidden = Entry { site: Some(elsewhere), ..entry(DeviceFailure::WrongAccess, 0x20020, 1) };
        assert!(refusal(&hidden, &told).unwrap().contains("launches that came later"));
        let word = awaited(&entry(DeviceFailure::WaitedTooLong, 0x1010, 1), &view);
        assert_eq!(word.place.as_deref(), Some("byte 16 of the symmetric heap of rank 0"));
    }
}
