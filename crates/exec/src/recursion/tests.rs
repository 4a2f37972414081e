//! Tests of recursion.
