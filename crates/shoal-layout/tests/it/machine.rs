//! A machine that runs conversion plans and knows of every register and of every word of memory which element it holds.
//!
//! Its shuffles, its `ldmatrix` and its banks are written after the manuals, not after the planner.

use std::collections::{HashMap, HashSet};

use shoal_layout::{
    AccessKind, ConversionPlan, InDim, LinearLayout, MatrixOrder, MemoryPlan, Place, SharedAccess, ShufflePlan,
};

/// What the registers of all lanes hold.
pub(crate) struct Registers {
    count: u32,
    held: HashMap<Place, u64>,
}

impl Registers {
    fn empty(layout: &LinearLayout) -> Self {
        Self { count: layout.in_size(InDim::Register), held: HashMap::new() }
    }

    fn filled(layout: &LinearLayout) -> Self {
        let mut registers = Self::empty(layout);
        for thread in threads(layout) {
            for register in 0..registers.count {
                let place = Place { register, ..thread };
                registers.held.insert(place, layout.apply_flat(place));
            }
        }
        registers
    }

    fn read(&self, thread: Place, register: u32) -> u64 {
        assert!(register < self.count, "register {register} of {}", self.count);
        self.held[&Place { register, ..thread }]
    }

    fn write(&mut self, thread: Place, register: u32, element: u64) {
        assert!(register < self.count, "register {register} of {}", self.count);
        self.held.insert(Place { register, ..thread }, element);
    }
}

/// All lanes of all warps of all blocks.
fn threads(layout: &LinearLayout) -> Vec<Place> {
    warps(layout).into_iter().flat_map(|warp| lanes(layout, warp)).collect()
}

fn warps(layout: &LinearLayout) -> Vec<Place> {
    let warps = layout.in_size(InDim::Warp);
    let blocks = 0..layout.in_size(InDim::Block);
    blocks.flat_map(|block| (0..warps).map(move |warp| Place { warp, block, ..Place::default() })).collect()
}

fn lanes(layout: &LinearLayout, warp: Place) -> impl Iterator<Item = Place> + use<> {
    (0..layout.in_size(InDim::Lane)).map(move |lane| Place { lane, ..warp })
}

/// Runs the plan, and says what is wrong with the outcome.
pub(crate) fn check(source: &LinearLayout, target: &LinearLayout, plan: &ConversionPlan) -> Result<(), String> {
    let before = Registers::filled(source);
    let after = match plan {
        ConversionPlan::Nothing => before,
        ConversionPlan::Registers(from) => {
            let mut after = Registers::empty(target);
            for thread in threads(target) {
                for register in 0..after.count {
                    after.write(thread, register, before.read(thread, from.apply(Place { register, ..thread })));
                }
            }
            after
        }
        ConversionPlan::Shuffles(shuffles) => shuffle(source, target, &before, shuffles)?,
        ConversionPlan::Memory(memory) => through_memory(source, target, &before, memory)?,
    };
    for thread in threads(target) {
        for register in 0..target.in_size(InDim::Register) {
            let place = Place { register, ..thread };
            let (held, wanted) = (after.held.get(&place), target.apply_flat(place));
            if held != Some(&wanted) {
                return Err(format!("{place:?} holds {held:?} instead of {wanted}"));
            }
        }
    }
    Ok(())
}

fn shuffle(
    source: &LinearLayout,
    target: &LinearLayout,
    before: &Registers,
    plan: &ShufflePlan,
) -> Result<Registers, String> {
    let mut after = Registers::empty(target);
    for warp in warps(source) {
        // One 32-bit word holds the rounds that are packed: a lane gives and takes them together.
        let given = |lane: u32, round: u32| {
            let thread = Place { lane, ..warp };
            before.read(thread, plan.select.apply(Place { register: round, ..thread }))
        };
        for thread in lanes(source, warp) {
            let mut taken = Vec::new();
            for word in 0..plan.rounds / plan.packed {
                let rounds = word * plan.packed..(word + 1) * plan.packed;
                let from: HashSet<u32> =
                    rounds.clone().map(|round| plan.source_lane.apply(Place { register: round, ..thread })).collect();
                if from.len() != 1 || plan.packed * plan.element_bits > 32.max(plan.element_bits) {
                    return Err(format!("rounds {rounds:?} of {thread:?} are not one shuffle"));
                }
                taken.extend(rounds.map(|round| given(*from.iter().next().expect("one lane"), round)));
            }
            for register in 0..after.count {
                let round = plan.place.apply(Place { register, ..thread });
                after.write(thread, register, taken[round as usize]);
            }
        }
    }
    Ok(after)
}

/// The shared memory of all blocks, by block and offset in elements.
type Memory = HashMap<(u32, u32), u64>;

fn through_memory(
    source: &LinearLayout,
    target: &LinearLayout,
    before: &Registers,
    plan: &MemoryPlan,
) -> Result<Registers, String> {
    let mut after = Registers::empty(target);
    let size = plan.memory.in_size(InDim::Offset);
    for pass in 0..plan.passes() {
        let shift = plan.pass(pass);
        let mut memory = Memory::new();
        for warp in warps(source).into_iter().filter(|warp| warp.warp & plan.store.idle_warps == 0) {
            for instruction in 0..plan.store.registers.len() {
                check_banks(source, &plan.store, instruction, warp)?;
                for (thread, register, offset) in moves(source, &plan.store, instruction, warp) {
                    if offset >= size {
                        return Err(format!("offset {offset} is beyond the buffer of {size}"));
                    }
                    let element = before.read(thread, register ^ shift.source);
                    if memory.insert((warp.block, offset), element).is_some_and(|other| other != element) {
                        return Err(format!("two elements at offset {offset}"));
                    }
                }
            }
        }
        for warp in warps(target) {
            for instruction in 0..plan.load.registers.len() {
                check_banks(target, &plan.load, instruction, warp)?;
                for (thread, register, offset) in moves(target, &plan.load, instruction, warp) {
                    let element = memory.get(&(warp.block, offset)).ok_or(format!("nothing at offset {offset}"))?;
                    after.write(thread, register ^ shift.target, *element);
                }
            }
            for thread in lanes(target, warp) {
                for &(register, moved) in &plan.load.copies {
                    let element = after.read(thread, moved ^ shift.target);
                    after.write(thread, register ^ shift.target, element);
                }
            }
        }
    }
    Ok(after)
}

/// What one instruction of one warp moves: lane, register, and offset in elements.
fn moves(layout: &LinearLayout, access: &SharedAccess, instruction: usize, warp: Place) -> Vec<(Place, u32, u32)> {
    let registers = &access.registers[instruction];
    let address = |lane: u32| address(access, instruction, lane, warp);
    let mut moves = Vec::new();
    match access.kind {
        AccessKind::Vector { elements } => {
            assert_eq!(registers.len(), elements as usize);
            for thread in lanes(layout, warp) {
                let begin = address(thread.lane);
                assert!(begin.is_multiple_of(elements), "vectors are aligned");
                moves.extend(registers.iter().zip(begin..).map(|(&register, offset)| (thread, register, offset)));
            }
        }
        AccessKind::Matrix { matrices, order } => {
            let word = 32 / access.element_bits;
            assert_eq!(registers.len() as u32, matrices * word, "a 32-bit register for each matrix");
            for matrix in 0..matrices {
                let row = |row: u32| {
                    let begin = address(8 * matrix + row);
                    assert!(begin.is_multiple_of(4 * word), "rows are aligned to 16 bytes");
                    begin
                };
                for thread in lanes(layout, warp) {
                    for element in 0..word {
                        let offset = match order {
                            MatrixOrder::Plain => row(thread.lane / 4) + thread.lane % 4 * word + element,
                            MatrixOrder::Transposed => row(thread.lane % 4 * 2 + element) + thread.lane / 4,
                        };
                        moves.push((thread, registers[(matrix * word + element) as usize], offset));
                    }
                }
            }
        }
    }
    moves
}

/// The address that a lane gives, with the part that its block adds.
fn address(access: &SharedAccess, instruction: usize, lane: u32, warp: Place) -> u32 {
    access.address(instruction, lane, warp.warp) ^ access.offset.apply(Place::along(InDim::Block, warp.block))
}

/// Counts the wavefronts of one instruction over all banks, and compares with what the plan says.
fn check_banks(layout: &LinearLayout, access: &SharedAccess, instruction: usize, warp: Place) -> Result<(), String> {
    let element_bytes = access.element_bits / 8;
    let (bytes, asking) = match access.kind {
        AccessKind::Vector { elements } => (elements * element_bytes, layout.in_size(InDim::Lane)),
        AccessKind::Matrix { matrices, .. } => (16, 8 * matrices),
    };
    let together = match bytes {
        16 => 8,
        8 => 16,
        _ => 32,
    };
    let (mut counted, mut groups) = (0, 0);
    for first in (0..asking).step_by(together) {
        let mut words: HashMap<u32, HashSet<u32>> = HashMap::new();
        for lane in first..(first + together as u32).min(asking) {
            let begin = address(access, instruction, lane, warp) * element_bytes;
            for byte in begin..begin + bytes {
                words.entry(byte / 4 % 32).or_default().insert(byte / 4);
            }
        }
        counted += words.values().map(HashSet::len).max().unwrap_or(0) as u32;
        groups += 1;
    }
    if (counted, counted - groups) == (access.wavefronts, access.conflicts) {
        return Ok(());
    }
    Err(format!("{counted} wavefronts, of which {} conflicts, where the plan says {access:?}", counted - groups))
}
