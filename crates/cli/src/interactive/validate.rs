//! When a statement is complete: at a semicolon outside quotes and comments.

use crate::statement_ends::{StatementEnds, is_command};
use reedline::{ValidationResult, Validator};

pub(super) struct SqlValidator;

impl Validator for SqlValidator {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_complete(text) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

/// Whether `text` ends with a whole statement, or is a command.
fn is_complete(text: &str) -> bool {
    text.trim().is_empty() || is_command(text) || StatementEnds::new().is_after(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_ends_a_statement_unless_it_is_quoted() {
        assert!(is_complete("SELECT 1;"));
        assert!(is_complete("SELECT 1; -- done"));
        assert!(is_complete(".tables"));
        assert!(is_complete("exit;"));
        assert!(is_complete("  "));
        assert!(!is_complete("SELECT 1"));
        assert!(!is_complete("SELECT ';"));
        assert!(!is_complete("SELECT 1 -- ;"));
        assert!(!is_complete("SELECT 1 /* ; "));
        assert!(!is_complete("SELECT $$\n;"));
        assert!(!is_complete(".5"));
    }
}
