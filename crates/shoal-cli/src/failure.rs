//! Why a command ends without success.

use std::path::{Path, PathBuf};

use shoal::{Error, similar};

/// The exit status after Ctrl-C, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command ends without success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Something in Shoal.
    #[error("{0}")]
    Shoal(#[from] Error),
    /// A file.
    #[error("cannot {verb} {}: {reason}", .path.display())]
    File { verb: &'static str, path: PathBuf, reason: std::io::Error },
    /// Something between ranks.
    #[error("{0}")]
    World(#[from] shoal::world::WorldError),
    /// A rank that `shoal launch` started.
    #[error("{message}")]
    Rank { message: String, code: u8 },
    /// `shoal check` found something, and has told it.
    #[error("something was found")]
    Found,
    /// `shoal check` could not check.
    #[error("{0}")]
    Unchecked(Box<Failure>),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A command line that can be read, but asks for what there is not.
    #[error("{0}")]
    Usage(String),
    /// Anything else.
    #[error("{0}")]
    Message(String),
}

impl Failure {
    /// The exit status that tells of it.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Rank { code, .. } => *code,
            // As for a command line that cannot be read; findings of checks have a status of their own.
            Failure::Usage(_) | Failure::Unchecked(_) => 2,
            // Names, signatures and arguments of kernels come from the command line.
            Failure::Shoal(Error::Argument(_) | Error::NoKernel { .. } | Error::Grid { .. }) => 2,
            Failure::Shoal(Error::Target(_) | Error::Text(_)) => 2,
            Failure::Interrupted => INTERRUPTED,
            Failure::Shoal(_) | Failure::File { .. } | Failure::World(_) | Failure::Message(_) | Failure::Found => 1,
        }
    }

    /// What is wrong with the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    /// A message.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }
}

/// What to say of a name that is not known: which one it is a slip of, else all there are.
pub(crate) fn instead_of<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match similar(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|reason| Failure::File { verb: "read", path: path.to_owned(), reason })
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    std::fs::write(path, content).map_err(|reason| Failure::File { verb: "write", path: path.to_owned(), reason })
}
