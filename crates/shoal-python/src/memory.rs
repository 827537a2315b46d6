//! The memory of whatever Python calls an array. Nothing is ever copied.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use shoal::cuda::CudaDevice;
use shoal::{Access, DType, Location, Memory};

use crate::arguments::{ExtentNeed, Held, Package};
use crate::errors::raise;
use crate::{devices, dlpack, dtypes, exchange};

/// A torch tensor.
pub(crate) fn torch<'a>(tensor: &Bound<'_, PyAny>, held: &'a Held) -> PyResult<Memory<'a>> {
    let py = tensor.py();
    if let Some(memory) = described(tensor, held) {
        return Ok(memory);
    }
    // First: where CUDA is played by the CPU, a tensor of the host says that it is CUDA's, too.
    if tensor.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
        held.note_host();
        return with_data_ptr(tensor, held);
    }
    if tensor.getattr(intern!(py, "is_cuda"))?.is_truthy()? {
        let ordinal: u32 = tensor.call_method0(intern!(py, "get_device"))?.extract()?;
        held.note_cuda(ordinal, Package::Torch);
        // SAFETY: torch says that the memory is there, and keeps it until work in its streams is done.
        return with_data_ptr(tensor, held).map(|memory| unsafe { memory.on_cuda(ordinal) });
    }
    Err(elsewhere(&tensor.getattr(intern!(py, "device"))?))
}

/// A torch tensor as torch describes it in C; `None` where Python must be asked.
#[inline]
fn described<'a>(tensor: &Bound<'_, PyAny>, held: &'a Held) -> Option<Memory<'a>> {
    let described = exchange::tensor(tensor)?;
    let (dtype, location, address) = (described.dtype()?, described.location()?, described.address());
    let bytes = match held.extents() {
        ExtentNeed::Unneeded if address != 0 => Memory::UNMEASURED,
        // SAFETY: torch filled it: sizes and strides are the tensor's own.
        ExtentNeed::Unneeded | ExtentNeed::IfKnown | ExtentNeed::Needed => unsafe { described.extent(dtype) },
    };
    // SAFETY: the tensor says that its elements are there, and whoever passed it keeps it for the launch.
    let memory = unsafe { Memory::from_raw(address, bytes, dtype, Access::ReadWrite) };
    match location {
        Location::Host => {
            held.note_host();
            Some(memory)
        }
        Location::Cuda(ordinal) => {
            held.note_cuda(ordinal, Package::Torch);
            // SAFETY: torch says that the memory is there, and keeps it until work in its streams is done.
            Some(unsafe { memory.on_cuda(ordinal) })
        }
    }
}

fn elsewhere(device: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!(
        "the tensor is on the device `{device}`, but kernels run on the CPU and on NVIDIA GPUs; pass `tensor.cpu()`, or \
         make it with `device='cpu'`"
    ))
}

/// The number of a GPU in a device's name: `cuda`, `cuda:1`.
fn cuda_ordinal(device: &str) -> Option<u32> {
    match device.strip_prefix("cuda")? {
        "" => Some(0),
        number => number.strip_prefix(':')?.parse().ok(),
    }
}

/// Triton's protocol: `data_ptr()` and `dtype`.
fn with_data_ptr<'a>(tensor: &Bound<'_, PyAny>, held: &'a Held) -> PyResult<Memory<'a>> {
    let py = tensor.py();
    let address: usize = tensor.call_method0(intern!(py, "data_ptr"))?.extract()?;
    let dtype = tensor.getattr(intern!(py, "dtype"))?;
    let Some(dtype) = dtypes::from_object(&dtype)? else {
        return Err(PyTypeError::new_err(format!(
            "kernels have no element type `{}`; convert the tensor",
            dtype.str()?
        )));
    };
    // Asking costs more than the rest of the launch.
    let bytes = match held.extents() {
        // Whether elements are missing there, or there are none.
        ExtentNeed::Unneeded | ExtentNeed::IfKnown if address == 0 => {
            extent(tensor, dtype).unwrap_or(Memory::UNMEASURED)
        }
        ExtentNeed::Unneeded => Memory::UNMEASURED,
        ExtentNeed::IfKnown => extent(tensor, dtype).unwrap_or(Memory::UNMEASURED),
        ExtentNeed::Needed => extent(tensor, dtype).ok_or_else(|| {
            PyTypeError::new_err("the tensor has no `shape`, so nobody knows how far it reaches; give it one")
        })?,
    };
    // SAFETY: the tensor says that its elements are there, and whoever passed it keeps it for the launch.
    Ok(unsafe { Memory::from_raw(address, bytes, dtype, Access::ReadWrite) })
}

/// An object that speaks one of the protocols for arrays; `None` if it does not.
pub(crate) fn by_protocol<'a>(object: &Bound<'_, PyAny>, held: &'a Held) -> PyResult<Option<Memory<'a>>> {
    let py = object.py();
    if object.hasattr(intern!(py, "data_ptr"))? && object.hasattr(intern!(py, "dtype"))? {
        if let Ok(device) = object.getattr(intern!(py, "device"))
            && !device.is_none()
            && !device.str()?.to_str()?.starts_with("cpu")
            && !devices::cuda_is_played()
        {
            let ordinal = cuda_ordinal(device.str()?.to_str()?).ok_or_else(|| elsewhere(&device))?;
            held.note_cuda(ordinal, Package::Other);
            // SAFETY: the object says that the memory is there, and whoever passed it keeps it for the launch.
            return with_data_ptr(object, held).map(|memory| Some(unsafe { memory.on_cuda(ordinal) }));
        }
        held.note_host();
        return with_data_ptr(object, held).map(Some);
    }
    if object.hasattr(intern!(py, "__cuda_array_interface__"))? {
        let interface = object.getattr(intern!(py, "__cuda_array_interface__"))?.cast_into::<PyDict>()?;
        let memory = array_interface(&interface, "__cuda_array_interface__")?;
        let ordinal = match memory.bytes() {
            0 => 0,
            _ => CudaDevice::ordinal_of(memory.address() as u64).map_err(|error| raise(py, error.into(), None))?,
        };
        held.note_cuda(ordinal, Package::Other);
        // SAFETY: the interface says that the memory is there, and whoever passed the object keeps it for the launch.
        return Ok(Some(unsafe { memory.on_cuda(ordinal) }));
    }
    if object.hasattr(intern!(py, "__dlpack__"))? && object.hasattr(intern!(py, "__dlpack_device__"))? {
        let (memory, capsule) = dlpack::memory(object)?;
        match memory.location() {
            Location::Host => held.note_host(),
            Location::Cuda(ordinal) => held.note_cuda(ordinal, Package::Other),
        }
        held.keep(capsule.unbind());
        return Ok(Some(memory));
    }
    if object.hasattr(intern!(py, "__array_interface__"))? {
        let interface = object.getattr(intern!(py, "__array_interface__"))?.cast_into::<PyDict>()?;
        held.note_host();
        return array_interface(&interface, "__array_interface__").map(Some);
    }
    buffer(object, held)
}

/// `__array_interface__`, version 3, or `__cuda_array_interface__`, which has the same form.
fn array_interface<'a, 'py>(interface: &Bound<'py, PyDict>, called: &str) -> PyResult<Memory<'a>> {
    let py = interface.py();
    let item = |name: &Bound<'py, PyString>| {
        interface.get_item(name)?.ok_or_else(|| PyTypeError::new_err(format!("`{called}` has no `{name}`")))
    };
    let (address, read_only): (usize, bool) = item(intern!(py, "data"))?.extract().map_err(|_| {
        PyTypeError::new_err(format!("the `data` of `{called}` is no address; wrap the object with `numpy.asarray`"))
    })?;
    let letters: String = item(intern!(py, "typestr"))?.extract()?;
    let dtype = by_typestr(&letters)
        .ok_or_else(|| PyTypeError::new_err(format!("kernels have no element type `{letters}`; convert the array")))?;
    let shape: Vec<i64> = item(intern!(py, "shape"))?.extract()?;
    let strides: Option<Vec<i64>> = match interface.get_item(intern!(py, "strides"))? {
        Some(strides) if !strides.is_none() => Some(strides.extract()?),
        _ => None,
    };
    let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
    let bytes = reach(&shape, strides, dtype);
    // SAFETY: the interface says that its elements are there, and whoever passed the object keeps it for the launch.
    Ok(unsafe { Memory::from_raw(address, bytes, dtype, access) })
}

fn by_typestr(letters: &str) -> Option<DType> {
    Some(match letters.trim_start_matches(['<', '|', '=']) {
        "b1" => DType::I1,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        _ => return None,
    })
}

/// Objects with Python's buffer protocol (`array.array`, `bytearray`, `memoryview`), by way of `runtime/bridge.py`: the
/// stable interface of Python 3.10 has no buffers.
fn buffer<'a>(object: &Bound<'_, PyAny>, held: &'a Held) -> PyResult<Option<Memory<'a>>> {
    let py = object.py();
    let found = py.import(intern!(py, "shoal.runtime.bridge"))?.call_method1(intern!(py, "buffer"), (object,))?;
    if found.is_none() {
        return Ok(None);
    }
    let found = found.cast_into::<PyTuple>()?;
    let (address, bytes, name, view): (usize, usize, String, Py<PyAny>) = found.extract()?;
    let dtype = dtypes::from_name(&name)
        .ok_or_else(|| PyTypeError::new_err(format!("kernels have no element type `{name}`; convert the buffer")))?;
    held.keep(view);
    held.note_host();
    // SAFETY: `view` keeps the buffer where it is, and `held` keeps `view`.
    Ok(Some(unsafe { Memory::from_raw(address, bytes, dtype, Access::ReadWrite) }))
}

/// How far a tensor reaches, if it tells.
fn extent(tensor: &Bound<'_, PyAny>, dtype: DType) -> Option<usize> {
    let py = tensor.py();
    let shape = tensor.getattr(intern!(py, "shape")).and_then(|shape| shape.extract::<Vec<i64>>()).ok()?;
    let strides = tensor.call_method0(intern!(py, "stride")).and_then(|strides| strides.extract::<Vec<i64>>());
    let strides = strides.ok().filter(|strides| strides.len() == shape.len());
    let strides = strides.map(|strides| strides.iter().map(|stride| stride * i64::from(dtype.bytes())).collect());
    Some(reach(&shape, strides, dtype))
}

/// Bytes from the first element to the end of the last one. Strides are in bytes; without them the array is dense.
pub(crate) fn reach(shape: &[i64], strides: Option<Vec<i64>>, dtype: DType) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    // What an object says of itself need not be possible.
    let item = i64::from(dtype.bytes());
    let bytes = match strides {
        Some(strides) => {
            let steps = shape.iter().zip(strides).map(|(size, stride)| (size - 1).saturating_mul(stride.max(0)));
            steps.fold(item, i64::saturating_add)
        }
        None => shape.iter().fold(item, |bytes, &size| bytes.saturating_mul(size)),
    };
    usize::try_from(bytes).unwrap_or(0)
}
