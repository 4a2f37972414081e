//! `--platform`: the processes that run the queries of a command together.

use crate::{args::Args, error_text::Failure};
use std::{fmt, sync::Arc};
use volley::schedule;

/// What `--platform` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PlatformName {
    /// The processes that mpirun has started
    Mpi,
}

/// The processes of this command, in the one that answers it.
#[derive(Clone)]
pub struct Joined(pub Arc<dyn schedule::Platform>);

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Joined").field(&self.0.name()).finish()
    }
}

/// Runs a command: in this process, or in the one of a platform's processes that answers it.
///
/// # Errors
///
/// Those of the command; wrong usage: the platform's processes were not started.
pub fn run(
    mut args: Args,
    command: impl FnOnce(&Args) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match args.session.platform {
        None => command(&args),
        Some(PlatformName::Mpi) => mpi::run(&mut args, command),
    }
}

/// Whether another process prints what is wrong with the command line.
pub fn is_silent() -> bool {
    mpi::is_silent()
}

#[cfg(feature = "mpi")]
mod mpi {
    use super::Joined;
    use crate::{args::Args, error_text::Failure, session};
    use std::sync::Arc;
    use volley_platform_mpi::{Messenger, MpiMessenger, World, not_started, rank_of_environment};

    pub fn run(
        args: &mut Args,
        command: impl FnOnce(&Args) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if rank_of_environment().is_none() {
            return Err(Failure::usage(&not_started()));
        }
        let joined = World::join(|| Ok(Box::new(MpiMessenger::join()?) as Box<dyn Messenger>));
        let world = Arc::new(joined.map_err(|it| Failure::of_error(&it))?);
        args.session.processes_of_machine = world.ranks_of_machine();
        let done = match world.rank() {
            0 => answer(&world, args, command),
            _ => serve(&world, args),
        };
        world.leave();
        done
    }

    /// Runs the command in rank 0.
    fn answer(
        world: &Arc<World>,
        args: &mut Args,
        command: impl FnOnce(&Args) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        world.wait_ready().map_err(|it| Failure::of_error(&it))?;
        args.session.joined = Some(Joined(Arc::clone(world) as _));
        command(args)
    }

    /// Runs the tasks of rank 0's queries in another rank. Rank 0 prints what is wrong.
    fn serve(world: &World, args: &Args) -> Result<(), Failure> {
        let session = match session::open(&args.session) {
            Ok(session) => session,
            Err(failure) => {
                let text = failure.text().lines().next().unwrap_or_default();
                let text = text.trim_start_matches("error: ").to_owned();
                world.ready(Err(volley::Error::invalid_value(text)));
                return Ok(());
            }
        };
        world.ready(Ok(()));
        let served = world.serve(&|spec, processes| session.start_fragments(spec, processes));
        served.map_err(|it| Failure::of_error(&it))
    }

    pub fn is_silent() -> bool {
        rank_of_environment().is_some_and(|it| it > 0)
    }
}

#[cfg(not(feature = "mpi"))]
mod mpi {
    use crate::{args::Args, error_text::Failure};
    use volley::Error;

    pub fn run(_: &mut Args, _: impl FnOnce(&Args) -> Result<(), Failure>) -> Result<(), Failure> {
        let error = Error::unsupported("--platform mpi in a volley that was built without MPI");
        Err(Failure::usage(&error.hint(
            "install an MPI library (Debian: libopenmpi-dev openmpi-bin libclang-dev) and build \
             with cargo build --release --features mpi",
        )))
    }

    pub fn is_silent() -> bool {
        false
    }
}
