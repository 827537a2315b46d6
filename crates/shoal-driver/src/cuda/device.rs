//! GPUs and what they can do. A device's primary context is used, the one that torch and CuPy use too.

use std::{
    ffi::{CStr, c_char, c_int},
    fmt,
    sync::{Mutex, OnceLock},
    time::{Duration, Instant},
};

use shoal_abi::NvptxArch;

use super::{
    driver::driver,
    error::CudaError,
    sys::{
        Context, DeviceId, Functions, MemoryPool, NOT_READY, POINTER_DEVICE, POOL_RELEASE_THRESHOLD, SUCCESS,
        device_attribute as attribute,
    },
};
use crate::{interrupt::Interrupt, lock::lock};

/// A GPU. It is a name: copies are the same device.
#[derive(Clone, Copy)]
pub struct CudaDevice {
    known: &'static Known,
}

/// What is known of a device, for as long as the process runs.
struct Known {
    cuda: &'static Functions,
    ordinal: u32,
    id: DeviceId,
    context: Context,
    properties: DeviceProperties,
}

/// What a device is and has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// Its name.
    pub name: String,
    /// Its compute capability, major and minor.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory_bytes: usize,
    /// Bytes of level-2 cache.
    pub l2_bytes: u32,
    /// The most bytes of shared memory that a block can have.
    pub shared_bytes: u32,
    /// The most registers that a block can have.
    pub registers: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// The most threads of a block.
    pub block_threads: u32,
    /// The most threads on a multiprocessor at the same time.
    pub multiprocessor_threads: u32,
    /// The highest clock of the multiprocessors in kHz.
    pub clock_khz: u32,
    /// The highest clock of the memory in kHz.
    pub memory_clock_khz: u32,
    /// Bits of the memory's bus.
    pub memory_bus_bits: u32,
}

impl CudaDevice {
    /// How many GPUs there are.
    ///
    /// # Errors
    /// When there is no driver, or it cannot tell.
    pub fn count() -> Result<u32, CudaError> {
        let cuda = driver()?;
        let mut count: c_int = 0;
        // SAFETY: the pointer is to a local.
        cuda.check(unsafe { (cuda.device_count)(&raw mut count) }, || "counting GPUs".to_owned())?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// The number of the GPU whose memory an address is in.
    ///
    /// # Errors
    /// When there is no driver, or it does not know the address.
    pub fn ordinal_of(address: u64) -> Result<u32, CudaError> {
        let cuda = driver()?;
        let mut ordinal: c_int = 0;
        // SAFETY: the attribute is a number, and the pointer is to a local.
        let status = unsafe { (cuda.pointer_attribute)((&raw mut ordinal).cast(), POINTER_DEVICE, address) };
        cuda.check(status, || format!("asking whose memory {address:#x} is"))?;
        u32::try_from(ordinal).map_err(|_| CudaError::Invalid(format!("{address:#x} is no address of a GPU's memory")))
    }

    /// GPU number `ordinal` of this process.
    ///
    /// # Errors
    /// When there is no driver or no such device, or it is too old.
    pub fn new(ordinal: u32) -> Result<CudaDevice, CudaError> {
        static DEVICES: Mutex<Vec<OnceLock<&'static Known>>> = Mutex::new(Vec::new());
        let mut devices = lock(&DEVICES);
        let at = ordinal as usize;
        if let Some(known) = devices.get(at).and_then(OnceLock::get) {
            return Ok(CudaDevice { known });
        }
        let known: &'static Known = Box::leak(Box::new(Known::new(ordinal)?));
        if devices.len() <= at {
            devices.resize_with(at + 1, OnceLock::new);
        }
        Ok(CudaDevice { known: devices[at].get_or_init(|| known) })
    }

    /// The GPU that the calling thread uses: that of its current context, or else the first.
    ///
    /// # Errors
    /// When there is no driver or no GPU.
    pub fn current() -> Result<CudaDevice, CudaError> {
        let cuda = driver()?;
        let mut id: DeviceId = 0;
        // SAFETY: the pointer is to a local.
        if current_context(cuda).is_none() || unsafe { (cuda.context_device)(&raw mut id) } != SUCCESS {
            return CudaDevice::new(0);
        }
        for ordinal in 0..CudaDevice::count()? {
            let mut other: DeviceId = 0;
            // SAFETY: the pointer is to a local.
            let status = unsafe { (cuda.device)(&raw mut other, ordinal.cast_signed()) };
            if status == SUCCESS && other == id {
                return CudaDevice::new(ordinal);
            }
        }
        CudaDevice::new(0)
    }

    /// Its number in this process.
    #[must_use]
    pub fn ordinal(self) -> u32 {
        self.known.ordinal
    }

    /// What it is and has.
    #[must_use]
    pub fn properties(self) -> &'static DeviceProperties {
        &self.known.properties
    }

    /// What code for it is compiled for: the newest architecture that it has.
    #[must_use]
    pub fn arch(self) -> NvptxArch {
        arch_of(self.known.properties.capability).unwrap_or(NvptxArch::Sm80)
    }

    /// What tells it from all other GPUs, in every process.
    ///
    /// # Errors
    /// When the driver cannot tell.
    pub fn uuid(self) -> Result<[u8; 16], CudaError> {
        let mut uuid = [0; 16];
        // SAFETY: the pointer is to a local of the size that is written.
        let status = unsafe { (self.known.cuda.device_uuid)(&raw mut uuid, self.known.id) };
        self.known.cuda.check(status, || format!("asking which GPU number {} is", self.known.ordinal))?;
        Ok(uuid)
    }

    /// Bytes of memory that are free, and all.
    ///
    /// # Errors
    /// When the driver cannot tell.
    pub fn memory(self) -> Result<(usize, usize), CudaError> {
        let cuda = self.bind()?;
        let (mut free, mut all) = (0, 0);
        // SAFETY: the pointers are to locals.
        let status = unsafe { (cuda.memory_info)(&raw mut free, &raw mut all) };
        cuda.check(status, || "asking for free memory".to_owned())?;
        Ok((free, all))
    }

    /// Lets the device keep memory that was given back, for whoever asks next: giving it to the system would have to wait
    /// for kernels that run.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn keep_memory(self) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        let keeping = || "keeping memory".to_owned();
        let mut pool = MemoryPool::NULL;
        // SAFETY: the pointer is to a local.
        cuda.check(unsafe { (cuda.default_pool)(&raw mut pool, self.known.id) }, keeping)?;
        let mut threshold = u64::MAX;
        // SAFETY: the attribute is a number of 64 bits.
        let status = unsafe { (cuda.pool_set)(pool, POOL_RELEASE_THRESHOLD, (&raw mut threshold).cast()) };
        cuda.check(status, keeping)
    }

    /// Waits until all that was launched on it is done.
    ///
    /// # Errors
    /// When something that was launched failed.
    pub fn synchronize(self) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: the context is current.
        cuda.check(unsafe { (cuda.context_synchronize)() }, || "waiting for the GPU".to_owned())
    }

    /// Makes the device the current one of this thread for other libraries that use CUDA.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn make_current(self) -> Result<(), CudaError> {
        self.bind().map(drop)
    }

    /// Makes the device's context the current one of this thread, if it is not yet, and gives the driver.
    #[inline]
    pub(crate) fn bind(self) -> Result<&'static Functions, CudaError> {
        bind(self.known.cuda, self.known.context)?;
        Ok(self.known.cuda)
    }

    pub(crate) fn cuda(self) -> &'static Functions {
        self.known.cuda
    }

    pub(crate) fn id(self) -> DeviceId {
        self.known.id
    }

    pub(crate) fn context(self) -> Context {
        self.known.context
    }
}

/// The context of the calling thread, if it has one.
pub(crate) fn current_context(cuda: &Functions) -> Option<Context> {
    let mut current = Context::NULL;
    // SAFETY: the pointer is to a local.
    let status = unsafe { (cuda.current_context)(&raw mut current) };
    (status == SUCCESS && current != Context::NULL).then_some(current)
}

/// Makes a context the current one of this thread, if it is not yet.
#[inline]
pub(crate) fn bind(cuda: &Functions, context: Context) -> Result<(), CudaError> {
    let mut current = Context::NULL;
    // SAFETY: the pointer is to a local.
    if unsafe { (cuda.current_context)(&raw mut current) } == SUCCESS && current == context {
        return Ok(());
    }
    // SAFETY: contexts that Shoal uses live as long as the process.
    cuda.check(unsafe { (cuda.set_context)(context) }, || "choosing the GPU".to_owned())
}

impl Known {
    fn new(ordinal: u32) -> Result<Known, CudaError> {
        let cuda = driver()?;
        let count = CudaDevice::count()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        let mut id: DeviceId = 0;
        // SAFETY: the pointer is to a local.
        let status = unsafe { (cuda.device)(&raw mut id, ordinal.cast_signed()) };
        cuda.check(status, || format!("opening GPU {ordinal}"))?;
        let properties = properties(cuda, id)?;
        if arch_of(properties.capability).is_none() {
            let DeviceProperties { name, capability, .. } = properties;
            return Err(CudaError::Unsupported { ordinal, name, capability });
        }
        let mut context = Context::NULL;
        // SAFETY: the pointer is to a local. The context is never released: it lives as long as the process.
        let status = unsafe { (cuda.primary_context)(&raw mut context, id) };
        cuda.check(status, || format!("opening GPU {ordinal}"))?;
        Ok(Known { cuda, ordinal, id, context, properties })
    }
}

fn properties(cuda: &Functions, id: DeviceId) -> Result<DeviceProperties, CudaError> {
    let asking = || "asking what the GPU can do".to_owned();
    let number = |which: c_int| {
        let mut value: c_int = 0;
        // SAFETY: the pointer is to a local.
        cuda.check(unsafe { (cuda.device_attribute)(&raw mut value, which, id) }, asking)?;
        Ok::<u32, CudaError>(u32::try_from(value).unwrap_or(0))
    };
    let mut name = [0 as c_char; 256];
    // SAFETY: the buffer has the length that is said, and gets a C string.
    let name = unsafe {
        cuda.check((cuda.device_name)(name.as_mut_ptr(), 256, id), asking)?;
        CStr::from_ptr(name.as_ptr())
    };
    let mut memory_bytes = 0;
    // SAFETY: the pointer is to a local.
    cuda.check(unsafe { (cuda.device_memory)(&raw mut memory_bytes, id) }, asking)?;
    Ok(DeviceProperties {
        name: name.to_string_lossy().into_owned(),
        capability: (number(attribute::CAPABILITY_MAJOR)?, number(attribute::CAPABILITY_MINOR)?),
        multiprocessors: number(attribute::MULTIPROCESSOR_COUNT)?,
        memory_bytes,
        l2_bytes: number(attribute::L2_CACHE_SIZE)?,
        shared_bytes: number(attribute::MAX_SHARED_MEMORY_OPT_IN)?,
        registers: number(attribute::MAX_REGISTERS_PER_BLOCK)?,
        warp_size: number(attribute::WARP_SIZE)?,
        block_threads: number(attribute::MAX_THREADS_PER_BLOCK)?,
        multiprocessor_threads: number(attribute::MAX_THREADS_PER_MULTIPROCESSOR)?,
        clock_khz: number(attribute::CLOCK_RATE)?,
        memory_clock_khz: number(attribute::MEMORY_CLOCK_RATE)?,
        memory_bus_bits: number(attribute::MEMORY_BUS_WIDTH)?,
    })
}

/// The newest architecture that a device of this capability runs.
fn arch_of(capability: (u32, u32)) -> Option<NvptxArch> {
    // Of two with the same capability, the one with all instructions comes last.
    let same = NvptxArch::ALL.into_iter().rfind(|arch| arch.capability() == capability);
    let plain = |arch: &NvptxArch| !arch.name().ends_with('a') && arch.capability() <= capability;
    same.or_else(|| NvptxArch::ALL.into_iter().rfind(plain))
}

/// Asks again and again whether something is done, politely, until it is, the time is over or the host wants to stop.
pub(crate) fn poll(
    cuda: &Functions,
    what: &'static str,
    timeout: Option<Duration>,
    interrupt: Option<&Interrupt>,
    query: impl Fn() -> u32,
) -> Result<(), CudaError> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(1);
    loop {
        match query() {
            SUCCESS => return Ok(()),
            NOT_READY => {}
            status => return Err(cuda.failed(status, format!("waiting for {what}"))),
        }
        if let Some(after) = timeout.filter(|limit| start.elapsed() > *limit) {
            return Err(CudaError::TimedOut { what, after });
        }
        if interrupt.is_some_and(Interrupt::is_requested) {
            return Err(CudaError::Interrupted);
        }
        if start.elapsed() > Duration::from_micros(200) {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        } else {
            std::hint::spin_loop();
        }
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({}, {})", self.ordinal(), self.properties().name)
    }
}

impl PartialEq for CudaDevice {
    fn eq(&self, other: &CudaDevice) -> bool {
        self.ordinal() == other.ordinal()
    }
}

impl Eq for CudaDevice {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_run_the_newest_architecture_they_have() {
        assert_eq!(arch_of((8, 0)), Some(NvptxArch::Sm80));
        assert_eq!(arch_of((8, 6)), Some(NvptxArch::Sm86));
        assert_eq!(arch_of((9, 0)), Some(NvptxArch::Sm90a));
        assert_eq!(arch_of((10, 0)), Some(NvptxArch::Sm100a));
        assert_eq!(arch_of((7, 5)), None);
        // A device that is not known runs what every later one runs.
        assert_eq!(arch_of((8, 8)), Some(NvptxArch::Sm87));
        assert_eq!(arch_of((13, 0)), Some(NvptxArch::Sm120));
    }
}
