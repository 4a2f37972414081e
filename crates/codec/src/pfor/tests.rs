use super::*;
use crate::{VECTOR_ROWS, input::Input, order::Order, pfor_delta, vectors, vectors::Decode};
use arrow_buffer::Buffer;
use volley_kernels::pack::Lane;

/// Rows of the columns: less than a vector, whole vectors, and more.
const ROWS: [usize; 6] = [0, 1, 3, 1024, 1025, 2500];

/// Values of `width` bits above a base, of which about one in `exception_every` is any integer.
fn values<T: Lane>(
    random: &mut fastrand::Rng,
    rows: usize,
    width: usize,
    exception_every: usize,
) -> Vec<T> {
    let base = T::narrow(random.u64(..));
    let value = |_| match random.usize(..exception_every) {
        0 => T::narrow(random.u64(..)),
        _ => base.plus(T::narrow(random.u64(..)) & T::mask(width)),
    };
    (0..rows).map(value).collect()
}

fn check_reads<T: Lane>(column: &dyn Decode<T>, values: &[T], random: &mut fastrand::Rng) {
    let rows = values.len();
    assert_eq!(vectors::read(column, 0..rows, None).unwrap(), values);
    for _ in 0..4 {
        let start = random.usize(..=rows);
        let end = random.usize(start..=rows);
        assert_eq!(vectors::read(column, start..end, None).unwrap(), values[start..end]);
        let every = 1 + random.usize(..300);
        let pick: Vec<u32> =
            (0..(end - start) as u32).filter(|_| random.usize(..every) == 0).collect();
        let expected: Vec<T> = pick.iter().map(|it| values[start + *it as usize]).collect();
        assert_eq!(vectors::read(column, start..end, Some(&pick)).unwrap(), expected);
    }
}

fn check<T: Lane>() {
    let mut random = fastrand::Rng::with_seed(11);
    for width in 0..=T::BITS {
        for exception_every in [usize::MAX, 100, 4] {
            let rows = ROWS[random.usize(..ROWS.len())];
            let values = values::<T>(&mut random, rows, width, exception_every);
            for order in [Order::Signed, Order::Unsigned] {
                let mut bytes = Vec::new();
                encode(&values, order, &mut bytes);
                let mut input = Input::new(Buffer::from_vec(bytes));
                let packed = Packed::<T>::open(&mut input, rows).unwrap();
                input.finish().unwrap();
                check_reads(&packed, &values, &mut random);
                check_select(&packed, &values, order, &mut random);
            }
            let mut bytes = Vec::new();
            pfor_delta::encode(&values, &mut bytes);
            let mut input = Input::new(Buffer::from_vec(bytes));
            let deltas = pfor_delta::Deltas::<T>::open(&mut input, rows).unwrap();
            input.finish().unwrap();
            check_reads(&deltas, &values, &mut random);
        }
    }
}

/// Against the values, one by one.
fn check_select<T: Lane>(
    packed: &Packed<T>,
    values: &[T],
    order: Order,
    random: &mut fastrand::Rng,
) {
    let (least, greatest) = order.bounds::<T>();
    let any = |random: &mut fastrand::Rng| match values.get(random.usize(..=values.len())) {
        Some(value) => order.value(*value),
        None => random.i128(least..=greatest),
    };
    let ranges: Vec<_> = (0..random.usize(..4)).map(|_| any(random)..=any(random)).collect();
    for (index, vector) in values.chunks(VECTOR_ROWS).enumerate() {
        let bits = select(packed, index, &ranges, order, &mut Vec::new()).unwrap();
        for (row, value) in vector.iter().enumerate() {
            let expected = ranges.iter().any(|it| it.contains(&order.value(*value)));
            assert_eq!(bits[row / 64] >> (row % 64) & 1 == 1, expected);
        }
    }
}

#[test]
fn every_width_with_exceptions_and_picks_reads_as_the_values() {
    check::<u8>();
    check::<u16>();
    check::<u32>();
    check::<u64>();
}

#[test]
fn a_few_values_far_away_do_not_make_codes_wide() {
    for far in [0u64, u64::MAX / 3] {
        let mut values: Vec<u64> = (0..1024).map(|it| 1_000_000_000 + it % 16).collect();
        for row in [7, 300, 1000] {
            values[row] = far;
        }
        let mut bytes = Vec::new();
        encode(&values, Order::Unsigned, &mut bytes);
        // Four bits per value, three exceptions, the head of the vector.
        assert_eq!(bytes.len(), 512 + 3 * 10 + 11);
    }
}

#[test]
fn steps_of_one_size_have_no_codes() {
    let values: Vec<u64> = (0..10_000).map(|it| 17 + it * 1000).collect();
    let mut bytes = Vec::new();
    pfor_delta::encode(&values, &mut bytes);
    assert!(bytes.len() < 200, "{}", bytes.len());
}
