//! Calls the command in a folder of its own, with a cache of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder to work in, removed when it is dropped.
pub(crate) struct Workplace(PathBuf);

impl Workplace {
    pub(crate) fn new() -> Workplace {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("shoal-cli-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Workplace(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file in the folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("a text file")
    }

    /// Calls the command.
    pub(crate) fn call(&self, args: &[&str]) -> Called {
        self.call_with(args, &[])
    }

    /// Calls the command with more variables in its environment.
    pub(crate) fn call_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Called {
        let output = Command::new(env!("CARGO_BIN_EXE_shoal"))
            .args(args)
            .current_dir(&self.0)
            .env("SHOAL_CACHE_DIR", self.0.join("cache"))
            .env_remove("SHOAL_CACHE")
            .env("SHOAL_BENCH_PYTHON", "/nonexistent/python")
            .envs(variables.iter().copied())
            .output()
            .expect("the command starts");
        Called::new(&output)
    }

    /// Calls the command, which must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Called {
        let called = self.call(args);
        assert!(called.success, "shoal {args:?}\n{}\n{}", called.out, called.err);
        called
    }

    /// Calls the command, which must fail; returns what it says.
    pub(crate) fn fails(&self, args: &[&str]) -> String {
        let called = self.call(args);
        assert!(!called.success, "shoal {args:?} should fail\n{}\n{}", called.out, called.err);
        assert!(!called.err.contains("panicked"), "{}", called.err);
        called.err
    }

    /// Calls the command with a wrong command line: nothing is done; returns what it says.
    pub(crate) fn refuses(&self, args: &[&str]) -> String {
        let called = self.call(args);
        assert_eq!((called.code, called.out.as_str()), (Some(2), ""), "shoal {args:?}\n{}", called.err);
        called.err
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a call left.
pub(crate) struct Called {
    pub(crate) success: bool,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Called {
    fn new(output: &Output) -> Called {
        Called {
            success: output.status.success(),
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
