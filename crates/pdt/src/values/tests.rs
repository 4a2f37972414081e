use super::*;
use volley_types::{Type, Value};
use volley_vector::random::Generator;

fn numbers(first: u32, count: u32) -> Vector {
    let values: Vec<Value> = (first..first + count).map(|it| Value::Integer(it as i32)).collect();
    Vector::from_values(Type::Integer, &values)
}

fn chunk(first: u32, count: u32, budget: &Arc<Budget>) -> Arc<ValueChunk> {
    Arc::new(ValueChunk::new(numbers(first, count), budget))
}

fn check(list: &ColumnValues, end: u32) {
    assert_eq!(list.end(), end);
    for number in 0..end {
        let (index, first) = list.find(number).unwrap();
        let value = list.get(index).unwrap().values.value((number - first) as usize).unwrap();
        assert_eq!(value, Value::Integer(number as i32));
    }
    assert_eq!(list.find(end), None);
}

#[test]
fn values_keep_their_numbers_while_chunks_are_merged() {
    let budget = Budget::unlimited();
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut list, mut end, mut versions) = (ColumnValues::default(), 0, Vec::new());
        let sizes = [2, 20, 300, 3000][seed as usize % 4];
        for _ in 0..300 {
            let count = random.u32(..sizes);
            list.push(end, chunk(end, count, &budget), &budget).unwrap();
            end += count;
            if random.u32(..30) == 0 {
                versions.push((list.clone(), end));
            }
        }
        check(&list, end);
        versions.iter().for_each(|(list, end)| check(list, *end));
    }
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn single_values_are_few_chunks() {
    let budget = Budget::unlimited();
    let mut list = ColumnValues::default();
    for number in 0..50_000 {
        list.push(number, chunk(number, 1, &budget), &budget).unwrap();
        assert!(list.tail_len() <= TAIL_LEN, "{}", list.tail_len());
    }
    assert!(list.len() < 80, "{}", list.len());
    // What is charged is what is held, and not much more than the values.
    assert_eq!(list.retained_bytes(), budget.used_bytes());
    assert!(budget.used_bytes() < 50_000 * 5, "{}", budget.used_bytes());
    // Chunks of many values are not copied.
    let large = chunk(50_000, 5000, &budget);
    list.push(50_000, Arc::clone(&large), &budget).unwrap();
    assert!(Arc::ptr_eq(list.get(list.len() - 1).unwrap(), &large));
}

const TAIL_LEN: usize = 64;

#[test]
fn copies_share_nothing_and_are_equal() {
    let mut random = Generator::new(5);
    for _ in 0..300 {
        let data_type = random.data_type(2);
        let parts: Vec<Vector> = (0..1 + random.below(3))
            .map(|_| random.below(50))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|len| random.vector(&data_type, len))
            .collect();
        let copy = copy_vector(&parts).unwrap();
        copy.validate().unwrap();
        let expected = Vector::concat(&data_type, &parts).unwrap();
        let text = |it: &Vector| format!("{:?}", it.to_values().unwrap());
        assert_eq!(text(&copy), text(&expected), "{data_type}");
        assert!(copy.flat_values().is_some());
        let loaded: Vec<Vector> = parts.iter().map(|it| it.loaded().unwrap()).collect();
        let own = copy.retained_bytes_beyond(&loaded);
        assert_eq!(own, copy.retained_bytes_beyond(&[]), "{data_type}");
    }
}

#[test]
fn ids_with_gaps_are_found() {
    let budget = Budget::unlimited();
    let (ids, sids) = ([3, 4, 9, 20], [5, 5, 7, 5]);
    let rows = Batch::new(vec![numbers(0, 4)], 4);
    let inserted = InsertChunk::sparse(rows, &ids, &sids, &budget);
    let mut values = LayerValues::default();
    values.inserts.push(3, Arc::new(inserted), &budget).unwrap();
    for id in 0..30 {
        let expected = ids.iter().position(|it| *it == id).map(|row| InsertedAt {
            chunk: 0,
            row: row as u32,
            sid: sids[row],
        });
        assert_eq!(values.find(id), expected);
    }
    let inserted = values.inserts.get(0).unwrap();
    assert_eq!(inserted.rows_of(0, 2), (0, 2));
    assert_eq!(inserted.rows_of(1, 6), (1, 2));
    assert_eq!(inserted.rows_of(2, 4), (2, 0));
}
