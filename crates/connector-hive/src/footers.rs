//! What the footers of Parquet files say.

use crate::config::format_of;
use crate::format::FileFormat;
use volley_connector::FormatRegistry;
use volley_error::Result;
use volley_io::FileSystems;
use volley_memory::Reservation;
use volley_parquet::Listing;
use volley_types::Value;

/// The rows of a listing of the files that `paths` (files, globs or folders) name; they are added
/// to `charge`.
///
/// # Errors
///
/// I/O: nothing is there. Corruption. Out of memory.
pub fn list_footers(
    files: &FileSystems,
    paths: &[String],
    listing: Listing,
    charge: &mut Reservation,
) -> Result<Vec<Vec<Value>>> {
    let is_parquet =
        |name: &str| format_of(name, &FormatRegistry::default()) == Some(FileFormat::Parquet);
    let mut rows = Vec::new();
    for path in paths {
        for file in files.list(path, &is_parquet)? {
            rows.extend(listing.rows(&*files.open(&file)?, charge)?);
        }
    }
    Ok(rows)
}
