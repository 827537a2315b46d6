//! Streams, events, write and wait values.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use shoal_world::{Compare, HostBuffer, Place, Rank, Stream, Value, WorldError};

use crate::worlds::{impatient, threads};

/// A ring all-gather by copies that are ordered by words only; used on all engines.
pub(crate) fn ring_all_gather(rank: &Rank) -> Result<(), WorldError> {
    const CHUNK: usize = 3000;
    let (me, n) = (rank.rank(), rank.size());
    let gathered = rank.symm_zeros::<u32>(CHUNK * n)?;
    let arrived = rank.symm_zeros::<u64>(n)?;
    gathered.write_to(me, me * CHUNK, &vec![me as u32 + 1; CHUNK])?;
    let stream = rank.stream()?;
    let next = (me + 1) % n;
    for step in 0..n - 1 {
        let chunk = (me + n - step) % n;
        if step > 0 {
            let word = Place::symm(&arrived, me, chunk..=chunk)?;
            stream.wait_value(word, Compare::GreaterOrEqual, Value::U64(1))?;
        }
        let range = chunk * CHUNK..(chunk + 1) * CHUNK;
        stream.copy(Place::symm(&gathered, next, range.clone())?, Place::symm(&gathered, me, range)?)?;
        stream.write_value(Place::symm(&arrived, next, chunk..=chunk)?, Value::U64(1))?;
    }
    stream.synchronize()?;
    rank.barrier()?;
    let expected: Vec<u32> = (0..n).flat_map(|from| vec![from as u32 + 1; CHUNK]).collect();
    assert_eq!(gathered.read()?, expected);
    rank.barrier()
}

#[test]
fn copies_and_words_make_an_all_gather() {
    for n in [1, 2, 3, 4, 8] {
        let world = threads(n);
        for _ in 0..10 {
            world.run(ring_all_gather).unwrap();
        }
    }
}

#[test]
fn a_stream_runs_beside_its_rank_and_in_order() {
    let world = threads(1);
    let rank = &world.local_ranks()[0];
    let stream = rank.stream().unwrap();
    let gate = rank.symm_zeros::<u32>(1).unwrap();
    let place = || Place::symm(&gate, 0, ..).unwrap();
    let is_past = Arc::new(AtomicBool::new(false));
    stream.wait_value(place(), Compare::Equal, Value::U32(5)).unwrap();
    let flag = Arc::clone(&is_past);
    stream.call(move || {
        flag.store(true, Ordering::Relaxed);
        Ok(())
    });
    let event = stream.record();
    assert!(!event.has_happened() && !is_past.load(Ordering::Relaxed) && !stream.is_idle());
    // A plain write of a kernel or a rank: nobody is woken.
    gate.write(&[5]).unwrap();
    event.wait(rank).unwrap();
    assert!(is_past.load(Ordering::Relaxed));
    stream.synchronize().unwrap();
}

#[test]
fn events_order_streams() {
    let world = threads(1);
    let rank = &world.local_ranks()[0];
    let [first, second] = [(); 2].map(|()| rank.stream().unwrap());
    let data = HostBuffer::new(vec![0u8; 1 << 20]);
    let copied = HostBuffer::new(vec![9u8; 1 << 20]);
    for round in 1..=20u8 {
        let source = HostBuffer::new(vec![round; 1 << 20]);
        first.copy(data.place(..).unwrap(), source.place(..).unwrap()).unwrap();
        second.wait(&first.record());
        second.copy(copied.place(..).unwrap(), data.place(..).unwrap()).unwrap();
        first.wait(&second.record());
    }
    second.synchronize().unwrap();
    assert!(copied.read().iter().all(|&byte| byte == 20));
}

#[test]
fn words_of_both_widths_and_comparisons() {
    let world = threads(1);
    let rank = &world.local_ranks()[0];
    let words = rank.symm_zeros::<u64>(2).unwrap();
    let stream = rank.stream().unwrap();
    let wide = || Place::symm(&words, 0, 0..1).unwrap();
    let narrow = || Place::segment(rank, 0, words.offset() + 12, 4).unwrap();
    stream.write_value(wide(), Value::U64(u64::MAX)).unwrap();
    stream.wait_value(wide(), Compare::Equal, Value::U64(u64::MAX)).unwrap();
    // Counters wrap around.
    stream.write_value(wide(), Value::U64(3)).unwrap();
    stream.wait_value(wide(), Compare::GreaterOrEqual, Value::U64(u64::MAX - 3)).unwrap();
    stream.write_value(narrow(), Value::U32(7)).unwrap();
    stream.wait_value(narrow(), Compare::GreaterOrEqual, Value::U32(6)).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(words.read().unwrap(), [3, 7 << 32]);
}

#[test]
fn a_word_that_never_comes_ends_the_stream() {
    let world = impatient(2);
    let error = world
        .run(|rank| {
            if rank.rank() == 1 {
                // It computes.
                while rank.check().is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                return rank.barrier();
            }
            let word = Place::segment(rank, 1, 8, 4)?;
            let stream = rank.stream()?;
            let later = Arc::new(AtomicBool::new(false));
            stream.wait_value(word, Compare::Equal, Value::U32(1))?;
            let flag = Arc::clone(&later);
            stream.call(move || {
                flag.store(true, Ordering::Relaxed);
                Ok(())
            });
            let error = stream.synchronize().unwrap_err();
            assert!(!later.load(Ordering::Relaxed), "what follows must not run");
            Err(error)
        })
        .unwrap_err()
        .to_string();
    // Whose wait is over first is not said; both name what happened.
    assert!(error.contains("waited 200 ms"), "{error}");
}

#[test]
fn a_failure_elsewhere_ends_the_wait_of_a_stream() {
    let error = threads(2)
        .run(|rank| {
            if rank.rank() == 1 {
                return Err::<(), _>(WorldError::Argument("on purpose".to_owned()));
            }
            let stream = rank.stream()?;
            stream.wait_value(Place::segment(rank, 0, 0, 4)?, Compare::Equal, Value::U32(1))?;
            let error = stream.synchronize().unwrap_err();
            assert!(error.to_string().ends_with("rank 1 failed: on purpose"), "{error}");
            Err(error)
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "rank 1: on purpose");
}

#[test]
fn the_error_of_a_function_reaches_who_waits() {
    let world = threads(1);
    let rank = &world.local_ranks()[0];
    let failing = |function: fn() -> Result<(), WorldError>| -> (Stream, String) {
        let stream = rank.stream().unwrap();
        stream.call(function);
        let said = stream.synchronize().unwrap_err().to_string();
        (stream, said)
    };
    let (stream, said) = failing(|| Err(WorldError::Argument("no".to_owned())));
    assert_eq!(said, "no");
    let other = rank.stream().unwrap();
    other.wait(&stream.record());
    assert_eq!(other.synchronize().unwrap_err().to_string(), "no");
    assert_eq!(failing(|| panic!("oh")).1, "a function called by a stream panicked");
}

#[test]
fn a_rank_that_runs_is_named_with_the_word_that_a_stream_waits_for() {
    let said = Mutex::new(String::new());
    let world = impatient(2);
    let failed = world.run(|rank| {
        let flag = rank.symm_zeros::<u32>(1)?;
        if rank.rank() == 1 {
            // Until the other one has its error.
            while said.lock().unwrap().is_empty() {
                std::thread::sleep(Duration::from_millis(10));
            }
            return Ok(());
        }
        let stream = rank.stream()?;
        stream.wait_value(Place::symm(&flag, 0, ..)?, Compare::Equal, Value::U32(1))?;
        let error = stream.synchronize().unwrap_err();
        *said.lock().unwrap() = error.to_string();
        Err::<(), _>(error)
    });
    assert!(failed.is_err());
    let said = said.into_inner().unwrap();
    // All that the stream has found out, not only that it is waited for.
    assert!(said.contains("rank 1 runs code of the host, while rank 0 waited 200 ms for the word"), "{said}");
    assert!(said.contains("\nrank 1: it runs code of the host"), "{said}");
}

#[test]
fn a_function_that_does_not_return_is_left_behind() {
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = Mutex::new(Some(receiver));
    let error = impatient(2).run(|rank| {
        let Some(receiver) = receiver.lock().unwrap().take() else { return Ok(()) };
        let stream = rank.stream()?;
        // Until the test ends.
        stream.call(move || receiver.recv().map_err(|_| WorldError::Argument("the test has ended".to_owned())));
        drop(stream);
        Ok::<_, WorldError>(())
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("for the work of a stream that was dropped"), "{error}");
    drop(sender);
}

#[test]
fn impossible_copies_are_refused() {
    let world = threads(2);
    let rank = &world.local_ranks()[0];
    let stream = rank.stream().unwrap();
    let buffer = HostBuffer::new(vec![0u32; 8]);
    let place = |range| buffer.place(range).unwrap();
    let said = |result: Result<(), WorldError>| result.unwrap_err().to_string();
    assert_eq!(said(stream.copy(place(0..2), place(2..5))), "a copy of 12 bytes to a place of 8");
    assert_eq!(said(stream.copy(place(0..4), place(3..7))), "a copy to a place that overlaps its source");
    assert_eq!(
        said(stream.write_value(place(0..3), Value::U64(1))),
        "12 bytes at a host buffer are not one aligned word of 64 bits"
    );
    let unaligned = Place::segment(rank, 1, 6, 4).unwrap();
    assert_eq!(
        said(stream.write_value(unaligned, Value::U32(1))),
        "4 bytes at offset 6 of rank 1 are not one aligned word of 32 bits"
    );
    let whole = rank.segment_bytes();
    Place::segment(rank, 0, whole, 1).unwrap_err();
    Place::segment(rank, 0, usize::MAX, 2).unwrap_err();
    Place::segment(rank, 2, 0, 1).unwrap_err();
    assert_eq!(buffer.place(3..9).unwrap_err().to_string(), "elements 3..9 do not lie in a host buffer of 8");
}

#[test]
fn a_stream_notes_when_it_comes_by() {
    let world = threads(1);
    let rank = &world.local_ranks()[0];
    let stream = rank.stream().unwrap();
    let before = shoal_world::monotonic_now();
    let began = stream.note_time();
    stream.call(|| {
        std::thread::sleep(Duration::from_millis(2));
        Ok(())
    });
    let ended = stream.note_time();
    stream.synchronize().unwrap();
    let (began, ended) = (began.nanoseconds().unwrap(), ended.nanoseconds().unwrap());
    assert!(before <= began && began + 2_000_000 <= ended, "{before} {began} {ended}");
}
