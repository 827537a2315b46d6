//! What a process is told about its place in a job: the environment of `torchrun`, with a token of our own.

use super::token::Token;
use crate::environment::Variables;
use crate::error::WorldError;

/// The variable with the token that `shoal launch` makes.
pub(crate) const TOKEN: &str = "SHOAL_TOKEN";

/// More processes than any host runs.
const MOST_RANKS: usize = 4096;

/// A process's place in a job.
#[derive(Debug, Clone)]
pub(crate) struct Membership {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// What tells this job from others on the host: `MASTER_ADDR`, `MASTER_PORT` and the run that `torchrun` counts.
    pub(crate) job: String,
    /// Jobs that were started by others than `shoal launch` may do without; then only this user's processes can join,
    /// as always, but any of them.
    pub(crate) token: Option<Token>,
}

impl Membership {
    /// What the environment says: that of `torchrun`, or what `mpirun` and others that speak PMIx leave.
    pub(crate) fn read(variables: &Variables<'_>) -> Result<Membership, WorldError> {
        if let (None, Some(of_mpi)) = (variables.text("RANK"), Membership::of_mpi(variables)?) {
            return Ok(of_mpi);
        }
        let needed = |name| {
            variables.number::<u32>(name)?.map(|number| number as usize).ok_or_else(|| WorldError::Environment {
                name,
                value: None,
                problem: "not set; start the program with `shoal launch -n N -- program`, `torchrun` or `oshrun`"
                    .to_owned(),
            })
        };
        let wrong = |name, value: usize, problem: String| {
            Err(WorldError::Environment { name, value: Some(value.to_string()), problem })
        };
        let rank = needed("RANK")?;
        let size = needed("WORLD_SIZE")?;
        if rank >= size {
            return wrong("RANK", rank, format!("not a rank of a world of {size} (WORLD_SIZE)"));
        }
        if size > MOST_RANKS {
            return wrong("WORLD_SIZE", size, format!("a world of processes has {MOST_RANKS} ranks at most"));
        }
        let several_hosts = "ranks that are processes must be on one host";
        if let Some(local) = variables.number::<usize>("LOCAL_WORLD_SIZE")?.filter(|&local| local != size) {
            return wrong("LOCAL_WORLD_SIZE", local, format!("{several_hosts}, and WORLD_SIZE={size}"));
        }
        if let Some(local) = variables.number::<usize>("LOCAL_RANK")?.filter(|&local| local != rank) {
            return wrong("LOCAL_RANK", local, format!("{several_hosts}, and RANK={rank}"));
        }
        let names = ["MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"];
        let job = names.map(|name| variables.text(name).unwrap_or_default());
        if size > 1 && variables.text(TOKEN).is_none() && job.iter().all(String::is_empty) {
            let problem = "not set, nor is SHOAL_TOKEN; ranks need one of them to find each other".to_owned();
            return Err(WorldError::Environment { name: "MASTER_PORT", value: None, problem });
        }
        Ok(Membership { rank, size, job: job.join(" "), token: variables.text(TOKEN).map(Token::new) })
    }

    /// What Open MPI says, if it has started the process.
    fn of_mpi(variables: &Variables<'_>) -> Result<Option<Membership>, WorldError> {
        let number = |name| Ok::<_, WorldError>(variables.number::<u32>(name)?.map(|number| number as usize));
        let (rank, size) = (number("OMPI_COMM_WORLD_RANK")?, number("OMPI_COMM_WORLD_SIZE")?);
        let job = variables.text("PMIX_NAMESPACE").or_else(|| variables.text("OMPI_MCA_ess_base_jobid"));
        let (Some(rank), Some(size), Some(job)) = (rank, size, job) else { return Ok(None) };
        if let Some(local) = number("OMPI_COMM_WORLD_LOCAL_SIZE")?.filter(|&local| local != size) {
            let problem = format!("ranks that are processes must be on one host, and OMPI_COMM_WORLD_SIZE={size}");
            let (name, value) = ("OMPI_COMM_WORLD_LOCAL_SIZE", Some(local.to_string()));
            return Err(WorldError::Environment { name, value, problem });
        }
        if rank >= size {
            let problem = format!("not a rank of a world of {size} (OMPI_COMM_WORLD_SIZE)");
            let (name, value) = ("OMPI_COMM_WORLD_RANK", Some(rank.to_string()));
            return Err(WorldError::Environment { name, value, problem });
        }
        Ok(Some(Membership { rank, size, job, token: variables.text(TOKEN).map(Token::new) }))
    }

    /// The variables that tell a process all this. `port` is for programs that open a connection of their own.
    pub(crate) fn variables(rank: usize, size: usize, port: u16, token: &Token) -> Vec<(&'static str, String)> {
        vec![
            ("RANK", rank.to_string()),
            ("LOCAL_RANK", rank.to_string()),
            ("WORLD_SIZE", size.to_string()),
            ("LOCAL_WORLD_SIZE", size.to_string()),
            ("GROUP_RANK", "0".to_owned()),
            ("MASTER_ADDR", "127.0.0.1".to_owned()),
            ("MASTER_PORT", port.to_string()),
            (TOKEN, token.reveal().to_owned()),
        ]
    }

    /// The token, or what stands for none.
    pub(crate) fn proof(&self) -> blake3::Hash {
        self.token.as_ref().map_or_else(|| Token::new(String::new()).proof(), Token::proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pairs: &[(&str, &str)]) -> String {
        Membership::read(&Variables::of(pairs)).unwrap_err().to_string()
    }

    #[test]
    fn what_a_launcher_says_is_understood() {
        let variables = Membership::variables(2, 5, 4711, &Token::new("secret".to_owned()));
        let pairs: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let membership = Membership::read(&Variables::of(&pairs)).unwrap();
        assert_eq!((membership.rank, membership.size), (2, 5));
        assert_eq!(membership.proof(), Token::new("secret".to_owned()).proof());
        assert!(membership.job.contains("4711"));
    }

    #[test]
    fn a_torchrun_environment_needs_no_token() {
        let pairs = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "29500")];
        assert!(Membership::read(&Variables::of(&pairs)).unwrap().token.is_none());
    }

    #[test]
    fn ranks_of_mpirun_are_ranks_too() {
        let of_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_NAMESPACE", "4711.1")];
        let membership = Membership::read(&Variables::of(&of_mpi)).unwrap();
        assert_eq!((membership.rank, membership.size, membership.job.as_str()), (1, 2, "4711.1"));
        let apart = [&of_mpi[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", "1")]].concat();
        assert!(said(&apart).starts_with("OMPI_COMM_WORLD_LOCAL_SIZE=1: ranks that are processes must be on one host"));
    }

    #[test]
    fn mistakes_name_their_variable() {
        assert_eq!(
            said(&[("WORLD_SIZE", "2")]),
            "RANK: not set; start the program with `shoal launch -n N -- program`, `torchrun` or `oshrun`"
        );
        assert_eq!(
            said(&[("RANK", "0"), ("WORLD_SIZE", "4000000000")]),
            "WORLD_SIZE=4000000000: a world of processes has 4096 ranks at most"
        );
        assert_eq!(said(&[("RANK", "two"), ("WORLD_SIZE", "2")]), "RANK=two: not a number in range");
        assert_eq!(said(&[("RANK", "2"), ("WORLD_SIZE", "2")]), "RANK=2: not a rank of a world of 2 (WORLD_SIZE)");
        assert_eq!(
            said(&[("RANK", "2"), ("WORLD_SIZE", "4"), ("LOCAL_WORLD_SIZE", "2")]),
            "LOCAL_WORLD_SIZE=2: ranks that are processes must be on one host, and WORLD_SIZE=4"
        );
        assert_eq!(
            said(&[("RANK", "1"), ("WORLD_SIZE", "2")]),
            "MASTER_PORT: not set, nor is SHOAL_TOKEN; ranks need one of them to find each other"
        );
    }
}
