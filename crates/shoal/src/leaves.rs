//! The arguments of a launch as the single values they are made of: tuples taken apart, each classified.
//!
//! Everything that looks at arguments goes this one way: the variant's key and the argument block on the walk that every
//! launch makes, and from the list that is made of it the bounds of checked launches, the interpreter, and the
//! specialisation when a kernel has to be compiled.

use shoal_lang::ArgSpec;
use smallvec::SmallVec;

use crate::arg::Arg;
use crate::bind::Bound;
use crate::param::Param;
use crate::specialise::{ArgClass, ArgumentError, Rules, classify, too_deep};

/// How deep tuples of arguments may be nested.
pub(crate) const DEEPEST: usize = 64;

/// The classified arguments in the order of the parameters; a tuple is followed by its elements.
#[derive(Debug)]
pub(crate) struct Leaves<'a> {
    params: &'a [Param],
    flat: SmallVec<[ArgClass<'a>; 32]>,
}

impl<'a> Leaves<'a> {
    /// The list, for those who look at it more than once: not for a warm launch.
    pub(crate) fn of(bound: &Bound<'a>) -> Result<Leaves<'a>, ArgumentError> {
        let mut flat = SmallVec::new();
        walk(bound, |leaf| flat.push(*leaf))?;
        Ok(Leaves { params: bound.params, flat })
    }

    /// Each value with the parameter it belongs to.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a Param, &ArgClass<'a>)> {
        let mut params = self.params.iter();
        let (mut param, mut left) = (None, 0);
        self.flat.iter().filter_map(move |leaf| {
            if left == 0 {
                (param, left) = (params.next(), 1);
            }
            left -= 1;
            if let ArgClass::Tuple(_, len) = leaf {
                left += len;
            }
            param.map(|param| (param, leaf))
        })
    }

    /// What is compiled in of each argument, in the compiler's words.
    pub(crate) fn specs(&self) -> Result<Vec<ArgSpec>, ArgumentError> {
        let mut leaves = self.iter();
        let mut specs = Vec::with_capacity(self.params.len());
        while let Some((param, leaf)) = leaves.next() {
            specs.push(spec(param, leaf, &mut leaves)?);
        }
        Ok(specs)
    }
}

/// Classifies all arguments, and shows each value to `each`, in the order of the list. It is shown where it is: a copy of what
/// was just written in parts waits for all of them.
#[inline]
pub(crate) fn walk<'a>(bound: &Bound<'a>, mut each: impl FnMut(&ArgClass<'a>)) -> Result<(), ArgumentError> {
    for (param, &arg) in bound.params.iter().zip(&bound.args) {
        let rules = Rules::of(param);
        let classified = classify(rules, arg);
        let Ok(leaf) = &classified else { return classified.map(|_| ()) };
        each(leaf);
        if let ArgClass::Tuple(..) = leaf {
            elements(rules, arg, 1, &mut each)?;
        }
    }
    Ok(())
}

fn elements<'a>(
    rules: Rules<'_>,
    tuple: &'a Arg<'a>,
    depth: usize,
    each: &mut impl FnMut(&ArgClass<'a>),
) -> Result<(), ArgumentError> {
    if depth > DEEPEST {
        return Err(too_deep(rules));
    }
    let (Arg::Tuple(items) | Arg::NamedTuple(_, items)) = tuple else { return Ok(()) };
    for item in items {
        let leaf = classify(rules.element(), item)?;
        each(&leaf);
        if let ArgClass::Tuple(..) = leaf {
            elements(rules, item, depth + 1, each)?;
        }
    }
    Ok(())
}

fn spec<'l, 'a: 'l>(
    param: &Param,
    leaf: &ArgClass<'a>,
    rest: &mut impl Iterator<Item = (&'a Param, &'l ArgClass<'a>)>,
) -> Result<ArgSpec, ArgumentError> {
    let ArgClass::Tuple(class, len) = leaf else { return leaf.to_spec(param) };
    let mut items = Vec::with_capacity(*len);
    for _ in 0..*len {
        if let Some((param, item)) = rest.next() {
            items.push(spec(param, item, rest)?);
        }
    }
    Ok(match class {
        Some(class) => ArgSpec::NamedTuple((*class).clone(), items),
        None => ArgSpec::Tuple(items),
    })
}
