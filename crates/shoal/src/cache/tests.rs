//! What the cache must survive.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use super::{Cache, Entry, Key, KeyWriter, Label, LinkedFile, Refusal, file_name};
use crate::testing::TempDir;

fn key(text: &str) -> Key {
    KeyWriter::default().part("source", text).finish()
}

fn sample(size: usize) -> Entry {
    let label = Label { kernel: "add".into(), source: "add.py".into(), target: "test".into() };
    let description =
        "shoal-kernel 1 name=add params=8/8,4/4 waits=never fails=yes cpu scratch=64 amx=no features=avx2";
    let description = description.parse().unwrap();
    Entry { label, linked: Vec::new(), description, object: (0..size).map(|i| (i % 251) as u8).collect() }
}

fn opened() -> (TempDir, Cache) {
    let dir = TempDir::new();
    let cache = Cache::open(&dir.path().join("cache")).unwrap();
    (dir, cache)
}

#[test]
fn what_is_kept_is_found_under_its_key_only() {
    let (_dir, cache) = opened();
    assert_eq!(cache.find(&key("a")), None);
    cache.keep(&key("a"), &sample(1000)).unwrap();
    assert_eq!(cache.find(&key("a")), Some(sample(1000)));
    assert_eq!(cache.find(&key("b")), None);
    cache.keep(&key("a"), &sample(10)).unwrap();
    assert_eq!(cache.find(&key("a")), Some(sample(10)));
}

#[test]
fn an_entry_goes_out_of_date_with_what_it_links() {
    let (dir, cache) = opened();
    let library = dir.path().join("user.bc");
    let entry = Entry { linked: vec![LinkedFile::new(library.clone(), b"one")], ..sample(10) };
    cache.keep(&key("a"), &entry).unwrap();
    assert_eq!(cache.find(&key("a")), None);
    fs::write(&library, "one").unwrap();
    assert_eq!(cache.find(&key("a")), Some(entry));
    fs::write(&library, "two").unwrap();
    assert_eq!(cache.find(&key("a")), None);
}

#[test]
fn the_directory_and_its_files_are_private() {
    let (_dir, cache) = opened();
    cache.keep(&key("a"), &sample(10)).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(cache.path().to_owned()), 0o700);
    assert_eq!(mode(cache.path().join(file_name(&key("a")))), 0o600);
}

#[test]
fn every_truncation_is_noticed() {
    let (_dir, cache) = opened();
    cache.keep(&key("a"), &sample(40)).unwrap();
    let file = cache.path().join(file_name(&key("a")));
    let whole = fs::read(&file).unwrap();
    for len in 0..whole.len() {
        fs::write(&file, &whole[..len]).unwrap();
        assert_eq!(cache.find(&key("a")), None, "cut to {len} bytes");
    }
    fs::write(&file, [&whole[..], &[0]].concat()).unwrap();
    assert_eq!(cache.find(&key("a")), None, "one byte too many");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (_dir, cache) = opened();
    cache.keep(&key("a"), &sample(8)).unwrap();
    let file = cache.path().join(file_name(&key("a")));
    let mut content = fs::read(&file).unwrap();
    for at in 0..content.len() * 8 {
        content[at / 8] ^= 1 << (at % 8);
        fs::write(&file, &content).unwrap();
        assert_eq!(cache.find(&key("a")), None, "bit {at}");
        content[at / 8] ^= 1 << (at % 8);
    }
    fs::write(&file, &content).unwrap();
    assert_eq!(cache.find(&key("a")), Some(sample(8)));
}

#[test]
fn an_entry_under_a_foreign_name_is_not_loaded() {
    let (_dir, cache) = opened();
    cache.keep(&key("a"), &sample(10)).unwrap();
    let place = |k: &str| cache.path().join(file_name(&key(k)));
    fs::rename(place("a"), place("b")).unwrap();
    assert_eq!(cache.find(&key("b")), None);
    // Neither is one that a link leads to.
    fs::rename(place("b"), cache.path().join("real")).unwrap();
    symlink(cache.path().join("real"), place("a")).unwrap();
    assert_eq!(cache.find(&key("a")), None);
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    let dir = TempDir::new();
    let path = dir.path().join("cache");
    fs::create_dir(&path).unwrap();
    for mode in [0o770, 0o702, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(Cache::open(&path), Err(Refusal::Writable { mode: m, .. }) if m == mode));
    }
    // What to do depends on whose it is: nobody should close /tmp to the others.
    let said = Cache::open(&path).unwrap_err().to_string();
    assert!(said.ends_with("`chmod 700` it"), "{said}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
    let said = Cache::open(&path).unwrap_err().to_string();
    assert!(said.contains("SHOAL_CACHE_DIR=") && said.ends_with("cache/shoal") && !said.contains("chmod"), "{said}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Cache::open(&path).is_ok());
}

#[test]
fn a_file_in_the_way_is_an_error_with_its_name() {
    let dir = TempDir::new();
    let path = dir.path().join("cache");
    fs::write(&path, "in the way").unwrap();
    let refusal = Cache::open(&path).unwrap_err();
    assert!(refusal.to_string().contains("cache"), "{refusal}");
}

#[test]
fn writers_at_the_same_time_leave_a_whole_entry() {
    let (_dir, cache) = opened();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for round in 0..50 {
                    cache.keep(&key("a"), &sample(1000 * writer + round)).unwrap();
                }
            });
        }
        for _ in 0..200 {
            if let Some(entry) = cache.find(&key("a")) {
                assert_eq!(entry, sample(entry.object.len()));
            }
        }
    });
    assert!(cache.find(&key("a")).is_some());
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "no temporary files are left");
}

#[test]
fn clear_removes_entries_and_leftovers_but_no_other_files() {
    let (_dir, cache) = opened();
    cache.keep(&key("a"), &sample(10)).unwrap();
    cache.keep(&key("b"), &sample(10)).unwrap();
    fs::write(cache.path().join(".writing-1-2"), "half").unwrap();
    fs::write(cache.path().join("notes.txt"), "mine").unwrap();
    fs::write(cache.path().join(file_name(&key("c"))), "damaged").unwrap();
    let list = cache.list().unwrap();
    assert_eq!(list.len(), 3);
    assert_eq!(list.iter().filter(|e| e.label.is_none()).count(), 1);
    assert_eq!(cache.clear().unwrap(), 3);
    let left: Vec<_> = fs::read_dir(cache.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
}

/// Makes an entry look as if it was last used so many minutes ago.
fn age(cache: &Cache, name: &str, minutes: u64) {
    let file = fs::File::options().write(true).open(cache.path().join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60 * minutes)).unwrap();
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let (_dir, cache) = opened();
    let cache = cache.with_limit(20_000);
    for (minutes, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        cache.keep(&key(name), &sample(4000)).unwrap();
        age(&cache, &file_name(&key(name)), 100 - minutes as u64);
    }
    // The oldest is used again.
    assert!(cache.find(&key("a")).is_some());
    cache.keep(&key("e"), &sample(4000)).unwrap();
    let kept = ["a", "b", "c", "d", "e"].map(|name| cache.find(&key(name)).is_some());
    assert_eq!(kept, [true, false, true, true, true]);
}

#[test]
fn the_newest_entry_stays_even_if_it_is_too_large() {
    let (_dir, cache) = opened();
    let cache = cache.with_limit(1000);
    cache.keep(&key("a"), &sample(500)).unwrap();
    cache.keep(&key("b"), &sample(5000)).unwrap();
    assert_eq!((cache.find(&key("a")), cache.find(&key("b"))), (None, Some(sample(5000))));
}

#[test]
fn writers_at_the_same_time_hold_the_limit() {
    let (_dir, cache) = opened();
    let cache = cache.with_limit(30_000);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for round in 0..30 {
                    cache.keep(&key(&format!("{writer}-{round}")), &sample(3000)).unwrap();
                }
            });
        }
    });
    // Each writer may have put one entry there since the last look.
    let total: u64 = cache.list().unwrap().iter().map(|entry| entry.bytes).sum();
    assert!(total <= 30_000 + 4 * 4000, "{total}");
    assert!(cache.list().unwrap().iter().all(|entry| entry.label.is_some()));
}

#[test]
fn what_crashed_writers_left_goes_with_time() {
    let (_dir, cache) = opened();
    let cache = cache.with_limit(1000);
    let mut killed = std::process::Command::new("true").spawn().unwrap();
    killed.wait().unwrap();
    let (ours, theirs) = (std::process::id(), killed.id());
    let names = [(ours, 600), (ours, 5), (ours, 0), (theirs, 5), (theirs, 0)].map(|(writer, minutes)| {
        let name = format!(".writing-{writer}-x{minutes}");
        fs::write(cache.path().join(&name), "half").unwrap();
        age(&cache, &name, minutes);
        name
    });
    cache.keep(&key("a"), &sample(10)).unwrap();
    let left = names.map(|name| cache.path().join(name).exists());
    // Of a writer that runs, only what is very old; of one that does not, all but what is very young.
    assert_eq!(left, [false, true, true, false, true]);
}

#[test]
fn parts_of_a_key_cannot_run_into_each_other() {
    let of = |parts: &[(&str, &str)]| {
        let mut writer = KeyWriter::default();
        for (name, content) in parts {
            writer.part(name, content);
        }
        writer.finish()
    };
    assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
    assert_ne!(of(&[("a", "b"), ("c", "d")]), of(&[("a", "bc"), ("", "d")]));
    assert_eq!(of(&[("a", "b")]), of(&[("a", "b")]));
}

#[test]
fn files_that_are_no_entries_are_listed_as_damaged_and_nothing_more() {
    let (_dir, cache) = opened();
    cache.keep(&key("a"), &sample(10)).unwrap();
    let put = |name: &str, content: &[u8]| fs::write(cache.path().join(name), content).unwrap();
    put("garbage.kernel", &[7; 3000]);
    put(&file_name(&key("b")), b"");
    put("notes.txt", b"not ours");
    // Larger than memory, and nothing of it is on disk.
    let huge = fs::File::create(cache.path().join(file_name(&key("c")))).unwrap();
    huge.set_len(1 << 42).unwrap();
    fs::create_dir(cache.path().join(file_name(&key("d")))).unwrap();
    for name in ["b", "c", "d"] {
        assert_eq!(cache.find(&key(name)), None);
    }
    let labels: Vec<Option<Label>> = cache.list().unwrap().into_iter().map(|entry| entry.label).collect();
    assert_eq!(labels, [None, None, None, Some(sample(10).label)]);
    assert_eq!(cache.clear().unwrap(), 4);
    assert!(cache.path().join("notes.txt").exists());
}
