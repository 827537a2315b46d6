//! The script that installs what is missing, on machines where it cannot.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shoal::Workplace;

/// What the setup script says about a need on a machine that has these commands and no others, and no LLVM; and whether
/// it went on.
fn setup(need: &str, commands: &[&str]) -> (String, bool) {
    let place = Workplace::new();
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    for command in commands {
        symlink(find(command), bin.join(command)).expect("a link");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup.sh");
    let output = Command::new(find("bash"))
        .arg(script)
        .arg(need)
        .env_clear()
        .env("PATH", &bin)
        .env("LLVM_SYS_221_PREFIX", "/no/llvm/here")
        .output()
        .expect("bash runs");
    (String::from_utf8(output.stderr).expect("text"), output.status.success())
}

/// What it says when it fails.
fn refusal(need: &str, commands: &[&str]) -> String {
    let (said, went_on) = setup(need, commands);
    assert!(!went_on, "the script says that it failed");
    said
}

fn find(command: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    let found = std::env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{command} is installed"))
}

#[test]
fn missing_rust_and_missing_llvm_are_told() {
    insta::assert_snapshot!(
        refusal("build", &["dirname"]),
        @"setup: cargo was not found: install Rust with rustup, then try again"
    );
    insta::assert_snapshot!(refusal("build", &["dirname", "cargo"]), @r"
    setup: there is no apt-get here, and LLVM 22 is not in /no/llvm/here
    setup: install LLVM 22 with its headers, and set LLVM_SYS_221_PREFIX to what 'llvm-config --prefix' prints
    ");
}

#[test]
fn missing_python_is_told_and_missing_peers_are_no_error() {
    insta::assert_snapshot!(
        refusal("python", &["dirname", "cargo"]),
        @"setup: python3 with venv was not found: install Python 3.10 or later, then try again"
    );
    let (said, went_on) = setup("mpi", &["dirname", "cargo"]);
    assert!(went_on, "{said}");
    assert_eq!(said, "setup: Open MPI could not be installed: the tests that need it are left out\n");
    let (said, went_on) = setup("torch", &["dirname", "cargo"]);
    assert!(went_on, "{said}");
    assert!(said.ends_with("setup: torch could not be installed: the tests that need it are left out\n"), "{said}");
}
