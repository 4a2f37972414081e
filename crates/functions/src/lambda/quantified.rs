//! Whether a lambda is true for any, all or none of the elements, in three-valued logic.

use super::{element_type, elements::Collections, entry_types};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    ArgumentType, BoundHigherOrder, EvalContext, Lambda, Registry, ScalarTraits,
};
use volley_types::Type;
use volley_vector::{BooleanBuffer, Decoded, NullBuffer, Rows, Vector};

/// Which elements are asked for.
#[derive(Clone, Copy)]
enum Quantifier {
    Any,
    All,
    None,
}

/// What the elements are.
#[derive(Clone, Copy)]
enum Over {
    Elements,
    Keys,
    Values,
}

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    use Over::{Elements, Keys, Values};
    use Quantifier::{All, Any, None};
    for (name, quantifier, over, example) in [
        ("any_match", Any, Elements, ("any_match([1, 2], x -> x > 1)", "true")),
        ("all_match", All, Elements, ("all_match([1, 2], x -> x > 1)", "false")),
        ("none_match", None, Elements, ("none_match([1, 2], x -> x > 2)", "true")),
        ("any_keys_match", Any, Keys, ("any_keys_match(map([1], [2]), k -> k = 1)", "true")),
        ("all_keys_match", All, Keys, ("all_keys_match(map([1], [2]), k -> k = 1)", "true")),
        ("no_keys_match", None, Keys, ("no_keys_match(map([1], [2]), k -> k = 1)", "false")),
        ("any_values_match", Any, Values, ("any_values_match(map([1], [2]), v -> v = 1)", "false")),
        ("all_values_match", All, Values, ("all_values_match(map([1], [2]), v -> v = 2)", "true")),
        ("no_values_match", None, Values, ("no_values_match(map([1], [2]), v -> v = 1)", "true")),
    ] {
        let amount = match quantifier {
            Any => "any",
            All => "all",
            None => "none",
        };
        let (collection, things) = match over {
            Elements => ("array", "elements"),
            Keys => ("map", "keys"),
            Values => ("map", "values"),
        };
        let doc = doc(
            &format!("{name}({collection}, x -> condition) -> boolean"),
            &format!(
                "Whether the lambda is true for {amount} of the {things}; null when that depends \
                 on those for which it is null."
            ),
            "lambda",
            &[example],
        );
        let bind = move |args: &[ArgumentType]| bind(args, quantifier, over);
        registry.add_higher_order(name, doc, Arc::new(bind));
    }
}

fn bind(args: &[ArgumentType], quantifier: Quantifier, over: Over) -> Option<BoundHigherOrder> {
    let [collection, ArgumentType::Lambda(lambda)] = args else { return None };
    let (whole, part) = match over {
        Over::Elements => {
            let element = element_type(collection)?;
            (Type::array(element.clone()), element)
        }
        Over::Keys | Over::Values => {
            let (key, value) = entry_types(collection)?;
            let part = if matches!(over, Over::Keys) { key.clone() } else { value.clone() };
            (Type::map(key, value), part)
        }
    };
    if lambda.parameters.len() != 1 {
        return None;
    }
    let args =
        vec![ArgumentType::Value(whole), ArgumentType::of_lambda([part], Some(Type::Boolean))];
    let (result, traits) = (Type::Boolean, ScalarTraits::INFALLIBLE);
    Some(BoundHigherOrder::of_closure(args, result, traits, move |rows, args, lambdas, _, ctx| {
        let collections = Collections::new(&args[0])?;
        let field = usize::from(matches!(over, Over::Values));
        // All is true when none is false.
        let decides = !matches!(quantifier, Quantifier::All);
        let found = Found::new(&collections, field, rows, decides, lambdas[0], ctx)?;
        Ok(found.answer(matches!(quantifier, Quantifier::Any)))
    }))
}

/// What was found among the elements of each row.
struct Found {
    /// One that decides.
    deciding: Vec<bool>,
    /// One that is null.
    null: Vec<bool>,
}

impl Found {
    /// Looks for elements whose value is `decides`. Rows that have one do not fail for others.
    fn new(
        collections: &Collections<'_>,
        field: usize,
        rows: &Rows,
        decides: bool,
        lambda: &mut dyn Lambda,
        ctx: &mut EvalContext,
    ) -> Result<Found> {
        let all = collections.columns()?;
        let mut found = Found { deciding: vec![false; rows.len()], null: vec![false; rows.len()] };
        let before = ctx.errors.take();
        let result = collections.for_each_chunk(rows, |chunk| {
            let parameters = [chunk.take_from(&all[field])];
            let (verdicts, owners) = chunk.apply(lambda, &parameters, ctx)?;
            let verdicts = Decoded::new(&verdicts)?;
            for (element, &owner) in owners.iter().enumerate() {
                match verdicts.is_null(element) {
                    true => found.null[owner as usize] = true,
                    false => {
                        found.deciding[owner as usize] |= verdicts.boolean(element) == decides;
                    }
                }
            }
            Ok(())
        });
        let mut errors = std::mem::replace(&mut ctx.errors, before);
        errors.discard(&Rows::from_bits(&BooleanBuffer::from(found.deciding.as_slice())));
        ctx.errors.append(errors, |row| row);
        result.map(|()| found)
    }

    /// `if_deciding` for rows with a deciding element, NULL for others with a null one.
    fn answer(self, if_deciding: bool) -> Vector {
        let bits = BooleanBuffer::collect_bool(self.deciding.len(), |row| {
            self.deciding[row] == if_deciding
        });
        let valid = |row: usize| self.deciding[row] || !self.null[row];
        let nulls = NullBuffer::new(BooleanBuffer::collect_bool(self.deciding.len(), valid));
        Vector::boolean(bits, Some(nulls))
    }
}
