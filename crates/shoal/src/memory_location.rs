//! Whose memory the arguments of a launch are: all the host's, or all one GPU's.

use shoal_source::Diagnostic;

use crate::arg::{Location, Memory};
use crate::leaves::Leaves;
use crate::param::Param;
use crate::specialise::{ArgClass, ArgumentError};

/// Whose memory arguments are, seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Locations {
    /// No memory was passed.
    #[default]
    None,
    /// All of it is there.
    All(Location),
    /// Some is the host's, the rest this GPU's.
    HostAndCuda(u32),
    /// Some is here and some there.
    Mixed,
}

/// Who launches, as far as it decides whose memory may be passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launcher {
    /// A program that may put all its arrays on one device.
    Program,
    /// A rank, whose symmetric memory is where it is: other memory is copied there.
    Rank,
}

impl Locations {
    /// Adds one value.
    #[inline]
    pub(crate) fn add(&mut self, leaf: &ArgClass<'_>) {
        let Some(memory) = memory_of(leaf) else { return };
        *self = match *self {
            Locations::None => Locations::All(memory.location),
            Locations::All(known) if known == memory.location => return,
            Locations::All(known) => match (known, memory.location) {
                (Location::Host, Location::Cuda(gpu)) | (Location::Cuda(gpu), Location::Host) => {
                    Locations::HostAndCuda(gpu)
                }
                (Location::Host, Location::Host) | (Location::Cuda(_), Location::Cuda(_)) => Locations::Mixed,
            },
            Locations::HostAndCuda(gpu) if [Location::Host, Location::Cuda(gpu)].contains(&memory.location) => return,
            Locations::HostAndCuda(_) | Locations::Mixed => Locations::Mixed,
        };
    }

    /// Whether a device there can work with it. Memory of the host is copied to a GPU for the launch.
    #[inline]
    pub(crate) fn are_fit_for(self, device: Location, launcher: Launcher) -> bool {
        match self {
            Locations::None | Locations::All(Location::Host) => true,
            Locations::All(of) => of == device,
            Locations::HostAndCuda(gpu) => launcher == Launcher::Rank && Location::Cuda(gpu) == device,
            Locations::Mixed => false,
        }
    }
}

#[inline]
fn memory_of<'a>(leaf: &'a ArgClass<'_>) -> Option<&'a Memory<'a>> {
    match leaf {
        // Of memory without elements, it does not matter whose it is.
        ArgClass::Pointer { memory, .. } => Some(*memory).filter(|memory| memory.bytes > 0),
        ArgClass::Descriptor(descriptor) => Some(&descriptor.base),
        ArgClass::Constant(_) | ArgClass::Number { .. } | ArgClass::Tuple(..) => None,
    }
}

/// Says which arguments are where, and what to do.
#[cold]
pub(crate) fn locations_error(leaves: &Leaves<'_>, device: Location) -> ArgumentError {
    let placed: Vec<(&Param, Location)> =
        leaves.iter().filter_map(|(param, leaf)| Some((param, memory_of(leaf)?.location))).collect();
    let wrong = placed.iter().find(|(_, location)| *location != device).or(placed.first());
    let Some(&(param, location)) = wrong else {
        return Box::new(Diagnostic::error(shoal_source::Span::NONE, "arguments are in the memory of several devices"));
    };
    let text = match placed.iter().find(|(_, other)| *other != location) {
        Some((other, of)) => format!(
            "`{}` is in the memory of {} and `{}` in that of {}: a launch works on the memory of one device",
            param.name,
            name(location),
            other.name,
            name(*of)
        ),
        None => format!(
            "`{}` is in the memory of {}, but the kernel is launched on {}",
            param.name,
            name(location),
            name(device)
        ),
    };
    let help = "copy the arrays to one device first, and launch there";
    Box::new(Diagnostic::error(param.span, text).label("this parameter").help(help))
}

fn name(location: Location) -> String {
    match location {
        Location::Host => "the CPU".to_owned(),
        Location::Cuda(ordinal) => format!("GPU {ordinal}"),
    }
}
