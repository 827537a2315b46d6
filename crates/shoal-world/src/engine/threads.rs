//! The engine `threads`: ranks are threads of one process, their heaps one anonymous mapping.

use std::sync::{Arc, OnceLock};

use shoal_driver::LaunchGroup;

use super::EngineKind;
use super::shared::{Layout, Mapping, SharedEngine, SharedMemory};
use crate::error::WorldError;
use crate::options::WorldOptions;

/// A rank that is a thread.
pub(crate) type ThreadEngine = SharedEngine<()>;

/// The views of all ranks, whose waits the group knows.
pub(crate) fn start(
    options: &WorldOptions,
    ranks: usize,
    group: Option<&LaunchGroup>,
) -> Result<Vec<ThreadEngine>, WorldError> {
    let mapping = Mapping::anonymous(Layout::new(options)?, ranks)?;
    let (kind, timeout, group) = (EngineKind::Threads, options.timeout, group.cloned());
    let memory = Arc::new(SharedMemory { mapping, kind, timeout, group, deadlock: OnceLock::new() });
    Ok((0..ranks).map(|rank| SharedEngine { memory: Arc::clone(&memory), rank, _keep: () }).collect())
}
