//! How the ranks of a world of `oshrun` meet: they compare what they want, allocate, and find out whom they reach. This
//! is the only time that collectives of the library are used; all of it is done on a thread that may be left behind
//! when somebody does not come.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};

use rustix::process::getpid;

use super::Shared;
use super::board::Board;
use super::membership::Membership;
use super::port::Port;
use super::session::{self, HEAP_VARIABLES, Session};
use crate::engine::shared::layout::Layout;
use crate::error::{Failure, WorldError, spell};
use crate::launcher;
use crate::options::{PAGE, WorldOptions};

/// Bytes of a card: seven words, of which the last is written later than the others.
const CARD: usize = 64;
/// Changes with the layout of boards and cards.
const PROTOCOL: u64 = 4;

/// Meets the other ranks.
pub(super) fn meet(membership: &Membership, options: &WorldOptions) -> Result<Shared, WorldError> {
    session::check_usable()?;
    let wanted = Wanted { membership: *membership, layout: Layout::new(options)?, options: options.clone() };
    let (tell, met) = channel();
    let thread = std::thread::Builder::new().name("shoal meeting".to_owned());
    // Nobody listens any more when the ranks come too late.
    let work = move || drop(tell.send(wanted.come_together()));
    let doing = || "start the thread that joins the world".to_owned();
    thread.spawn(work).map_err(|source| WorldError::System { doing: doing(), source })?;
    match met.recv_timeout(options.timeout) {
        Ok(met) => met,
        Err(_) => {
            let (&Membership { rank, size }, time) = (membership, spell(options.timeout));
            let failed = format!("rank {rank} waited {time} for all of {size} ranks to join the world");
            launcher::tell(&Failure { rank, reason: failed.clone() });
            Err(session::spoil(&failed, "a call of the OpenSHMEM library that waits for all ranks has no end"))
        }
    }
}

/// What this rank wants the world to be.
struct Wanted {
    membership: Membership,
    layout: Layout,
    options: WorldOptions,
}

/// What a rank says of itself.
#[derive(Clone, Copy)]
struct Card {
    protocol: u64,
    pid: u64,
    heap_bytes: u64,
    pad_slots: u64,
}

impl Wanted {
    fn come_together(&self) -> Result<Shared, WorldError> {
        // Boards grow with the number of ranks, which is not known before the library is there: this is enough for 100.
        let session = session::open(self.block_bytes(100), self.options.timeout)?;
        self.membership.agrees(session.rank, session.size)?;
        if session.memory().is_taken {
            let text = "this process is a rank of another world of `oshrun`; leave that one first";
            return Err(WorldError::Setup(text.to_owned()));
        }
        let cards = Cards::of(session)?;
        let all = cards.exchange(self.card());
        self.compare(&all)?;
        let board = Board::new(session.size);
        let block = self.block(session, board)?;
        let cleared = board.bytes() + self.options.heap_start();
        // SAFETY: the block is at least as large, and no rank uses it before all have passed the next barrier.
        unsafe { block.write_bytes(0, cleared) };
        let reached = reached(session, block);
        let hosts = cards.exchange_hosts(&reached);
        let own = hosts[session.rank];
        let blocks = (0..).zip(reached).map(|(rank, found)| found.filter(|_| hosts[rank] == own)).collect::<Vec<_>>();
        if blocks.iter().any(Option::is_none) {
            session.start_pump()?;
        }
        session.memory().is_taken = true;
        // SAFETY: the blocks were found by the library in memory that `block` has allocated for good.
        let port = unsafe { Port::new(session, block, blocks, board.bytes()) };
        Ok(Shared {
            rank: session.rank,
            size: session.size,
            port: Arc::new(port),
            board,
            hosts,
            names: (0..).zip(&all).map(|(rank, card)| named(rank, card)).collect(),
            symmetric: self.layout.symmetric,
            pad: self.layout.pad,
            timeout: self.options.timeout,
            has_posted_report: AtomicBool::new(false),
            ending: Mutex::new(()),
            own_conclusion: OnceLock::new(),
        })
    }

    fn card(&self) -> Card {
        Card {
            protocol: PROTOCOL,
            pid: getpid().as_raw_nonzero().get().unsigned_abs().into(),
            heap_bytes: self.options.heap_bytes as u64,
            pad_slots: self.options.pad_slots as u64,
        }
    }

    /// Refuses ranks that want another world. All ranks see all cards, so all come to the same end.
    fn compare(&self, cards: &[Card]) -> Result<(), WorldError> {
        let first = cards[0];
        for (rank, card) in cards.iter().enumerate() {
            let name = named(rank, card);
            let difference = if card.protocol != first.protocol {
                format!("{name} and rank 0 run different versions of shoal")
            } else if card.heap_bytes != first.heap_bytes {
                format!("{name} wants a heap of {} bytes, rank 0 one of {}", card.heap_bytes, first.heap_bytes)
            } else if card.pad_slots != first.pad_slots {
                format!("{name} wants a signal pad of {} slots, rank 0 one of {}", card.pad_slots, first.pad_slots)
            } else {
                continue;
            };
            return Err(WorldError::Setup(difference));
        }
        Ok(())
    }

    fn block_bytes(&self, ranks: usize) -> usize {
        Board::new(ranks).bytes() + self.layout.symmetric
    }

    /// This rank's block of symmetric memory: that of the world before, if it is large enough.
    fn block(&self, session: &'static Session, board: Board) -> Result<NonNull<u8>, WorldError> {
        let bytes = board.bytes() + self.layout.symmetric;
        let mut memory = session.memory();
        let known = memory.block.filter(|&(_, room)| room >= bytes).map(|(address, _)| address);
        let address = match known {
            Some(address) => address,
            None => {
                let address = allocate(session, PAGE, bytes);
                memory.block = Some((address, bytes)).filter(|_| address != 0);
                address
            }
        };
        NonNull::new(std::ptr::with_exposed_provenance_mut(address)).ok_or_else(|| {
            let [name, _] = HEAP_VARIABLES;
            let set = std::env::var(name).unwrap_or_default();
            WorldError::Setup(format!(
                "the OpenSHMEM library has no room for {bytes} bytes of symmetric memory on each rank ({name}={set}); make \
                 that larger, or the heap smaller with `heap_bytes` or SHOAL_HEAP_BYTES"
            ))
        })
    }
}

/// `rank 3 (pid 4711)`.
fn named(rank: usize, card: &Card) -> String {
    format!("rank {rank} (pid {})", card.pid)
}

/// Symmetric memory, on all ranks; zero if there is none.
fn allocate(session: &'static Session, alignment: usize, bytes: usize) -> usize {
    // SAFETY: all ranks allocate the same, in the same order.
    session.call(|library| unsafe { (library.align)(alignment, bytes) }.expose_provenance())
}

/// The blocks that loads and stores reach.
fn reached(session: &'static Session, block: NonNull<u8>) -> Vec<Option<NonNull<u8>>> {
    let find = |rank: usize| {
        if rank == session.rank {
            return Some(block);
        }
        // SAFETY: the block is symmetric memory.
        session.call(|library| NonNull::new(unsafe { (library.ptr)(block.as_ptr().cast(), rank as c_int) }.cast()))
    };
    (0..session.size).map(find).collect()
}

/// Where every rank says what it is, at every rank.
struct Cards {
    session: &'static Session,
    at: *mut u64,
}

impl Cards {
    /// Collective.
    fn of(session: &'static Session) -> Result<Cards, WorldError> {
        let mut memory = session.memory();
        if memory.cards == 0 {
            memory.cards = allocate(session, CARD, session.size * CARD);
        }
        match memory.cards {
            0 => Err(WorldError::Setup("the OpenSHMEM library has no symmetric memory at all".to_owned())),
            address => Ok(Cards { session, at: std::ptr::with_exposed_provenance_mut(address) }),
        }
    }

    /// Writes words of this rank's card at every rank. Collective.
    fn publish(&self, first: usize, words: &[u64]) {
        let own = self.at.wrapping_add(self.session.rank * CARD / 8 + first);
        self.session.call(|library| {
            for rank in 0..self.session.size {
                // SAFETY: the words lie in the cards, which are symmetric memory, and have one writer.
                unsafe { (library.putmem)(own.cast(), words.as_ptr().cast(), size_of_val(words), rank as c_int) };
            }
            // SAFETY: all ranks come here.
            unsafe { (library.barrier_all)() };
        });
    }

    /// A word of a rank's card, which was published.
    fn word(&self, rank: usize, word: usize) -> u64 {
        // SAFETY: it lies in the cards, and is not written again before this rank comes to another barrier.
        unsafe { self.at.add(rank * CARD / 8 + word).read_volatile() }
    }

    /// The cards of all ranks. Collective.
    fn exchange(&self, mine: Card) -> Vec<Card> {
        self.publish(0, &[mine.protocol, mine.pid, mine.heap_bytes, mine.pad_slots]);
        let card = |rank| {
            let [protocol, pid, heap_bytes, pad_slots] = [0, 1, 2, 3].map(|word| self.word(rank, word));
            Card { protocol, pid, heap_bytes, pad_slots }
        };
        (0..self.session.size).map(card).collect()
    }

    /// For each rank the first that it reaches by load and store: the same for all that reach each other. Collective.
    fn exchange_hosts(&self, reached: &[Option<NonNull<u8>>]) -> Vec<u32> {
        let first = reached.iter().position(Option::is_some).unwrap_or(self.session.rank);
        self.publish(4, &[first as u64]);
        (0..self.session.size).map(|rank| self.word(rank, 4) as u32).collect()
    }
}
