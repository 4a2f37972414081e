//! SQL text to logical plan.
//!
//! ```text
//! text ── parse ──> ParsedStatement ── bind(catalog, registry) ──> Statement (with logical::Plan)
//! ```
//!
//! Read [`parse`], [`bind`] and [`Statement`] first. The text is parsed by `sqlparser`; the binder
//! resolves names and types, inserts casts, collects aggregates and keeps every expression's place
//! in the text. This crate does not know execution or optimization.

mod catalog;
mod statement;
mod write;
mod dialect;
mod semantics;
mod default_order;
mod position;
mod stack;
mod memory;
mod create_text;
mod parse;
mod bind;
mod point;
pub mod build;

pub use bind::{BindSettings, Parameters, bind};
pub use catalog::{Catalog, Home, Relation, TEMPORARY_SCHEMA};
pub use create_text::{
    create_index_text, create_macro_text, create_sequence_text, create_table_text,
    create_type_text, create_view_text, foreign_key_text, index_part_texts, qualified_name,
    quoted_name, quoted_text,
};
pub use default_order::{DefaultOrder, Direction, NullOrder};
pub use memory::memory_bytes;
pub use parse::{ChangesInWith, ParsedStatement, names_type, parse, sequences_of, split};
pub use point::{PointAction, PointConflict, PointSource, PointStatement, PointValue};
pub use semantics::Dialect;
pub use stack::with_room;
pub use statement::{
    Alteration, CopiedText, CopyFrom, DropKind, ExplainForm, ExplainFormat, MacroDefinition,
    MacroParameter, NamePattern, Query, SecretDefinition, SequenceDefinition, Statement,
    TransactionStep, TypeDefinition,
};
pub use write::{Check, Write};
