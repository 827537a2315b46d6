//! The two shared libraries that torch's AOTInductor asks of a compiler for CPUs: what it packs a kernel as, and calls.
//!
//! In the first, torch looks for the kernel's name; in the second for `run_from_nativert`, which it calls with the grid, a
//! number of threads, an array with a place for each parameter, and what it found in the first. Pointers are passed as they
//! are, of other arguments the address: of an `int64_t`, a `float` or a `bool`. Places of what is compiled in are null.
//!
//! Here the second library has the kernel with all that it needs, and runs it on as many threads as the runtime has. The
//! first has the name and nothing else: beside the runtime, a kernel called `exp` would take the place of C's.

use std::fmt::{self, Write};
use std::path::Path;

use shoal_driver::PrivateFolder;

use super::family::{Family, Param, ParamType};
use super::library::{Linked, compile_shared};
use super::write;
use crate::{DType, Error};

const LAUNCHER: &str = "run_from_nativert";

/// The two libraries, as bytes.
#[derive(Debug)]
pub struct TorchLibraries {
    /// Has the kernel's name.
    pub name: Vec<u8>,
    /// Runs the kernel.
    pub launcher: Vec<u8>,
}

impl Family {
    /// Makes both. `symbol` is what torch knows the kernel by, `parameters` are the kernel's, in order; `runtime` is the
    /// runtime's static library, see [`find_runtime`](super::find_runtime).
    ///
    /// # Errors
    /// When a parameter is passed as several values; as [`write_library`](Family::write_library) besides.
    pub fn torch_libraries(&self, symbol: &str, parameters: &[&str], runtime: &Path) -> Result<TorchLibraries, Error> {
        let source = self.torch_source(parameters)?;
        let folder = PrivateFolder::new("torch").map_err(|why| Error::AheadOfTime(why.to_string()))?;
        let library = folder.path().join("launcher.so");
        let shown = [LAUNCHER.to_owned()];
        self.link(folder.path(), &Linked { source: &source, shown: &shown, runtime, library: &library })?;
        Ok(TorchLibraries { name: name_library(symbol, folder.path())?, launcher: read(&library)? })
    }

    /// The family's C source with torch's function.
    pub(super) fn torch_source(&self, parameters: &[&str]) -> Result<String, Error> {
        let places = self.places(parameters)?;
        let mut source = self.c_source();
        // Writing to a `String` cannot fail.
        let _ = self.write_launcher(&places, &mut source);
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

    fn write_launcher(&self, places: &[usize], out: &mut String) -> fmt::Result {
        let [_, launch, _, error] = self.c_functions();
        let arguments: String =
            self.params.iter().zip(places).map(|(param, &place)| format!(", {}", passed(param.ty, place))).collect();
        writeln!(out, "\n#include <stdio.h>\n#include <stdlib.h>\n")?;
        writeln!(out, "void {LAUNCHER}(uint32_t x, uint32_t y, uint32_t z, int threads, void **args, void *name) {{")?;
        writeln!(out, "    shoal_grid grid = {{ x, y, z }};\n    (void)threads, (void)args, (void)name;")?;
        writeln!(out, "    if ({launch}(grid{arguments}) != SHOAL_OK) {{")?;
        writeln!(out, "        fprintf(stderr, \"%s\\n\", {error}());\n        abort();\n    }}\n}}")
    }
}

/// The library that has a name and nothing else, not even C's library.
fn name_library(symbol: &str, folder: &Path) -> Result<Vec<u8>, Error> {
    let library = folder.join("name.so");
    // By its label, since a kernel may have a name that C has another meaning for.
    let source = format!("extern const char name[] __asm__(\"{symbol}\");\nconst char name[] = \"in launcher.so\";\n");
    let source = write(folder, "name.c", source.as_bytes())?;
    compile_shared(&library, |command| {
        command.arg("-nostdlib").arg(source);
    })?;
    read(&library)
}

fn read(library: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |why| Error::AheadOfTime(format!("cannot read {}: {why}", library.display()));
    std::fs::read(library).map_err(unreadable)
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
