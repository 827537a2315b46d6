//! The lesser and the greater of two: the binary operations that give one of their operands as it is.

use crate::op::BinaryOp;

/// Which end of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

/// What the lesser or the greater of two floats is when one of them is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nan {
    /// The other one.
    Ignore,
    /// NaN.
    Propagate,
}

impl BinaryOp {
    /// The operation that gives this extreme.
    pub fn of_extreme(which: Extreme, nan: Nan) -> BinaryOp {
        match (which, nan) {
            (Extreme::Min, Nan::Ignore) => BinaryOp::Min,
            (Extreme::Max, Nan::Ignore) => BinaryOp::Max,
            (Extreme::Min, Nan::Propagate) => BinaryOp::MinNan,
            (Extreme::Max, Nan::Propagate) => BinaryOp::MaxNan,
        }
    }

    /// Which extreme it gives; `None` for operations that compute.
    pub fn extreme(self) -> Option<(Extreme, Nan)> {
        match self {
            BinaryOp::Min => Some((Extreme::Min, Nan::Ignore)),
            BinaryOp::Max => Some((Extreme::Max, Nan::Ignore)),
            BinaryOp::MinNan => Some((Extreme::Min, Nan::Propagate)),
            BinaryOp::MaxNan => Some((Extreme::Max, Nan::Propagate)),
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::DivRn
            | BinaryOp::Rem
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::MulHi => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extreme_and_its_operation_are_the_same() {
        let extremes: Vec<BinaryOp> = BinaryOp::ALL.iter().copied().filter(|op| op.extreme().is_some()).collect();
        assert_eq!(extremes, [BinaryOp::Min, BinaryOp::Max, BinaryOp::MinNan, BinaryOp::MaxNan]);
        for op in extremes {
            assert_eq!(op.extreme().map(|(which, nan)| BinaryOp::of_extreme(which, nan)), Some(op));
        }
    }
}
