//! The example of `docs/shmem.md` runs.

use shoal::{Device, Error, Module, args};

use super::harness::{device, world};

const PAGE: &str = include_str!("../../../../../docs/shmem.md");

#[test]
fn the_example_of_the_page_goes_round() {
    let text = PAGE.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let ring = Module::from_source("ring.py", text).expect("it parses").kernel("ring").expect("a kernel");
    for device in [device(), Device::Interpreter] {
        let ring = ring.clone().on(device);
        let results = world(4, ring.device()).run(|rank| -> Result<Vec<i32>, Error> {
            let (inbox, outbox) = (rank.symm_zeros::<i32>(5)?, rank.symm_zeros::<i32>(5)?);
            let signals = rank.symm_zeros::<i64>(1)?;
            outbox.write(&[rank.rank() as i32 * 100; 5])?;
            rank.barrier()?;
            ring.clone().on_rank(rank)?.launch(1, args!(&inbox, &outbox, &signals, 5, BLOCK = 8))?;
            Ok(outbox.read()?)
        });
        let first: Vec<i32> = results.expect("it goes round").iter().map(|outbox| outbox[4]).collect();
        assert_eq!(first, [301, 1, 101, 201]);
    }
}
