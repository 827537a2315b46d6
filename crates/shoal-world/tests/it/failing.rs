//! Ranks that fail, leave or are late, as threads.

use shoal_world::{Place, Rank, World, WorldError};

use crate::worlds::{impatient, threads};

/// Runs a function that fails on some rank; returns what the world says.
fn said(
    world: &World,
    function: impl Fn(&Rank) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Sync,
) -> String {
    world.run(function).unwrap_err().to_string()
}

#[test]
fn the_error_of_a_rank_ends_the_others() {
    let world = threads(4);
    let error = said(&world, |rank| {
        if rank.rank() == 2 {
            return Err("the disk is full".into());
        }
        let error = rank.barrier().unwrap_err().to_string();
        assert_eq!(error, format!("rank {}, in barrier of the world: rank 2 failed: the disk is full", rank.rank()));
        rank.check().unwrap_err();
        Err(error.into())
    });
    assert_eq!(error, "rank 2: the disk is full");
    let again = world.run(|rank| rank.barrier()).unwrap_err().to_string();
    assert_eq!(again, "rank 0: rank 2 failed: the disk is full");
}

#[test]
fn a_panic_ends_the_others() {
    let error = said(&threads(3), |rank| {
        assert!(rank.rank() != 1, "not me");
        Ok(rank.barrier()?)
    });
    assert_eq!(error, "rank 1 panicked: not me");
}

#[test]
fn a_rank_that_returns_early_is_named() {
    let error = said(&threads(3), |rank| {
        rank.barrier()?;
        if rank.rank() == 0 {
            return Ok(());
        }
        Ok(rank.world().all_gather(b"anybody?").map(drop)?)
    });
    // Of who ends the world, which tells of the others, too.
    let told = |rank: usize| {
        let waited = format!("rank 0 left the world while rank {rank} waited for it in all-gather of the world");
        let others = format!("rank 0: it has left the world\nrank {}: in all-gather of the world", 3 - rank);
        format!("rank {rank}, in all-gather of the world: {waited}\n{others}")
    };
    assert!([told(1), told(2)].contains(&error), "{error}");
}

#[test]
fn a_rank_that_leaves_after_its_last_barrier_is_no_failure() {
    let world = threads(4);
    for _ in 0..200 {
        world.run(|rank| rank.barrier()).unwrap();
    }
}

#[test]
fn a_late_rank_is_named() {
    let (go, stop) = std::sync::mpsc::channel::<()>();
    let stop = std::sync::Mutex::new(stop);
    let go = std::sync::Mutex::new(Some(go));
    let error = said(&impatient(3), |rank| {
        if rank.rank() == 2 {
            // Until the others have given up.
            let _ = stop.lock().unwrap().recv();
            return Ok(rank.check()?);
        }
        let result = rank.barrier();
        drop(go.lock().unwrap().take());
        Ok(result?)
    });
    assert!(error.starts_with("rank 2 did not come to barrier of the world: rank "), "{error}");
    assert!(error.ends_with(" waited 200 ms"), "{error}");
}

#[test]
fn all_name_the_rank_that_runs_not_one_that_waits_too() {
    for n in [3, 7] {
        let blamed = std::sync::Mutex::new(Vec::new());
        let runs = n - 1;
        let result = impatient(n).run(|rank| {
            // Threads start late.
            rank.barrier()?;
            let waits = match rank.rank() {
                // Until somebody has given up on it.
                waiting if waiting == runs => {
                    while !rank.has_failed() {
                        std::thread::yield_now();
                    }
                    rank.check()
                }
                1 => rank.wait_signal(&Place::segment(rank, 1, 0, 4)?, None),
                _ => rank.barrier(),
            };
            match waits.expect_err("one does not come") {
                WorldError::Failed { rank, failure, .. } => blamed.lock().unwrap().push((rank, failure.rank)),
                error => return Err(error),
            }
            Ok::<_, WorldError>(())
        });
        result.expect("nobody says anything else");
        let mut blamed = blamed.into_inner().unwrap();
        blamed.sort_unstable();
        assert_eq!(blamed, (0..n).map(|rank| (rank, runs)).collect::<Vec<_>>());
    }
}

#[test]
fn results_come_in_the_order_of_ranks() {
    assert_eq!(threads(5).run(|rank| Ok::<_, WorldError>(rank.rank())).unwrap(), [0, 1, 2, 3, 4]);
}
