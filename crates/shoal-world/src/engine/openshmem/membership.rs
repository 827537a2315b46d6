//! What Open MPI tells a process about its place in a job.

use crate::engine::EngineKind;
use crate::environment::Variables;
use crate::error::WorldError;

/// The variable that chooses an engine where the environment would allow for several.
pub(crate) const ENGINE: &str = "SHOAL_ENGINE";
const RANK: &str = "OMPI_COMM_WORLD_RANK";
const SIZE: &str = "OMPI_COMM_WORLD_SIZE";

/// A process's place in a job of `oshrun`; for messages, until the library itself has said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Membership {
    pub(crate) fn read(variables: &Variables<'_>) -> Result<Membership, WorldError> {
        let needed = |name| {
            variables.number::<u32>(name)?.map(|number| number as usize).ok_or_else(|| WorldError::Environment {
                name,
                value: None,
                problem: "not set; start the program with `shoal launch --engine openshmem -n N -- program` or \
                          `oshrun -n N program`"
                    .to_owned(),
            })
        };
        Ok(Membership { rank: needed(RANK)?, size: needed(SIZE)? })
    }

    /// Refuses variables that are not of the job that this process belongs to, as the library knows it.
    pub(super) fn agrees(self, rank: usize, size: usize) -> Result<(), WorldError> {
        if (self.rank, self.size) == (rank, size) {
            return Ok(());
        }
        Err(WorldError::Environment {
            name: SIZE,
            value: Some(self.size.to_string()),
            problem: format!(
                "with {RANK}={}, but the OpenSHMEM library says that this process is rank {rank} of {size}: the variables \
                 are those of another job; start the program with `oshrun`",
                self.rank
            ),
        })
    }
}

/// The engine that this process was started for: what `SHOAL_ENGINE` says, else what has left its variables.
pub(crate) fn engine(variables: &Variables<'_>) -> Result<EngineKind, WorldError> {
    match variables.text(ENGINE).as_deref() {
        Some("processes") => Ok(EngineKind::Processes),
        Some("openshmem") => Ok(EngineKind::OpenShmem),
        Some("nvshmem") => Ok(EngineKind::Nvshmem),
        Some(other) => Err(WorldError::Environment {
            name: ENGINE,
            value: Some(other.to_owned()),
            problem: "ranks that are processes have the engine `processes`, `openshmem` or `nvshmem`".to_owned(),
        }),
        None if variables.text("RANK").is_none() && variables.text(RANK).is_some() => Ok(EngineKind::OpenShmem),
        None => Ok(EngineKind::Processes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_chooses_the_engine() {
        let chosen = |pairs: &[(&str, &str)]| engine(&Variables::of(pairs)).map_err(|error| error.to_string());
        assert_eq!(chosen(&[]), Ok(EngineKind::Processes));
        assert_eq!(chosen(&[("RANK", "0"), (RANK, "0")]), Ok(EngineKind::Processes));
        assert_eq!(chosen(&[(RANK, "0")]), Ok(EngineKind::OpenShmem));
        assert_eq!(chosen(&[("RANK", "0"), (ENGINE, "openshmem")]), Ok(EngineKind::OpenShmem));
        let said = chosen(&[(ENGINE, "mpi")]).unwrap_err();
        assert_eq!(
            said,
            "SHOAL_ENGINE=mpi: ranks that are processes have the engine `processes`, `openshmem` or `nvshmem`"
        );
    }

    #[test]
    fn without_oshrun_the_way_is_told() {
        let said = Membership::read(&Variables::of(&[])).unwrap_err().to_string();
        assert!(said.starts_with("OMPI_COMM_WORLD_RANK: not set; start the program with `shoal launch"), "{said}");
        let pairs = [(RANK, "1"), (SIZE, "4")];
        let membership = Membership::read(&Variables::of(&pairs)).unwrap();
        assert_eq!(membership, Membership { rank: 1, size: 4 });
        membership.agrees(1, 4).unwrap();
        let said = membership.agrees(0, 1).unwrap_err().to_string();
        assert!(said.starts_with("OMPI_COMM_WORLD_SIZE=4: with OMPI_COMM_WORLD_RANK=1, but the OpenSHMEM"), "{said}");
    }
}
