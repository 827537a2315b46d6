//! Ranks meet while others disturb them. Ranks are threads here: the kernel does not mind.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use super::message::{Hello, Word};
use super::packet::{receive, send};
use super::*;
use crate::engine::processes::token::Token;

fn handles(segments: Segments) -> Handles {
    let file = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    Handles { segment: file(), process: file(), memory: (segments == Segments::Gpu).then(file) }
}

fn joining<'a>(membership: &'a Membership, options: &'a WorldOptions) -> Joining<'a> {
    Joining { membership, options, segments: Segments::Host, generation: 0, deadline: Instant::now() }
}

fn membership(rank: usize, size: usize, job: &str) -> Membership {
    Membership { rank, size, job: job.to_owned(), token: Some(Token::new("secret".to_owned())) }
}

/// A job that no other test has.
fn job() -> String {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    format!("{} {}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed))
}

/// One rank meets the others; returns how many handles there were.
fn attend(membership: &Membership, limit: Duration) -> Result<usize, WorldError> {
    attend_with(membership, limit, Segments::Host)
}

fn attend_with(membership: &Membership, limit: Duration, segments: Segments) -> Result<usize, WorldError> {
    let options = WorldOptions { timeout: limit, ..WorldOptions::default() };
    let joining = Joining { segments, deadline: Instant::now() + limit, ..joining(membership, &options) };
    meet(&joining, handles(segments), |handles| Ok(handles.iter().map(|of_rank| of_rank.files().count()).sum()))
        .map(|(count, _)| count)
}

/// A connection to rank 0 that knows where it listens; waits until it does.
fn intrude(membership: &Membership) -> OwnedFd {
    let options = WorldOptions::default();
    let joining = joining(membership, &options);
    loop {
        let flags = SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        if net::connect(&socket, &joining.address()).is_ok() {
            return socket;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether rank 0 has hung up; waits for it.
fn is_dropped(socket: &OwnedFd) -> bool {
    matches!(wait_readable(&[socket], Duration::from_secs(20)).as_deref(), Ok([true]))
        && !matches!(receive(socket), Ok(Some(_)))
}

#[test]
fn intruders_are_dropped_and_delay_nobody() {
    let job = job();
    let [host, guest] = [0, 1].map(|rank| membership(rank, 2, &job));
    std::thread::scope(|scope| {
        let hosting = scope.spawn(|| attend(&host, Duration::from_secs(60)));
        let file = std::fs::File::open("/dev/null").unwrap();
        let options = WorldOptions::default();
        let joining = joining(&guest, &options);
        let good = Hello::new(&joining);
        let forged = Hello { proof: blake3::hash(b"a guess"), ..Hello::new(&joining) };
        let two = [file.as_fd(), file.as_fd()];

        let silent: Vec<OwnedFd> = (0..100).map(|_| intrude(&guest)).collect();
        for (bytes, handles) in [
            (b"GET / HTTP/1.1\r\n\r\n".to_vec(), &two[..0]),
            (vec![0xff; 2048], &two[..0]),
            (forged.encode(), &two[..]),
            // Handles that are missing, and bytes that are too many.
            (good.encode(), &two[..1]),
            (vec![b'x'; 4000], &two[..]),
            (Word::Go.encode(), &two[..]),
        ] {
            let socket = intrude(&guest);
            send(&socket, &bytes, handles).unwrap();
            assert!(is_dropped(&socket), "{:?}", String::from_utf8_lossy(&bytes));
        }
        assert_eq!(attend(&guest, Duration::from_secs(60)).unwrap(), 4);
        assert_eq!(hosting.join().unwrap().unwrap(), 4);
        drop(silent);
    });
}

#[test]
fn a_rank_that_comes_twice_is_refused() {
    let job = job();
    let [host, guest] = [0, 1].map(|rank| membership(rank, 3, &job));
    std::thread::scope(|scope| {
        let ranks = [&host, &guest, &guest].map(|member| scope.spawn(|| attend(member, Duration::from_secs(60))));
        for rank in ranks {
            let said = rank.join().unwrap().unwrap_err().to_string();
            assert!(said.starts_with("rank 1 (pid ") && said.contains(" came, then rank 1 (pid "), "{said}");
        }
    });
}

#[test]
fn who_comes_after_a_failure_is_told_of_it() {
    let job = job();
    let [host, wrong, late] = [(0, 3), (1, 4), (2, 3)].map(|(rank, size)| membership(rank, size, &job));
    std::thread::scope(|scope| {
        let hosting = scope.spawn(|| attend(&host, Duration::from_secs(60)));
        let said = attend(&wrong, Duration::from_secs(60)).unwrap_err().to_string();
        assert!(said.ends_with(" was started for a world of 4 ranks, rank 0 for one of 3"), "{said}");
        assert_eq!(attend(&late, Duration::from_secs(60)).unwrap_err().to_string(), said);
        assert_eq!(hosting.join().unwrap().unwrap_err().to_string(), said);
    });
}

#[test]
fn a_guest_that_hangs_up_is_named() {
    let job = job();
    let [host, guest] = [0, 1].map(|rank| membership(rank, 3, &job));
    std::thread::scope(|scope| {
        let hosting = scope.spawn(|| attend(&host, Duration::from_secs(60)));
        let socket = intrude(&guest);
        let file = std::fs::File::open("/dev/null").unwrap();
        let options = WorldOptions { timeout: Duration::from_secs(60), ..WorldOptions::default() };
        let joining = joining(&guest, &options);
        send(&socket, &Hello::new(&joining).encode(), &[file.as_fd(), file.as_fd()]).unwrap();
        drop(socket);
        let said = hosting.join().unwrap().unwrap_err().to_string();
        assert!(said.starts_with("rank 1 (pid ") && said.ends_with("ended while the ranks were joining"), "{said}");
    });
}

#[test]
fn two_jobs_cannot_listen_at_one_place() {
    let job = job();
    let host = membership(0, 2, &job);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| attend(&host, Duration::from_secs(2)));
        drop(intrude(&host));
        let said = attend(&host, Duration::from_secs(2)).unwrap_err().to_string();
        assert!(said.starts_with("another job with the same MASTER_ADDR and MASTER_PORT"), "{said}");
        assert_eq!(first.join().unwrap().unwrap_err().to_string(), "rank 1 did not join the world: rank 0 waited 2 s");
    });
}

#[test]
fn a_wrong_token_finds_nobody() {
    let job = job();
    let host = membership(0, 2, &job);
    let stranger = Membership { token: Some(Token::new("a guess".to_owned())), ..membership(1, 2, &job) };
    std::thread::scope(|scope| {
        let hosting = scope.spawn(|| attend(&host, Duration::from_millis(600)));
        let said = attend(&stranger, Duration::from_millis(300)).unwrap_err().to_string();
        assert_eq!(said, "rank 0 did not start: rank 1 waited 300 ms for it");
        hosting.join().unwrap().unwrap_err();
    });
}

#[test]
fn memory_of_gpus_comes_to_all() {
    // More ranks than have their handles in one packet.
    let job = job();
    let members: Vec<Membership> = (0..50).map(|rank| membership(rank, 50, &job)).collect();
    std::thread::scope(|scope| {
        let attend = |member| attend_with(member, Duration::from_secs(60), Segments::Gpu);
        let ranks: Vec<_> = members.iter().map(|member| scope.spawn(move || attend(member))).collect();
        for rank in ranks {
            assert_eq!(rank.join().unwrap().unwrap(), 150);
        }
    });
}

#[test]
fn ranks_agree_on_where_their_memory_is() {
    let job = job();
    let [host, guest] = [0, 1].map(|rank| membership(rank, 2, &job));
    std::thread::scope(|scope| {
        let hosting = scope.spawn(|| attend(&host, Duration::from_secs(60)));
        let said = attend_with(&guest, Duration::from_secs(60), Segments::Gpu).unwrap_err().to_string();
        assert!(said.ends_with(" has its symmetric memory on a GPU, rank 0 in the host's memory"), "{said}");
        assert_eq!(hosting.join().unwrap().unwrap_err().to_string(), said);
    });
}
