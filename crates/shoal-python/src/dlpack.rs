//! DLPack: memory of any array package, without copying.

use std::ffi::{c_int, c_void};
use std::slice;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern};
use shoal::{Access, DType, Location, Memory};

use crate::memory;

/// A tensor, as the C header lays it out.
#[repr(C)]
pub(crate) struct Tensor {
    data: *mut u8,
    device: [c_int; 2],
    dimensions: c_int,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    offset: u64,
}

impl Tensor {
    /// Where its first element is.
    pub(crate) fn address(&self) -> usize {
        self.data.expose_provenance() + self.offset as usize
    }

    /// Its elements' type; `None` if kernels have none.
    pub(crate) fn dtype(&self) -> Option<DType> {
        dtype(self.code, self.bits, self.lanes)
    }

    /// Where it is; `None` for devices that kernels do not run on.
    pub(crate) fn location(&self) -> Option<Location> {
        let [device, ordinal] = self.device;
        match i64::from(device) {
            CPU => Some(Location::Host),
            kind if PINNED.contains(&kind) => Some(Location::Host),
            kind if CUDA.contains(&kind) => u32::try_from(ordinal).ok().map(Location::Cuda),
            _ => None,
        }
    }

    /// Bytes from the first element to the end of the last one.
    ///
    /// # Safety
    /// It has as many sizes as it says, and as many strides or none.
    pub(crate) unsafe fn extent(&self, dtype: DType) -> usize {
        // SAFETY: by contract.
        unsafe { extent(self, dtype) }
    }
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: *const c_void,
}

#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    manager: *mut c_void,
    deleter: *const c_void,
    flags: u64,
    tensor: Tensor,
}

const CPU: i64 = 1;
/// Memory of the host that a GPU can see too.
const PINNED: [i64; 2] = [3, 11];
/// Memory of an NVIDIA GPU, and memory that moves between it and the host.
const CUDA: [i64; 2] = [2, 13];
/// DLPack's number for it.
const LEGACY_DEFAULT_STREAM: i64 = 1;
const READ_ONLY: u64 = 1;

/// The memory of an object with `__dlpack__`, and the capsule that keeps it.
pub(crate) fn memory<'a, 'py>(object: &Bound<'py, PyAny>) -> PyResult<(Memory<'a>, Bound<'py, PyAny>)> {
    let py = object.py();
    let (device, ordinal): (i64, i64) = object.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
    let on_cuda = CUDA.contains(&device);
    if device != CPU && !PINNED.contains(&device) && !on_cuda {
        return Err(PyValueError::new_err(format!(
            "the array is neither in the CPU's memory nor in that of an NVIDIA GPU (DLPack device {device}); copy it \
             there first"
        )));
    }
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let version = PyDict::new(py);
    version.set_item(intern!(py, "max_version"), (1, 0))?;
    if on_cuda {
        // Whoever made the array lets the default stream wait for it.
        version.set_item(intern!(py, "stream"), LEGACY_DEFAULT_STREAM)?;
    }
    // Producers from before version 1 do not know the argument.
    let capsule = match method.call((), Some(&version)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call0()?,
        other => other?,
    };
    let held = capsule.cast::<PyCapsule>()?;
    let (tensor, access) = read(held)?;
    let dtype = dtype(tensor.code, tensor.bits, tensor.lanes).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "kernels have no element type for DLPack's code {} with {} bits and {} lanes; convert the array",
            tensor.code, tensor.bits, tensor.lanes
        ))
    })?;
    // SAFETY: a capsule's tensor has as many sizes as it says, and strides or none.
    let bytes = unsafe { extent(tensor, dtype) };
    let address = tensor.data.expose_provenance() + tensor.offset as usize;
    // SAFETY: the capsule keeps the memory; the caller keeps the capsule.
    let memory = unsafe { Memory::from_raw(address, bytes, dtype, access) };
    if !on_cuda {
        return Ok((memory, capsule));
    }
    let ordinal = u32::try_from(ordinal).map_err(|_| PyValueError::new_err("`__dlpack_device__` names no GPU"))?;
    // SAFETY: the array says that its memory is that GPU's.
    Ok((unsafe { memory.on_cuda(ordinal) }, capsule))
}

fn read<'c>(capsule: &'c Bound<'_, PyCapsule>) -> PyResult<(&'c Tensor, Access)> {
    let pointer = |name: &std::ffi::CStr| {
        // SAFETY: the capsule is one, and the name a C string. An error is cleared below.
        let found = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        if found.is_null() {
            // SAFETY: clears the error of this thread, which is attached.
            unsafe { ffi::PyErr_Clear() };
        }
        found
    };
    let versioned = pointer(c"dltensor_versioned").cast::<ManagedVersioned>();
    // SAFETY: a capsule of this name points at this structure as long as it lives.
    if let Some(managed) = unsafe { versioned.as_ref() } {
        let access = if managed.flags & READ_ONLY == 0 { Access::ReadWrite } else { Access::ReadOnly };
        return Ok((&managed.tensor, access));
    }
    // SAFETY: as above.
    match unsafe { pointer(c"dltensor").cast::<Managed>().as_ref() } {
        Some(managed) => Ok((&managed.tensor, Access::ReadWrite)),
        None => Err(PyTypeError::new_err("`__dlpack__` gave a capsule that holds no tensor")),
    }
}

fn dtype(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    if lanes != 1 {
        return None;
    }
    Some(match (code, bits) {
        (0, 8) => DType::I8,
        (0, 16) => DType::I16,
        (0, 32) => DType::I32,
        (0, 64) => DType::I64,
        (1, 8) => DType::U8,
        (1, 16) => DType::U16,
        (1, 32) => DType::U32,
        (1, 64) => DType::U64,
        (2, 16) => DType::F16,
        (2, 32) => DType::F32,
        (2, 64) => DType::F64,
        (4, 16) => DType::BF16,
        (6, 8) => DType::I1,
        (10, 8) => DType::F8E4M3,
        (11, 8) => DType::F8E4M3Fnuz,
        (12, 8) => DType::F8E5M2,
        (13, 8) => DType::F8E5M2Fnuz,
        _ => return None,
    })
}

/// Bytes from the first element to the end of the last one.
///
/// # Safety
/// The tensor has as many sizes as it says, and as many strides or none.
unsafe fn extent(tensor: &Tensor, dtype: DType) -> usize {
    let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
    if dimensions == 0 {
        return dtype.bytes() as usize;
    }
    // SAFETY: the caller's promise.
    let shape = unsafe { slice::from_raw_parts(tensor.shape, dimensions) };
    let strides = (!tensor.strides.is_null()).then(|| {
        // SAFETY: the caller's promise, where there are strides.
        let strides = unsafe { slice::from_raw_parts(tensor.strides, dimensions) };
        strides.iter().map(|stride| stride * i64::from(dtype.bytes())).collect()
    });
    memory::reach(shape, strides, dtype)
}
