//! Frames and positions.

use super::*;
use volley_types::Value;
use volley_vector::NullBuffer;

fn parts(frame: (u32, u32), exclusion: Exclusion, row: u32, peers: (u32, u32)) -> Vec<(u32, u32)> {
    FrameParts::new(frame, exclusion, row, peers).iter().collect()
}

#[test]
fn excluded_rows_are_left_out_whatever_the_frame_covers() {
    let exclusions =
        [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
    let mut checked = 0;
    for start in 0..6u32 {
        for end in start..6 {
            for (row, peers) in [(2, (1, 4)), (2, (2, 3)), (0, (0, 1)), (5, (4, 6))] {
                for exclusion in exclusions {
                    let is_kept = |it: &u32| match exclusion {
                        Exclusion::NoOthers => true,
                        Exclusion::CurrentRow => *it != row,
                        Exclusion::Group => !(peers.0..peers.1).contains(it),
                        Exclusion::Ties => *it == row || !(peers.0..peers.1).contains(it),
                    };
                    let expected: Vec<u32> = (start..end).filter(is_kept).collect();
                    let frame = FrameParts::new((start, end), exclusion, row, peers);
                    let found: Vec<u32> = frame.iter().flat_map(|it| it.0..it.1).collect();
                    assert_eq!(found, expected, "{start}..{end}, {exclusion:?}, row {row}");
                    assert_eq!(frame.len(), expected.len());
                    assert_eq!(frame.last(), expected.last().copied());
                    let nth: Vec<u32> = (0..9).filter_map(|it| frame.nth(it)).collect();
                    assert_eq!(nth, expected);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 300);
    assert_eq!(parts((0, 6), Exclusion::Ties, 2, (1, 4)), [(0, 1), (2, 3), (4, 6)]);
}

#[test]
fn rows_that_are_not_null_are_found_by_their_number() {
    let mut valid = ValidRows::default();
    let bits = [true, false, false, true, true, false];
    valid.push(Some(&NullBuffer::from(bits[..2].to_vec())), 2);
    valid.push(Some(&NullBuffer::from(bits[2..].to_vec())), 4);
    let frame = FrameParts::new((0, 6), Exclusion::CurrentRow, 3, (3, 4));
    assert_eq!(valid.before, [0, 1, 1, 1, 2, 3, 3]);
    assert_eq!((valid.nth(&frame, 0), valid.nth(&frame, 1)), (Some(0), Some(4)));
    assert_eq!((valid.nth(&frame, 2), valid.last(&frame)), (None, Some(4)));
}

#[test]
fn missing_positions_are_null() {
    let column = Vector::native::<i64>(Type::BigInt, vec![5, 6], None);
    let found = gather_or_null(&column, [Some(1), None, Some(0)]).unwrap();
    assert_eq!(found.to_values().unwrap(), [Value::BigInt(6), Value::Null, Value::BigInt(5)]);
    let empty = column.slice(0, 0);
    assert_eq!(gather_or_null(&empty, [None]).unwrap().to_values().unwrap(), [Value::Null]);
}
