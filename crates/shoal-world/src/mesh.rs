//! Rank meshes: the members of a team as a grid with named axes.

use shoal_abi::AxisPosition;

use crate::error::WorldError;
use crate::team::Team;

/// A team's members on a grid with named axes, the last of which runs fastest.
///
/// ```
/// use shoal_world::{Mesh, World};
///
/// World::threads(6)?.run(|rank| {
///     let mesh = Mesh::new(rank.world(), &[("data", 2), ("tensor", 3)])?;
///     assert_eq!(mesh.position("data")? * 3 + mesh.position("tensor")?, rank.rank());
///     let row = mesh.team("tensor")?;
///     assert_eq!(row.size(), 3);
///     assert_eq!(row.rank(), mesh.position("tensor")?);
///     Ok::<_, shoal_world::WorldError>(())
/// })?;
/// # Ok::<(), shoal_world::WorldError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mesh {
    team: Team,
    axes: Vec<Axis>,
}

#[derive(Debug, Clone)]
struct Axis {
    name: String,
    size: usize,
    /// Distance of neighbours along the axis, in the team's order.
    stride: usize,
}

impl Mesh {
    /// The team's members on a grid; its extents must multiply to their number.
    pub fn new(team: &Team, axes: &[(&str, usize)]) -> Result<Mesh, WorldError> {
        let sizes: Vec<String> = axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
        let points = axes.iter().try_fold(1usize, |points, (_, size)| points.checked_mul(*size));
        if points != Some(team.size()) {
            let of = if sizes.is_empty() { "without axes".to_owned() } else { format!("of {}", sizes.join(", ")) };
            let (name, members) = (team.name(), team.size());
            return Err(WorldError::Argument(format!("a mesh {of} does not fit {name}, which has {members} members")));
        }
        if let Some((name, _)) =
            axes.iter().enumerate().find_map(|(at, axis)| axes[..at].iter().find(|other| other.0 == axis.0))
        {
            return Err(WorldError::Argument(format!("the mesh has two axes named `{name}`")));
        }
        let mut stride = 1;
        let mut placed: Vec<Axis> = Vec::new();
        for (name, size) in axes.iter().rev() {
            placed.push(Axis { name: (*name).to_owned(), size: *size, stride });
            stride *= size;
        }
        placed.reverse();
        Ok(Mesh { team: team.clone(), axes: placed })
    }

    /// The names of the axes.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.name.as_str())
    }

    /// The number of ranks along an axis.
    pub fn size(&self, axis: &str) -> Result<usize, WorldError> {
        Ok(self.axis(axis)?.size)
    }

    /// This rank's position along an axis.
    pub fn position(&self, axis: &str) -> Result<usize, WorldError> {
        let axis = self.axis(axis)?;
        Ok(self.team.rank() / axis.stride % axis.size)
    }

    /// This rank's position along every axis, as kernels see it.
    #[must_use]
    pub fn positions(&self) -> Vec<AxisPosition> {
        let along = |axis: &Axis| AxisPosition {
            position: (self.team.rank() / axis.stride % axis.size) as u32,
            size: axis.size as u32,
        };
        self.axes.iter().map(along).collect()
    }

    /// The member at a position, given for each axis.
    pub fn rank_at(&self, position: &[usize]) -> Result<usize, WorldError> {
        if position.len() != self.axes.len() {
            let (given, axes) = (position.len(), self.axes.len());
            return Err(WorldError::Argument(format!("a position of {given} numbers in a mesh of {axes} axes")));
        }
        let mut rank = 0;
        for (axis, &at) in self.axes.iter().zip(position) {
            if at >= axis.size {
                let Axis { name, size, .. } = axis;
                return Err(WorldError::Argument(format!("position {at} on axis `{name}`, which has {size} ranks")));
            }
            rank += at * axis.stride;
        }
        Ok(rank)
    }

    /// The ranks that differ from this one only along an axis, in the order of their positions. Collective over the
    /// mesh's team.
    pub fn team(&self, axis: &str) -> Result<Team, WorldError> {
        let axis = self.axis(axis)?;
        let first = self.team.rank() - self.team.rank() / axis.stride % axis.size * axis.stride;
        let colour = u32::try_from(first).expect("a rank");
        Ok(self.team.split(Some(colour), 0)?.expect("every rank lies on the axis"))
    }

    fn axis(&self, name: &str) -> Result<&Axis, WorldError> {
        self.axes.iter().find(|axis| axis.name == name).ok_or_else(|| {
            let names: Vec<String> = self.axes().map(|name| format!("`{name}`")).collect();
            WorldError::Argument(format!("the mesh has no axis `{name}`; it has {}", names.join(", ")))
        })
    }
}
