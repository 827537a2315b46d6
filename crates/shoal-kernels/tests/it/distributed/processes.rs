//! Ranks that are processes.

use std::process::Command;
use std::time::Duration;

use shoal::world::World;
use shoal::world::launch::Job;
use shoal::{Device, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::{RankItem, catalog};

use super::{hold, options};

/// What each process runs; started by the tests below alone.
#[test]
#[ignore = "the role of a process in other tests"]
fn role() {
    let world = World::from_env_with(&options()).expect("a world");
    // The ranks of a job share a cache, which is theirs alone.
    let library = Library::on(Device::cpu());
    let done = world.run(|rank| -> Result<(), Error> {
        for (at, item) in catalog().iter().enumerate() {
            // Every kernel with its largest size; types take turns.
            let dtype = RankItem::DTYPES[at % RankItem::DTYPES.len()];
            hold(&library, rank, item, item.tests.last().expect("a size"), dtype)?;
        }
        Ok(())
    });
    done.unwrap_or_else(|error| panic!("{error}"));
}

/// Runs the role in a world of processes.
fn every_kernel(ranks: usize) {
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{}-{ranks}", std::process::id()));
    let mut job = Job::start(ranks, |_| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "distributed::processes::role", "--ignored", "--test-threads=1"]);
        command.env("SHOAL_CACHE_DIR", &cache);
        command
    })
    .expect("processes start");
    while let Some(ended) = job.next_ended(Some(Duration::from_secs(240))) {
        assert!(ended.status.success(), "rank {} of {ranks}: {}", ended.rank, ended.status);
    }
    assert_eq!(job.running(), 0, "a rank hangs");
    let _ = std::fs::remove_dir_all(&cache);
}

macro_rules! worlds {
    ($($name:ident = $ranks:literal)*) => {
        $( #[test] fn $name() { every_kernel($ranks); } )*
        pub(super) const TESTED: &[usize] = &[$($ranks),*];
    };
}

worlds! { one = 1 two = 2 three = 3 four = 4 eight = 8 }

#[test]
fn seven() {
    every_kernel(7);
}
