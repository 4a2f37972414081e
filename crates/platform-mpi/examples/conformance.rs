//! The conformance suites of transports and windows over MPI: `mpirun -n 3 conformance [SEEDS]`.

use std::{process::ExitCode, rc::Rc};
use volley_exchange::conformance::{CASES, transport, windows};
use volley_platform_mpi::{
    Messenger, MpiMessenger,
    relay::{Relay, RelayFabric, echo},
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            // Not MPI_Finalize: the launcher ends the other ranks.
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let text = |it: volley_error::Error| it.to_string();
    let seeds = match std::env::args().nth(1) {
        Some(seeds) => seeds.parse().map_err(|it| format!("seeds: {it}"))?,
        None => 20,
    };
    let messenger = MpiMessenger::join().map_err(text)?;
    windows(&mut messenger.windows(), 0..seeds).map_err(|it| it.to_string())?;
    let mut messenger: Box<dyn Messenger> = Box::new(messenger);
    if messenger.ranks() < 2 {
        return Err("start at least two ranks: mpirun -n 3 conformance".to_owned());
    }
    if messenger.rank() > 0 {
        echo(&mut *messenger).map_err(text)?;
        return messenger.finish().map_err(text);
    }
    let ranks = messenger.ranks();
    let relay = Relay::new(messenger);
    transport(0..seeds, |_| RelayFabric::new(&relay)).map_err(|it| it.to_string())?;
    relay.borrow_mut().finish().map_err(text)?;
    let relay = Rc::into_inner(relay).ok_or("a fabric is left")?.into_inner();
    relay.leave().map_err(text)?;
    println!("windows and {} cases passed with {seeds} seeds over {ranks} ranks", CASES.len());
    Ok(())
}
