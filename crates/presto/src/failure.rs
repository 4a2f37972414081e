//! Errors of the engine as Presto reports them.
//!
//! Codes are those of Presto's `StandardErrorCode`.

use crate::{
    exchange_client::{NO_ANSWER, OTHER_INSTANCE, REFUSED},
    protocol::{ErrorCode, ExecutionFailure},
};
use volley_error::{Error, ErrorKind};

/// A code of Presto: its number, name and type.
pub(crate) type Code = (u32, &'static str, &'static str);

const USER: &str = "USER_ERROR";
const INTERNAL: &str = "INTERNAL_ERROR";
const EXTERNAL: &str = "EXTERNAL";
const RESOURCES: &str = "INSUFFICIENT_RESOURCES";

const GENERIC_USER_ERROR: Code = (0, "GENERIC_USER_ERROR", USER);
const SYNTAX_ERROR: Code = (1, "SYNTAX_ERROR", USER);
const USER_CANCELED: Code = (3, "USER_CANCELED", USER);
const FUNCTION_NOT_FOUND: Code = (6, "FUNCTION_NOT_FOUND", USER);
const INVALID_FUNCTION_ARGUMENT: Code = (7, "INVALID_FUNCTION_ARGUMENT", USER);
const DIVISION_BY_ZERO: Code = (8, "DIVISION_BY_ZERO", USER);
const INVALID_CAST_ARGUMENT: Code = (9, "INVALID_CAST_ARGUMENT", USER);
const NOT_SUPPORTED: Code = (13, "NOT_SUPPORTED", USER);
const NUMERIC_VALUE_OUT_OF_RANGE: Code = (19, "NUMERIC_VALUE_OUT_OF_RANGE", USER);
const SUBQUERY_MULTIPLE_ROWS: Code = (28, "SUBQUERY_MULTIPLE_ROWS", USER);
const GENERIC_INTERNAL_ERROR: Code = (0x10000, "GENERIC_INTERNAL_ERROR", INTERNAL);
const PAGE_TRANSPORT_ERROR: Code = (0x10003, "PAGE_TRANSPORT_ERROR", INTERNAL);
const PAGE_TRANSPORT_TIMEOUT: Code = (0x10004, "PAGE_TRANSPORT_TIMEOUT", INTERNAL);
const REMOTE_TASK_MISMATCH: Code = (0x10008, "REMOTE_TASK_MISMATCH", INTERNAL);
const CORRUPT_PAGE: Code = (0x10013, "CORRUPT_PAGE", INTERNAL);
const SERIALIZED_PAGE_CHECKSUM_ERROR: Code = (0x10020, "SERIALIZED_PAGE_CHECKSUM_ERROR", INTERNAL);
const EXCEEDED_TIME_LIMIT: Code = (0x20003, "EXCEEDED_TIME_LIMIT", RESOURCES);
const EXCEEDED_LOCAL_MEMORY_LIMIT: Code = (0x20007, "EXCEEDED_LOCAL_MEMORY_LIMIT", RESOURCES);
// Those of the connector hive.
const HIVE_BAD_DATA: Code = (0x100_0007, "HIVE_BAD_DATA", EXTERNAL);
const HIVE_TOO_MANY_OPEN_PARTITIONS: Code = (0x100_0015, "HIVE_TOO_MANY_OPEN_PARTITIONS", USER);

/// The failure that a coordinator sees for `error`.
pub(crate) fn failure_of(error: &Error) -> ExecutionFailure {
    let (code, name, kind) = code_of(error);
    let mut message = error.to_string();
    if let Some(hint) = error.hint_text() {
        message = format!("{message} ({hint})");
    }
    ExecutionFailure {
        failure_type: "com.facebook.presto.spi.PrestoException".to_owned(),
        message,
        suppressed: Vec::new(),
        stack: Vec::new(),
        error_code: ErrorCode { code, name: name.to_owned(), kind: kind.to_owned() },
    }
}

pub(crate) fn code_of(error: &Error) -> Code {
    let message = error.message();
    let says = |text: &str| message.contains(text);
    match error.kind() {
        ErrorKind::Syntax => SYNTAX_ERROR,
        ErrorKind::Unsupported => NOT_SUPPORTED,
        ErrorKind::InvalidQuery
            if says("no such function") || says("no function") || says(" does not take (") =>
        {
            FUNCTION_NOT_FOUND
        }
        ErrorKind::InvalidQuery if says("more than one row") => SUBQUERY_MULTIPLE_ROWS,
        ErrorKind::InvalidQuery if says("open writers for partitions") => {
            HIVE_TOO_MANY_OPEN_PARTITIONS
        }
        ErrorKind::InvalidQuery => GENERIC_USER_ERROR,
        ErrorKind::InvalidValue if says("division by zero") => DIVISION_BY_ZERO,
        ErrorKind::InvalidValue
            if says("more than one row") || says("sub-query has returned multiple rows") =>
        {
            SUBQUERY_MULTIPLE_ROWS
        }
        ErrorKind::InvalidValue if says("out of range for DECIMAL") => INVALID_CAST_ARGUMENT,
        ErrorKind::InvalidValue if says("out of range") || says("overflow") => {
            NUMERIC_VALUE_OUT_OF_RANGE
        }
        ErrorKind::InvalidValue if says("convert to JSON") => INVALID_FUNCTION_ARGUMENT,
        ErrorKind::InvalidValue if says("cast") || says("convert") => INVALID_CAST_ARGUMENT,
        ErrorKind::InvalidValue => INVALID_FUNCTION_ARGUMENT,
        ErrorKind::OutOfMemory => EXCEEDED_LOCAL_MEMORY_LIMIT,
        ErrorKind::TimedOut => EXCEEDED_TIME_LIMIT,
        ErrorKind::Cancelled => USER_CANCELED,
        ErrorKind::Io if says(NO_ANSWER) => PAGE_TRANSPORT_TIMEOUT,
        ErrorKind::Io if says(REFUSED) => PAGE_TRANSPORT_ERROR,
        ErrorKind::Io if says(OTHER_INSTANCE) => REMOTE_TASK_MISMATCH,
        ErrorKind::Corruption if says("a page with another checksum") => {
            SERIALIZED_PAGE_CHECKSUM_ERROR
        }
        // The context of errors of pages names them.
        ErrorKind::Corruption if error.to_string().contains("a Presto page") => CORRUPT_PAGE,
        ErrorKind::Corruption if says("results") => CORRUPT_PAGE,
        // The context of errors of files of tables names them.
        ErrorKind::Corruption if error.to_string().contains("(file: ") => HIVE_BAD_DATA,
        _ => GENERIC_INTERNAL_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_codes_of_presto() {
        let name = |error: &Error| code_of(error).1;
        let rows = Error::invalid_value("Scalar sub-query has returned multiple rows");
        assert_eq!(name(&rows), "SUBQUERY_MULTIPLE_ROWS");
        let partitions = Error::invalid_query("exceeded limit of 100 open writers for partitions");
        assert_eq!(name(&partitions), "HIVE_TOO_MANY_OPEN_PARTITIONS");
        let corrupt = Error::corruption("a malformed footer");
        assert_eq!(name(&corrupt), "GENERIC_INTERNAL_ERROR");
        assert_eq!(name(&corrupt.at("file", "/a")), "HIVE_BAD_DATA");
        assert_eq!(name(&Error::unsupported("x")), "NOT_SUPPORTED");
    }
}
