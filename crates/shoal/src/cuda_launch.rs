//! Launching on a GPU: the place where the compiler is trusted there.

#![expect(unsafe_code, reason = "the driver runs machine code, which no type system has looked at")]

use shoal_abi::TableUse;
use shoal_driver::cpu::LaunchOptions;
use shoal_driver::cuda::{CudaBuffer, CudaError, CudaKernel, LaunchShape, RankTable, StreamRef, table_of};
use shoal_driver::{ArgBlock, ArgWriter};

use crate::Error;
use crate::arg::{Location, Memory};
use crate::error::Report;
use crate::host_pieces::{Piece, piece_of, pieces};
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
}

impl CudaLaunch<'_> {
    /// Puts it into its stream.
    ///
    /// # Safety
    /// As for [`CudaKernel::launch`].
    #[inline]
    unsafe fn enqueue(&self, args: &ArgBlock) -> Result<(), CudaError> {
        let table = self.table.map(|(_, address)| address);
        if self.shape == LaunchShape::default() {
            // SAFETY: by contract.
            unsafe { self.code.launch(self.grid, args, table, self.stream) }
        } else {
            // SAFETY: by contract.
            unsafe { self.code.launch_shaped(self.grid, args, table, (self.stream, self.shape)) }
        }
    }
}

/// Puts a kernel into a stream. If its memory is the host's, that is copied there and back, and the launch is waited for.
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
            Ok(unsafe { launch.enqueue(prepared.block()) }?)
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
    let mut pieces = pieces(&leaves).map_err(refused)?;
    for piece in &mut pieces {
        let shift = piece.start % ROW;
        let copy = CudaBuffer::uninitialised(stream, shift + piece.len().max(1))?;
        copy.copy_part_from(stream, shift, piece.content())?;
        piece.copy = Some(copy);
    }
    let mut writer = ArgWriter::default();
    for (_, leaf) in leaves.iter() {
        pack::write_at(&mut writer, leaf, |memory| address(&pieces, memory));
    }
    // SAFETY: as above; the copies are as large as what they are copies of, and live until the stream was waited for.
    unsafe { launch.enqueue(&writer.finish()) }?;
    let ended = stream.synchronize_within(options.timeout, options.interrupt.as_ref());
    if let (Err(CudaError::Interrupted), Some((table, _))) = (&ended, launch.table) {
        // The kernel still uses the copies: its waits end now, and so does it.
        table.stop();
        stream.synchronize()?;
        table.forget();
    }
    ended.map_err(|error| match error {
        CudaError::Interrupted => shoal_driver::LaunchError::Interrupted { kernel: kernel.name.clone() }.into(),
        other => Error::Cuda(other),
    })?;
    if launch.table.is_none()
        && launch.code.table_use() == TableUse::Waits
        && let Some(stuck) = table_of(stream.device())?.take_report()
    {
        return Err(stuck.into());
    }
    for piece in &mut pieces {
        let (copy, shift) = (piece.copy.take(), piece.start % ROW);
        if let (Some(copy), Some(content)) = (copy, piece.content_mut()) {
            copy.copy_part_to(stream, shift, content)?;
        }
    }
    Ok(())
}

/// Where a kernel finds the copy of memory.
fn address(pieces: &[Piece], memory: &Memory<'_>) -> u64 {
    if memory.location != Location::Host {
        return memory.address as u64;
    }
    let found = piece_of(pieces, memory).and_then(|piece| Some((piece, piece.copy.as_ref()?)));
    found.map_or(0, |(piece, copy)| copy.address() + (piece.start % ROW + (memory.address - piece.start)) as u64)
}
