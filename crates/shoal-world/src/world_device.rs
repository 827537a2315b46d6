//! Where the symmetric memory of processes is.

use crate::environment::Variables;
use crate::error::WorldError;

/// The variable that names the device of a process.
const DEVICE: &str = "SHOAL_DEVICE";

/// Where the symmetric memory of ranks that are processes is, and their kernels run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorldDevice {
    /// The host's memory.
    #[default]
    Cpu,
    /// The memory of this GPU; without a number, ranks have the GPUs that their process sees in turns.
    Cuda(Option<u32>),
}

impl WorldDevice {
    /// What `SHOAL_DEVICE` says; without it, the host's memory.
    pub fn from_env() -> Result<WorldDevice, WorldError> {
        WorldDevice::read(&Variables::of_process())
    }

    pub(crate) fn read(variables: &Variables<'_>) -> Result<WorldDevice, WorldError> {
        let Some(text) = variables.text(DEVICE) else { return Ok(WorldDevice::Cpu) };
        WorldDevice::named(&text).ok_or_else(|| {
            let problem = "not a device; say `cpu`, `cuda`, or `cuda:1` for the second GPU".to_owned();
            WorldError::Environment { name: DEVICE, value: Some(text), problem }
        })
    }

    /// The device of a name: `cuda` (`gpu`), `cuda:1`, or `cpu` and `interp` (`interpreter`) for the host's memory.
    #[must_use]
    pub fn named(name: &str) -> Option<WorldDevice> {
        match name.trim().to_lowercase().as_str() {
            "cpu" | "interp" | "interpreter" => Some(WorldDevice::Cpu),
            "cuda" | "gpu" => Some(WorldDevice::Cuda(None)),
            other => other.strip_prefix("cuda:")?.parse().ok().map(|ordinal| WorldDevice::Cuda(Some(ordinal))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names() {
        let read = |value| WorldDevice::read(&Variables::of(&[(DEVICE, value)])).map_err(|error| error.to_string());
        assert_eq!(read("cuda"), Ok(WorldDevice::Cuda(None)));
        assert_eq!(read("cuda:3"), Ok(WorldDevice::Cuda(Some(3))));
        assert_eq!(read("interp"), Ok(WorldDevice::Cpu));
        assert_eq!(read(""), Ok(WorldDevice::Cpu));
        for wrong in ["cuda:first", "foo"] {
            let problem = "not a device; say `cpu`, `cuda`, or `cuda:1` for the second GPU";
            assert_eq!(read(wrong).unwrap_err(), format!("SHOAL_DEVICE={wrong}: {problem}"));
        }
    }
}
