//! Tests of the engine as its users call it, in one program, since each program links the whole
//! engine. Tests that need a process of their own, or much time, are programs beside this folder.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod access;
mod admission;
mod aggregates;
mod attach;
mod cache;
mod changes;
mod control;
mod extensions;
mod file_systems;
mod folder_writes;
mod function_docs;
mod insertion_order;
mod lambdas;
mod point;
mod processes;
mod profiles;
mod random_rules;
mod scale;
mod scan_filters;
mod statistics;
mod tasks;
mod tpch;
mod transactions;
mod windows;
mod writes;
