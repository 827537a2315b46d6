//! What a harness says of streams, events, places and graphs.

use shoal_lang::{HarnessArgs, HarnessValue};

use super::Compare;
use super::file_harness::{Answer, FileWorld, Object, Words, int};
use super::recording::Contents;
use super::streams::{HostPlace, HostStream};
use crate::Error;

fn said<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

impl FileWorld<'_, '_> {
    /// `world.at(buffer, rank=None, start=0, count=None)`.
    pub(super) fn at(&mut self, mut words: Words<'_>) -> Answer {
        let buffer = self.buffer(words.next("buffer")?)?;
        let rank = match words.optional("rank") {
            None | Some(HarnessValue::None) => None,
            Some(value) => Some(int(&value)? as usize),
        };
        let start = words.optional("start").map_or(Ok(0), |value| int(&value))?;
        let count = words.optional("count").map_or(Ok(buffer.count().saturating_sub(start)), |value| int(&value))?;
        words.end()?;
        let place = said(self.host.place(buffer, rank, start, count))?;
        Ok(self.keep(Object::Place(place)))
    }

    /// The stream named by `stream=`, or the default.
    pub(super) fn stream_of(&self, value: Option<HarnessValue>) -> Result<HostStream, String> {
        match value {
            None | Some(HarnessValue::None) => Ok(HostStream::DEFAULT),
            Some(HarnessValue::Object(at)) => match self.objects.get(at) {
                Some(Object::Stream(stream)) => Ok(*stream),
                _ => Err("this is no stream; `world.stream()` makes one".into()),
            },
            Some(_) => Err("this is no stream; `world.stream()` makes one".into()),
        }
    }

    fn place(&self, value: HarnessValue) -> Result<HostPlace, String> {
        match value {
            HarnessValue::Object(at) => match self.objects.get(at) {
                Some(Object::Place(place)) => Ok(*place),
                Some(Object::Buffer(buffer)) => Ok(self.host.whole(*buffer)),
                _ => Err("this is no buffer and no `world.at(…)`".into()),
            },
            _ => Err("this is no buffer and no `world.at(…)`".into()),
        }
    }

    /// A method of a stream or a graph.
    pub(super) fn method(&mut self, object: usize, method: &str, (args, named): HarnessArgs) -> Answer {
        let mut words = Words { method, args: args.into_iter(), named };
        match self.objects.get(object) {
            Some(&Object::Stream(stream)) => self.on_stream(stream, words),
            Some(&Object::Graph(graph)) if method == "replay" => {
                let times = words.optional("times").map_or(Ok(1), |value| int(&value))?;
                words.end()?;
                (0..times).try_for_each(|_| said(self.host.replay(graph)))?;
                Ok(HarnessValue::None)
            }
            Some(Object::Graph(_)) => Err(format!("a graph has no `{method}`; it has `replay(times=1)`")),
            Some(Object::Buffer(_) | Object::Place(_) | Object::Event(_)) | None => {
                Err(format!("a harness cannot call `.{method}` on this"))
            }
        }
    }

    /// A call of a method of a stream; of `world`, it is the default stream's.
    pub(super) fn on_stream(&mut self, stream: HostStream, mut words: Words<'_>) -> Answer {
        match words.method {
            "copy" => {
                let (to, from) = (self.place(words.next("to")?)?, self.place(words.next("source")?)?);
                words.end()?;
                said(self.host.copy(stream, to, from))?;
            }
            "write" | "fill" => {
                let buffer = self.buffer(words.next("buffer")?)?;
                let contents = words.contents("value", Contents::Number(0.0))?;
                words.end()?;
                said(self.host.write_on(stream, buffer, &contents))?;
            }
            "write_value" => {
                let (at, value) = (self.place(words.next("at")?)?, int(&words.next("value")?)?);
                words.end()?;
                said(self.host.write_value(stream, at, value))?;
            }
            "wait_value" => {
                let (at, value) = (self.place(words.next("at")?)?, int(&words.next("value")?)?);
                let compare = match words.optional("compare") {
                    None => Compare::Equal,
                    Some(HarnessValue::Str(word)) if matches!(word.as_str(), "eq" | "==") => Compare::Equal,
                    Some(HarnessValue::Str(word)) if matches!(word.as_str(), "geq" | "ge" | ">=") => {
                        Compare::GreaterOrEqual
                    }
                    Some(_) => return Err("a stream compares with \"==\" or \">=\"".into()),
                };
                words.end()?;
                said(self.host.wait_value(stream, at, compare, value))?;
            }
            "record" => {
                words.end()?;
                let event = said(self.host.record(stream))?;
                return Ok(self.keep(Object::Event(event)));
            }
            "wait" => {
                let event = match words.next("event")? {
                    HarnessValue::Object(at) => self.objects.get(at).copied(),
                    _ => None,
                };
                let Some(Object::Event(event)) = event else {
                    return Err("this is no event; `stream.record()` gives one".into());
                };
                words.end()?;
                said(self.host.wait_event(stream, event))?;
            }
            "synchronize" => {
                words.end()?;
                said(self.host.synchronize(stream))?;
            }
            method => {
                return Err(format!(
                    "a stream has no `{method}`; it has `copy`, `write`, `write_value`, `wait_value`, `record`, `wait` \
                     and `synchronize`"
                ));
            }
        }
        Ok(HarnessValue::None)
    }
}
