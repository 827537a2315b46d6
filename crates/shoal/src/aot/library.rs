//! Makes a shared library of a family: its C source and the runtime, put together by the system's C compiler.
//!
//! The library needs nothing but the C library. It shows only its kernel's functions, so that several such libraries,
//! each with a runtime of its own, go into one process. It stays loaded once it is: its threads run code in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::write;
use crate::Error;
use crate::aot::Family;

const RUNTIME: &str = "libshoal_runtime.a";

/// Finds the runtime's static library: where `SHOAL_RUNTIME` says (the file or its folder), in the given folders,
/// beside the running program, or in the folder `lib` next to that one.
///
/// # Errors
/// When it is in none of these places.
pub fn find_runtime(folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let named = std::env::var_os("SHOAL_RUNTIME").map(PathBuf::from);
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(named) = named {
        places.push(if named.is_dir() { named.join(RUNTIME) } else { named });
    } else {
        places.extend(folders.iter().map(|folder| folder.join(RUNTIME)));
        places.extend(beside.map(|folder| folder.join(RUNTIME)));
        places.extend(beside.and_then(Path::parent).map(|folder| folder.join("lib").join(RUNTIME)));
    }
    if let Some(found) = places.iter().find(|place| place.is_file()) {
        return Ok(found.clone());
    }
    let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    Err(Error::AheadOfTime(format!(
        "the runtime {RUNTIME} was not found; looked for {}\n  = help: build it with `cargo build --release -p \
         shoal-runtime`, and say where it is with SHOAL_RUNTIME=target/release/{RUNTIME}",
        places.join(", ")
    )))
}

/// What a shared library is made of.
pub(super) struct Linked<'a> {
    /// The C source, which includes the family's header.
    pub(super) source: &'a str,
    /// The functions that it shows.
    pub(super) shown: &'a [String],
    /// The runtime's static library.
    pub(super) runtime: &'a Path,
    /// The file to make.
    pub(super) library: &'a Path,
}

impl Family {
    /// Writes the shared library `libNAME.so` and the header `NAME.h`; returns the files. `runtime` is the runtime's
    /// static library, see [`find_runtime`]. The system's C compiler (`cc`, or what `CC` names) is called.
    ///
    /// # Errors
    /// When there is no C compiler or it fails, or a file cannot be written.
    pub fn write_library(&self, folder: &Path, runtime: &Path) -> Result<Vec<PathBuf>, Error> {
        let name = &self.name;
        let header = self.write_header(folder)?;
        let library = folder.join(format!("lib{name}.so"));
        let work = folder.join(format!(".{name}-{}", std::process::id()));
        let (source, shown) = (self.c_source(), self.c_functions());
        let made = self.link(&work, &Linked { source: &source, shown: &shown, runtime, library: &library });
        let removed = std::fs::remove_dir_all(&work);
        made?;
        removed.map_err(|why| Error::AheadOfTime(format!("cannot remove {}: {why}", work.display())))?;
        Ok(vec![library, header])
    }

    /// Makes a shared library; `work` is a folder for what that takes.
    pub(super) fn link(&self, work: &Path, linked: &Linked<'_>) -> Result<(), Error> {
        let Linked { source, shown, runtime, library } = linked;
        self.write_header(work)?;
        let source = write(work, &format!("{}.c", self.name), source.as_bytes())?;
        let shown: Vec<String> = shown.iter().map(|function| format!("{function};")).collect();
        let shown = format!("{{ global: {} local: *; }};\n", shown.join(" "));
        let shown = write(work, "shown.map", shown.as_bytes())?;
        // Not with `-Wl,`, which would cut a path at its commas.
        let mut visible = OsString::from("--version-script=");
        visible.push(&shown);
        compile_shared(library, |command| {
            command.arg("-Xlinker").arg(visible).arg(format!("-Wl,-soname,lib{}.so", self.name));
            command
                .args(["-O1", "-Wl,--gc-sections", "-Wl,--strip-debug", "-Wl,-z,nodelete"])
                .args([source.as_os_str(), runtime.as_os_str()])
                .args(["-lpthread", "-ldl", "-lm"]);
        })
    }
}

/// Calls the C compiler to make a shared library of what `of` adds to its command.
pub(super) fn compile_shared(library: &Path, of: impl FnOnce(&mut Command)) -> Result<(), Error> {
    // As make does it, CC may be a command with arguments: `ccache gcc`.
    let named = std::env::var("CC").unwrap_or_default();
    let mut words = named.split_whitespace();
    let compiler = words.next().unwrap_or("cc");
    let mut command = Command::new(compiler);
    command.args(words).args(["-shared", "-fPIC"]);
    of(&mut command);
    let output = command.arg("-o").arg(library).output().map_err(|why| {
        let help = "install one (on Debian: `apt install gcc`), name it with CC, or emit `c` or `rust` instead";
        let text = format!("a shared library needs the C compiler `{compiler}`, which cannot be started: {why}");
        Error::AheadOfTime(format!("{text}\n  = help: {help}"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::AheadOfTime(format!("`{compiler}` could not make {}:\n{said}", library.display())));
    }
    Ok(())
}
