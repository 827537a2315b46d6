//! Random kernels whose programs wait for each other: whatever the graph of waits, the number of threads and the order
//! in which programs start, the results are those of the graph.
//!
//! Each program owns a cell. It waits until the programs it depends on have raised their flags, reads their cells,
//! combines them into its own and raises its flag. Numbers are shuffled, so programs wait for others that start later:
//! without fibers most of these launches would never end.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shoal::{CompileOptions, Device, DiskCache, Kernel, LaunchOptions, Module, args};

const TEXT: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def graph(cells, flags, needs, names, DEGREE: tl.constexpr, BLOCK: tl.constexpr):
    me = tl.load(names + tl.program_id(0))
    at = tl.arange(0, BLOCK)
    total = at * 7 + me
    for i in range(DEGREE):
        other = tl.load(needs + me * DEGREE + i)
        if other >= 0:
            tl.atomic_poll(flags + other, 1, sem='acquire')
            total = total * 3 + tl.load(cells + other * BLOCK + at)
    tl.store(cells + me * BLOCK + at, total)
    tl.debug_barrier()
    tl.atomic_xchg(flags + me, 1, sem='release')
";

/// A graph of waits: for each program those it waits for, all of which have smaller numbers; -1 is nobody.
#[derive(Debug, Clone)]
struct Graph {
    degree: usize,
    needs: Vec<i32>,
    /// The number that each program of the grid takes.
    names: Vec<i32>,
    block: usize,
    threads: usize,
}

fn graphs() -> impl Strategy<Value = Graph> {
    (1usize..40, 1usize..4, 0u32..6, 1usize..5).prop_flat_map(|(programs, degree, log_block, threads)| {
        let needs = (0..programs * degree).map(move |i| -1i32..(i / degree) as i32).collect::<Vec<_>>();
        let names = Just((0..programs as i32).collect::<Vec<_>>()).prop_shuffle();
        (needs, names).prop_map(move |(needs, names)| Graph { degree, needs, names, block: 1 << log_block, threads })
    })
}

impl Graph {
    fn programs(&self) -> usize {
        self.names.len()
    }

    /// What every cell must hold.
    fn cells(&self) -> Vec<i32> {
        let mut cells = vec![0i32; self.programs() * self.block];
        for me in 0..self.programs() {
            for at in 0..self.block {
                let own = (at as i32).wrapping_mul(7).wrapping_add(me as i32);
                let needs = &self.needs[me * self.degree..][..self.degree];
                let others = needs.iter().filter(|&&other| other >= 0);
                let total = others.fold(own, |total, &other| {
                    total.wrapping_mul(3).wrapping_add(cells[other as usize * self.block + at])
                });
                cells[me * self.block + at] = total;
            }
        }
        cells
    }

    fn run(&self, kernel: &Kernel) -> Result<Vec<i32>, TestCaseError> {
        let mut cells = vec![-1i32; self.programs() * self.block];
        let mut flags = vec![0i32; self.programs()];
        let (degree, block) = (self.degree, self.block);
        let args = args!(&mut cells, &mut flags, &self.needs, &self.names, DEGREE = degree, BLOCK = block);
        kernel.launch(self.programs() as u32, args).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(flags.iter().all(|&flag| flag == 1));
        Ok(cells)
    }
}

#[test]
fn waits_end_whatever_the_order_of_programs() {
    let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
    let limited = LaunchOptions { timeout: Some(Duration::from_secs(60)), ..LaunchOptions::default() };
    let module = Module::from_source("graph.py", TEXT).expect("the kernel parses");
    let kernel = module.kernel("graph").expect("a kernel").with(options).launching(limited);
    let devices: Vec<Device> = (1..5).map(|threads| Device::cpu_with_threads(threads).expect("threads")).collect();
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&graphs(), |graph| {
        let wanted = graph.cells();
        let device = devices[graph.threads - 1].clone();
        prop_assert_eq!(&graph.run(&kernel.clone().on(device))?, &wanted);
        prop_assert_eq!(&graph.run(&kernel.clone().on(Device::Interpreter))?, &wanted);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
