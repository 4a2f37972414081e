//! Names of SQL statements: attached databases, schemas, the search path, transactions of sessions.
//!
//! ```text
//! Databases (all sessions): name ──> Database                 registered tables
//!     └── SessionCatalog (one session): search path, temporary database, transaction
//!             └── StatementCatalog (one statement): snapshots; name ──> table, view, macro, ...
//! ```
//!
//! Read [`StatementCatalog`] and [`SessionCatalog`] first. A statement sees each database as of one
//! moment. In a transaction of the session, that is the state of the transaction. A name without a
//! schema means an object of the temporary database, or else of the first schema of the search path
//! that has one. This crate does not know execution, files, or any implementation of a database.

mod place;
mod databases;
mod statement;
mod resolve;
mod sequence;
mod transaction;
mod session;
mod define;
mod drop;
mod index;
mod named_type;
#[cfg(test)]
mod tests;

pub use databases::{Attached, Databases, Registered};
pub use define::{NewObject, NewTable, Replaces};
pub use place::{
    INFORMATION_SCHEMA, MAIN, MEMORY, ObjectPlace, PG_CATALOG, SchemaPlace, SearchPath, TEMPORARY,
};
pub use sequence::SessionSequences;
pub use session::{SessionCatalog, Turn};
pub use statement::{FoundTable, Host, Object, StatementCatalog};
