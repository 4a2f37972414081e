//! Reading everything, to find damage.

use crate::{
    BLOCK_ROWS, Segment, SegmentVersion, Storage, ZONE_ROWS, block::HEADER_BYTES,
    bounds::bounds_of, manifest,
};
use std::collections::BTreeSet;
use volley_connector::{Bounds, compare_values};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_pdt::Run;
use volley_types::Type;
use volley_vector::Vector;

/// What a check of a database found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Blocks that were read.
    pub blocks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// What is wrong, each with the block.
    pub findings: Vec<Error>,
}

impl Storage {
    /// Reads all blocks of what is committed, and compares bounds with values.
    ///
    /// # Errors
    ///
    /// Cancelled. What is wrong in the database is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        let version = self.snapshot();
        let mut report = CheckReport::default();
        let (mut segments, mut files) = (BTreeSet::new(), BTreeSet::new());
        for table in version.tables.values() {
            for segment in &table.segments {
                let id = segment.segment.id();
                if !segments.insert(id) {
                    let error = Error::corruption("two segments of the same number");
                    report.note(&Err(error.at("segment", id)));
                }
                for (column, data_type) in table.types.iter().enumerate() {
                    for block in 0..segment.segment.blocks() {
                        check_cancelled()?;
                        report.note(&segment.segment.check(column, block, data_type, &table.types));
                        report.add(segment.segment.block_bytes(column, block));
                    }
                }
                files.extend(segment.segment.stored_blocks().map(|it| it.file.number()));
                files.extend(segment.run.iter().map(|it| it.file.number()));
                report.note(&self.check_changes(segment, &table.types));
                report.add(segment.run.as_ref().map_or(0, |it| it.stored_bytes()));
            }
        }
        for file in files {
            check_cancelled()?;
            report.note(&self.files.check_file(file));
        }
        Ok(report)
    }

    fn check_changes(&self, segment: &SegmentVersion, types: &[Type]) -> Result<()> {
        let Some(block) = &segment.run else { return Ok(()) };
        let bytes = block.read(&manifest::run_identity(&segment.segment))?;
        Run::open(&bytes, types, segment.segment.rows(), &self.cache).map(drop)
    }
}

impl CheckReport {
    fn note(&mut self, result: &Result<()>) {
        if let Err(error) = result {
            self.findings.push(Error::new(error.kind(), error.to_string()));
        }
    }

    fn add(&mut self, bytes: u64) {
        self.blocks += u64::from(bytes > HEADER_BYTES as u64);
        self.bytes += bytes;
    }
}

impl Segment {
    /// Reads a block and compares its values with the bounds of the segment and of zones.
    fn check(&self, column: usize, block: u32, data_type: &Type, types: &[Type]) -> Result<()> {
        let mut reader = self.open_from_file(column, block, data_type)?;
        let zones = self.zones(types)?;
        let of_column = zones.get(column).map(Vec::as_slice).unwrap_or_default();
        let rows = reader.rows() as u32;
        for start in (0..rows).step_by(ZONE_ROWS as usize) {
            let values = reader.read(start..rows.min(start + ZONE_ROWS), None)?;
            let found = bounds_of(&values.flatten()?)?;
            let zone = ((block * BLOCK_ROWS + start) / ZONE_ROWS) as usize;
            let zone = of_column.get(zone).cloned().unwrap_or_default();
            let is_right = is_within(&found, &zone, &values)
                && is_within(&found, &self.bounds(column), &values);
            if !is_right || zone.nulls != found.nulls {
                let error = Error::corruption("values beyond the bounds of their segment or zone");
                let error = error.at("segment", self.id()).at("column", column);
                return Err(error.at("block", block));
            }
        }
        Ok(())
    }
}

/// Whether bounds of values are within wider ones; those of text are compared as they are cut.
fn is_within(inner: &Bounds, outer: &Bounds, values: &Vector) -> bool {
    let is_beyond = |a: &Option<_>, b: &Option<_>| {
        a.as_ref()
            .zip(b.as_ref())
            .is_some_and(|(a, b)| compare_values(a, b).is_some_and(std::cmp::Ordering::is_lt))
    };
    values.is_empty() || !(is_beyond(&inner.min, &outer.min) || is_beyond(&outer.max, &inner.max))
}
