//! Ranks that Open MPI's `oshrun` starts.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shoal::world::launch::Job;
use signal_hook::consts::SIGKILL;

use super::output::Output;
use super::tagged::{Line, TaggedLines};
use super::{GRACE, Lines, TICK, exit_code, signals, told_by_ranks};
use crate::failure::Failure;

/// Runs a rank's program, and says how it ended: `oshrun` often leaves out which rank it was.
const TELLING: &str = r#""$@"; code=$?; echo "shoal: rank $OMPI_COMM_WORLD_RANK ended with $code" >&2; exit $code"#;

/// `oshrun` with the program as its ranks.
pub(crate) fn command(ranks: usize, program: &[OsString], lines: Lines) -> Command {
    let mut command = Command::new("oshrun");
    // Whoever starts ranks as root by this command is not surprised that they run as root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // A job around this one, if there is one, has left variables that would make this one a part of it.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_job(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    // More ranks than cores are welcome, and a rank has threads of its own, which go where there is room.
    command.args(["--oversubscribe", "--bind-to", "none"]);
    if lines == Lines::WithRank {
        command.arg("--tag-output");
    }
    command.env("SHOAL_ENGINE", "openshmem");
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("SHOAL_"));
    let ours = ours.filter(|name| name != "SHOAL_ENGINE" && name != "SHOAL_TOKEN");
    for name in ours.chain([OsString::from("SHOAL_ENGINE")]) {
        command.arg("-x").arg(name);
    }
    command.args(["-n", &ranks.to_string(), "sh", "-c", TELLING, "sh"]).args(program).stdin(Stdio::null());
    command
}

/// Whether this variable is set for the processes of one job.
fn is_of_a_job(variable: &str) -> bool {
    let of_open_mpi =
        ["PMIX_", "PMI_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix"];
    variable == "SHOAL_TOKEN" || of_open_mpi.iter().any(|begin| variable.starts_with(begin))
}

/// Starts the program as ranks of `oshrun`, and waits for all of them.
pub(super) fn start(ranks: usize, program: &[OsString], lines: Lines) -> Result<(), Failure> {
    // With tags, as lines of ranks come in pieces.
    let mut command = command(ranks, program, Lines::WithRank);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut job = Job::of(command).map_err(missing)?;
    let forwarded = signals::forward(job.groups(), signals::To::Oshrun)?;
    let notice = Arc::new(Mutex::new(Notice::default()));
    let width = ranks.saturating_sub(1).to_string().len();
    let heard = Arc::clone(&notice);
    let output = Output::of_launcher(&mut job, || {
        let (heard, mut tagged) = (Arc::clone(&heard), TaggedLines::default());
        move |line: Option<&[u8]>| {
            let whole = match line {
                Some(line) => tagged.after(line),
                None => tagged.rest(),
            };
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            let others =
                whole.into_iter().filter(|(_, line)| heard.hear(&String::from_utf8_lossy(line)) == Heard::Others);
            others.flat_map(|line| labelled(line, width, lines)).collect()
        }
    });
    let mut killed_at: Option<Instant> = None;
    let ended = loop {
        if let Some(ended) = job.next_ended(Some(TICK)) {
            break ended;
        }
        if forwarded.terminating().is_some() {
            let at = *killed_at.get_or_insert_with(|| Instant::now() + GRACE + Duration::from_secs(1));
            if Instant::now() >= at {
                job.groups().send(SIGKILL);
            }
        }
    };
    let reported = job.reported_failure().cloned();
    drop(job);
    output.finish();
    if ended.status.success() {
        return Ok(());
    }
    let code = ended.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    if let Some(signal) = forwarded.terminating() {
        let message = format!("ended by {}", signals::name(signal));
        return Err(Failure::Rank { message, code: exit_code(signal) });
    }
    let why = notice.lock().unwrap_or_else(PoisonError::into_inner).why(reported.as_ref(), code);
    Err(why.unwrap_or_else(|| {
        let message = format!("a rank failed, oshrun does not say which: {}", ended.status);
        Failure::Rank { message, code }
    }))
}

/// Why `oshrun` did not start.
pub(crate) fn missing(why: shoal::world::WorldError) -> Failure {
    Failure::new(format!("{why}; the engine `openshmem` needs Open MPI (Debian: openmpi-bin libopenmpi-dev)"))
}

/// `[1] text`; what `oshrun` says itself stays as it is.
fn labelled((rank, line): Line, width: usize, lines: Lines) -> Vec<u8> {
    match rank.filter(|_| lines == Lines::WithRank) {
        Some(rank) => [format!("[{rank:>width$}] ").as_bytes(), &line].concat(),
        None => line,
    }
}

/// How ranks have ended.
#[derive(Debug, Default)]
struct Notice {
    /// Those that have failed, with their statuses, as they were heard of.
    failed: Vec<(usize, u8)>,
    /// The first that has not; where the job has failed nevertheless, it has left the others without a word.
    first: Option<usize>,
}

/// The status of a shell's command that a signal has killed is this and the signal's number.
const KILLED: u8 = 128;

/// Whose line it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Of [`TELLING`]; nobody needs to see it.
    Ours,
    Others,
}

impl Notice {
    fn hear(&mut self, line: &str) -> Heard {
        let told = line.trim().split_once("shoal: rank ").and_then(|(_, rest)| rest.split_once(" ended with "));
        let Some((Ok(rank), Ok(code))) = told.map(|(rank, code)| (rank.parse(), code.parse())) else {
            return Heard::Others;
        };
        if code == 0 {
            self.first.get_or_insert(rank);
        } else {
            self.failed.push((rank, code));
        }
        Heard::Ours
    }

    /// Why the job has failed, where ranks have told this of it, and `oshrun` has ended with a status: that of whom it has
    /// noticed first, who need not be the one that is named here. Who was killed did not tell.
    fn why(&self, reported: Option<&shoal::world::Failure>, oshrun: u8) -> Option<Failure> {
        let rank_failed = |message, code| Some(Failure::Rank { message, code });
        match (self.failed.first(), reported) {
            (Some(&(rank, code)), _) if code > KILLED => {
                rank_failed(format!("rank {rank} was killed by {}", signals::name((code - KILLED).into())), code)
            }
            (first, Some(reported)) => {
                // Those that ended when `oshrun` ended them have not failed.
                let blamed = self.failed.iter().find(|(rank, code)| *rank == reported.rank && *code <= KILLED);
                Some(told_by_ranks(reported, blamed.map(|&(_, code)| code), first.map_or(oshrun, |&(_, code)| code)))
            }
            (Some(&(rank, code)), None) => rank_failed(format!("rank {rank} exited with status {code}"), code),
            (None, None) => {
                let rank = self.first?;
                rank_failed(format!("rank {rank} exited with status 0 without leaving the world"), oshrun)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_get_our_label() {
        let labelled = |rank, line: &str| String::from_utf8(labelled((rank, line.into()), 2, Lines::WithRank)).unwrap();
        assert_eq!(labelled(Some(3), "[hello]\n"), "[ 3] [hello]\n");
        assert_eq!(labelled(Some(12), "\n"), "[12] \n");
        assert_eq!(labelled(None, "oshrun noticed\n"), "oshrun noticed\n");
    }

    /// How many lines are ours, and why the job has failed, with its status; `oshrun` ends with 5.
    fn told(lines: &[&str], reported: Option<&str>) -> (usize, Option<(String, u8)>) {
        let mut notice = Notice::default();
        let ours = lines.iter().filter(|line| notice.hear(line) == Heard::Ours).count();
        let reported = reported.map(|reason| shoal::world::Failure { rank: 2, reason: reason.to_owned() });
        let why = notice.why(reported.as_ref(), 5).map(|why| match why {
            Failure::Rank { message, code } => (message, code),
            other => panic!("{other:?}"),
        });
        (ours, why)
    }

    fn because(message: &str, code: u8) -> Option<(String, u8)> {
        Some((message.to_owned(), code))
    }

    #[test]
    fn the_rank_that_failed_is_found() {
        let exited = ["---\n", "[1,13]<stderr>:shoal: rank 13 ended with 7\n", "shoal: rank 2 ended with 9\n"];
        assert_eq!(told(&exited, None), (2, because("rank 13 exited with status 7", 7)));
        let killed = ["shoal: rank 1 ended with 137\n"];
        assert_eq!(told(&killed, None), (1, because("rank 1 was killed by SIGKILL", 137)));
        assert_eq!(told(&["nothing", "shoal: rank 1 ended with regret"], None), (0, None));

        let vanished = ["shoal: rank 2 ended with 0\n", "shoal: rank 0 ended with 0\n"];
        assert_eq!(told(&vanished, None), (2, because("rank 2 exited with status 0 without leaving the world", 5)));
        let after = ["shoal: rank 2 ended with 0\n", "shoal: rank 0 ended with 3\n"];
        assert_eq!(told(&after, None), (2, because("rank 0 exited with status 3", 3)));
    }

    #[test]
    fn the_status_is_that_of_the_rank_that_is_named() {
        let blamed = |lines: &[&str]| told(lines, Some("rank 2: done\nmore")).1;
        assert_eq!(blamed(&[]), because("rank 2: done", 5));
        assert_eq!(blamed(&["shoal: rank 0 ended with 4\n"]), because("rank 2: done", 4));
        assert_eq!(blamed(&["shoal: rank 2 ended with 137\n"]), because("rank 2 was killed by SIGKILL", 137));
        let both = ["shoal: rank 0 ended with 4\n", "shoal: rank 2 ended with 7\n"];
        assert_eq!(blamed(&both), because("rank 2: done; rank 2 exited with status 7", 7));
        let ordinary = ["shoal: rank 0 ended with 4\n", "shoal: rank 2 ended with 1\n"];
        assert_eq!(blamed(&ordinary), because("rank 2: done", 1));
        let ended = ["shoal: rank 0 ended with 4\n", "shoal: rank 2 ended with 143\n"];
        assert_eq!(blamed(&ended), because("rank 2: done", 4));
    }
}
