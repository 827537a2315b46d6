//! Waits of threads that nobody is left to end: they are found at once, whatever they are made of, and those that somebody
//! will end are not taken for such.

use std::thread;
use std::time::Duration;

use shoal_world::{Compare, Place, Rank, Value, World, WorldError, WorldOptions};

use crate::worlds::small;

/// A world that does not run into its timeout.
fn patient(n: usize) -> World {
    World::threads_with(n, &WorldOptions { timeout: Duration::from_secs(3600), ..small() }).expect("a world")
}

/// What the world says, less the rank whose error it is.
fn said(n: usize, function: impl Fn(&Rank) -> Result<(), WorldError> + Sync) -> String {
    let error = patient(n).run(function).expect_err("nobody can go on").to_string();
    let (_, report) = error.split_once(": ").expect("a rank");
    report.to_owned()
}

fn slot(rank: &Rank, on: usize) -> Result<Place, WorldError> {
    Place::segment(rank, on, 0, 4)
}

#[test]
fn a_rank_that_waits_for_a_signal_holds_up_the_others() {
    for n in [2, 3, 7] {
        let last = n - 1;
        let report = said(n, |rank| {
            if rank.rank() == last {
                rank.wait_signal(&slot(rank, last)?, None)?;
            }
            rank.barrier()
        });
        let mut expected =
            format!("ranks wait in vain:\nrank {last}: waiting for the signal at offset 0 of rank {last} to come");
        for rank in 0..last {
            expected += &format!("\nrank {rank}: in barrier of the world, waiting for rank {last}");
        }
        assert_eq!(report, expected);
    }
}

#[test]
fn barriers_of_different_teams_do_not_meet() {
    for n in [2, 3, 7] {
        let report = said(n, |rank| if rank.rank() == 0 { rank.barrier() } else { rank.node().barrier() });
        assert!(
            report.starts_with("ranks wait in vain:\nrank 0: in barrier of the world, waiting for rank 1"),
            "{report}"
        );
        assert_eq!(report.matches(": in barrier of the node's team, waiting for rank 0").count(), n - 1, "{report}");
    }
}

#[test]
fn a_stream_that_waits_is_told_with_its_rank() {
    for n in [2, 3, 7] {
        let report = said(n, |rank| {
            if rank.rank() == 0 {
                let stream = rank.stream()?;
                stream.wait_value(slot(rank, 0)?, Compare::Equal, Value::U32(5))?;
                return stream.synchronize();
            }
            rank.barrier()
        });
        assert!(report.contains("waiting for the work of a stream"), "{report}");
        assert!(report.contains("waiting for the word at offset 0 of rank 0 == 5 (it is 0)"), "{report}");
        assert_eq!(report.matches(": in barrier of the world, waiting for rank 0").count(), n - 1, "{report}");
    }
}

#[test]
fn a_stream_that_is_dropped_while_it_waits_is_told_with_its_rank() {
    for n in [2, 3, 7] {
        let waits = |rank: &Rank| {
            let stream = rank.stream()?;
            stream.wait_value(slot(rank, 0)?, Compare::Equal, Value::U32(5))
        };
        let alone = said(n, |rank| if rank.rank() == 0 { waits(rank) } else { Ok(()) });
        assert!(alone.contains("waiting for the word at offset 0 of rank 0 == 5 (it is 0)"), "{alone}");
        assert!(alone.contains("and waiting for the work of a stream that was dropped"), "{alone}");
        let report = said(n, |rank| {
            if rank.rank() == 0 {
                waits(rank)?;
            }
            rank.barrier()
        });
        assert!(report.contains("waiting for the word at offset 0 of rank 0 == 5 (it is 0)"), "{report}");
        assert_eq!(report.matches(": in barrier of the world, waiting for rank 0").count(), n - 1, "{report}");
    }
}

#[test]
fn what_ended_a_dropped_stream_is_an_error_of_its_rank_unless_it_was_heard() {
    let fails = |rank: &Rank| {
        let stream = rank.stream()?;
        stream.call(|| Err(WorldError::Argument("on purpose".to_owned())));
        Ok(stream)
    };
    let error = World::threads(2).unwrap().run(|rank| fails(rank).map(drop)).unwrap_err();
    assert!(error.to_string().ends_with(": on purpose"), "{error}");
    let heard = World::threads(2).unwrap().run(|rank| {
        assert!(fails(rank)?.synchronize().is_err());
        Ok::<_, WorldError>(())
    });
    heard.expect("the rank goes on");
}

#[test]
fn a_thread_that_waits_as_another_rank_is_told_at_once() {
    let world = patient(2);
    let other = world.local_ranks()[1].clone();
    let error = world
        .run(|rank| match rank.rank() {
            0 => {
                let _acting = other.act();
                other.wait_signal(&slot(&other, 0)?, None)
            }
            _ => rank.barrier(),
        })
        .unwrap_err()
        .to_string();
    assert!(error.contains("rank 0: it waits as another rank, in the same thread"), "{error}");
    assert!(error.contains("rank 1: waiting for the signal at offset 0 of rank 0"), "{error}");
}

#[test]
fn whoever_left_is_told_first() {
    let report = said(3, |rank| match rank.rank() {
        1 => Ok(()),
        _ => rank.wait_signal(&slot(rank, rank.rank())?, None),
    });
    assert!(report.starts_with("ranks wait in vain:\nrank 1: it has left the world\nrank 0: waiting for "), "{report}");
}

/// What brings the signal, later than waits take to be noticed.
fn later(rank: &Rank, to: usize) -> Result<(), WorldError> {
    thread::sleep(Duration::from_millis(300));
    rank.put_signal(&slot(rank, to)?, None)
}

#[test]
fn who_computes_is_waited_for() {
    for n in [2, 3, 7] {
        let done = patient(n).run(|rank| {
            if rank.rank() == 0 {
                (1..n).try_for_each(|peer| later(rank, peer))?;
            } else {
                rank.wait_signal(&slot(rank, rank.rank())?, None)?;
            }
            rank.barrier()
        });
        done.expect("rank 0 comes");
    }
}

#[test]
fn what_a_stream_will_do_is_waited_for() {
    let done = patient(3).run(|rank| {
        let stream = rank.stream()?;
        let (sender, to) = (rank.clone(), (rank.rank() + 1) % 3);
        stream.call(move || later(&sender, to));
        rank.wait_signal(&slot(rank, rank.rank())?, None)
    });
    done.expect("streams send the signals");
}

#[test]
fn what_another_thread_does_for_a_rank_is_waited_for() {
    let done = patient(3).run(|rank| {
        let to = (rank.rank() + 1) % 3;
        thread::scope(|scope| {
            let acting = scope.spawn(|| {
                let _acting = rank.act();
                later(rank, to)
            });
            // From when the other thread acts on.
            rank.barrier()?;
            rank.wait_signal(&slot(rank, rank.rank())?, None)?;
            acting.join().expect("no panic")
        })
    });
    done.expect("threads send the signals");
}

#[test]
fn a_world_that_was_stuck_stays_ended() {
    let world = patient(2);
    world.run(|rank| rank.wait_signal(&slot(rank, rank.rank())?, None)).expect_err("nobody sends one");
    let again = world.run(Rank::barrier).expect_err("it has ended").to_string();
    assert!(again.starts_with("ranks wait in vain:\nrank 0: waiting for the signal"), "{again}");
}

#[test]
fn a_deadlock_is_what_every_rank_hears_from_then_on() {
    for n in [2, 3, 7] {
        let world = patient(n);
        let reports = world.run(|rank| {
            let waits = |wait: &dyn Fn() -> Result<(), WorldError>| wait().expect_err("nobody signals").waits();
            let (beside, own) = (slot(rank, 0)?, slot(rank, 0)?);
            let stream = rank.stream()?;
            stream.wait_value(beside, Compare::Equal, Value::U32(5))?;
            let first = waits(&|| rank.wait_signal(&own, None));
            // The world has ended: the last rank to come does not pass either.
            let then = [waits(&|| rank.barrier()), waits(&|| rank.check()), waits(&|| stream.synchronize())];
            assert!(then.iter().all(|report| *report == first), "{then:?}\n{first:?}");
            Ok::<_, WorldError>(first)
        });
        // A dropped stream tells it as well, unless it was heard.
        for report in reports.expect("all have heard it") {
            assert_eq!(report.len(), n);
            assert_eq!(report, world.waits());
        }
    }
}

#[test]
fn a_rank_that_left_early_is_told_with_what_the_others_wait_for() {
    for n in [2, 3, 7] {
        let world = patient(n);
        world.run(|rank| if rank.rank() == 1 { Ok(()) } else { rank.barrier() }).expect_err("one is missing");
        let told: Vec<String> = world.waits().iter().map(ToString::to_string).collect();
        assert_eq!(told[0], "rank 1: it has left the world");
        assert_eq!(told[1..].iter().filter(|wait| wait.ends_with(": in barrier of the world")).count(), n - 1);
    }
}
