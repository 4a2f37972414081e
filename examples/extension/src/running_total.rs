//! An operator: appends the sum of a column from the first row to the current one.
//!
//! It has three parts. A plan node describes the work as plain data, which can be printed and
//! checked. A lowering function turns the node into operators of a pipeline. The operator does the
//! work, batch by batch.

use std::sync::Arc;
use volley::{
    Batch, CustomNode, CustomPlanNode, Decoded, Error, Field, Result, Schema, Table, TableCall,
    Type, Value, Vector,
    exec::{Lowering, OperatorMetrics, PipelineBuilder, Transform, TransformOperator},
};

/// The node's name, in plans and for finding its lowering function.
pub const NAME: &str = "RunningTotal";

/// What is to be done.
#[derive(Clone, Debug)]
pub struct RunningTotal {
    column: String,
}

impl RunningTotal {
    /// Sums up the column called `column`, which must be of integers.
    pub fn of(column: &str) -> RunningTotal {
        RunningTotal { column: column.to_owned() }
    }

    fn position(&self, input: &Schema) -> Result<usize> {
        let mut fields = input.fields.iter();
        let found = fields.position(|it| it.name.eq_ignore_ascii_case(&self.column));
        found.ok_or_else(|| Error::invalid_query(format!("no such column: {}", self.column)))
    }
}

impl CustomNode for RunningTotal {
    fn name(&self) -> &str {
        NAME
    }

    /// Checks the node and returns its output columns; called when a plan is built.
    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        let [input] = inputs else {
            return Err(Error::invalid_query("RunningTotal has one input"));
        };
        let data_type = &input.fields[self.position(input)?].data_type;
        if !matches!(data_type, Type::Integer | Type::BigInt) {
            let message = format!("RunningTotal sums integers, not {data_type}");
            return Err(Error::invalid_query(message));
        }
        let mut schema = (*input).clone();
        schema.fields.push(Field::new("total", Type::BigInt));
        Ok(schema)
    }

    /// What EXPLAIN shows behind the name.
    fn details(&self) -> String {
        self.column.clone()
    }

    /// The node's own part of a saved plan; [`read`] makes a node of it again.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.column.as_bytes().to_vec())
    }
}

/// Makes a node of what [`CustomNode::to_bytes`] made. The bytes may come from another process, so
/// nothing is taken for granted; whether there is such a column is checked by `schema` afterwards.
pub fn read(bytes: &[u8]) -> Result<Arc<dyn CustomNode>> {
    let column = std::str::from_utf8(bytes)
        .map_err(|it| Error::corruption("the column of RunningTotal is no UTF-8").caused_by(it))?;
    Ok(Arc::new(RunningTotal::of(column)))
}

/// Adds the operator to the pipeline of the node's input.
pub fn lower(
    node: &CustomPlanNode,
    mut inputs: Vec<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let total: &RunningTotal = node.downcast()?;
    let column = total.position(node.inputs[0].schema())?;
    // "From the first row" means something only where all rows come in one stream.
    let mut pipeline = cx.gather(inputs.remove(0));
    cx.add(&mut pipeline, "running total", move |cx| {
        let metrics = Arc::clone(&cx.metrics);
        let total = TotalOperator { column, total: 0, metrics };
        Ok(Box::new(TransformOperator::new(total)))
    });
    Ok(pipeline)
}

/// `FROM running_total(table, 'column')`.
pub fn table_function(call: &TableCall<'_>) -> Result<Arc<dyn Table>> {
    call.expect_arguments(2)?;
    call.made_by(call.scan(0)?.custom(RunningTotal::of(call.text(1)?)))
}

/// One instance runs in one driver, so that nothing is locked. It keeps a single number. An
/// operator that keeps rows must reserve their bytes first, with [`volley::state::BatchCharge`] and
/// the pool of the context.
struct TotalOperator {
    column: usize,
    total: i64,
    /// EXPLAIN ANALYZE shows rows and times of every operator, and what it counts itself.
    metrics: Arc<OperatorMetrics>,
}

impl TotalOperator {
    /// The totals of a batch. `Decoded` hides how the column is encoded.
    fn totals(&mut self, column: &Vector) -> Result<Vector> {
        let decoded = Decoded::new(column)?;
        let mut totals = Vec::with_capacity(decoded.len());
        let mut nulls = 0;
        for row in 0..decoded.len() {
            let value = match decoded.base().value(decoded.index(row))? {
                _ if decoded.is_null(row) => {
                    nulls += 1;
                    0
                }
                Value::Integer(value) => value.into(),
                Value::BigInt(value) => value,
                other => return Err(Error::internal(format!("not an integer: {other:?}"))),
            };
            let overflow = || Error::invalid_value("the running total does not fit BIGINT");
            self.total = self.total.checked_add(value).ok_or_else(overflow)?;
            totals.push(self.total);
        }
        self.metrics.add("nulls", nulls);
        Ok(Vector::native::<i64>(Type::BigInt, totals, None))
    }
}

/// Operators that wait for something, or hold rows, implement [`volley::exec::Operator`] instead.
impl Transform for TotalOperator {
    fn name(&self) -> &'static str {
        "running total"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let totals = self.totals(batch.column(self.column))?;
        let rows = batch.rows();
        let mut columns = batch.into_columns();
        columns.push(totals);
        Ok(Some(Batch::new(columns, rows)))
    }
}
