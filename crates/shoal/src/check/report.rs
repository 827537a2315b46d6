//! The verdict: what was found, in words with the user's lines, and as JSON.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use shoal_interp::check::{Access, Race};
use shoal_interp::explore::{BlockedProgram, Deadlock, Finding, Found, Outcome};
use shoal_interp::{Place, Turn, Writer, WriterState};
use shoal_source::{Diagnostic, Diagnostics, SourceMap, Span, Style};

use super::occupancy::KernelRoom;
use super::order;
use super::token::json as json_of;
use super::{CheckOptions, Recording, Room, Token};

/// What was found, and how to see it again.
#[derive(Debug, Clone)]
pub struct Verdict {
    outcome: Outcome,
    /// Where each finding was found: as was asked, or smaller.
    cases: Vec<Case>,
    sources: Arc<SourceMap>,
    options: CheckOptions,
    rooms: Vec<KernelRoom>,
    needed: Option<usize>,
    /// The one schedule that was run, if it was one of a token.
    replayed: Option<Token>,
    /// Who moved when, in that run.
    turns: Vec<Turn>,
}

/// How a harness was run when a mistake was found.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) options: CheckOptions,
    /// How many programs of each kernel were resident, where that was limited by kernel.
    pub(super) rooms: Vec<usize>,
}

impl Case {
    pub(super) fn new(options: &CheckOptions, recording: &Recording) -> Case {
        Case { options: options.clone(), rooms: recording.rooms.iter().map(|room| room.programs).collect() }
    }

    fn token(&self, found: &Found) -> Token {
        let CheckOptions { ranks, launches, seed, room, params, grid_cut, .. } = self.options.clone();
        let rooms = match room {
            Room::Programs(programs) => vec![programs],
            Room::All | Room::Kernels(_) | Room::Device(_) => self.rooms.clone(),
        };
        Token { ranks, launches, seed, rooms, grid_cut, params, schedule: found.schedule.clone() }
    }
}

/// Programs that could still write a word that are shown.
const SHOWN_WRITERS: usize = 3;

/// Waits of a deadlock that are shown.
const SHOWN_WAITS: usize = 8;

impl Verdict {
    pub(super) fn new(
        recording: &Recording,
        options: &CheckOptions,
        outcome: Outcome,
        needed: Option<usize>,
    ) -> Verdict {
        Verdict {
            cases: vec![Case::new(options, recording); outcome.found.len()],
            outcome,
            sources: Arc::clone(&recording.sources),
            options: options.clone(),
            rooms: recording.rooms.clone(),
            needed,
            replayed: None,
            turns: Vec::new(),
        }
    }

    /// The same of one schedule, which is told instead of a number of them.
    pub(super) fn of_token(self, token: Token, turns: Vec<Turn>) -> Verdict {
        Verdict { replayed: Some(token), turns, ..self }
    }

    /// The order in which everybody moved in the run of a token, for people; empty of many schedules.
    #[must_use]
    pub fn order(&self) -> String {
        order::text(&self.turns, &self.sources)
    }

    pub(super) fn finding_and_case(&self, at: usize) -> Option<(&Found, &Case)> {
        self.outcome.found.get(at).zip(self.cases.get(at))
    }

    /// A finding was found in a smaller case.
    pub(super) fn replace(&mut self, at: usize, found: Found, case: Case) {
        self.outcome.found[at] = found;
        self.cases[at] = case;
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.outcome.found.is_empty()
    }

    /// What was found, each mistake once.
    #[must_use]
    pub fn found(&self) -> &[Found] {
        &self.outcome.found
    }

    /// What the exploration did.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// How many programs of a rank must be resident, where that was looked for.
    #[must_use]
    pub fn needed_residency(&self) -> Option<usize> {
        self.needed
    }

    /// How many programs of each kernel a device holds, if one was named.
    #[must_use]
    pub fn rooms(&self) -> &[KernelRoom] {
        &self.rooms
    }

    /// What repeats a finding of this verdict.
    #[must_use]
    pub fn token(&self, found: &Found) -> Token {
        let at = self.found().iter().position(|known| known == found);
        let asked = Case { options: self.options.clone(), rooms: self.rooms.iter().map(|r| r.programs).collect() };
        at.and_then(|at| self.cases.get(at)).unwrap_or(&asked).token(found)
    }

    /// The text to show: the findings, and the summary.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        self.findings(style) + &self.summary() + "\n"
    }

    /// The findings, and what is to be said about room.
    #[must_use]
    pub fn findings(&self, style: Style) -> String {
        let mut text = String::new();
        for found in self.found() {
            let token = self.token(found);
            let mut diagnostic = self.diagnostic(&found.finding);
            if self.replayed.is_none() {
                diagnostic = diagnostic.note(format!("seen in {}", times(found, &self.outcome)));
            }
            if let Some(programs) = token.grid_cut {
                let cut = count(programs as usize, "program");
                diagnostic = diagnostic.note(format!("grids cut to {cut} along each axis suffice to show it"));
            }
            let diagnostic = diagnostic.note(format!("to see it again: --replay {token}"));
            text.push_str(Diagnostics::from(diagnostic).render(&self.sources, style).trim_end());
            text.push_str("\n\n");
        }
        let rooms = self.rooms.iter().map(|room| format!("{}: {}\n", room.kernel, room.reason));
        text.extend(rooms.filter(|_| matches!(self.options.room, Room::Device(_))));
        if let Some(needed) = self.needed {
            let (who, room) = match &self.options.room {
                Room::Device(device) => (device.name, self.rooms.iter().map(|room| room.programs).min()),
                Room::Programs(programs) => ("there", Some(*programs)),
                Room::Kernels(rooms) => ("there", rooms.iter().copied().min()),
                Room::All => ("there", None),
            };
            let holds = room.map_or_else(String::new, |room| match who {
                "there" => format!(", there is room for {room}"),
                device => format!(", {device} holds {room}"),
            });
            text.push_str(&format!("needs {} per rank{holds}\n", count(needed, "co-resident program")));
        }
        text
    }

    /// The verdict in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let verdict = match self.found().len() {
            0 => "clean".to_owned(),
            n => count(n, "finding"),
        };
        if let Some(token) = &self.replayed {
            return format!("{verdict}: the one schedule of {token}");
        }
        let how = if self.outcome.exhaustive { ", which are all there are" } else { "" };
        let end = if self.outcome.interrupted { "; interrupted" } else { "" };
        let ranks = count(self.options.ranks, "rank");
        let schedules = count(self.outcome.schedules, "schedule");
        // Those of runs that end in a deadlock or a failure are not counted.
        let operations = match self.outcome.steps {
            0 => String::new(),
            steps => format!(", {steps} operations"),
        };
        format!("{verdict}: {ranks}, {schedules}{how}{operations}{end}")
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        let found = |(found, case): (&Found, &Case)| {
            let mut entry = self.finding_json(&found.finding);
            entry["token"] = json!(case.token(found).to_string());
            entry["times"] = json!(found.times);
            entry["ranks"] = json!(case.options.ranks);
            entry["launches"] = json!(case.options.launches);
            entry["params"] = params_json(&case.options);
            entry["grid_cut"] = json!(case.options.grid_cut);
            entry
        };
        let (device, resident) = match &self.options.room {
            Room::Device(device) => (Some(device.name), None),
            Room::Programs(programs) => (None, Some(*programs)),
            Room::All | Room::Kernels(_) => (None, None),
        };
        let room =
            |room: &KernelRoom| json!({ "kernel": room.kernel, "programs": room.programs, "reason": room.reason });
        json!({
            "clean": self.is_clean(),
            "ranks": self.options.ranks,
            "launches": self.options.launches,
            "seed": self.options.seed,
            "params": params_json(&self.options),
            "device": device,
            "resident": resident,
            "rooms": self.rooms.iter().map(room).collect::<Vec<_>>(),
            "needed_residency": self.needed,
            "schedules": self.outcome.schedules,
            "exhaustive": self.outcome.exhaustive,
            "interrupted": self.outcome.interrupted,
            "operations": self.outcome.steps,
            "accesses": self.outcome.events,
            "report": self.to_string(),
            "findings": self.found().iter().zip(&self.cases).map(found).collect::<Vec<_>>(),
            "order": order::lines(&self.turns, &self.sources),
        })
    }

    fn diagnostic(&self, finding: &Finding) -> Diagnostic {
        match finding {
            Finding::Race(race) => race_diagnostic(race),
            Finding::Deadlock(deadlock) => self.deadlock_diagnostic(deadlock),
            Finding::UnwrittenRead(read) => {
                Diagnostic::error(read.access.at.span, format!("memory is read that was never written, {}", read.near))
                    .label(format!("{} reads it", read.access))
                    .help("write it first, or let the host initialise it")
            }
            Finding::UnwrittenOutput { near } => {
                Diagnostic::error(Span::NONE, format!("an output is not written, {near}"))
            }
            Finding::Nan { near } => Diagnostic::error(Span::NONE, format!("an output is NaN, {near}")),
            Finding::WrongOutput { near, expected, found } => {
                Diagnostic::error(Span::NONE, format!("an output is {found}, {near}: it must be {expected}"))
            }
            Finding::Failure(error) => {
                let span = error.place().map_or(Span::NONE, |place| place.span);
                Diagnostic::error(span, error.to_string()).label("here")
            }
        }
    }

    fn deadlock_diagnostic(&self, deadlock: &Deadlock) -> Diagnostic {
        let stream = deadlock.hosts.iter().flat_map(|host| &host.streams).next();
        let (span, label) = match (deadlock.waits.first(), stream) {
            (Some(first), _) => (first.waiting.at.span, format!("{} waits here", first.waiting.at)),
            (None, Some(stream)) => {
                (stream.span, format!("stream {} of rank {} waits here", stream.stream, stream.rank))
            }
            (None, None) => (Span::NONE, String::new()),
        };
        let mut diagnostic = Diagnostic::error(span, "deadlock: nothing can go on");
        if !span.is_none() {
            diagnostic = diagnostic.label(label);
        }
        for blocked in deadlock.waits.iter().take(SHOWN_WAITS) {
            let line = self.line(blocked.waiting.at.span).map_or_else(String::new, |line| format!("line {line}: "));
            let written = blocked.last_writer.and_then(|writer| self.line(writer.at.span));
            let written = written.map_or_else(String::new, |line| format!(" in line {line}"));
            diagnostic = diagnostic.note(format!("{line}{blocked}{written}{}", self.writers(blocked)));
        }
        if deadlock.waits.len() > SHOWN_WAITS {
            diagnostic = diagnostic.note(format!("{} more wait", deadlock.waits.len() - SHOWN_WAITS));
        }
        for host in &deadlock.hosts {
            diagnostic = diagnostic.note(host.to_string());
        }
        let unstarted: u64 = deadlock.hosts.iter().map(|host| host.unstarted).sum();
        match deadlock.resident {
            Some(room) if unstarted > 0 => diagnostic.help(format!(
                "programs that wait for others need them resident: launch at most {} per rank, or let no program wait for \
                 one that may start later",
                count(room, "program")
            )),
            _ if deadlock.waits.iter().any(|blocked| blocked.last_writer.is_some_and(|writer| writer.is_overtaken())) => {
                diagnostic.help(
                    "a signal came after others that were to follow it: put a `fence` between signals to one word, and end a \
                     launch with `quiet` if the next one signals there",
                )
            }
            _ => diagnostic.note("every program that is left waits: nobody can write what they wait for"),
        }
    }

    /// Who could still have written what a program waits for.
    fn writers(&self, blocked: &BlockedProgram) -> String {
        if blocked.holds.is_none() {
            return String::new();
        }
        if blocked.writers.is_empty() {
            return "; nothing that is left could write it".into();
        }
        let line = |span: Span| self.line(span).map_or_else(String::new, |line| format!(" in line {line}"));
        let one = |writer: &Writer| match writer.state {
            WriterState::Waits(span) => {
                format!("{}{}, which waits itself{}", writer.at, line(writer.at.span), line(span))
            }
            WriterState::NotStarted => format!("{}{}, which has not started", writer.at, line(writer.at.span)),
            WriterState::Runs => format!("{}{}", writer.at, line(writer.at.span)),
        };
        let shown: Vec<String> = blocked.writers.iter().take(SHOWN_WRITERS).map(one).collect();
        let more = match blocked.writers.len().saturating_sub(SHOWN_WRITERS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("; it could still be written by {}{more}", shown.join("; by "))
    }

    fn line(&self, span: Span) -> Option<u32> {
        (!span.is_none()).then(|| self.sources.line_col(span)).flatten().map(|(line, _)| line)
    }

    fn finding_json(&self, finding: &Finding) -> Json {
        let mut entry = json!({ "kind": finding.kind(), "message": finding.to_string() });
        match finding {
            Finding::Race(race) => {
                entry["accesses"] = json!([self.access_json(&race.first), self.access_json(&race.second)]);
                entry["where"] = json!(race.near);
                entry["why"] = json!(race.explanation());
                entry["remedy"] = json!(race.remedy());
            }
            Finding::Deadlock(deadlock) => {
                let waits = deadlock.waits.iter().map(|blocked| {
                    let mut wait = self.place_json(blocked.waiting.at);
                    wait["waits"] = json!(blocked.waiting.to_string());
                    wait["word"] = json!(blocked.place);
                    let writers = blocked.writers.iter().map(|writer| self.place_json(writer.at));
                    wait["holds"] = json!(blocked.holds);
                    wait["could_write"] = writers.collect();
                    wait["last_writer"] = json!(blocked.last_writer.as_ref().map(|writer| self.access_json(writer)));
                    wait
                });
                entry["waits"] = waits.collect();
                entry["hosts"] = deadlock.hosts.iter().map(|host| json!(host.to_string())).collect();
            }
            Finding::UnwrittenRead(read) => {
                entry["accesses"] = json!([self.access_json(&read.access)]);
                entry["where"] = json!(read.near);
            }
            Finding::UnwrittenOutput { near } | Finding::Nan { near } => entry["where"] = json!(near),
            Finding::WrongOutput { near, expected, found } => {
                entry["where"] = json!(near);
                entry["expected"] = json!(expected);
                entry["found"] = json!(found);
            }
            Finding::Failure(error) => entry["at"] = json!(error.place().map(|place| self.place_json(place))),
        }
        entry
    }

    fn access_json(&self, access: &Access) -> Json {
        let mut entry = self.place_json(access.at);
        entry["who"] = json!(access.to_string());
        entry["does"] = json!(access.verb());
        entry
    }

    fn place_json(&self, place: Place) -> Json {
        let at = (!place.span.is_none()).then(|| self.sources.line_col(place.span)).flatten();
        json!({
            "rank": place.rank,
            "program": place.program,
            "file": at.map(|_| self.sources.name(place.span.file)),
            "line": at.map(|(line, _)| line),
            "column": at.map(|(_, col)| col),
        })
    }
}

fn race_diagnostic(race: &Race) -> Diagnostic {
    let Race { first, second, near, .. } = race;
    let label = |access: &Access| format!("{access} {}", access.verb());
    let at = |access: &Access| access.at.span;
    let mut diagnostic = Diagnostic::error(at(second), format!("data race {near}"));
    diagnostic = if at(second).is_none() { diagnostic.note(label(second)) } else { diagnostic.label(label(second)) };
    diagnostic = match at(first).is_none() || at(first) == at(second) {
        true => diagnostic.note(format!("the other access: {}", label(first))),
        false => diagnostic.with_label(at(first), label(first)),
    };
    if let shoal_interp::check::Cause::Flag { writer, reader, .. } = &race.cause {
        for (access, what) in [(writer, "the flag is written here"), (reader, "the flag is read here")] {
            if !at(access).is_none() && at(access) != at(first) && at(access) != at(second) {
                diagnostic = diagnostic.with_label(at(access), format!("{what}: {}", access.verb()));
            }
        }
    }
    diagnostic.note(race.explanation()).help(race.remedy())
}

fn times(found: &Found, outcome: &Outcome) -> String {
    format!("{} of {}", found.times.min(outcome.schedules), count(outcome.schedules, "schedule"))
}

/// `1 rank`, `2 ranks`.
fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn params_json(options: &CheckOptions) -> Json {
    Json::Object(options.params.iter().map(|(name, value)| (name.clone(), json_of(value))).collect())
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}
