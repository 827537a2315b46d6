//! Graphs: work that is recorded once and launched many times.

use core::fmt;

use super::{
    device::CudaDevice,
    error::CudaError,
    stream::StreamRef,
    sys::{CAPTURE_THREAD_LOCAL, GraphExec, GraphHandle, SUCCESS},
};

/// Recorded work, ready to be launched.
pub struct Graph {
    device: CudaDevice,
    exec: GraphExec,
}

impl Graph {
    /// Records what `work` puts into the stream, without doing it. The stream is not the default one.
    ///
    /// # Errors
    /// When `work` fails, or does something that cannot be recorded.
    pub fn record<E: From<CudaError>>(stream: StreamRef, work: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        let cuda = stream.bind()?;
        // SAFETY: the stream lives.
        let status = unsafe { (cuda.capture_begin)(stream.raw(), CAPTURE_THREAD_LOCAL) };
        cuda.check(status, || "recording a graph".to_owned())?;
        let worked = work();
        let mut graph = GraphHandle::NULL;
        let cuda = stream.bind()?;
        // SAFETY: the stream is being captured, and the pointer is to a local.
        let status = unsafe { (cuda.capture_end)(stream.raw(), &raw mut graph) };
        if worked.is_err() && status == SUCCESS {
            // SAFETY: it was just recorded, and nobody has it.
            unsafe { (cuda.graph_destroy)(graph) };
        }
        worked?;
        cuda.check(status, || "recording a graph".to_owned())?;
        let mut exec = GraphExec::NULL;
        // SAFETY: the graph was just recorded, and is not needed after it was made ready.
        let status = unsafe {
            let status = (cuda.graph_instantiate)(&raw mut exec, graph, 0);
            (cuda.graph_destroy)(graph);
            status
        };
        cuda.check(status, || "making a graph ready".to_owned())?;
        Ok(Graph { device: stream.device(), exec })
    }

    /// Puts all of it into a stream.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// What was recorded may be launched again: its memory is still there.
    pub unsafe fn launch(&self, stream: StreamRef) -> Result<(), CudaError> {
        let cuda = stream.bind()?;
        // SAFETY: the graph lives, and by contract what it uses.
        cuda.check(unsafe { (cuda.graph_launch)(self.exec, stream.raw()) }, || "launching a graph".to_owned())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(cuda) = self.device.bind() {
            // SAFETY: it was made for this object; launches of it go on.
            unsafe { (cuda.graph_exec_destroy)(self.exec) };
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("device", &self.device).finish_non_exhaustive()
    }
}
