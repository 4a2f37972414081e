//! A query as bytes: what a process needs to run its tasks.
//!
//! The format is that of [`volley_vector::save`], kind 7: the plan as bytes; the tables, each with
//! its connector, its name and its definition; the numbers, as u64; the flags, a byte each; the
//! time zone.

use std::sync::Arc;
use volley_error::Result;
use volley_function::QueryConstants;
use volley_plan::{CustomNodes, DistributedPlan, TableHandle};
use volley_types::Zone;
use volley_vector::save::{Reader, Writer, corruption};

/// The kind of these bytes.
const QUERY: u8 = 7;

/// What the processes of a query must agree on.
#[derive(Clone, Debug)]
pub struct QuerySpec {
    /// The fragments.
    pub plan: Arc<DistributedPlan>,
    /// The tables that fragments of several tasks scan, each with what its connector opens it by.
    pub tables: Vec<(TableHandle, Vec<u8>)>,
    /// How many tasks run a fragment that several tasks run.
    pub tasks: usize,
    /// Decoded bytes of a full page.
    pub page_bytes: usize,
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// Whether joins, and TopN nodes, filter the scans below them.
    pub dynamic_filters: bool,
    /// Whether operators that can spill do so before every step, for tests.
    pub spill_always: bool,
    /// `now()` of the query.
    pub now_micros: i64,
    /// The session's time zone.
    pub time_zone: Zone,
}

impl QuerySpec {
    /// The bytes.
    ///
    /// # Errors
    ///
    /// As [`DistributedPlan::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Writer::new(QUERY);
        push(&mut out, &self.plan.to_bytes()?);
        out.number(self.tables.len());
        for (handle, definition) in &self.tables {
            out.text(&handle.connector);
            out.text(&handle.table);
            push(&mut out, definition);
        }
        for number in [self.tasks, self.page_bytes, self.batch_rows] {
            out.raw(&(number as u64).to_le_bytes());
        }
        out.byte(self.dynamic_filters.into());
        out.byte(self.spill_always.into());
        out.raw(&self.now_micros.to_le_bytes());
        out.text(self.time_zone.name());
        Ok(out.finish())
    }

    /// The query of [`QuerySpec::to_bytes`]; its plan has passed [`DistributedPlan::check`].
    ///
    /// # Errors
    ///
    /// As [`DistributedPlan::from_bytes`]; corruption.
    pub fn from_bytes(
        bytes: &[u8],
        registry: &volley_function::Registry,
        custom_nodes: &CustomNodes,
    ) -> Result<QuerySpec> {
        let mut from = Reader::new(bytes, QUERY, registry.types())?;
        let plan = DistributedPlan::from_bytes(pull(&mut from)?, registry, custom_nodes)?;
        let count = from.count()?;
        let tables = (0..count).map(|_| {
            let (connector, table) = (from.text()?.to_owned(), from.text()?.to_owned());
            Ok((TableHandle { connector, table }, pull(&mut from)?.to_vec()))
        });
        let tables = tables.collect::<Result<Vec<_>>>()?;
        let mut number = || -> Result<usize> {
            let number = usize::try_from(u64::from_le_bytes(from.fixed()?));
            number.map_err(|_| corruption("a number that is too large"))
        };
        let (tasks, page_bytes, batch_rows) = (number()?, number()?, number()?);
        let mut flag = || match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(corruption("a flag that is neither 0 nor 1")),
        };
        let (dynamic_filters, spill_always) = (flag()?, flag()?);
        let now_micros = i64::from_le_bytes(from.fixed()?);
        let time_zone = Zone::find(from.text()?).ok_or_else(|| corruption("no such time zone"))?;
        from.finish()?;
        Ok(QuerySpec {
            plan: Arc::new(plan),
            tables,
            tasks,
            page_bytes,
            batch_rows,
            dynamic_filters,
            spill_always,
            now_micros,
            time_zone,
        })
    }

    /// What is the same for every row of the query, in a process that does not answer it.
    pub fn constants(&self) -> QueryConstants {
        QueryConstants {
            now_micros: self.now_micros,
            time_zone: self.time_zone.clone(),
            ..QueryConstants::default()
        }
    }
}

fn push(out: &mut Writer, bytes: &[u8]) {
    out.number(bytes.len());
    out.raw(bytes);
}

fn pull<'a>(from: &mut Reader<'a>) -> Result<&'a [u8]> {
    let len = from.number()?;
    from.raw(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_error::ErrorKind;
    use volley_function::Registry;
    use volley_plan::{PlanBuilder, Routing};
    use volley_types::{Type, Value};

    fn spec() -> QuerySpec {
        let rows = vec![vec![Value::BigInt(1)]];
        let plan = PlanBuilder::new(&Arc::new(Registry::new()))
            .values(&[("a", Type::BigInt)], rows)
            .exchange_tasks(volley_plan::TaskCount::All, |_| Ok(Routing::Gather))
            .build()
            .unwrap();
        let handle =
            |table: &str| TableHandle { connector: "c".to_owned(), table: table.to_owned() };
        QuerySpec {
            plan: Arc::new(DistributedPlan::cut(&plan).unwrap()),
            tables: vec![(handle("é"), vec![1, 2, 3]), (handle(""), Vec::new())],
            tasks: 4,
            page_bytes: 1 << 18,
            batch_rows: 3,
            dynamic_filters: true,
            spill_always: false,
            now_micros: -5,
            time_zone: Zone::find("Europe/Berlin").unwrap(),
        }
    }

    #[test]
    fn queries_come_back() {
        let (registry, spec) = (Registry::new(), spec());
        let bytes = spec.to_bytes().unwrap();
        let found = QuerySpec::from_bytes(&bytes, &registry, &CustomNodes::default()).unwrap();
        assert_eq!(found.to_bytes().unwrap(), bytes);
        assert_eq!(found.plan.to_string(), spec.plan.to_string());
        assert_eq!(found.tables, spec.tables);
        assert_eq!((found.tasks, found.now_micros), (4, -5));
        assert_eq!(found.constants().time_zone.name(), "Europe/Berlin");
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let (registry, bytes) = (Registry::new(), spec().to_bytes().unwrap());
        let read = |bytes: &[u8]| QuerySpec::from_bytes(bytes, &registry, &CustomNodes::default());
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]).unwrap_err().kind(), ErrorKind::Corruption);
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x41;
            assert!(read(&damaged).is_err(), "byte {position}");
        }
    }
}
