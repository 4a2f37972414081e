//! Errors of the engine as exceptions of Python.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyType};
use volley::{Error, ErrorKind};

/// Makes an exception of the class of the error's kind, about a text of SQL.
pub(crate) fn exception(py: Python<'_>, error: &Error, sql: Option<&str>) -> PyErr {
    match try_exception(py, error, sql) {
        Ok(raised) | Err(raised) => raised,
    }
}

fn try_exception(py: Python<'_>, error: &Error, sql: Option<&str>) -> PyResult<PyErr> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py.import("volley._errors")?.getattr("_make")?.unbind())
    })?;
    let span = error.text_span().map(|it| (it.start as usize, it.end as usize));
    let kind = kind_name(error.kind());
    let code = error.kind() as u16;
    let arguments = (kind, code, message(error), error.hint_text(), span, sql);
    Ok(PyErr::from_value(make.bind(py).call1(arguments)?))
}

/// The message with its context, and with what caused the error.
fn message(error: &Error) -> String {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    message
}

fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Syntax => "SyntaxError",
        ErrorKind::InvalidQuery => "InvalidQuery",
        ErrorKind::Unsupported => "Unsupported",
        ErrorKind::InvalidValue => "InvalidValue",
        ErrorKind::OutOfMemory => "OutOfMemory",
        ErrorKind::Io => "IOError",
        ErrorKind::Corruption => "Corruption",
        ErrorKind::Cancelled => "Cancelled",
        ErrorKind::TimedOut => "TimedOut",
        _ => "InternalError",
    }
}

/// An exception of Python as an error of the engine, which a query that called Python fails with.
pub(crate) fn from_python(py: Python<'_>, raised: &PyErr) -> Error {
    let class = raised.get_type(py);
    let class = class.name().map_or_else(|_| "exception".to_owned(), |it| it.to_string());
    let text = raised.value(py).to_string();
    let kind = raised.value(py).getattr("_kind").ok().and_then(|it| it.extract::<u16>().ok());
    match kind {
        // An error of the engine that passed through Python.
        Some(code) => Error::new(kind_of(code), text),
        None => {
            let error = Error::invalid_value(format!("{class} in Python: {text}"));
            match raised_at(py, raised) {
                Ok(Some(place)) => error.hint(format!("raised in {place}")),
                _ => error,
            }
        }
    }
}

/// Function, file and line that raised an exception.
fn raised_at(py: Python<'_>, raised: &PyErr) -> PyResult<Option<String>> {
    let Some(traceback) = raised.traceback(py) else { return Ok(None) };
    let mut entry = traceback.into_any();
    loop {
        let next = entry.getattr("tb_next")?;
        if next.is_none() {
            break;
        }
        entry = next;
    }
    let line: u32 = entry.getattr("tb_lineno")?.extract()?;
    let code = entry.getattr("tb_frame")?.getattr("f_code")?;
    let name: String = code.getattr("co_name")?.extract()?;
    let file: String = code.getattr("co_filename")?.extract()?;
    Ok(Some(format!("{name}, {file}, line {line}")))
}

fn kind_of(code: u16) -> ErrorKind {
    let kinds = [
        ErrorKind::Syntax,
        ErrorKind::InvalidQuery,
        ErrorKind::Unsupported,
        ErrorKind::InvalidValue,
        ErrorKind::OutOfMemory,
        ErrorKind::Io,
        ErrorKind::Corruption,
        ErrorKind::Cancelled,
        ErrorKind::TimedOut,
    ];
    kinds.into_iter().find(|it| *it as u16 == code).unwrap_or(ErrorKind::Internal)
}

/// The error of a Python object that is no table.
pub(crate) fn type_error(py: Python<'_>, message: &str) -> PyErr {
    PyErr::from_type(PyType::new::<pyo3::exceptions::PyTypeError>(py), message.to_owned())
}
