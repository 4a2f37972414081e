use super::*;
use crate::{input::Input, marks, marks::Mark};
use arrow_buffer::{ArrowNativeType, Buffer};
use volley_kernels::alp::Float;
use volley_types::{Native, PhysicalType};

fn check<T: Float + Native + ArrowNativeType>(
    physical: PhysicalType,
    values: &[T],
) -> (usize, usize) {
    let (mut decimals, mut halves) = (Vec::new(), Vec::new());
    encode(values, &mut decimals);
    encode_halves(values, &mut halves);
    let sizes = (decimals.len(), halves.len());
    let rows = values.len();
    let mut input = Input::new(Buffer::from_vec(decimals));
    let decimals = open::<T>(&mut input, physical, rows).unwrap();
    input.finish().unwrap();
    let mut input = Input::new(Buffer::from_vec(halves));
    let halves = open_halves::<T>(&mut input, physical, rows).unwrap();
    input.finish().unwrap();
    for mut body in [decimals, halves] {
        check_body(body.as_mut(), values);
    }
    sizes
}

fn check_body<T: Float + Native>(body: &mut dyn crate::column::Body, values: &[T]) {
    let mut read = |rows: std::ops::Range<usize>, pick: Option<&[u32]>| -> Vec<T::Bits> {
        match body.read(rows, pick).unwrap() {
            crate::column::Read::Values(values) => {
                values.native::<T>().unwrap().iter().map(|it| it.bits()).collect()
            }
            _ => Vec::new(),
        }
    };
    let bits: Vec<T::Bits> = values.iter().map(|it| it.bits()).collect();
    assert_eq!(read(0..values.len(), None), bits);
    let middle = values.len() / 3..values.len() / 2;
    assert_eq!(read(middle.clone(), None), bits[middle]);
    let few: Vec<u32> = (0..values.len() as u32).step_by(173).collect();
    let singles = marks::count(Mark::Single);
    let picked: Vec<T::Bits> = few.iter().map(|it| bits[*it as usize]).collect();
    assert_eq!(read(0..values.len(), Some(&few)), picked);
    assert!(few.is_empty() || marks::count(Mark::Single) > singles);
}

#[test]
fn floats_of_all_kinds_come_back_to_the_last_bit() {
    let mut random = fastrand::Rng::with_seed(8);
    let edges = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN, 5e-324, 1e22];
    for rows in [0, 1, 3, 1024, 3000] {
        for kind in 0..4 {
            let value = |_| match kind {
                0 => f64::from(random.i32(-1_000_000..1_000_000)) / 100.0,
                1 => random.f64(),
                2 => f64::from_bits(random.u64(..)),
                _ if random.bool() => edges[random.usize(..edges.len())],
                _ => f64::from(random.i32(0..100)) * 0.5,
            };
            let values: Vec<f64> = (0..rows).map(value).collect();
            check(PhysicalType::F64, &values);
            let values: Vec<f32> = values.iter().map(|it| *it as f32).collect();
            check(PhysicalType::F32, &values);
        }
    }
}

#[test]
fn decimals_are_small_and_other_floats_are_smaller_in_halves() {
    let mut random = fastrand::Rng::with_seed(8);
    let prices: Vec<f64> = (0..10_000).map(|_| f64::from(random.i32(0..100_000)) / 100.0).collect();
    let (decimals, _) = check(PhysicalType::F64, &prices);
    assert!(decimals < 10_000 * 20 / 8, "{decimals}");
    let any: Vec<f64> = (0..10_000).map(|_| random.f64()).collect();
    let (decimals, halves) = check(PhysicalType::F64, &any);
    assert!(halves < decimals && halves < 10_000 * 58 / 8, "{halves} {decimals}");
}
