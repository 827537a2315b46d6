//! The engine `threads`: ranks are threads of one process, their heaps one anonymous mapping.

use std::sync::Arc;

use super::EngineKind;
use super::shared::{Layout, Mapping, SharedEngine, SharedMemory};
use crate::error::WorldError;
use crate::options::WorldOptions;

/// A rank that is a thread.
pub(crate) type ThreadEngine = SharedEngine<()>;

/// The views of all ranks.
pub(crate) fn start(options: &WorldOptions, ranks: usize) -> Result<Vec<ThreadEngine>, WorldError> {
    let mapping = Mapping::anonymous(Layout::new(options)?, ranks)?;
    let memory = Arc::new(SharedMemory { mapping, kind: EngineKind::Threads, timeout: options.timeout });
    Ok((0..ranks).map(|rank| SharedEngine { memory: Arc::clone(&memory), rank, _keep: () }).collect())
}
