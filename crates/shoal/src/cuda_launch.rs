//! Launching on a GPU: the place where the compiler is trusted there.

#![expect(unsafe_code, reason = "the driver runs machine code, which no type system has looked at")]

use std::sync::Arc;

use shoal_abi::TableUse;
use shoal_driver::cpu::LaunchOptions;
use shoal_driver::cuda::{
    CudaBuffer, CudaError, CudaKernel, LaunchShape, LaunchTables, RankTable, StreamRef, table_of,
};
use shoal_driver::{ArgBlock, ArgWriter, Bounds};

use crate::Error;
use crate::arg::{Location, Memory};
use crate::cpu_launch::bounds_at;
use crate::error::Report;
use crate::host_pieces::{Piece, merged, pieces};
use crate::kernel::{KernelShared, Prepared};
use crate::memory_location::Locations;
use crate::pack;
use crate::specialise::ArgumentError;

/// A piece's copy starts where the piece does in a row of so many bytes, so that what divides one address divides the
/// other.
const ROW: usize = 256;

/// A launch on a GPU.
pub(crate) struct CudaLaunch<'a> {
    pub(crate) code: &'a CudaKernel,
    pub(crate) grid: [u32; 3],
    pub(crate) stream: StreamRef,
    pub(crate) shape: LaunchShape,
    /// The launching rank's table and its address, if a rank launches.
    pub(crate) table: Option<(&'a RankTable, u64)>,
    /// The memory of the arguments, if accesses are checked.
    pub(crate) bounds: Option<Arc<Bounds>>,
}

impl CudaLaunch<'_> {
    /// Puts it into its stream.
    ///
    /// # Safety
    /// As for [`CudaKernel::launch`].
    #[inline]
    unsafe fn enqueue(&self, args: &ArgBlock, bounds: Option<&Arc<Bounds>>) -> Result<(), CudaError> {
        if let (Some((table, _)), Some(bounds)) = (self.table, bounds) {
            table.checking(bounds);
        }
        let tables = LaunchTables { ranks: self.table.map(|(_, address)| address), bounds };
        if self.shape == LaunchShape::default() {
            // SAFETY: by contract.
            unsafe { self.code.launch(self.grid, args, tables, self.stream) }
        } else {
            // SAFETY: by contract.
            unsafe { self.code.launch_shaped(self.grid, args, tables, (self.stream, self.shape)) }
        }
    }

    /// Waits until it has ended, and says why its programs could not go on, if so.
    fn ended(&self, kernel: &KernelShared, options: &LaunchOptions) -> Result<(), Error> {
        let stream = self.stream;
        let ended = stream.synchronize_within(options.timeout, options.interrupt.as_ref());
        if let (Err(CudaError::Interrupted), Some((table, _))) = (&ended, self.table) {
            // The kernel may still use the host's copies: its waits end now, and so does it.
            table.stop();
            stream.synchronize()?;
            table.forget();
        }
        ended.map_err(|error| match error {
            CudaError::Interrupted => shoal_driver::LaunchError::Interrupted { kernel: kernel.name.clone() }.into(),
            other => Error::Cuda(other),
        })?;
        if self.table.is_none()
            && self.code.table_use() != TableUse::None
            && let Some(stuck) = table_of(stream.device())?.take_report()
        {
            return Err(stuck.into());
        }
        Ok(())
    }
}

/// Puts a kernel into a stream. If its memory is the host's, that is copied there and back, and the launch is waited for; so
/// it is if programs may fail, unless it is captured in a graph or a rank launches, which hears of it when it waits.
///
/// Callers pass a kernel that this crate compiled (or found in its own cache), with arguments packed for it.
#[inline]
pub(crate) fn launch(
    kernel: &KernelShared,
    prepared: &Prepared<'_>,
    launch: &CudaLaunch<'_>,
    options: &LaunchOptions,
) -> Result<(), Error> {
    match prepared.locations() {
        Locations::All(Location::Host) | Locations::HostAndCuda(_) => staged(kernel, prepared, launch, options),
        Locations::None | Locations::All(Location::Cuda(_)) | Locations::Mixed => {
            // SAFETY: the code comes from `shoal-codegen`, which describes the kernel truthfully. The block was packed for the
            // very specialisation that the code was compiled for. The memory behind its pointers is the GPU's (`prepare`
            // refuses other), and is given back in the order of streams only. That the kernel stays inside of its memory is
            // what `CudaKernel::launch` asks of whoever wrote it.
            unsafe { launch.enqueue(prepared.block(), launch.bounds.as_ref()) }?;
            if launch.code.can_fail() && launch.table.is_none() && !launch.stream.is_capturing()? {
                launch.ended(kernel, options)?;
            }
            Ok(())
        }
    }
}

/// Launches on copies of the host's memory.
#[cold]
fn staged(
    kernel: &KernelShared,
    prepared: &Prepared<'_>,
    launch: &CudaLaunch<'_>,
    options: &LaunchOptions,
) -> Result<(), Error> {
    let refused = |error: ArgumentError| Error::Argument(Report::new(*error, kernel.module.sources()));
    let leaves = prepared.leaves().map_err(refused)?;
    let stream = launch.stream;
    let mut copied = Vec::new();
    for piece in merged(pieces(&leaves, "it is copied to the GPU").map_err(refused)?) {
        let shift = piece.start % ROW;
        let copy = CudaBuffer::uninitialised(stream, shift + piece.len().max(1))?;
        copy.copy_part_from(stream, shift, piece.content())?;
        copied.push((piece, copy));
    }
    let mut writer = ArgWriter::default();
    for (_, leaf) in leaves.iter() {
        pack::write_at(&mut writer, leaf, |memory| address(&copied, memory));
    }
    let bounds = launch.bounds.as_ref().map(|_| bounds_at(&leaves, |memory| address(&copied, memory) as usize));
    // SAFETY: as above; the copies are as large as what they are copies of, and live until the stream was waited for.
    unsafe { launch.enqueue(&writer.finish(), bounds.as_ref()) }?;
    launch.ended(kernel, options)?;
    for (piece, copy) in &mut copied {
        let shift = piece.start % ROW;
        if let Some(content) = piece.content_mut() {
            copy.copy_part_to(stream, shift, content)?;
        }
    }
    Ok(())
}

/// Where a kernel finds the copy of memory.
fn address(copied: &[(Piece, CudaBuffer<u8>)], memory: &Memory<'_>) -> u64 {
    if memory.location != Location::Host {
        return memory.address as u64;
    }
    let found = copied.iter().find(|(piece, _)| piece.holds(memory));
    found.map_or(0, |(piece, copy)| copy.address() + (piece.start % ROW + (memory.address - piece.start)) as u64)
}
