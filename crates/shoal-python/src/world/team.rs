//! Teams and meshes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use shoal::world::{Mesh, Team};

use crate::errors;
use crate::world::member::Member;
use crate::world::rank::to_python;
use crate::world::waiting::wait_for_others;

/// Ranks in an order of their own.
#[pyclass(name = "Team", module = "shoal._native", frozen)]
pub(crate) struct TeamObject {
    member: Member,
    team: Team,
}

impl TeamObject {
    pub(crate) fn new(member: &Member, team: Team) -> TeamObject {
        TeamObject { member: member.clone(), team }
    }

    fn with(&self, team: Option<Team>) -> Option<TeamObject> {
        team.map(|team| TeamObject::new(&self.member, team))
    }
}

#[pymethods]
impl TeamObject {
    /// What messages call it.
    #[getter]
    fn name(&self) -> &str {
        self.team.name()
    }

    /// This rank's place.
    #[getter]
    fn rank(&self) -> usize {
        self.team.rank()
    }

    /// The members, as ranks of the world.
    #[getter]
    fn members(&self) -> Vec<usize> {
        self.team.members().to_vec()
    }

    /// The number by which kernels know it.
    #[getter]
    fn handle(&self) -> i32 {
        self.team.handle()
    }

    /// A member's place in another team.
    fn translate(&self, rank: usize, other: &TeamObject) -> Option<usize> {
        self.team.translate(rank, &other.team)
    }

    /// Waits for all members.
    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        wait_for_others(py, &self.member, || self.team.barrier())
    }

    /// The bytes of one member.
    fn broadcast(&self, py: Python<'_>, root: usize, bytes: &[u8]) -> PyResult<Py<PyBytes>> {
        let received = wait_for_others(py, &self.member, || self.team.broadcast(root, bytes))?;
        Ok(PyBytes::new(py, &received).unbind())
    }

    /// The bytes of all members.
    fn all_gather(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<Py<PyBytes>>> {
        Ok(to_python(py, &wait_for_others(py, &self.member, || self.team.all_gather(bytes))?))
    }

    /// Divides the team by colour.
    fn split(&self, py: Python<'_>, colour: Option<u32>, key: i64) -> PyResult<Option<TeamObject>> {
        Ok(self.with(wait_for_others(py, &self.member, || self.team.split(colour, key))?))
    }

    /// Every `stride`-th member from `start` on.
    fn strided(&self, py: Python<'_>, start: usize, stride: usize, size: usize) -> PyResult<Option<TeamObject>> {
        Ok(self.with(wait_for_others(py, &self.member, || self.team.strided(start, stride, size))?))
    }

    /// Gives the team back.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        wait_for_others(py, &self.member, || self.team.clone().free())
    }

    /// The members on a grid with named axes.
    fn mesh(&self, py: Python<'_>, axes: Vec<(String, usize)>) -> PyResult<MeshObject> {
        let axes: Vec<(&str, usize)> = axes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        let mesh = Mesh::new(&self.team, &axes).map_err(|error| errors::world(py, &error))?;
        Ok(MeshObject { member: self.member.clone(), mesh })
    }
}

/// A team's members on a grid with named axes.
#[pyclass(name = "Mesh", module = "shoal._native", frozen)]
pub(crate) struct MeshObject {
    member: Member,
    mesh: Mesh,
}

#[pymethods]
impl MeshObject {
    /// Gives kernels of this rank the mesh.
    fn set_for_kernels(&self) -> PyResult<()> {
        self.member.taking_part()?.set_mesh(Some(&self.mesh));
        Ok(())
    }

    /// The names of the axes.
    #[getter]
    fn axes(&self) -> Vec<String> {
        self.mesh.axes().map(str::to_owned).collect()
    }

    /// The number of ranks along an axis.
    fn size(&self, py: Python<'_>, axis: &str) -> PyResult<usize> {
        self.mesh.size(axis).map_err(|error| errors::world(py, &error))
    }

    /// This rank's position along an axis.
    fn position(&self, py: Python<'_>, axis: &str) -> PyResult<usize> {
        self.mesh.position(axis).map_err(|error| errors::world(py, &error))
    }

    /// The member at a position.
    fn rank_at(&self, py: Python<'_>, position: Vec<usize>) -> PyResult<usize> {
        self.mesh.rank_at(&position).map_err(|error| errors::world(py, &error))
    }

    /// The ranks that differ from this one only along an axis.
    fn team(&self, py: Python<'_>, axis: &str) -> PyResult<TeamObject> {
        let team = wait_for_others(py, &self.member, || self.mesh.team(axis))?;
        Ok(TeamObject::new(&self.member, team))
    }
}
