//! Aggregates of the elements of arrays: `list_sum`, `list_aggregate` and their like.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    AggregateKind, BindAggregate, BoundAggregate, BoundScalar, CollectingFunction, EvalContext,
    FunctionDoc, Registry, ScalarFunction, ScalarTraits, aggregate::Groups, simple::CancelCheck,
};
use volley_memory::check_cancelled;
use volley_types::Type;
use volley_vector::{Decoded, Nested, Rows, Values, Vector};

/// How many elements are added to states at once.
const ELEMENTS_AT_ONCE: usize = 4096;

/// Aggregates whose function of arrays people call by a name of its own, with examples of it.
const NAMED: &[(&str, &str, &str)] = &[
    ("any_value", "list_any_value([NULL, 3])", "3"),
    ("approx_count_distinct", "list_approx_count_distinct([1, 1, 2])", "2"),
    ("avg", "list_avg([1, 2, NULL])", "1.5"),
    ("bit_and", "list_bit_and([6, 3])", "2"),
    ("bit_or", "list_bit_or([6, 3])", "7"),
    ("bit_xor", "list_bit_xor([6, 3])", "5"),
    ("bool_and", "list_bool_and([true, false])", "false"),
    ("bool_or", "list_bool_or([true, NULL])", "true"),
    ("count", "list_count([1, NULL])", "1"),
    ("entropy", "list_entropy([1, 2])", "1.0"),
    ("first", "list_first([3, 1])", "3"),
    ("histogram", "list_histogram([1, 1])", "{1=2}"),
    ("kurtosis", "round(list_kurtosis([1, 2, 3, 4]), 6)", "-1.2"),
    ("kurtosis_pop", "list_kurtosis_pop([1, 2])", "-2.0"),
    ("last", "list_last([3, 1])", "1"),
    ("mad", "list_mad([1, 2, 9])", "1.0"),
    ("max", "list_max([3, 1])", "3"),
    ("median", "list_median([1, 2, 3, 4])", "2.5"),
    ("min", "list_min([3, 1])", "1"),
    ("mode", "list_mode([1, 1, 2])", "1"),
    ("product", "list_product([2, 3])", "6.0"),
    ("sem", "round(list_sem([1, 3]), 6)", "0.707107"),
    ("skewness", "list_skewness([1, 2, 3])", "0.0"),
    ("stddev_pop", "list_stddev_pop([1, 3])", "1.0"),
    ("stddev_samp", "list_stddev_samp([1, 1])", "0.0"),
    ("string_agg", "list_string_agg(['a', 'b'])", "a,b"),
    ("sum", "list_sum([1, NULL, 4])", "5"),
    ("var_pop", "list_var_pop([1, 3])", "1.0"),
    ("var_samp", "list_var_samp([1, 3])", "2.0"),
];

/// Registers a function of arrays for every aggregate that is registered so far. Those that have no
/// name of their own are called by `list_aggregate`.
pub(crate) fn register(registry: &mut Registry) {
    let names: Vec<String> = registry.aggregates().keys().cloned().collect();
    for name in names {
        let Some(aggregate) = registry.aggregate_so_far(&name) else { continue };
        let bind = Arc::new(move |args: &[Type]| bind(&aggregate, args));
        registry.add_scalar(&format!("list_{name}"), described(&name), bind);
    }
    let any = doc(
        "list_aggregate(array, 'name', ...) -> as the aggregate",
        "The aggregate function called `name` of the elements, with further arguments.",
        "nested",
        &[
            ("list_aggregate([1, 2, 4], 'sum')", "7"),
            ("list_aggregate(['a', 'b'], 'string_agg', '|')", "a|b"),
        ],
    );
    for name in ["list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"] {
        registry.add_form(name, any.clone());
    }
}

fn described(name: &str) -> FunctionDoc {
    let Some((_, call, result)) = NAMED.iter().find(|it| it.0 == name) else {
        return FunctionDoc::default();
    };
    doc(
        &format!("list_{name}(array, ...) -> as {name}"),
        &format!("What the aggregate function `{name}` makes of the elements."),
        "nested",
        &[(call, result)],
    )
}

fn bind(aggregate: &BindAggregate, args: &[Type]) -> Option<BoundScalar> {
    let (list, further) = args.split_first()?;
    let element = match list {
        Type::Array(element) => element.as_ref().clone(),
        Type::Unknown => Type::Unknown,
        _ => return None,
    };
    let types: Vec<Type> = std::iter::once(element).chain(further.iter().cloned()).collect();
    let bound = aggregate(&types)?;
    let (element, further) = bound.args.split_first()?;
    let takes = std::iter::once(Type::array(element.clone())).chain(further.iter().cloned());
    let (takes, result) = (takes.collect(), bound.result.clone());
    let function = Arc::new(OfElements(bound.in_frames()));
    Some(BoundScalar::new(takes, result, ScalarTraits::DEFAULT, function))
}

/// An aggregate of the elements of each row's array.
struct OfElements(BoundAggregate);

impl ScalarFunction for OfElements {
    /// Aggregates fail as a whole: when one does, the rows that make it fail are looked for.
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        _: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let elements = Elements(Decoded::new(&args[0])?);
        match self.results(&elements, rows, args, ctx) {
            Err(error) if !error.kind().is_transient() => {}
            // No row is to blame for too little memory.
            results => return results,
        }
        let mut good = Vec::with_capacity(rows.count());
        rows.try_for_each(|row| {
            check_cancelled()?;
            match self.results(&elements, &Rows::from_indices(rows.len(), [row]), args, ctx) {
                Ok(_) => good.push(row),
                Err(error) if error.kind().is_transient() => return Err(error),
                Err(error) => ctx.fail(row, || error),
            }
            Ok(())
        })?;
        self.results(&elements, &Rows::from_indices(rows.len(), good), args, ctx)
    }
}

impl OfElements {
    /// The results of `rows`; anything elsewhere.
    fn results(
        &self,
        elements: &Elements<'_>,
        rows: &Rows,
        args: &[Vector],
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let chosen = rows.to_indices();
        let results = match &self.0.function {
            AggregateKind::Folding(function) => folded(
                Groups::new(Arc::clone(function), chosen.len()),
                elements,
                &chosen,
                args,
                ctx,
            ),
            AggregateKind::Collecting(function) => {
                self.collected(function.as_ref(), elements, &chosen, args, ctx)
            }
        }?;
        Ok(match rows.is_all() {
            true => results,
            false => spread(&results, &chosen, rows.len()),
        })
    }

    fn collected(
        &self,
        function: &dyn CollectingFunction,
        elements: &Elements<'_>,
        chosen: &[u32],
        args: &[Vector],
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let mut ends = Vec::with_capacity(chosen.len());
        let mut cancel = CancelCheck::default();
        let nested = elements.nested()?;
        let lens = chosen.iter().map(|row| nested.range(elements.0.index(*row as usize)).len());
        let count = lens.sum::<usize>();
        // Positions, and each argument without its encoding.
        let bytes = 2 * size_of::<u32>() + args.len() * size_of::<u128>();
        ctx.charge(count.saturating_mul(bytes))?;
        let (mut places, mut sources) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let decoded = Decoded::new(&nested.elements)?;
        for row in chosen {
            let range = nested.range(elements.0.index(*row as usize));
            for place in range.filter(|it| !(self.0.ignores_nulls && decoded.is_null(*it))) {
                cancel.check(1)?;
                places.push(place as u32);
                sources.push(*row);
            }
            ends.push(places.len() as u32);
        }
        check_cancelled()?;
        let arguments = elements.arguments(&places, &sources, args)?;
        let flat = arguments.iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
        check_cancelled()?;
        function.results(&flat, &ends)
    }
}

/// What the states of the chosen rows answer, each of the elements of its row.
fn folded(
    mut groups: Groups,
    elements: &Elements<'_>,
    chosen: &[u32],
    args: &[Vector],
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let (mut places, mut sources, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    let mut charged = 0;
    let nested = elements.nested()?;
    for (group, row) in chosen.iter().enumerate() {
        for place in nested.range(elements.0.index(*row as usize)) {
            places.push(place as u32);
            sources.push(*row);
            targets.push(group as u32);
            if places.len() == ELEMENTS_AT_ONCE {
                check_cancelled()?;
                groups.add(&targets, &elements.arguments(&places, &sources, args)?)?;
                let bytes = groups.bytes();
                ctx.charge(bytes.saturating_sub(charged))?;
                charged = charged.max(bytes);
                for list in [&mut places, &mut sources, &mut targets] {
                    list.clear();
                }
            }
        }
    }
    if !places.is_empty() {
        groups.add(&targets, &elements.arguments(&places, &sources, args)?)?;
    }
    ctx.charge(groups.bytes().saturating_sub(charged))?;
    groups.results()
}

/// The results of the chosen rows, each at its row.
fn spread(results: &Vector, chosen: &[u32], rows: usize) -> Vector {
    if chosen.is_empty() {
        return Vector::nulls(results.data_type().clone(), rows);
    }
    let mut codes = vec![0; rows];
    (0..).zip(chosen).for_each(|(place, row)| codes[*row as usize] = place);
    results.wrap(&codes.into(), &mut Vec::new())
}

/// The elements of the arrays of a batch.
struct Elements<'a>(Decoded<'a>);

impl Elements<'_> {
    fn nested(&self) -> Result<&Nested> {
        match self.0.values() {
            Values::Array(nested) => Ok(nested),
            _ => Err(Error::internal("aggregate of arrays of an unexpected layout")),
        }
    }

    /// The arguments of an aggregate: the elements at `places`, and with each what the other
    /// arguments have in the row that it comes from. No element is copied.
    fn arguments(&self, places: &[u32], sources: &[u32], args: &[Vector]) -> Result<Vec<Vector>> {
        let picked = |from: &Vector, rows: &[u32]| {
            let from = from.loaded()?;
            Ok(match stretch(rows) {
                Some(start) => from.slice(start, rows.len()),
                None => from.wrap(&rows.to_vec().into(), &mut Vec::new()),
            })
        };
        let further = args.iter().skip(1).map(|it| picked(it, sources));
        std::iter::once(picked(&self.nested()?.elements, places)).chain(further).collect()
    }
}

/// The first of `rows`, where the others follow one after the other.
fn stretch(rows: &[u32]) -> Option<usize> {
    let first = *rows.first()?;
    (first..).zip(rows).all(|(expected, row)| expected == *row).then_some(first as usize)
}
