//! How many programs of a kernel fit on devices that people have.

/// A device, as far as residency goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceModel {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its multiprocessors or compute units.
    pub units: usize,
}

/// Devices by name. Each unit is taken to hold one program: how many more fit depends on the compiled kernel, and one
/// that needs them to make progress is fragile.
pub const DEVICES: &[DeviceModel] = &[
    DeviceModel { name: "a100", units: 108 },
    DeviceModel { name: "h100", units: 132 },
    DeviceModel { name: "h100-pcie", units: 114 },
    DeviceModel { name: "h200", units: 132 },
    DeviceModel { name: "h800", units: 132 },
    DeviceModel { name: "h20", units: 78 },
    DeviceModel { name: "l40s", units: 142 },
    DeviceModel { name: "b200", units: 148 },
    DeviceModel { name: "gb200", units: 148 },
    DeviceModel { name: "mi250x", units: 110 },
    DeviceModel { name: "mi300x", units: 304 },
    DeviceModel { name: "mi325x", units: 304 },
    DeviceModel { name: "mi355x", units: 256 },
];

/// The device of that name.
#[must_use]
pub fn device_named(name: &str) -> Option<DeviceModel> {
    DEVICES.iter().copied().find(|device| device.name == name)
}
