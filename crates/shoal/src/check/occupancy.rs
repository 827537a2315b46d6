//! How many programs of a kernel a device holds at once.
//!
//! Where the kernel compiles for the device and `ptxas` tells its registers, the number follows from what one program
//! takes and what a multiprocessor has. Otherwise each unit is taken to hold one program: that much is always there,
//! and a kernel that hangs with it is fragile.

use shoal_abi::{NvptxArch, Target};
use shoal_driver::cuda::assemble_with_ptxas;
use shoal_lang::ArgSpec;
use shoal_source::Cancellation;

use super::devices::{DeviceModel, UnitLimits};
use crate::compile::{generate, optimise};
use crate::{CompileOptions, Kernel};

/// What one program of a kernel takes of a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Its threads.
    pub threads: u32,
    /// The registers of each of them, if known.
    pub registers: Option<u32>,
    /// Its shared memory.
    pub shared_bytes: u32,
}

/// How many programs of a kernel are resident at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelRoom {
    /// The kernel.
    pub kernel: String,
    /// How many programs of a rank.
    pub programs: usize,
    /// Why so many.
    pub reason: String,
}

/// Shared memory that the system takes of each program.
const RESERVED_SHARED: u32 = 1024;

/// Parts of a multiprocessor, each with its share of the registers.
const PARTITIONS: u32 = 4;

const WARP: u32 = 32;

impl UnitLimits {
    /// How many such programs fit at once, and what keeps more from fitting. At least one: what does not fit alone is
    /// refused when it is launched.
    #[must_use]
    pub fn programs(&self, taken: Footprint) -> (u32, &'static str) {
        let warps = taken.threads.div_ceil(WARP).max(1);
        let by_threads = self.threads / (warps * WARP);
        let by_shared = self.shared_bytes / (taken.shared_bytes.next_multiple_of(128) + RESERVED_SHARED);
        let by_registers = match taken.registers {
            // Registers are handed out to warps, 8 for each thread at a time.
            Some(each) => {
                let of_warp = each.max(1).next_multiple_of(8) * WARP;
                self.registers / PARTITIONS / of_warp * PARTITIONS / warps
            }
            None => 1,
        };
        let registers = if taken.registers.is_some() { "registers" } else { "registers, which only `ptxas` tells" };
        let bounds = [
            (self.programs, "programs"),
            (by_threads, "threads"),
            (by_shared, "shared memory"),
            (by_registers, registers),
        ];
        let (least, what) = bounds.into_iter().min_by_key(|(programs, _)| *programs).unwrap_or((1, "programs"));
        (least.max(1), what)
    }
}

/// How many programs of a kernel a device holds.
pub(super) fn room(device: DeviceModel, kernel: &Kernel, specs: &[ArgSpec]) -> KernelRoom {
    // As it is shipped: without assertions.
    let options = &CompileOptions { debug: false, ..kernel.options().clone() };
    let DeviceModel { name, units, unit } = device;
    let (each, why) = match unit {
        None => (1, "kernels are not compiled for it yet".to_owned()),
        Some(unit) => match footprint(kernel, options, specs, unit.arch) {
            Err(why) => (1, why),
            Ok(taken) => {
                let (each, bound) = unit.programs(taken);
                let Footprint { threads, registers, shared_bytes } = taken;
                let registers = registers.map_or_else(|| "an unknown number of".to_owned(), |n| n.to_string());
                let takes = format!("{threads} threads, {registers} registers each, {shared_bytes} bytes shared");
                (each, format!("a program takes {takes}; bound by {bound}"))
            }
        },
    };
    let reason = format!("{name} has {units} units with {each} each: {why}");
    KernelRoom { kernel: kernel.name().to_owned(), programs: units * each as usize, reason }
}

/// What a program takes, found by compiling it. The error says in words why that is not known.
fn footprint(
    kernel: &Kernel,
    options: &CompileOptions,
    specs: &[ArgSpec],
    arch: NvptxArch,
) -> Result<Footprint, String> {
    let refused = |_| format!("it does not compile for {}", arch.name());
    let (shared, target) = (kernel.shared(), Target::Nvptx(arch));
    let (lowered, _) = optimise(shared, specs, options, &target, &Cancellation::default()).map_err(refused)?;
    let entry = generate(shared, &lowered, &target, options).map_err(refused)?;
    let needs = entry.description.nvptx().ok_or_else(|| format!("it is no kernel for {}", arch.name()))?;
    let said = assemble_with_ptxas(kernel.name(), arch, &entry.object).ok();
    let registers = said.and_then(|(_, said)| registers(&said));
    Ok(Footprint { threads: needs.threads, registers, shared_bytes: needs.shared_bytes })
}

/// The registers of each thread, as `ptxas -v` says.
fn registers(said: &str) -> Option<u32> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let used = words.windows(3).find(|words| words[0] == "Used" && words[2].starts_with("registers"))?;
    used[1].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::device_named;

    fn fits(device: &str, threads: u32, registers: Option<u32>, shared_bytes: u32) -> u32 {
        let unit = device_named(device).and_then(|device| device.unit).expect("a device with limits");
        unit.programs(Footprint { threads, registers, shared_bytes }).0
    }

    /// As NVIDIA's occupancy calculator has it.
    #[test]
    fn occupancy_is_as_the_tables_say() {
        assert_eq!(fits("h100", 128, Some(32), 0), 16);
        assert_eq!(fits("h100", 32, Some(16), 0), 32);
        assert_eq!(fits("h100", 128, Some(255), 0), 2);
        assert_eq!(fits("h100", 256, Some(168), 0), 1);
        assert_eq!(fits("h100", 128, Some(128), 0), 4);
        assert_eq!(fits("h100", 128, Some(64), 100 << 10), 2);
        assert_eq!(fits("h100", 384, Some(168), 227 << 10), 1);
        assert_eq!(fits("a100", 128, Some(32), 48 << 10), 3);
        assert_eq!(fits("l40s", 256, Some(32), 0), 6);
        assert_eq!(fits("h100", 128, None, 0), 1, "what is not known is not counted on");
        assert_eq!(fits("a10", 1024, Some(255), 0), 1, "one is always there, or the launch fails");
    }

    #[test]
    fn registers_are_read_from_what_ptxas_says() {
        let said = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'k' for 'sm_90a'\n\
                    ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n";
        assert_eq!(registers(said), Some(40));
        assert_eq!(registers("ptxas info: nothing"), None);
    }
}
