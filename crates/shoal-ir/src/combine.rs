//! Whether the region of a `reduce` commutes: then its elements may be combined in the order that is fastest.
//!
//! Two forms are seen. An expression commutes if it is its own mirror, the same with both groups exchanged:
//! `max(|a|, |b|)`, `a.re * b.re - a.im * b.im`. A choice commutes if what decides compares the groups, and takes the other
//! one when they are exchanged: `select((a > b) | ((a == b) & (i < j)), a, b)`. Between groups that compare as equal it may
//! take either. NaN, which compares with nothing, is not thought of.

use std::collections::HashMap;

use crate::func::{Func, Region, Value, ValueDef};
use crate::op::{BinaryOp, CmpOp, OpKind, UnaryOp};

/// More pairs are not compared in one choice.
const MAX_PAIRS: usize = 4;

/// Whether it does not matter which of two groups a region is given first.
pub fn commutes(func: &Func, region: Region) -> bool {
    let mut mirror = Mirror { func, region, half: func.region(region).params().len() / 2, known: HashMap::new() };
    func.yielded(region).iter().all(|&value| mirror.mirrors(value, value))
}

struct Mirror<'f> {
    func: &'f Func,
    region: Region,
    /// How many values a group has.
    half: usize,
    known: HashMap<(Value, Value), bool>,
}

/// How two numbers compare.
type Relation = std::cmp::Ordering;

impl Mirror<'_> {
    /// Whether one value is the other with both groups exchanged.
    fn mirrors(&mut self, x: Value, y: Value) -> bool {
        if let Some(&known) = self.known.get(&(x, y)) {
            return known;
        }
        let found = self.looks_mirrored(x, y);
        self.known.insert((x, y), found);
        found
    }

    fn looks_mirrored(&mut self, x: Value, y: Value) -> bool {
        let func = self.func;
        let (first, second) = match (func.value(x).def(), func.value(y).def()) {
            (ValueDef::Param(a, i), ValueDef::Param(b, j)) if a == self.region && b == self.region => {
                return (i as usize + self.half) % (2 * self.half) == j as usize;
            }
            (ValueDef::Result(a, _), ValueDef::Result(b, _)) => (func.op(a), func.op(b)),
            _ => return x == y,
        };
        if first.parent() != Some(self.region) || second.parent() != Some(self.region) {
            return x == y;
        }
        if !first.regions().is_empty() || first.results().len() != 1 || matches!(first.kind, OpKind::Call { .. }) {
            return false;
        }
        let (a, b) = (first.operands(), second.operands());
        if let ([take, p, q], [other, r, s]) = (a, b)
            && take == other
            && matches!((&first.kind, &second.kind), (OpKind::Select, OpKind::Select))
            && self.mirrors(*p, *s)
            && self.mirrors(*q, *r)
            && self.decides(*take)
        {
            return true;
        }
        let straight = first.kind == second.kind && a.len() == b.len();
        if straight && a.iter().zip(b).all(|(&p, &q)| self.mirrors(p, q)) {
            return true;
        }
        let ([p, q], [r, s]) = (a, b) else { return false };
        crosses(&first.kind, &second.kind) && self.mirrors(*p, *s) && self.mirrors(*q, *r)
    }

    /// Whether a condition tells the groups apart by comparing them: exchanged, it decides the other way, unless all that
    /// it compares is equal.
    fn decides(&mut self, take: Value) -> bool {
        let mut pairs = Vec::new();
        if !self.compares(take, &mut pairs) || pairs.is_empty() || pairs.len() > MAX_PAIRS {
            return false;
        }
        let ways = [Relation::Less, Relation::Equal, Relation::Greater];
        (0..ways.len().pow(pairs.len() as u32)).all(|case| {
            let way = |at: usize| ways[case / ways.len().pow(at as u32) % ways.len()];
            let related: Vec<_> = pairs.iter().enumerate().map(|(at, &pair)| (pair, way(at))).collect();
            let exchanged: Vec<_> = related.iter().map(|&(pair, way)| (pair, way.reverse())).collect();
            related.iter().all(|(_, way)| way.is_eq()) || self.decided(take, &related) != self.decided(take, &exchanged)
        })
    }

    /// Whether a condition is made of comparisons of mirrored values and of values with themselves; finds the former.
    fn compares(&mut self, condition: Value, pairs: &mut Vec<(Value, Value)>) -> bool {
        let Some(op) = self.func.def_op(condition).map(|op| self.func.op(op)) else { return false };
        match (&op.kind, op.operands()) {
            (OpKind::Cmp(_), &[x, y]) if x == y => true,
            (OpKind::Cmp(_), &[x, y]) => {
                if !pairs.contains(&(x, y)) && !pairs.contains(&(y, x)) {
                    pairs.push((x, y));
                }
                self.mirrors(x, y)
            }
            (OpKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor), &[x, y]) => {
                self.compares(x, pairs) && self.compares(y, pairs)
            }
            (OpKind::Unary(UnaryOp::Not), &[x]) => self.compares(x, pairs),
            _ => false,
        }
    }

    /// What a condition says if the pairs that it compares are related so.
    fn decided(&self, condition: Value, related: &[((Value, Value), Relation)]) -> bool {
        let op = self.func.def_op(condition).map(|op| self.func.op(op)).expect("conditions are computed");
        match (&op.kind, op.operands()) {
            (OpKind::Cmp(compare), &[x, y]) => {
                let found = related.iter().find_map(|&(pair, way)| match pair {
                    _ if x == y => Some(Relation::Equal),
                    pair if pair == (x, y) => Some(way),
                    pair if pair == (y, x) => Some(way.reverse()),
                    _ => None,
                });
                holds(*compare, found.expect("pairs were found"))
            }
            (OpKind::Binary(kind), &[x, y]) => {
                let (x, y) = (self.decided(x, related), self.decided(y, related));
                if *kind == BinaryOp::And {
                    x & y
                } else if *kind == BinaryOp::Or {
                    x | y
                } else {
                    x ^ y
                }
            }
            (_, operands) => !self.decided(operands[0], related),
        }
    }
}

fn holds(compare: CmpOp, way: Relation) -> bool {
    match compare {
        CmpOp::Eq => way.is_eq(),
        CmpOp::Ne => way.is_ne(),
        CmpOp::Lt => way.is_lt(),
        CmpOp::Le => way.is_le(),
        CmpOp::Gt => way.is_gt(),
        CmpOp::Ge => way.is_ge(),
    }
}

/// Whether one operation of two operands is the other with its operands exchanged.
fn crosses(kind: &OpKind, other: &OpKind) -> bool {
    match (kind, other) {
        (OpKind::Binary(kind), OpKind::Binary(other)) => {
            use BinaryOp::{Add, And, Max, MaxNan, Min, MinNan, Mul, MulHi, Or, Xor};
            kind == other && matches!(kind, Add | Mul | MulHi | And | Or | Xor | Min | Max | MinNan | MaxNan)
        }
        (OpKind::Cmp(kind), OpKind::Cmp(other)) => matches!(
            (kind, other),
            (CmpOp::Eq, CmpOp::Eq)
                | (CmpOp::Ne, CmpOp::Ne)
                | (CmpOp::Lt, CmpOp::Gt)
                | (CmpOp::Gt, CmpOp::Lt)
                | (CmpOp::Le, CmpOp::Ge)
                | (CmpOp::Ge, CmpOp::Le)
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::source::FileId;

    /// Whether the combination of two groups of two numbers commutes.
    fn two(body: &str) -> bool {
        let text = format!(
            "kernel @k(%x: tile<8xf32>, %y: tile<8xi32>) {{\n%r, %s = reduce {{axis = 0}} (%x, %y) : f32, i32 \
             do (%a: f32, %i: i32, %b: f32, %j: i32) {{\n{body}\n}}\nreturn ()\n}}"
        );
        let module = parse::module(&text, FileId::from_index(0)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let func = &module.funcs[0];
        let reduce = func.walk()[0];
        commutes(func, func.op(reduce).regions()[0])
    }

    #[test]
    fn mirrors_of_themselves() {
        assert!(two("%0 = add (%a, %b) : f32\n%1 = max (%j, %i) : i32\nyield (%0, %1)"));
        assert!(two("%0 = abs (%a) : f32\n%1 = abs (%b) : f32\n%2 = max (%0, %1) : f32\n%3 = mul (%i, %j) : i32\n\
                     %4 = add (%3, %3) : i32\nyield (%2, %4)"));
        // First and last, differences, and a group whose parts go different ways.
        assert!(!two("yield (%b, %j)"));
        assert!(!two("yield (%a, %i)"));
        assert!(!two("%0 = sub (%a, %b) : f32\n%1 = add (%i, %j) : i32\nyield (%0, %1)"));
        assert!(!two("%0 = add (%a, %b) : f32\n%1 = mul (%i, %j) : i32\n%2 = add (%1, %i) : i32\nyield (%0, %2)"));
    }

    #[test]
    fn choices() {
        let by = |condition: &str| {
            two(&format!("{condition}\n%7 = select (%t, %a, %b) : f32\n%8 = select (%t, %i, %j) : i32\nyield (%7, %8)"))
        };
        let tie = "%1 = cmp {is = eq} (%b, %a) : i1\n%2 = cmp {is = lt} (%i, %j) : i1\n%3 = and (%1, %2) : i1\n";
        assert!(by("%t = cmp {is = gt} (%a, %b) : i1"));
        assert!(by(&format!("{tie}%0 = cmp {{is = gt}} (%a, %b) : i1\n%t = or (%0, %3) : i1")));
        // As a function that lets NaN win is written.
        assert!(by("%0 = cmp {is = lt} (%a, %b) : i1\n%1 = cmp {is = ne} (%a, %a) : i1\n%t = or (%0, %1) : i1"));
        // The first if they differ; an order of one of them with a constant.
        assert!(!by("%t = cmp {is = ne} (%a, %b) : i1"));
        assert!(!by(&format!("{tie}%0 = cmp {{is = ge}} (%a, %b) : i1\n%t = or (%0, %3) : i1")));
        assert!(!by("%0 = const {value = 0.0} () : f32\n%t = cmp {is = gt} (%a, %0) : i1"));
        // One part of the first group, one of the other.
        assert!(!two("%t = cmp {is = gt} (%a, %b) : i1\n%7 = select (%t, %a, %b) : f32\nyield (%7, %i)"));
    }
}
