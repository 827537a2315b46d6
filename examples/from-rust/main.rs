//! Kernels from Rust
//! =================
//!
//! A kernel file is read, compiled for the arguments of a launch, and kept; no Python is involved. Slices and vectors are
//! arguments: shared references are read-only to the kernel, `&mut` is what it writes.

use shoal::{Module, args};

/// The kernel as it stands in its file; `Module::from_file` reads one from disk.
const SOURCE: &str = "
import shoal
import shoal.language as tl


@shoal.jit
def scale_and_sum(x, out, partial, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    scaled = tl.load(x + at, mask=inside, other=0.0) * factor
    tl.store(out + at, scaled, mask=inside)
    tl.store(partial + tl.program_id(0), tl.sum(scaled, axis=0))
";

/// Runs the tutorial.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::from_source("scale.py", SOURCE)?;
    let kernel = module.kernel("scale_and_sum")?;

    const BLOCK: usize = 256;
    let x: Vec<f32> = (0..1000u16).map(f32::from).collect();
    let programs = x.len().div_ceil(BLOCK);
    let mut out = vec![0f32; x.len()];
    let mut partial = vec![0f32; programs];

    // The first launch compiles for these types; the next with arguments of the same kind takes about a microsecond.
    let grid = (u32::try_from(programs)?, 1, 1);
    kernel.launch(grid, args!(&x, &mut out, &mut partial, x.len(), 0.5f32, BLOCK = BLOCK))?;

    assert!(out.iter().zip(&x).all(|(found, x)| *found == 0.5 * x));
    assert_eq!(partial.iter().sum::<f32>(), 0.5 * x.iter().sum::<f32>());
    println!("{programs} programs scaled {} elements; their sum is {}", x.len(), partial.iter().sum::<f32>());

    // Mistakes are errors that name the line, what was expected, and what to do.
    let wrong = kernel.launch(grid, args!(&x, &mut out));
    println!("{}", wrong.expect_err("arguments are missing"));
    Ok(())
}
