//! The private module `volley._volley`: sessions, statements and Arrow streams for Python.
//!
//! ```text
//! volley (Python: names, docstrings, types) ──> _volley ──> volley::Session
//!     frames, expressions ──> Query, Expr ──> volley_sql::build ──> the binder's syntax tree
//!     Python tables ──> Arrow streams ──> ArrowTable, StreamTable ──> scans
//! ```
//!
//! Read `connection.rs` first. This crate translates and moves batches. It does not plan or
//! compute, and knows no file format, no protocol of a server and no operator. The engine runs
//! without the GIL, on other threads than the one that waits (`waiting.rs`).

mod allocator;
mod error;
mod progress;
mod token;
mod waiting;
mod value;
mod zone;
mod output;
mod capsule;
mod numbers;
mod table;
mod arrow_table;
mod stream_table;
mod replacement;
mod cell;
mod rows;
mod statement;
mod connection;
mod expression;
mod query;
mod function;
mod compiled;
mod aggregate;
mod table_function;
mod pushdown;

use pyo3::prelude::*;

/// The engine of the package `volley`.
#[pymodule]
fn _volley(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::set_up();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<statement::Statement>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<numbers::Numbers>()?;
    module.add_class::<expression::Expr>()?;
    module.add_class::<query::Query>()?;
    module.add_class::<token::Token>()?;
    module.add_function(wrap_pyfunction!(function::register_function, module)?)?;
    module.add_function(wrap_pyfunction!(function::register_compiled, module)?)?;
    module.add_function(wrap_pyfunction!(table_function::register_table_function, module)?)?;
    module.add_function(wrap_pyfunction!(progress::set_progress_display, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::check_cancelled, module)?)?;
    Ok(())
}
