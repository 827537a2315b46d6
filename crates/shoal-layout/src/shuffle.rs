//! Conversions within a warp, by shuffles.
//!
//! A shuffle gives every lane one register of another lane, but the lane that gives chooses which register, not the one
//! that takes. So in each round every lane must be asked for one register only. Three steps do that:
//!
//! ```text
//!  select    each lane puts into round k the register that will be asked of it     temp[k] = source[select(k, lane)]
//!  shuffle   one instruction for each round                                        temp[k] = temp[k] of source_lane(k, lane)
//!  place     each lane puts what it got into the register where it belongs         target[r] = temp[place(r, lane)]
//! ```
//!
//! Lane `l` takes in round `k` the element for its register `k ^ h(l)`. With `h = 0` two lanes may ask the same lane for
//! different registers; `h` is chosen so that lanes which would collide are in different rounds. For example, transposing 2
//! registers × 2 lanes:
//!
//! ```text
//!            lane 0   lane 1                         in round 0 lane 0 keeps a and lane 1 keeps d,
//!  reg 0       a        b          reg 0   a   c     in round 1 lane 0 takes b and lane 1 takes c:
//!  reg 1       c        d    →     reg 1   b   d     h(l) = l
//! ```

use crate::conversion::Conversion;
use crate::elimination::Echelon;
use crate::linear_index::LinearIndex;
use crate::matrix::{combine, low_mask};
use crate::{InDim, LinearLayout};

/// A conversion by shuffles, in rounds: each lane selects a register for every round (`select`), takes what another lane
/// selected (`source_lane`), and puts it where it belongs (`place`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShufflePlan {
    /// The number of rounds.
    pub rounds: u32,
    /// The register of the source that a lane gives in a round; `register` of the place is the round.
    pub select: LinearIndex,
    /// The lane that a lane takes from; `register` of the place is the round.
    pub source_lane: LinearIndex,
    /// The round that has a register of the target.
    pub place: LinearIndex,
    /// Rounds `i * packed .. (i + 1) * packed` take from the same lane and fit into one 32-bit shuffle.
    pub packed: u32,
    /// The bits of an element.
    pub element_bits: u32,
}

impl ShufflePlan {
    /// The number of 32-bit shuffle instructions.
    pub fn shuffles(&self) -> u32 {
        self.rounds / self.packed * self.element_bits.div_ceil(32)
    }
}

/// Plans a conversion by shuffles. `route` gives for each place of the target a place of the source in the same warp.
/// `None` if lanes would collide in every order of the rounds, which takes copies in the source.
pub(crate) fn plan_shuffles(
    source: &LinearLayout,
    target: &LinearLayout,
    route: &Conversion,
    element_bits: u32,
) -> Option<ShufflePlan> {
    let mut search = Search::new(source, target, route);
    search.choose_rounds()?;
    Some(search.finish(target, element_bits))
}

/// A place of the source in one number: its lane in the low bits, its register above them.
struct Search {
    lane_bits: usize,
    /// The places that the rounds 1, 2, 4, … of lane 0 take from: one for each register bit of the target that is no copy.
    rounds: Vec<u64>,
    /// For each register bit of the target, the round that has it.
    round_of_register: Vec<u64>,
    /// The places that lanes 1, 2, 4, … take their register 0 from.
    lanes: Vec<u64>,
    /// The same for warps and blocks.
    warps: Vec<u64>,
    blocks: Vec<u64>,
    /// Sums of places of the source that hold nothing together: adding one leads to a copy.
    copies: Vec<u64>,
    /// For each lane bit, the rounds by which it is shifted: the map `h`.
    shift: Vec<u64>,
    /// The lane bits that take from different lanes in each round, and the others that take the same as those.
    distinct: Vec<usize>,
}

impl Search {
    fn new(source: &LinearLayout, target: &LinearLayout, route: &Conversion) -> Self {
        let (lane, register) = (route.index_along(InDim::Lane), route.index_along(InDim::Register));
        let lane_bits = source.flat_bases(InDim::Lane).len();
        let packed = |dim: InDim| {
            let parts = lane.columns(dim).iter().zip(register.columns(dim));
            parts.map(|(lane, register)| lane | register << lane_bits).collect::<Vec<u64>>()
        };
        let registers = packed(InDim::Register);
        let held = Echelon::of(target.flat_bases(InDim::Register).iter().copied());
        let kept: Vec<usize> = (0..registers.len()).filter(|bit| held.dependent_columns() >> bit & 1 == 0).collect();
        let round_of_register = target.flat_bases(InDim::Register).iter().map(|&basis| {
            let sum = held.solve(basis).unwrap_or_default();
            kept.iter().enumerate().fold(0, |rounds, (round, bit)| rounds | (sum >> bit & 1) << round)
        });
        Self {
            lane_bits,
            round_of_register: round_of_register.collect(),
            rounds: kept.iter().map(|&bit| registers[bit]).collect(),
            lanes: packed(InDim::Lane),
            warps: packed(InDim::Warp),
            blocks: packed(InDim::Block),
            copies: copies(source, lane_bits),
            shift: vec![0; lane_bits],
            distinct: Vec::new(),
        }
    }

    fn lane_of(&self, place: u64) -> u64 {
        place & low_mask(self.lane_bits)
    }

    fn register_of(&self, place: u64) -> u64 {
        place >> self.lane_bits
    }

    /// Finds the map `h`, so that in each round lanes ask different lanes, or the same for the same register.
    fn choose_rounds(&mut self) -> Option<()> {
        // Lanes that want what a sum of rounds and other lanes has already: shifted by those rounds they want the very same.
        let mut all = Echelon::of(self.rounds.iter().copied());
        let mut alike = Vec::new();
        for (bit, &place) in self.lanes.iter().enumerate() {
            match all.solve(place) {
                Some(sum) => alike.push((bit, sum)),
                None => {
                    all.push(place);
                    self.distinct.push(bit);
                }
            }
        }
        // Of the rest, those that already take from lanes of their own are left in their rounds.
        let mut taken = Echelon::default();
        let colliding: Vec<usize> =
            self.distinct.iter().copied().filter(|&bit| !taken.extend_by(self.lane_of(self.lanes[bit]))).collect();
        for bit in colliding {
            let other_round = (0..self.rounds.len()).find(|&round| taken.extend_by(self.lane_of(self.rounds[round])));
            if let Some(round) = other_round {
                self.shift[bit] = 1 << round;
            } else {
                let copy = self.copies.iter().copied().find(|&copy| taken.extend_by(self.lane_of(copy)))?;
                self.lanes[bit] ^= copy;
            }
        }
        for (bit, sum) in alike {
            let rounds = sum & low_mask(self.rounds.len());
            // Where those lanes were led to a copy, this one is led to the same.
            (self.shift[bit], self.lanes[bit]) = (rounds, combine(&self.rounds, rounds));
            for (at, &other) in self.distinct.iter().enumerate() {
                if sum >> (self.rounds.len() + at) & 1 == 1 {
                    self.shift[bit] ^= self.shift[other];
                    self.lanes[bit] ^= self.lanes[other];
                }
            }
        }
        Some(())
    }

    /// Where lane 2^`bit` takes from in round 0.
    fn taken_from(&self, bit: usize) -> u64 {
        self.lanes[bit] ^ combine(&self.rounds, self.shift[bit])
    }

    fn finish(self, target: &LinearLayout, element_bits: u32) -> ShufflePlan {
        let taken: Vec<u64> = (0..self.lane_bits).map(|bit| self.taken_from(bit)).collect();
        // From the lane that is asked back to the register it is asked for.
        let mut asked = Echelon::of(self.distinct.iter().map(|&bit| self.lane_of(taken[bit])));
        for bit in 0..self.lane_bits {
            asked.extend_by(1 << bit);
        }
        let registers: Vec<u64> = self.distinct.iter().map(|&bit| self.register_of(taken[bit])).collect();
        let asked_for = |lane: u64| combine(&registers, asked.solve(lane).unwrap_or_default());
        let select = |place: &u64| self.register_of(*place) ^ asked_for(self.lane_of(*place));

        let (order, packed) = self.pack(element_bits);
        let rounds: Vec<u64> = order.iter().map(|&rounds| combine(&self.rounds, rounds)).collect();
        let reordered = Echelon::of(order.iter().copied());
        let in_order = |rounds: &u64| reordered.solve(*rounds).unwrap_or_default();
        let lanes_of = |places: &[u64]| places.iter().map(|&place| self.lane_of(place)).collect::<Vec<u64>>();

        let mut plan = ShufflePlan {
            rounds: 1 << rounds.len(),
            select: LinearIndex::default(),
            source_lane: LinearIndex::default(),
            place: LinearIndex::default(),
            packed,
            element_bits,
        };
        let at = InDim::index;
        plan.select.columns[at(InDim::Register)] = rounds.iter().map(select).collect();
        plan.select.columns[at(InDim::Lane)] = (0..self.lane_bits).map(|bit| asked_for(1 << bit)).collect();
        plan.select.columns[at(InDim::Warp)] = self.warps.iter().map(select).collect();
        plan.select.columns[at(InDim::Block)] = self.blocks.iter().map(select).collect();
        plan.source_lane.columns[at(InDim::Register)] = lanes_of(&rounds);
        plan.source_lane.columns[at(InDim::Lane)] = lanes_of(&taken);
        plan.source_lane.columns[at(InDim::Warp)] = lanes_of(&self.warps);
        plan.source_lane.columns[at(InDim::Block)] = lanes_of(&self.blocks);
        plan.place.columns[at(InDim::Register)] = self.round_of_register.iter().map(in_order).collect();
        plan.place.columns[at(InDim::Lane)] = self.shift.iter().map(in_order).collect();
        plan.place.columns[at(InDim::Warp)] = vec![0; target.flat_bases(InDim::Warp).len()];
        plan.place.columns[at(InDim::Block)] = vec![0; target.flat_bases(InDim::Block).len()];
        plan
    }

    /// An order of the rounds in which those that take from the same lane come first, and how many fit into a word.
    fn pack(&self, element_bits: u32) -> (Vec<u64>, u32) {
        let count = self.rounds.len();
        let fitting = 32u32.checked_div(element_bits).unwrap_or(1).max(1).ilog2() as usize;
        if fitting == 0 {
            return ((0..count).map(|round| 1 << round).collect(), 1);
        }
        let lanes = Echelon::of(self.rounds.iter().map(|&place| self.lane_of(place)));
        let dependent = lanes.dependent_columns();
        let (same, other): (Vec<usize>, Vec<usize>) = (0..count).partition(|round| dependent >> round & 1 == 1);
        let together =
            same.iter().map(|&round| 1 << round | lanes.solve(self.lane_of(self.rounds[round])).unwrap_or_default());
        let order = together.chain(other.iter().map(|round| 1 << round)).collect();
        (order, 1 << same.len().min(fitting))
    }
}

/// Sums of places within a warp of the source that hold nothing together.
fn copies(source: &LinearLayout, lane_bits: usize) -> Vec<u64> {
    let registers = source.flat_bases(InDim::Register);
    let columns: Vec<u64> = registers.iter().chain(source.flat_bases(InDim::Lane)).copied().collect();
    let echelon = Echelon::of(columns.iter().copied());
    let sums = (0..columns.len()).filter(|bit| echelon.dependent_columns() >> bit & 1 == 1);
    sums.map(|bit| {
        let sum = 1 << bit | echelon.solve(columns[bit]).unwrap_or_default();
        let (register, lane) = (sum & low_mask(registers.len()), sum >> registers.len());
        lane | register << lane_bits
    })
    .collect()
}
