//! PTX to machine code: by the driver's own assembler, or by `ptxas` where there is no driver.

use std::{
    env,
    ffi::{CString, c_void},
    fs,
    path::{Path, PathBuf},
    process::Command,
    ptr, slice,
};

use shoal_abi::{KernelDescription, NvptxArch};

use super::{
    device::{CudaDevice, DeviceProperties},
    error::CudaError,
    kernel::{CudaKernel, Resources},
    sys::{Functions, INPUT_PTX, LinkState, jit_option as option},
};
use crate::PrivateFolder;

/// Room for what the assembler says.
const LOG_BYTES: usize = 16 << 10;

/// Assembles PTX for a device by its driver; gives a cubin.
///
/// # Errors
/// When the assembler refuses.
pub fn assemble(device: CudaDevice, kernel: &str, ptx: &[u8]) -> Result<Vec<u8>, CudaError> {
    let cuda = device.bind()?;
    let text = CString::new(ptx).map_err(|_| CudaError::Invalid(format!("the PTX of `{kernel}` has a zero byte")))?;
    let mut log = vec![0u8; LOG_BYTES];
    let number = |value: usize| ptr::without_provenance_mut::<c_void>(value);
    let names = [option::ERROR_LOG, option::ERROR_LOG_BYTES, option::LINE_INFO];
    let values = [log.as_mut_ptr().cast(), number(LOG_BYTES), number(1)];
    let mut state = LinkState::NULL;
    // SAFETY: as many names as values, which live until the link is destroyed.
    let status = unsafe { (cuda.link_create)(names.len() as u32, names.as_ptr(), values.as_ptr(), &raw mut state) };
    cuda.check(status, || format!("assembling `{kernel}`"))?;
    let link = Link { cuda, state };
    let data = text.as_bytes_with_nul();
    // SAFETY: the text ends with a zero, which counts, and lives until the link is destroyed.
    let added = unsafe {
        (cuda.link_add)(
            link.state,
            INPUT_PTX,
            data.as_ptr().cast(),
            data.len(),
            ptr::null(),
            0,
            ptr::null(),
            ptr::null(),
        )
    };
    let (mut code, mut bytes) = (ptr::null(), 0);
    let status = match added {
        // SAFETY: the pointers are to locals.
        0 => unsafe { (cuda.link_complete)(link.state, &raw mut code, &raw mut bytes) },
        failed => failed,
    };
    if status != 0 {
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        let said = String::from_utf8_lossy(&log[..end]).trim().to_owned();
        return Err(match said.is_empty() {
            true => cuda.failed(status, format!("assembling `{kernel}`")),
            false => CudaError::Assemble { kernel: kernel.to_owned(), log: explained(&said, ptx) },
        });
    }
    // SAFETY: the link's code lives as long as the link, which is until the end of this function.
    Ok(unsafe { slice::from_raw_parts(code.cast::<u8>(), bytes) }.to_vec())
}

/// What the assembler said, with the lines it speaks of and where in the kernel's source they come from.
fn explained(said: &str, ptx: &[u8]) -> String {
    let ptx = String::from_utf8_lossy(ptx);
    let lines: Vec<&str> = ptx.lines().collect();
    let mut text = said.to_owned();
    let mut told = Vec::new();
    for number in said.split("line ").skip(1).filter_map(|rest| rest.split(';').next()?.parse::<usize>().ok()) {
        let Some(&line) = number.checked_sub(1).and_then(|at| lines.get(at)) else { continue };
        if told.contains(&number) {
            continue;
        }
        told.push(number);
        text.push_str(&format!("\n  PTX line {number}: {}", line.trim()));
        if let Some(place) = source_of(&lines, number) {
            text.push_str(&format!("\n  --> {place}"));
        }
    }
    text
}

/// Where in a source file a line of PTX comes from: the last `.loc` above says the file's number, line and column.
fn source_of(lines: &[&str], number: usize) -> Option<String> {
    let loc = lines[..number].iter().rev().find_map(|line| line.trim().strip_prefix(".loc"))?;
    let mut words = loc.split_whitespace();
    let (file, line) = (words.next()?, words.next()?);
    let named = |line: &&str| {
        let mut words = line.trim().strip_prefix(".file")?.trim().splitn(2, char::is_whitespace);
        (words.next()? == file).then(|| words.next().map(|name| name.trim().trim_matches('"').to_owned()))?
    };
    Some(format!("{}:{line}", lines.iter().find_map(named)?))
}

/// Texts up to this size are assembled a second time where that lets more programs run at once.
const SMALL_TEXT: usize = 64 << 10;
/// Registers of a thread are handed out in such groups.
const REGISTER_GROUP: u32 = 8;
/// How many registers the assembler is asked to do without: of few, a whole group, since kernels with few registers wait for
/// memory and want many programs at once.
const FEW: u32 = 2;
const FEW_OF_FEW: u32 = 8;
/// What counts as few registers of a thread.
const SMALL_THREAD: u32 = 64;
/// Where so few programs run at once, one more is worth a quarter of the registers: drivers' assemblers take as many as they
/// may have, up to a quarter more than `ptxas` for the same text.
const FEW_PROGRAMS: u32 = 3;

/// As [`assemble`], for the kernel of this description. If a thread uses some registers more than would let another
/// program run on the same multiprocessor, the assembler is asked to do without them, and what it makes is taken if
/// nothing went to memory for it.
///
/// # Errors
/// When the assembler refuses.
pub fn assemble_kernel(device: CudaDevice, description: &KernelDescription, ptx: &[u8]) -> Result<Vec<u8>, CudaError> {
    let code = assemble(device, &description.name, ptx)?;
    let tighter = with_fewer_registers(device, description, ptx, &code);
    Ok(tighter.unwrap_or(code))
}

/// The kernel with fewer registers; `None` if that would change nothing, or cost more than it gives.
fn with_fewer_registers(
    device: CudaDevice,
    description: &KernelDescription,
    ptx: &[u8],
    code: &[u8],
) -> Option<Vec<u8>> {
    let text = str::from_utf8(ptx).ok().filter(|text| text.len() <= SMALL_TEXT && !text.contains(".maxnreg"))?;
    let used = CudaKernel::load(device, code, description.clone()).ok()?.resources();
    // Products want their sums in registers, and how many programs run at once seldom matters to them.
    let work = if text.contains("mma") { Work::Products } else { Work::Elements };
    let fewer = registers_for_more(used, work, device.properties())?;
    let at = text.find(".reqntid")?;
    let limited = format!("{}.maxnreg {fewer}\n{}", &text[..at], &text[at..]);
    let code = assemble(device, &description.name, limited.as_bytes()).ok()?;
    let now = CudaKernel::load(device, &code, description.clone()).ok()?.resources();
    (now.local_bytes <= used.local_bytes).then_some(code)
}

/// What a kernel does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Products,
    Elements,
}

/// With how many registers of a thread more programs run at once; `None` if that takes too many of them away, or is not
/// worth it.
fn registers_for_more(used: Resources, work: Work, limits: &DeviceProperties) -> Option<u32> {
    let most = (limits.multiprocessor_threads / used.threads).min(limits.shared_bytes / used.shared_bytes.max(1));
    let resident = |registers: u32| {
        (limits.registers / (registers.next_multiple_of(REGISTER_GROUP) * used.threads).max(1)).min(most)
    };
    let now = resident(used.registers);
    let fewer = limits.registers / ((now + 1) * used.threads) / REGISTER_GROUP * REGISTER_GROUP;
    let spared = match used.registers {
        few if few <= SMALL_THREAD => FEW_OF_FEW,
        many if now <= FEW_PROGRAMS && work == Work::Elements => many / 4,
        _ => FEW,
    };
    let is_near = fewer > 0 && used.registers.checked_sub(fewer).is_some_and(|by| by <= spared);
    (is_near && is_worthwhile(now, resident(fewer))).then_some(fewer)
}

/// Whether so many more programs at once are worth the time of a second assembly, which for such kernels is most of their
/// compilation: one more where there are many is not.
fn is_worthwhile(now: u32, then: u32) -> bool {
    then > now && then * 7 >= now * 8
}

/// A link that is destroyed at the end.
struct Link {
    cuda: &'static Functions,
    state: LinkState,
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: it was made for this object.
        unsafe { (self.cuda.link_destroy)(self.state) };
    }
}

/// Where `ptxas` is: as `SHOAL_PTXAS` says, on the path, or in the CUDA toolkit's usual folder.
#[must_use]
pub fn find_ptxas() -> Option<PathBuf> {
    if let Some(named) = env::var_os("SHOAL_PTXAS").filter(|value| !value.is_empty()) {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = env::split_paths(&path).collect();
    places.extend(env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin")));
    places.push("/usr/local/cuda/bin".into());
    places.into_iter().map(|folder| folder.join("ptxas")).find(|file| file.is_file())
}

/// Assembles PTX by `ptxas`, with no GPU and no driver; gives a cubin and what the assembler says of its size.
///
/// # Errors
/// When there is no `ptxas`, or it refuses.
pub fn assemble_with_ptxas(kernel: &str, arch: NvptxArch, ptx: &[u8]) -> Result<(Vec<u8>, String), CudaError> {
    let ptxas = find_ptxas().ok_or_else(|| {
        CudaError::Invalid(
            "a cubin is made by `ptxas`, which is not here\n  = help: install the CUDA toolkit or set SHOAL_PTXAS to it; \
             or emit `ptx`, which needs none"
                .to_owned(),
        )
    })?;
    let failed = |why: std::io::Error| CudaError::Invalid(format!("running {}: {why}", ptxas.display()));
    let folder = PrivateFolder::new("ptxas").map_err(failed)?;
    let (source, cubin) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
    let run = || {
        fs::write(&source, ptx)?;
        let output = Command::new(&ptxas)
            .args(["-v", "--generate-line-info", &format!("--gpu-name={}", arch.name())])
            .arg(&source)
            .arg("-o")
            .arg(&cubin)
            .output()?;
        let code = if output.status.success() { fs::read(&cubin)? } else { Vec::new() };
        Ok((output, code))
    };
    let (output, code) = run().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok((code, said)),
        false => Err(CudaError::Assemble { kernel: kernel.to_owned(), log: explained(&said, ptx) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_program_of_many_is_not_worth_an_assembly() {
        // 54 and 48 registers of 128 threads; 42 and 40 of 256.
        assert!(!is_worthwhile(9, 10) && !is_worthwhile(16, 16) && !is_worthwhile(0, 0));
        assert!(is_worthwhile(5, 6) && is_worthwhile(10, 12) && is_worthwhile(7, 8));
    }

    #[test]
    fn programs_that_are_few_are_worth_a_quarter_of_the_registers() {
        let h200 = DeviceProperties {
            name: "H200".to_owned(),
            capability: (9, 0),
            multiprocessors: 132,
            memory_bytes: 0,
            l2_bytes: 0,
            shared_bytes: 227 << 10,
            registers: 1 << 16,
            warp_size: 32,
            block_threads: 1024,
            multiprocessor_threads: 2048,
            clock_khz: 0,
            memory_clock_khz: 0,
            memory_bus_bits: 0,
        };
        let tighter = |registers, threads, shared_bytes, work| {
            registers_for_more(Resources { registers, local_bytes: 0, shared_bytes, threads }, work, &h200)
        };
        assert_eq!(tighter(96, 256, 16 << 10, Work::Elements), Some(80), "two programs become three");
        assert_eq!(tighter(168, 128, 16 << 10, Work::Elements), Some(128), "three programs become four");
        assert_eq!(tighter(96, 256, 16 << 10, Work::Products), None);
        assert_eq!(tighter(96, 256, 100 << 10, Work::Elements), None, "shared memory has room for two");
        assert_eq!(tighter(110, 128, 0, Work::Elements), None, "there are four");
        assert_eq!(tighter(34, 128, 0, Work::Products), Some(32), "of few registers, a group");
        assert_eq!(tighter(32, 128, 0, Work::Elements), None, "all threads that there may be");
        assert_eq!(tighter(130, 128, 0, Work::Products), Some(128), "two registers more than four programs have");
    }

    #[test]
    fn a_refusal_names_the_line_and_its_source() {
        let ptx = b".version 8.0\n\t.loc\t1 10 5\n\tbrev.b128 %r1, %r2;\n\t.file\t1 \"a/kernel.py\"\n";
        let said = "ptxas application ptx input, line 3; error   : Unexpected instruction types";
        let text = explained(said, ptx);
        assert!(text.starts_with(said) && text.contains("PTX line 3: brev.b128 %r1, %r2;"), "{text}");
        assert!(text.ends_with("--> a/kernel.py:10"), "{text}");
        assert_eq!(explained("line 9; error", ptx), "line 9; error");
    }
}
