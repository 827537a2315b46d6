//! The shared library that torch's AOTInductor asks of a compiler for CPUs: what it packs a kernel as, and calls.
//!
//! Torch looks for two functions: one with the kernel's name, and `run_from_nativert`, which it calls with the grid, a number
//! of threads, an array with a place for each parameter, and the first function. Pointers are passed as they are, of other
//! arguments the address: of an `int64_t`, a `float` or a `bool`. Places of what is compiled in are null. Here the function
//! with the kernel's name does all of it, on as many threads as the runtime has.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::family::{Family, Param, ParamType};
use super::library::Linked;
use crate::{DType, Error};

const LAUNCHER: &str = "run_from_nativert";

impl Family {
    /// The library's bytes. `symbol` is the function that torch knows the kernel by, `parameters` are the kernel's, in order;
    /// `runtime` is the runtime's static library, see [`find_runtime`](super::find_runtime).
    ///
    /// # Errors
    /// When a parameter is passed as several values; as [`write_library`](Family::write_library) besides.
    pub fn torch_library(&self, symbol: &str, parameters: &[&str], runtime: &Path) -> Result<Vec<u8>, Error> {
        let source = self.torch_source(symbol, parameters)?;
        let folder = own_folder();
        let library = folder.join("library.so");
        let shown = [format!("\"{symbol}\""), LAUNCHER.to_owned()];
        let linked = Linked { source: &source, shown: &shown, runtime, library: &library };
        let made = self.link(&folder, &linked).and_then(|()| {
            let unreadable = |why| Error::AheadOfTime(format!("cannot read {}: {why}", library.display()));
            std::fs::read(&library).map_err(unreadable)
        });
        let removed = std::fs::remove_dir_all(&folder);
        let made = made?;
        removed.map_err(|why| Error::AheadOfTime(format!("cannot remove {}: {why}", folder.display())))?;
        Ok(made)
    }

    /// The family's C source with torch's functions.
    pub(super) fn torch_source(&self, symbol: &str, parameters: &[&str]) -> Result<String, Error> {
        let places = self.places(parameters)?;
        let mut source = self.c_source();
        // Writing to a `String` cannot fail.
        let _ = self.write_launcher(symbol, &places, &mut source);
        Ok(source)
    }

    /// Where torch passes each run-time parameter.
    fn places(&self, parameters: &[&str]) -> Result<Vec<usize>, Error> {
        let place = |param: &Param| {
            parameters.iter().position(|&name| name == param.name).ok_or_else(|| {
                let text = format!("`{}` is part of a parameter, and AOTInductor passes only whole ones", param.name);
                Error::AheadOfTime(text)
            })
        };
        self.params.iter().map(place).collect()
    }

    fn write_launcher(&self, symbol: &str, places: &[usize], out: &mut String) -> fmt::Result {
        let [_, launch, _, error] = self.c_functions();
        let arguments: String =
            self.params.iter().zip(places).map(|(param, &place)| format!(", {}", passed(param.ty, place))).collect();
        let declared = "(uint32_t x, uint32_t y, uint32_t z, int threads, void **args, void *kernel)";
        // By its label, since a kernel may have a name that C has another meaning for.
        writeln!(
            out,
            "\n#include <stdio.h>\n#include <stdlib.h>\n\nvoid run_kernel{declared} __asm__(\"{symbol}\");\n"
        )?;
        writeln!(out, "void run_kernel{declared} {{\n    shoal_grid grid = {{ x, y, z }};")?;
        writeln!(out, "    (void)threads, (void)args, (void)kernel;")?;
        writeln!(out, "    if ({launch}(grid{arguments}) != SHOAL_OK) {{")?;
        writeln!(out, "        fprintf(stderr, \"%s\\n\", {error}());\n        abort();\n    }}\n}}\n")?;
        writeln!(out, "void {LAUNCHER}{declared} {{\n    run_kernel(x, y, z, threads, args, kernel);\n}}")
    }
}

/// A folder for one library.
fn own_folder() -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("shoal-library-{}-{number}", std::process::id()))
}

/// An argument as torch passes it.
fn passed(ty: ParamType, place: usize) -> String {
    let at = format!("args[{place}]");
    match ty {
        ParamType::Pointer(..) => at,
        ParamType::Number(DType::I1) => format!("*(bool *){at}"),
        ParamType::Number(dtype) if dtype.is_int() => format!("*(int64_t *){at}"),
        ParamType::Number(_) => format!("*(float *){at}"),
    }
}
