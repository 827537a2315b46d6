//! The environment of a process, read so that a wrong value is named with its variable.

use std::str::FromStr;

use crate::error::WorldError;

/// Finds the value of a variable.
type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Environment variables. Tests bring their own.
pub(crate) struct Variables<'a>(Box<Lookup<'a>>);

impl<'a> Variables<'a> {
    pub(crate) fn of_process() -> Variables<'static> {
        Variables(Box::new(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())))
    }

    #[cfg(test)]
    pub(crate) fn of(pairs: &'a [(&'a str, &'a str)]) -> Variables<'a> {
        Variables(Box::new(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())))
    }

    /// The text of a variable that is set and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The number that a variable says.
    pub(crate) fn number<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, WorldError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => {
                let problem = "not a number in range".to_owned();
                Err(WorldError::Environment { name, value: Some(text), problem })
            }
        }
    }
}
