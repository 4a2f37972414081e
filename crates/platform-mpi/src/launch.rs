//! How a process knows that it was started by `mpirun`, and as which rank.

use std::env;
use volley_error::Error;

/// The variables in which launchers tell a process its rank: Open MPI's, those of PMIx and PMI
/// (MPICH, Intel MPI), and Slurm's.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The rank of this process; `None` if no launcher has started it.
pub fn rank_of_environment() -> Option<usize> {
    RANKS.iter().find_map(|it| rank(env::var(it).ok().as_deref()))
}

fn rank(text: Option<&str>) -> Option<usize> {
    text?.trim().parse().ok()
}

/// What a process reports that no launcher has started.
pub fn not_started() -> Error {
    Error::invalid_value("--platform mpi runs in processes that mpirun has started").hint(
        "write mpirun -n 4 volley --platform mpi ..., with as many processes as you need; \
         as root Open MPI wants --allow-run-as-root, and --oversubscribe beyond the number of cores",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbers() {
        assert_eq!(rank(Some("3")), Some(3));
        for text in [None, Some(""), Some("-1"), Some("a")] {
            assert_eq!(rank(text), None);
        }
    }
}
