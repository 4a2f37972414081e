//! Two collections at once: zip_with, map_zip_with.

use super::{body_type, element_type, elements::Collections, entry_types, key_search::KeySearch};
use crate::{
    documentation::doc,
    nested::{entries_of, gather_or_null, nested_of},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    Applied, ArgumentType, BoundHigherOrder, EvalContext, Lambda, Registry, ScalarTraits,
    simple::CancelCheck,
};
use volley_memory::check_cancelled;
use volley_types::Type;
use volley_vector::{Rows, ScalarBuffer, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let zip = doc(
        "zip_with(array, array, (x, y) -> z) -> array",
        "The lambda's value for each pair of elements; the shorter array is filled up with nulls.",
        "lambda",
        &[("zip_with([1, 2], [10, 20], (x, y) -> x + y)", "[11, 22]")],
    );
    registry.add_higher_order("zip_with", zip, Arc::new(bind_zip));
    let map_zip = doc(
        "map_zip_with(map, map, (key, x, y) -> z) -> map",
        "For each key of either map, the lambda's value for the key and its values in both, null \
         where a map does not have it.",
        "lambda",
        &[("map_zip_with(map(['a'], [1]), map(['a'], [10]), (k, x, y) -> x + y)", "{a=11}")],
    );
    registry.add_higher_order("map_zip_with", map_zip, Arc::new(bind_map_zip));
}

/// What a position takes that may be none: next to it there is a code when it is gathered.
const POSITION_BYTES: usize = size_of::<Option<u32>>() + size_of::<u32>();

/// Pairs of elements, one of which may be missing, row after row.
struct Pairs {
    left: Vec<Option<u32>>,
    right: Vec<Option<u32>>,
    owners: Vec<u32>,
    /// Pairs of each row.
    sizes: Vec<i32>,
}

impl Pairs {
    /// None, with room for `count`, of `rows` rows.
    fn charged(count: usize, rows: usize, ctx: &mut EvalContext) -> Result<Pairs> {
        ctx.charge(count.saturating_mul(2 * POSITION_BYTES + size_of::<u32>()))?;
        let positions = || Vec::with_capacity(count);
        let owners = Vec::with_capacity(count);
        Ok(Pairs { left: positions(), right: positions(), owners, sizes: vec![0; rows] })
    }

    fn push(&mut self, left: Option<usize>, right: Option<usize>, row: usize) {
        self.left.push(left.map(|it| it as u32));
        self.right.push(right.map(|it| it as u32));
        self.owners.push(row as u32);
        self.sizes[row] += 1;
    }

    fn apply(
        self,
        lambda: &mut dyn Lambda,
        parameters: &[Vector],
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let owners: ScalarBuffer<u32> = self.owners.into();
        let rows = Rows::all(owners.len());
        lambda.evaluate(&Applied { rows: &rows, parameters, owners: &owners }, ctx)
    }
}

fn bind_zip(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [left, right, ArgumentType::Lambda(lambda)] = args else { return None };
    let (left, right) = (element_type(left)?, element_type(right)?);
    if lambda.parameters.len() != 2 {
        return None;
    }
    let args = vec![
        ArgumentType::Value(Type::array(left.clone())),
        ArgumentType::Value(Type::array(right.clone())),
        ArgumentType::of_lambda([left, right], lambda.result.clone()),
    ];
    let (result, traits) = (Type::array(body_type(lambda)), ScalarTraits::INFALLIBLE);
    Some(BoundHigherOrder::of_closure(args, result, traits, |rows, args, lambdas, to, ctx| {
        let (left, right) = (Collections::new(&args[0])?, Collections::new(&args[1])?);
        // Counted first, so that nothing grows.
        let mut count = 0usize;
        rows.try_for_each(|row| -> Result<()> {
            let longest = left.range(row)?.len().max(right.range(row)?.len());
            count = count.saturating_add(longest);
            Ok(())
        })?;
        let mut cancel = CancelCheck::default();
        let mut pairs = Pairs::charged(count, rows.len(), ctx)?;
        rows.try_for_each(|row| -> Result<()> {
            let (mut from_left, mut from_right) = (left.range(row)?, right.range(row)?);
            cancel.check(from_left.len().max(from_right.len()))?;
            for _ in 0..from_left.len().max(from_right.len()) {
                pairs.push(from_left.next(), from_right.next(), row);
            }
            Ok(())
        })?;
        let parameters = [
            gather_or_null(&left.columns()?[0], &pairs.left)?,
            gather_or_null(&right.columns()?[0], &pairs.right)?,
        ];
        let sizes = std::mem::take(&mut pairs.sizes);
        let elements = pairs.apply(lambdas[0], &parameters, ctx)?;
        Ok(Vector::flat(to.clone(), Values::Array(nested_of(sizes, elements)?), None))
    }))
}

fn bind_map_zip(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [left, right, ArgumentType::Lambda(lambda)] = args else { return None };
    let ((left_key, left), (right_key, right)) = (entry_types(left)?, entry_types(right)?);
    let key = volley_types::common_type(&left_key, &right_key)?;
    if lambda.parameters.len() != 3 {
        return None;
    }
    let args = vec![
        ArgumentType::Value(Type::map(key.clone(), left.clone())),
        ArgumentType::Value(Type::map(key.clone(), right.clone())),
        ArgumentType::of_lambda([key.clone(), left, right], lambda.result.clone()),
    ];
    let (result, traits) = (Type::map(key.clone(), body_type(lambda)), ScalarTraits::INFALLIBLE);
    Some(BoundHigherOrder::of_closure(args, result, traits, move |rows, args, lambdas, to, ctx| {
        let (left, right) = (Collections::new(&args[0])?, Collections::new(&args[1])?);
        let (from_left, from_right) = (left.columns()?, right.columns()?);
        let both = [from_left[0].clone(), from_right[0].clone()];
        let mut pairs = match_keys(&left, &right, &both, rows, ctx)?;
        // The keys of both, one after the other; a pair's key is in one of them.
        let keys = Vector::concat_checked(&key, &both, &check_cancelled)?;
        ctx.charge(keys.retained_bytes_beyond(&both))?;
        let beyond = from_left[0].len() as u32;
        ctx.charge(pairs.owners.len() * POSITION_BYTES)?;
        let sides = pairs.left.iter().zip(&pairs.right);
        let positions: Vec<Option<u32>> =
            sides.map(|(left, right)| left.or(right.map(|it| it + beyond))).collect();
        let keys = gather_or_null(&keys, &positions)?;
        let parameters = [
            keys.clone(),
            gather_or_null(&from_left[1], &pairs.left)?,
            gather_or_null(&from_right[1], &pairs.right)?,
        ];
        let sizes = std::mem::take(&mut pairs.sizes);
        let values = pairs.apply(lambdas[0], &parameters, ctx)?;
        let entries = entries_of(&to.entry_type(), [keys, values]);
        Ok(Vector::flat(to.clone(), Values::Map(nested_of(sizes, entries)?), None))
    }))
}

/// The entries of two maps with the same key as pairs: those of the left map in order, then those
/// that only the right one has. `keys`: all of the left maps and of the right ones.
fn match_keys(
    left: &Collections<'_>,
    right: &Collections<'_>,
    keys: &[Vector; 2],
    rows: &Rows,
    ctx: &mut EvalContext,
) -> Result<Pairs> {
    // Counted first, so that nothing grows.
    let (mut count, mut most) = (0usize, 0);
    rows.try_for_each(|row| -> Result<()> {
        let right = right.range(row)?.len();
        count = count.saturating_add(left.range(row)?.len() + right);
        most = most.max(right);
        Ok(())
    })?;
    let mut pairs = Pairs::charged(count, rows.len(), ctx)?;
    let mut search = KeySearch::new(&keys[0], &keys[1], most, ctx)?;
    // Which keys of the row's right map the left one has.
    ctx.charge(most)?;
    let mut is_found = vec![false; most];
    let mut cancel = CancelCheck::default();
    rows.try_for_each(|row| -> Result<()> {
        let (left, right) = (left.range(row)?, right.range(row)?);
        search.enter(right.clone())?;
        is_found[..right.len()].fill(false);
        for at in left {
            cancel.check(1)?;
            let found = search.find(at);
            if let Some(found) = found {
                is_found[found - right.start] = true;
            }
            pairs.push(Some(at), found, row);
        }
        for at in right.clone() {
            if !is_found[at - right.start] {
                pairs.push(None, Some(at), row);
            }
        }
        Ok(())
    })?;
    Ok(pairs)
}
