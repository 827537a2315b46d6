//! Gives each build of the compiler a name of its own.
//!
//! Compiled kernels are kept on disk under a key with Shoal's version in it. While Shoal is developed the version stays
//! the same and the code it makes does not, so the key also has a hash of the compiler's sources.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The crates that decide what code is made.
const COMPILER: [&str; 7] =
    ["shoal-abi", "shoal-ir", "shoal-lang", "shoal-passes", "shoal-codegen", "shoal-layout", "shoal"];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in COMPILER {
        // Away from the workspace only this crate's own sources are there: then the version says enough.
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in &files {
        file.strip_prefix(&crates).unwrap_or(file).hash(&mut hasher);
        std::fs::read(file).unwrap_or_default().hash(&mut hasher);
    }
    println!("cargo::rustc-env=SHOAL_BUILD={:016x}", hasher.finish());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
