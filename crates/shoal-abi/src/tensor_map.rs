//! Tensors that a kernel reaches through a GPU's copy engine: what whoever launches it must tell the engine of each.
//!
//! A map stands behind the kernel's other parameters, 128 bytes at a multiple of 64. In descriptions it reads
//!
//! ```text
//! f16:a0:a3/a4:a6:64/128:128:zero
//! ```
//!
//! element, address, sizes, strides in elements (all but the last dimension's), the box that one copy moves, the bytes
//! of its swizzle, and what lies outside. Dimensions come outermost first.

use std::fmt;
use std::str::FromStr;

use crate::launch_value::LaunchValue;

/// What a tensor's elements are, as a copy engine tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say all")]
pub enum MapElement {
    Bits8,
    Bits16,
    Bits32,
    Bits64,
    F16,
    Bf16,
    F32,
    F64,
}

impl MapElement {
    const ALL: [MapElement; 8] = [
        MapElement::Bits8,
        MapElement::Bits16,
        MapElement::Bits32,
        MapElement::Bits64,
        MapElement::F16,
        MapElement::Bf16,
        MapElement::F32,
        MapElement::F64,
    ];

    fn name(self) -> &'static str {
        match self {
            MapElement::Bits8 => "b8",
            MapElement::Bits16 => "b16",
            MapElement::Bits32 => "b32",
            MapElement::Bits64 => "b64",
            MapElement::F16 => "f16",
            MapElement::Bf16 => "bf16",
            MapElement::F32 => "f32",
            MapElement::F64 => "f64",
        }
    }

    /// The bytes of one.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            MapElement::Bits8 => 1,
            MapElement::Bits16 | MapElement::F16 | MapElement::Bf16 => 2,
            MapElement::Bits32 | MapElement::F32 => 4,
            MapElement::Bits64 | MapElement::F64 => 8,
        }
    }
}

/// What lies beyond a tensor's edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapOutside {
    /// Zeros.
    Zero,
    /// NaN.
    Nan,
}

/// A tensor as a copy engine must know it. Dimensions come outermost first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMapNeeds {
    /// What its elements are.
    pub element: MapElement,
    /// The address of its first element.
    pub base: LaunchValue,
    /// Its sizes.
    pub sizes: Vec<LaunchValue>,
    /// Its strides in elements, of all dimensions but the last, whose stride is 1.
    pub strides: Vec<LaunchValue>,
    /// The elements that one copy moves.
    pub block: Vec<u32>,
    /// The bytes over which pieces of 16 are exchanged in shared memory: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// What reads beyond its edges give.
    pub outside: MapOutside,
}

impl fmt::Display for TensorMapNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[LaunchValue]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join("/");
        let block = self.block.iter().map(ToString::to_string).collect::<Vec<_>>().join("/");
        let outside = match self.outside {
            MapOutside::Zero => "zero",
            MapOutside::Nan => "nan",
        };
        let (element, base, swizzle) = (self.element.name(), &self.base, self.swizzle);
        let (sizes, strides) = (list(&self.sizes), list(&self.strides));
        write!(f, "{element}:{base}:{sizes}:{strides}:{block}:{swizzle}:{outside}")
    }
}

/// A text describes no tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMapError;

impl FromStr for TensorMapNeeds {
    type Err = TensorMapError;

    fn from_str(text: &str) -> Result<TensorMapNeeds, TensorMapError> {
        read(text).ok_or(TensorMapError)
    }
}

fn read(text: &str) -> Option<TensorMapNeeds> {
    let fields: Vec<&str> = text.split(':').collect();
    let &[element, base, sizes, strides, block, swizzle, outside] = &fields[..] else { return None };
    fn list<T: FromStr>(text: &str) -> Option<Vec<T>> {
        text.split('/').filter(|item| !item.is_empty()).map(|item| item.parse().ok()).collect()
    }
    let map = TensorMapNeeds {
        element: MapElement::ALL.into_iter().find(|e| e.name() == element)?,
        base: base.parse().ok()?,
        sizes: list(sizes)?,
        strides: list(strides)?,
        block: list(block)?,
        swizzle: swizzle.parse().ok().filter(|bytes| matches!(bytes, 0 | 32 | 64 | 128))?,
        outside: match outside {
            "zero" => MapOutside::Zero,
            "nan" => MapOutside::Nan,
            _ => return None,
        },
    };
    let rank = map.sizes.len();
    (rank > 0 && map.block.len() == rank && map.strides.len() + 1 == rank).then_some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_survive_their_text() {
        for text in [
            "f16:a0:a3/a4:a6:64/128:128:zero",
            "b8:a0.16.add:a1.a2.mul.i32::16:0:zero",
            "f32:a1:2/3/4:12/4:1/1/4:0:nan",
        ] {
            assert_eq!(text.parse::<TensorMapNeeds>().map(|map| map.to_string()), Ok(text.to_owned()));
        }
        for wrong in
            ["", "f16:a0:a3/a4:a6:64:128:zero", "f16:a0:a3/a4:a6:64/128:48:zero", "f17:a0:a3/a4:a6:64/128:0:zero"]
        {
            assert!(wrong.parse::<TensorMapNeeds>().is_err(), "{wrong}");
        }
    }
}
