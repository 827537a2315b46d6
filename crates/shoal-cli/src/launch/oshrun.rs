//! Ranks that Open MPI's `oshrun` starts.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shoal::world::launch::Job;
use signal_hook::consts::SIGKILL;

use super::output::Output;
use super::tagged::{Line, TaggedLines};
use super::{GRACE, Lines, TICK, exit_code, signals};
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
    let forwarded = signals::forward(job.groups())?;
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
    let reported = reported.map(|failure| failure.reason.lines().next().unwrap_or_default().to_owned());
    let message = notice.lock().unwrap_or_else(PoisonError::into_inner).why(reported);
    Err(Failure::Rank {
        message: message.unwrap_or_else(|| format!("a rank failed, oshrun does not say which: {}", ended.status)),
        code,
    })
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
    /// The first that has failed.
    ended: Option<(String, HowEnded)>,
    /// The first that has not; where the job has failed nevertheless, it has left the others without a word.
    first: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HowEnded {
    Killed,
    Exited,
}

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
        let Some((rank, Ok(code))) = told.map(|(rank, code)| (rank, code.parse::<i32>())) else {
            return Heard::Others;
        };
        if code == 0 {
            self.first.get_or_insert_with(|| format!("rank {rank} exited with status 0 without leaving the world"));
            return Heard::Ours;
        }
        self.ended.get_or_insert_with(|| match code {
            // As shells tell of signals.
            129.. => (format!("rank {rank} was killed by {}", signals::name(code - 128)), HowEnded::Killed),
            _ => (format!("rank {rank} exited with status {code}"), HowEnded::Exited),
        });
        Heard::Ours
    }

    /// Why the job has failed, where ranks have told this of it: who was killed did not tell.
    fn why(&self, reported: Option<String>) -> Option<String> {
        match &self.ended {
            Some((killed, HowEnded::Killed)) => Some(killed.clone()),
            Some((exited, HowEnded::Exited)) => Some(reported.unwrap_or_else(|| exited.clone())),
            None => reported.or_else(|| self.first.clone()),
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

    #[test]
    fn the_rank_that_failed_is_found() {
        let told = |lines: &[&str]| {
            let mut notice = Notice::default();
            let ours = lines.iter().filter(|line| notice.hear(line) == Heard::Ours).count();
            (ours, notice.why(None))
        };
        let exited = ["---\n", "[1,13]<stderr>:shoal: rank 13 ended with 7\n", "shoal: rank 2 ended with 9\n"];
        assert_eq!(told(&exited), (2, Some("rank 13 exited with status 7".to_owned())));
        assert_eq!(told(&["shoal: rank 1 ended with 137\n"]), (1, Some("rank 1 was killed by SIGKILL".to_owned())));
        assert_eq!(told(&["nothing", "shoal: rank 1 ended with regret"]), (0, None));

        let vanished = ["shoal: rank 2 ended with 0\n", "shoal: rank 0 ended with 0\n"];
        assert_eq!(told(&vanished), (2, Some("rank 2 exited with status 0 without leaving the world".to_owned())));
        let after = ["shoal: rank 2 ended with 0\n", "shoal: rank 0 ended with 3\n"];
        assert_eq!(told(&after), (2, Some("rank 0 exited with status 3".to_owned())));

        let blamed = |line: &str| {
            let mut notice = Notice::default();
            notice.hear(line);
            notice.why(Some("rank 0 waited for rank 2".to_owned()))
        };
        assert_eq!(blamed("shoal: rank 0 ended with 1\n").as_deref(), Some("rank 0 waited for rank 2"));
        assert_eq!(blamed("shoal: rank 2 ended with 137\n").as_deref(), Some("rank 2 was killed by SIGKILL"));
    }
}
