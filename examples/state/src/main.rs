//! Parts of Volley for programs that have an engine of their own: the state of operators without
//! tasks, and the task runtime without Volley's operators.
//!
//! ```text
//! cargo run -p volley-example-state
//! ```
//!
//! `distinct_rows.rs` builds a hash table, partitions rows and spills them with `volley-state`
//! alone. `squares.rs` runs an operator in a task with `volley-exec` alone.

mod distinct_rows;
mod squares;

use volley_error::Result;

fn main() -> Result<()> {
    let rows = distinct_rows::sample();
    println!("distinct in memory: {}", distinct_rows::count_in_memory(&rows)?);
    println!("distinct by spilled partitions: {}", distinct_rows::count_spilled(&rows)?);
    println!("squares: {:?}", squares::run(10)?);
    Ok(())
}
