//! What storage takes.

use crate::{Name, SegmentVersion, Storage, ZONE_ROWS, log};
use volley_connector::{DatabaseSize, StoredBlock, TableId};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_types::Type;

impl Storage {
    /// What the database takes on disk.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn size(&self) -> Result<DatabaseSize> {
        let version = self.snapshot();
        let mut size = DatabaseSize::default();
        let log_folder = Name::new(log::FOLDER)?;
        for listed in self.store.list(&Name::default())? {
            size.files += 1;
            size.bytes += listed.bytes;
            if listed.name.is_below(&log_folder) {
                size.log_bytes += listed.bytes;
            }
        }
        let segments = version.tables.values().flat_map(|it| &it.segments);
        let live = |it: &std::sync::Arc<SegmentVersion>| {
            it.segment.stored_bytes() + it.run.as_ref().map_or(0, |it| it.stored_bytes())
        };
        size.live_bytes = segments.map(live).sum();
        Ok(size)
    }

    /// The blocks of a table's segments. A segment without blocks has an entry for each column.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. I/O, corruption.
    pub fn blocks(&self, table: TableId) -> Result<Vec<StoredBlock>> {
        let version = self.snapshot();
        let table = version.table(table)?;
        let mut blocks = Vec::new();
        for segment in &table.segments {
            for (column, data_type) in table.types.iter().enumerate() {
                segment.column_blocks(column, data_type, &mut blocks)?;
            }
        }
        Ok(blocks)
    }
}

impl SegmentVersion {
    fn column_blocks(
        &self,
        column: usize,
        data_type: &Type,
        blocks: &mut Vec<StoredBlock>,
    ) -> Result<()> {
        let segment = &self.segment;
        let changed_rows = self.changed_rows();
        let empty = StoredBlock {
            segment: segment.id(),
            column,
            block: None,
            first_row: 0,
            rows: 0,
            zones: 0,
            codec: None,
            bytes: 0,
            file: None,
            changed_rows,
        };
        if segment.blocks() == 0 {
            blocks.push(empty);
            return Ok(());
        }
        for block in 0..segment.blocks() {
            check_cancelled()?;
            let rows = segment.block_rows(block);
            let codec = segment.open(column, block, data_type)?.codec();
            blocks.push(StoredBlock {
                block: Some(block),
                first_row: rows.start,
                rows: rows.len() as u32,
                zones: (rows.len() as u32).div_ceil(ZONE_ROWS),
                codec: Some(codec.name().to_owned()),
                bytes: segment.block_bytes(column, block),
                file: Some(segment.block_file(column, block)),
                ..empty.clone()
            });
        }
        Ok(())
    }
}
