//! Memory of a GPU that processes pass to each other: pieces without an address, which files stand for, and windows in
//! which a process maps the pieces of all.
//!
//! A piece lives as long as any process has it mapped or holds its file, whatever becomes of the process that made it.

use core::{ffi::c_void, fmt, ptr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{
    device::CudaDevice,
    error::CudaError,
    sys::{PieceAccess, PieceHandle, PieceLocation, PieceProperties, piece},
};

/// A piece of a GPU's memory that other processes can map.
pub struct ShareablePiece {
    /// The device whose driver knows it: where it is, or that of the process that has taken it over.
    device: CudaDevice,
    handle: PieceHandle,
    bytes: usize,
}

impl ShareablePiece {
    /// The size of a piece for so many bytes: pieces come in steps that the GPU chooses.
    ///
    /// # Errors
    /// When the driver cannot tell, or there are not so many addresses.
    pub fn rounded(device: CudaDevice, bytes: usize) -> Result<usize, CudaError> {
        let cuda = device.bind()?;
        let properties = properties(device);
        let mut step = 0;
        // SAFETY: the pointers are to locals.
        let status =
            unsafe { (cuda.piece_granularity)(&raw mut step, &raw const properties, piece::RECOMMENDED_GRANULARITY) };
        cuda.check(status, || "asking in what steps memory can be shared".to_owned())?;
        bytes
            .checked_next_multiple_of(step.max(1))
            .filter(|&bytes| bytes > 0 && isize::try_from(bytes).is_ok())
            .ok_or_else(|| CudaError::Invalid(format!("{bytes} bytes cannot be shared between processes")))
    }

    /// New memory; `bytes` is what [`rounded`](Self::rounded) gave. What is in it is not known.
    ///
    /// # Errors
    /// When there is not enough memory, or the GPU cannot share it.
    pub fn new(device: CudaDevice, bytes: usize) -> Result<ShareablePiece, CudaError> {
        let cuda = device.bind()?;
        let properties = properties(device);
        let mut handle = 0;
        // SAFETY: the pointers are to locals.
        let status = unsafe { (cuda.piece_create)(&raw mut handle, bytes, &raw const properties, 0) };
        cuda.check(status, || format!("taking {bytes} bytes of GPU {} to share", device.ordinal()))?;
        Ok(ShareablePiece { device, handle, bytes })
    }

    /// A file that stands for it, for other processes.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn export(&self) -> Result<OwnedFd, CudaError> {
        let cuda = self.device.bind()?;
        let mut file: core::ffi::c_int = -1;
        // SAFETY: for a file, the driver writes its number, an `int`.
        let status = unsafe { (cuda.piece_export)((&raw mut file).cast(), self.handle, piece::POSIX_FILE, 0) };
        cuda.check(status, || "making a file of a GPU's memory".to_owned())?;
        // SAFETY: the driver has opened it for the caller, who owns it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        // Programs that this process starts have no use for it; one that gets it anyway keeps memory, nothing worse.
        let _ = rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::CLOEXEC);
        Ok(file)
    }

    /// The piece that a file stands for, which another process (or this one) has made with so many bytes.
    ///
    /// # Errors
    /// When the file is no GPU's memory, or the driver refuses.
    pub fn import(device: CudaDevice, file: BorrowedFd<'_>, bytes: usize) -> Result<ShareablePiece, CudaError> {
        let cuda = device.bind()?;
        let mut handle = 0;
        let number = usize::try_from(file.as_raw_fd()).unwrap_or(usize::MAX);
        let file: *mut c_void = ptr::without_provenance_mut(number);
        // SAFETY: a file is passed by its number; the driver keeps what it needs of it.
        let status = unsafe { (cuda.piece_import)(&raw mut handle, file, piece::POSIX_FILE) };
        cuda.check(status, || format!("taking over memory that another process shares, on GPU {}", device.ordinal()))?;
        Ok(ShareablePiece { device, handle, bytes })
    }
}

impl Drop for ShareablePiece {
    fn drop(&mut self) {
        if let Ok(cuda) = self.device.bind() {
            // SAFETY: it was made for this object. Where it is mapped it stays.
            unsafe { (cuda.piece_release)(self.handle) };
        }
    }
}

impl fmt::Debug for ShareablePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShareablePiece({} bytes on {:?})", self.bytes, self.device)
    }
}

fn properties(device: CudaDevice) -> PieceProperties {
    PieceProperties {
        kind: piece::PINNED,
        handle_kinds: piece::POSIX_FILE,
        location: location(device),
        windows_data: ptr::null_mut(),
        flags: [0; 8],
    }
}

fn location(device: CudaDevice) -> PieceLocation {
    PieceLocation { kind: piece::ON_DEVICE, device: device.id() }
}

/// Pieces of the same size, one behind the other at addresses that a GPU reads and writes.
pub struct Window {
    device: CudaDevice,
    address: u64,
    /// Bytes of each piece.
    stride: usize,
    /// As many as are mapped.
    pieces: usize,
    /// As many as there are addresses for.
    reserved: usize,
}

impl Window {
    /// Maps pieces for a device, in their order.
    ///
    /// # Errors
    /// When they have different sizes, or the device cannot reach one of them.
    pub fn map(device: CudaDevice, pieces: &[ShareablePiece]) -> Result<Window, CudaError> {
        let stride = pieces.first().map_or(0, |piece| piece.bytes);
        let whole = stride.checked_mul(pieces.len()).filter(|&bytes| bytes > 0 && isize::try_from(bytes).is_ok());
        let whole = whole.filter(|_| pieces.iter().all(|piece| piece.bytes == stride));
        let whole = whole.ok_or_else(|| {
            CudaError::Invalid(format!("{} pieces of {stride} bytes do not make a window", pieces.len()))
        })?;
        let cuda = device.bind()?;
        let mut address = 0;
        // SAFETY: the pointer is to a local.
        let status = unsafe { (cuda.range_reserve)(&raw mut address, whole, 0, 0, 0) };
        cuda.check(status, || format!("reserving {whole} addresses of GPU {}", device.ordinal()))?;
        // From here on, dropping it gives all back.
        let mut window = Window { device, address, stride, pieces: 0, reserved: pieces.len() };
        for piece in pieces {
            let at = window.address_of(window.pieces);
            // SAFETY: the range is reserved, and nothing is mapped there yet.
            let status = unsafe { (cuda.range_map)(at, stride, 0, piece.handle, 0) };
            cuda.check(status, || format!("mapping memory number {} of {}", window.pieces, pieces.len()))?;
            window.pieces += 1;
        }
        let access = PieceAccess { location: location(device), flags: piece::READ_WRITE };
        for number in 0..pieces.len() {
            // SAFETY: the range is mapped.
            let status = unsafe { (cuda.range_access)(window.address_of(number), stride, &raw const access, 1) };
            cuda.check(status, || format!("letting GPU {} access memory number {number}", device.ordinal()))?;
        }
        Ok(window)
    }

    /// The device that reaches it.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.device
    }

    /// Where a piece begins.
    #[must_use]
    pub fn address_of(&self, number: usize) -> u64 {
        assert!(number < self.reserved, "piece {number} of {}", self.reserved);
        self.address + (number * self.stride) as u64
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let Ok(cuda) = self.device.bind() else { return };
        // SAFETY: the ranges were mapped and reserved for this object, by whoever keeps it until the GPU uses it no more.
        unsafe {
            for number in 0..self.pieces {
                (cuda.range_unmap)(self.address_of(number), self.stride);
            }
            (cuda.range_free)(self.address, self.reserved * self.stride);
        }
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window({} pieces of {} bytes at {:#x} of {:?})", self.pieces, self.stride, self.address, self.device)
    }
}

const _: () = assert!(size_of::<PieceProperties>() == 32 && size_of::<PieceAccess>() == 12);
