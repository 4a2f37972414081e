//! x
use volley_error::Result;
pub fn run() -> Result<bool> {
    Ok(true)
}
