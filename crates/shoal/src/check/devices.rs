//! Devices that people have, as far as the room for programs goes.

use shoal_abi::NvptxArch;

/// A device, as far as residency goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceModel {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its multiprocessors or compute units.
    pub units: usize,
    /// What one of them holds, where kernels are compiled for it.
    pub unit: Option<UnitLimits>,
}

/// What a multiprocessor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitLimits {
    /// What kernels are compiled for.
    pub arch: NvptxArch,
    /// Programs.
    pub programs: u32,
    /// Threads of all its programs.
    pub threads: u32,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
}

const fn limits(arch: NvptxArch, programs: u32, threads: u32, shared_kib: u32) -> Option<UnitLimits> {
    Some(UnitLimits { arch, programs, threads, registers: 65_536, shared_bytes: shared_kib << 10 })
}

/// The tables of NVIDIA's programming guide, by compute capability.
const AMPERE: Option<UnitLimits> = limits(NvptxArch::Sm80, 32, 2048, 164);
const AMPERE_86: Option<UnitLimits> = limits(NvptxArch::Sm86, 16, 1536, 100);
const ADA: Option<UnitLimits> = limits(NvptxArch::Sm89, 24, 1536, 100);
const HOPPER: Option<UnitLimits> = limits(NvptxArch::Sm90a, 32, 2048, 228);
const BLACKWELL: Option<UnitLimits> = limits(NvptxArch::Sm100a, 32, 2048, 228);

const fn model(name: &'static str, units: usize, unit: Option<UnitLimits>) -> DeviceModel {
    DeviceModel { name, units, unit }
}

/// Devices by name.
pub const DEVICES: &[DeviceModel] = &[
    model("a10", 72, AMPERE_86),
    model("a100", 108, AMPERE),
    model("h100", 132, HOPPER),
    model("h100-pcie", 114, HOPPER),
    model("h200", 132, HOPPER),
    model("gh200", 132, HOPPER),
    model("h800", 132, HOPPER),
    model("h20", 78, HOPPER),
    model("l4", 58, ADA),
    model("l40s", 142, ADA),
    model("b200", 148, BLACKWELL),
    model("gb200", 148, BLACKWELL),
    model("mi210", 104, None),
    model("mi250x", 110, None),
    model("mi300a", 228, None),
    model("mi300x", 304, None),
    model("mi325x", 304, None),
    model("mi355x", 256, None),
];

/// The device of that name.
#[must_use]
pub fn device_named(name: &str) -> Option<DeviceModel> {
    DEVICES.iter().copied().find(|device| device.name == name)
}
