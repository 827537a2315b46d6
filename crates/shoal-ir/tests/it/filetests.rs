//! The files below `tests/filetests` of the repository.

use std::path::{Path, PathBuf};

/// Whether expectations are written rather than checked.
pub(crate) fn bless() -> bool {
    std::env::var_os("SHOAL_BLESS").is_some()
}

/// The `.tile` files of a folder and its folders, in order.
pub(crate) fn tile_files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests").join(folder), &mut files);
    assert!(!files.is_empty(), "tests/filetests/{folder} has tests");
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "tile") {
            files.push(path);
        }
    }
}

/// What a file says.
pub(crate) fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// A file's own name.
pub(crate) fn name(file: &Path) -> String {
    file.file_name().expect("a file").to_string_lossy().into_owned()
}
