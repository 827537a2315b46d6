//! Functions: operations, values and regions in arenas, with use lists that every edit keeps true.

use cranelift_entity::{EntitySet, PrimaryMap, entity_impl};
use shoal_source::Span;
use smallvec::SmallVec;

use crate::op::OpKind;
use crate::types::Type;

/// A value: the result of an operation or a parameter of a region.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// An operation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(u32);
entity_impl!(OpId, "op");

/// A region: parameters and a list of operations.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(u32);
entity_impl!(Region, "region");

/// A short list of values.
pub type ValueList = SmallVec<[Value; 4]>;

/// One operation. Its edges are uniform, so passes can walk them without knowing the kind; all meaning is in `kind`, a
/// closed enum, so every `match` is total.
#[derive(Clone, Debug)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    operands: ValueList,
    /// Where each operand lists this use of it, so that taking a use away costs no search.
    use_slots: SmallVec<[u32; 4]>,
    results: ValueList,
    regions: SmallVec<[Region; 2]>,
    /// Where the user wrote it.
    pub span: Span,
    parent: Option<Region>,
}

impl Op {
    /// The values it takes.
    pub fn operands(&self) -> &[Value] {
        &self.operands
    }

    /// The values it defines.
    pub fn results(&self) -> &[Value] {
        &self.results
    }

    /// The only result.
    ///
    /// # Panics
    /// If there is not exactly one.
    pub fn result(&self) -> Value {
        assert_eq!(self.results.len(), 1, "an operation with one result");
        self.results[0]
    }

    /// The regions it owns.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region it stands in; `None` once it is removed.
    pub fn parent(&self) -> Option<Region> {
        self.parent
    }
}

/// Where a value comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The `index`-th result of an operation.
    Result(OpId, u32),
    /// The `index`-th parameter of a region.
    Param(Region, u32),
}

/// One place where a value is used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The operation.
    pub op: OpId,
    /// Which of its operands.
    pub index: u32,
}

/// What is promised of a value's elements, by the user's hints or by how a kernel is launched. Each list has one entry
/// for each dimension (one for a scalar), or is empty: nothing promised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// The first element of each run of `contiguous` elements is divisible by this (for pointers: the address in
    /// bytes).
    pub divisible: SmallVec<[u64; 2]>,
    /// Runs of this many elements, aligned in the tile, are consecutive.
    pub contiguous: SmallVec<[u64; 2]>,
    /// Runs of this many elements, aligned in the tile, are equal.
    pub constant: SmallVec<[u64; 2]>,
}

impl Facts {
    /// A scalar divisible by `n`.
    pub fn divisible(n: u64) -> Facts {
        Facts { divisible: SmallVec::from_slice(&[n]), ..Facts::default() }
    }

    /// Whether nothing is promised.
    pub fn is_empty(&self) -> bool {
        self.divisible.is_empty() && self.contiguous.is_empty() && self.constant.is_empty()
    }

    /// Adds the promises of `other`; where both promise, the larger one stays.
    pub fn merge(&mut self, other: &Facts) {
        fn each(mine: &mut SmallVec<[u64; 2]>, theirs: &[u64]) {
            if mine.is_empty() {
                mine.extend_from_slice(theirs);
            } else {
                for (m, t) in mine.iter_mut().zip(theirs) {
                    *m = (*m).max(*t);
                }
            }
        }
        each(&mut self.divisible, &other.divisible);
        each(&mut self.contiguous, &other.contiguous);
        each(&mut self.constant, &other.constant);
    }
}

/// A value's type, origin, promises and uses.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// What is promised of it.
    pub facts: Facts,
    /// The user's name for it, kept for the text format and the debugger.
    pub name: Option<Box<str>>,
    def: ValueDef,
    uses: Vec<Use>,
}

impl ValueData {
    /// Where it comes from.
    pub fn def(&self) -> ValueDef {
        self.def
    }

    /// Where it is used.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }
}

/// Parameters and operations, in order.
#[derive(Clone, Debug, Default)]
pub struct RegionData {
    params: Vec<Value>,
    ops: Vec<OpId>,
    owner: Option<OpId>,
}

impl RegionData {
    /// The values it is entered with.
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    /// Its operations.
    pub fn ops(&self) -> &[OpId] {
        &self.ops
    }

    /// The operation that owns it; `None` for a function's body.
    pub fn owner(&self) -> Option<OpId> {
        self.owner
    }
}

/// Who calls a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FuncKind {
    /// The host, on a grid.
    Kernel,
    /// Other functions.
    Device,
}

/// The most warps of a program: 1024 threads, as GPUs have it.
pub const MAX_WARPS: u32 = 32;

/// How a GPU runs a kernel. Code for single threads sees its warps; beyond that it changes no result but how sums of
/// products are rounded.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuShape {
    /// The warps that run one program together; a power of two up to [`MAX_WARPS`].
    pub num_warps: u32,
    /// Trips of a loop whose loads are under way at the same time.
    pub num_stages: u32,
    /// The most registers that a thread may use; `None`: as many as the target has for so many threads.
    pub max_registers: Option<u32>,
    /// Whether a product that is added to something may be rounded together with the sum.
    pub fuse_products: bool,
}

impl Default for GpuShape {
    fn default() -> GpuShape {
        GpuShape { num_warps: 4, num_stages: 3, max_registers: None, fuse_products: true }
    }
}

impl GpuShape {
    /// For a program that is to run on a cluster of so many blocks: one block with the warps of all of them, or as many as a
    /// block may have.
    #[must_use]
    pub fn with_blocks(self, blocks: u32) -> GpuShape {
        GpuShape { num_warps: self.num_warps.max(self.num_warps.saturating_mul(blocks).min(MAX_WARPS)), ..self }
    }
}

/// A function. Its parameters are those of its body region.
#[derive(Clone, Debug)]
pub struct Func {
    /// Its name, unique in the module.
    pub name: String,
    /// Who calls it.
    pub kind: FuncKind,
    /// Keep calls to it as calls.
    pub noinline: bool,
    /// How a GPU runs it.
    pub gpu: GpuShape,
    /// The types it returns.
    pub results: Vec<Type>,
    /// Operations of code for single threads: accesses that each lane makes to its own element, branches and loops that
    /// each lane takes for itself (the mask of those that do is what the condition combines, or what the loop carries
    /// last), and barriers of the lanes of a warp. It changes no result. Who checks what orders lanes needs it, and the
    /// text format does not have it, as it does not have places in the source.
    pub by_lanes: EntitySet<OpId>,
    /// Where the user wrote it.
    pub span: Span,
    ops: PrimaryMap<OpId, Op>,
    values: PrimaryMap<Value, ValueData>,
    regions: PrimaryMap<Region, RegionData>,
    body: Region,
}

impl Func {
    /// A function with an empty body (not yet valid: it has no `return`).
    pub fn new(name: impl Into<String>, kind: FuncKind, span: Span) -> Func {
        let mut regions = PrimaryMap::new();
        let body = regions.push(RegionData::default());
        Func {
            name: name.into(),
            kind,
            noinline: false,
            gpu: GpuShape::default(),
            results: Vec::new(),
            by_lanes: EntitySet::new(),
            span,
            ops: PrimaryMap::new(),
            values: PrimaryMap::new(),
            regions,
            body,
        }
    }

    /// The region that runs when the function is called.
    pub fn body(&self) -> Region {
        self.body
    }

    /// The function's parameters.
    pub fn params(&self) -> &[Value] {
        self.regions[self.body].params()
    }

    /// An operation.
    pub fn op(&self, op: OpId) -> &Op {
        &self.ops[op]
    }

    /// An operation whose kind or span is to be changed.
    pub fn op_mut(&mut self, op: OpId) -> &mut Op {
        &mut self.ops[op]
    }

    /// A region.
    pub fn region(&self, region: Region) -> &RegionData {
        &self.regions[region]
    }

    /// A value.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value]
    }

    /// A value whose type, promises or name are to be changed.
    pub fn value_mut(&mut self, value: Value) -> &mut ValueData {
        &mut self.values[value]
    }

    /// A value's type.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value].ty
    }

    /// The operation that defines a value, if one does.
    pub fn def_op(&self, value: Value) -> Option<OpId> {
        match self.values[value].def {
            ValueDef::Result(op, _) => Some(op),
            ValueDef::Param(..) => None,
        }
    }

    /// The kind of the operation that defines a value, if one does.
    pub fn def_kind(&self, value: Value) -> Option<&OpKind> {
        self.def_op(value).map(|op| &self.ops[op].kind)
    }

    /// How many values there have ever been: an upper bound for tables indexed by value.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// How many operations there have ever been.
    pub fn num_ops(&self) -> usize {
        self.ops.len()
    }

    /// A fresh region without an owner; it gets one when an operation is made with it.
    pub fn new_region(&mut self) -> Region {
        self.regions.push(RegionData::default())
    }

    /// A further parameter of a region.
    pub fn add_param(&mut self, region: Region, ty: Type) -> Value {
        let index = self.regions[region].params.len() as u32;
        let value = self.values.push(ValueData {
            ty,
            facts: Facts::default(),
            name: None,
            def: ValueDef::Param(region, index),
            uses: Vec::new(),
        });
        self.regions[region].params.push(value);
        value
    }

    /// Takes a parameter away from a region.
    ///
    /// # Panics
    /// If it is still used.
    pub fn remove_param(&mut self, region: Region, index: usize) {
        let value = self.regions[region].params.remove(index);
        assert!(self.values[value].uses.is_empty(), "a removed parameter has no uses");
        for later in index..self.regions[region].params.len() {
            let value = self.regions[region].params[later];
            self.values[value].def = ValueDef::Param(region, later as u32);
        }
    }

    /// Makes an operation that stands nowhere yet; see [`Func::insert`].
    pub fn make_op(
        &mut self,
        kind: OpKind,
        operands: impl IntoIterator<Item = Value>,
        result_types: impl IntoIterator<Item = Type>,
        regions: impl IntoIterator<Item = Region>,
        span: Span,
    ) -> OpId {
        let op = self.ops.push(Op {
            kind,
            operands: ValueList::new(),
            use_slots: SmallVec::new(),
            results: ValueList::new(),
            regions: regions.into_iter().collect(),
            span,
            parent: None,
        });
        for operand in operands {
            self.push_operand(op, operand);
        }
        for &region in &self.ops[op].regions {
            self.regions[region].owner = Some(op);
        }
        for (index, ty) in result_types.into_iter().enumerate() {
            let value = self.values.push(ValueData {
                ty,
                facts: Facts::default(),
                name: None,
                def: ValueDef::Result(op, index as u32),
                uses: Vec::new(),
            });
            self.ops[op].results.push(value);
        }
        op
    }

    /// Puts a made or detached operation into a region, before the operation now at `index`.
    pub fn insert(&mut self, region: Region, index: usize, op: OpId) {
        debug_assert!(self.ops[op].parent.is_none(), "an operation stands in one place");
        self.ops[op].parent = Some(region);
        self.regions[region].ops.insert(index, op);
    }

    /// Puts a made or detached operation at the end of a region.
    pub fn append(&mut self, region: Region, op: OpId) {
        self.insert(region, self.regions[region].ops.len(), op);
    }

    /// Takes all operations out of a region, in order. A pass that goes through a region puts back what stays with
    /// [`Func::append`], so that its edits cost no search.
    pub fn take_ops(&mut self, region: Region) -> Vec<OpId> {
        let ops = std::mem::take(&mut self.regions[region].ops);
        for &op in &ops {
            self.ops[op].parent = None;
        }
        ops
    }

    /// Takes a result away from an operation.
    ///
    /// # Panics
    /// If it is still used.
    pub fn remove_result(&mut self, op: OpId, index: usize) {
        let value = self.ops[op].results.remove(index);
        assert!(self.values[value].uses.is_empty(), "a removed result has no uses");
        for later in index..self.ops[op].results.len() {
            let value = self.ops[op].results[later];
            self.values[value].def = ValueDef::Result(op, later as u32);
        }
    }

    /// The place of an operation in its region.
    ///
    /// # Panics
    /// If the operation stands nowhere.
    pub fn index_in_region(&self, op: OpId) -> usize {
        let region = self.ops[op].parent.expect("an operation in a region");
        self.regions[region].ops.iter().position(|&o| o == op).expect("a region lists its operations")
    }

    /// Takes an operation out of its region; it keeps its operands and can be inserted elsewhere.
    pub fn detach(&mut self, op: OpId) {
        if let Some(region) = self.ops[op].parent.take() {
            self.regions[region].ops.retain(|&o| o != op);
        }
    }

    /// Removes an operation and everything inside its regions for good.
    ///
    /// # Panics
    /// If a result is still used outside.
    pub fn erase(&mut self, op: OpId) {
        self.detach(op);
        self.drop_edges(op);
        for &result in &self.ops[op].results {
            assert!(self.values[result].uses.is_empty(), "an erased operation has no uses");
        }
    }

    /// Drops the operand edges of `op` and of all operations inside it.
    fn drop_edges(&mut self, op: OpId) {
        self.drop_operands(op);
        for region in self.ops[op].regions.clone() {
            for inner in std::mem::take(&mut self.regions[region].ops) {
                self.ops[inner].parent = None;
                self.drop_edges(inner);
            }
        }
    }

    fn push_operand(&mut self, op: OpId, value: Value) {
        let (data, uses) = (&mut self.ops[op], &mut self.values[value].uses);
        data.use_slots.push(uses.len() as u32);
        uses.push(Use { op, index: data.operands.len() as u32 });
        data.operands.push(value);
    }

    /// Takes a use off the list of the value used; the last of the list moves to its place.
    fn remove_use(&mut self, op: OpId, index: usize) {
        let (value, slot) = (self.ops[op].operands[index], self.ops[op].use_slots[index] as usize);
        let uses = &mut self.values[value].uses;
        uses.swap_remove(slot);
        if let Some(&moved) = uses.get(slot) {
            self.ops[moved.op].use_slots[moved.index as usize] = slot as u32;
        }
    }

    fn drop_operands(&mut self, op: OpId) {
        for index in 0..self.ops[op].operands.len() {
            self.remove_use(op, index);
        }
        self.ops[op].operands.clear();
        self.ops[op].use_slots.clear();
    }

    /// Changes one operand.
    pub fn set_operand(&mut self, op: OpId, index: usize, value: Value) {
        self.remove_use(op, index);
        self.ops[op].operands[index] = value;
        self.add_use(op, index, value);
    }

    fn add_use(&mut self, op: OpId, index: usize, value: Value) {
        let uses = &mut self.values[value].uses;
        self.ops[op].use_slots[index] = uses.len() as u32;
        uses.push(Use { op, index: index as u32 });
    }

    /// Replaces the whole operand list.
    pub fn set_operands(&mut self, op: OpId, operands: impl IntoIterator<Item = Value>) {
        self.drop_operands(op);
        for operand in operands {
            self.push_operand(op, operand);
        }
    }

    /// Lets every use of `old` use `new`.
    pub fn replace_all_uses(&mut self, old: Value, new: Value) {
        if old == new {
            return;
        }
        // What the user calls the old one is what the new one is from here on.
        if self.values[new].name.is_none() {
            self.values[new].name = self.values[old].name.clone();
        }
        for this in std::mem::take(&mut self.values[old].uses) {
            self.ops[this.op].operands[this.index as usize] = new;
            self.add_use(this.op, this.index as usize, new);
        }
    }

    /// Moves the operations of `from`, from its `start`-th on, to before the `index`-th operation of `to`.
    pub fn splice(&mut self, from: Region, start: usize, to: Region, index: usize) {
        let moved: Vec<OpId> = self.regions[from].ops.drain(start..).collect();
        for &op in &moved {
            self.ops[op].parent = Some(to);
        }
        self.regions[to].ops.splice(index..index, moved);
    }

    /// The last operation of a region, which ends it.
    pub fn terminator(&self, region: Region) -> Option<OpId> {
        self.regions[region].ops.last().copied()
    }

    /// The values a region ends with (for the first region of a `while`, the condition is the first).
    ///
    /// # Panics
    /// If the region is empty.
    pub fn yielded(&self, region: Region) -> &[Value] {
        let end = self.terminator(region).expect("a region ends in a terminator");
        self.ops[end].operands()
    }

    /// Every operation, outer before inner, in order.
    pub fn walk(&self) -> Vec<OpId> {
        let mut order = Vec::new();
        self.walk_region(self.body, &mut order);
        order
    }

    /// Every operation inside a region, outer before inner, in order.
    pub fn walk_region(&self, region: Region, order: &mut Vec<OpId>) {
        for &op in &self.regions[region].ops {
            order.push(op);
            for &inner in &self.ops[op].regions {
                self.walk_region(inner, order);
            }
        }
    }

    /// Whether a region is `outer` or lies inside it.
    pub fn is_inside(&self, region: Region, outer: Region) -> bool {
        let mut current = Some(region);
        while let Some(region) = current {
            if region == outer {
                return true;
            }
            current = self.regions[region].owner.and_then(|op| self.ops[op].parent);
        }
        false
    }

    /// The region in which a value is defined.
    pub fn defining_region(&self, value: Value) -> Region {
        match self.values[value].def {
            ValueDef::Result(op, _) => self.ops[op].parent.expect("a live value is defined in a region"),
            ValueDef::Param(region, _) => region,
        }
    }
}

/// Functions that are compiled together.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The functions, callees in any order.
    pub funcs: Vec<Func>,
}

impl Module {
    /// The function of that name.
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }

    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Func> {
        self.funcs.iter().filter(|f| f.kind == FuncKind::Kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::BinaryOp;
    use crate::types::Scalar;

    /// Every operand is listed as a use of its value, where the operation says, and nothing else is.
    fn assert_uses_are_true(func: &Func) {
        let mut operands = 0;
        for op in func.walk() {
            for (index, &value) in func.ops[op].operands.iter().enumerate() {
                let slot = func.ops[op].use_slots[index] as usize;
                assert_eq!(func.values[value].uses[slot], Use { op, index: index as u32 });
                operands += 1;
            }
        }
        assert_eq!(func.values.values().map(|v| v.uses.len()).sum::<usize>(), operands);
    }

    #[test]
    fn edits_keep_the_use_lists_true() {
        let mut func = Func::new("f", FuncKind::Device, Span::NONE);
        let body = func.body();
        let (x, y) = (func.add_param(body, Scalar::I32.into()), func.add_param(body, Scalar::I32.into()));
        let add = |func: &mut Func, a, b| {
            let op = func.make_op(OpKind::Binary(BinaryOp::Add), [a, b], [Scalar::I32.into()], [], Span::NONE);
            func.append(body, op);
            op
        };
        let (a, b, c) = (add(&mut func, x, x), add(&mut func, x, y), add(&mut func, y, x));
        assert_uses_are_true(&func);
        func.set_operand(a, 0, y);
        assert_uses_are_true(&func);
        func.erase(b);
        assert_uses_are_true(&func);
        func.set_operands(a, [x, x]);
        func.replace_all_uses(x, y);
        assert_uses_are_true(&func);
        assert_eq!(func.value(x).uses(), []);
        func.erase(a);
        func.erase(c);
        assert_eq!(func.value(y).uses(), []);
    }
}
