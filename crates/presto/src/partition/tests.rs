use super::*;
use volley_error::ErrorKind;

fn batch(values: &[Option<i64>]) -> Batch {
    let values: Vec<Value> =
        values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    let rows = values.len();
    Batch::new(vec![Vector::from_values(Type::BigInt, &values)], rows)
}

fn hash(replicates_nulls_and_any: bool) -> OutputPartitioning {
    OutputPartitioning {
        function: PartitionFunction::Hash(vec![PartitionKey::Column(0)]),
        bucket_to_partition: None,
        replicates_nulls_and_any,
    }
}

/// The rows of each partition.
fn split(partitioner: &mut RowPartitioner, values: &[Option<i64>]) -> Vec<Vec<Value>> {
    let found = partitioner.partition(batch(values)).unwrap();
    let values = found.batch.column(0).to_values().unwrap();
    assert_eq!(values.len(), found.partitions.len());
    let mut rows = vec![Vec::new(); partitioner.partitions()];
    for (value, partition) in values.into_iter().zip(found.partitions) {
        rows[partition as usize].push(value);
    }
    rows
}

#[test]
fn equal_keys_have_one_partition() {
    let values: Vec<Option<i64>> = (0..1000).map(|it| Some(it % 50)).collect();
    let mut partitioner = hash(false).partitioner(7).unwrap();
    let rows = split(&mut partitioner, &values);
    assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), 1000);
    for key in 0..50 {
        let key = Value::BigInt(key);
        let holders = rows.iter().filter(|it| it.contains(&key)).count();
        assert_eq!(holders, 1, "{key:?}");
    }
    assert!(rows.iter().filter(|it| !it.is_empty()).count() > 3);
}

#[test]
fn buckets_are_mapped_to_partitions() {
    let mut partitioning = hash(false);
    partitioning.bucket_to_partition = Some(vec![1, 1, 1, 1]);
    let mut partitioner = partitioning.partitioner(2).unwrap();
    let rows = split(&mut partitioner, &[Some(1), Some(2), None]);
    assert_eq!((rows[0].len(), rows[1].len()), (0, 3));
    for buckets in [vec![], vec![0, 2]] {
        partitioning.bucket_to_partition = Some(buckets);
        let error = partitioning.partitioner(2).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
    }
}

#[test]
fn nulls_and_one_row_go_to_all_partitions() {
    let mut partitioner = hash(true).partitioner(3).unwrap();
    let rows = split(&mut partitioner, &[Some(5), Some(6), None, Some(6)]);
    for partition in &rows {
        assert_eq!(partition.iter().filter(|it| **it == Value::Null).count(), 1);
        assert_eq!(partition.iter().filter(|it| **it == Value::BigInt(5)).count(), 1);
    }
    assert_eq!(rows.iter().flatten().filter(|it| **it == Value::BigInt(6)).count(), 2);
    // Any row is the first one only once.
    let rows = split(&mut partitioner, &[Some(5)]);
    assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), 1);
}

#[test]
fn rows_take_turns() {
    let partitioning = OutputPartitioning {
        function: PartitionFunction::RoundRobin,
        bucket_to_partition: Some(vec![0, 1, 2]),
        replicates_nulls_and_any: false,
    };
    let mut partitioner = partitioning.partitioner(3).unwrap();
    let lanes = |it: &mut RowPartitioner, rows: usize| {
        it.partition(batch(&vec![Some(1); rows])).unwrap().partitions
    };
    assert_eq!(lanes(&mut partitioner, 4), [0, 1, 2, 0]);
    assert_eq!(lanes(&mut partitioner, 2), [1, 2]);
}

#[test]
fn constants_are_keys() {
    let mut partitioning = hash(false);
    let constant = PartitionKey::Constant(Value::text("x"), Type::Varchar);
    partitioning.function = PartitionFunction::Hash(vec![constant]);
    let mut partitioner = partitioning.partitioner(5).unwrap();
    let rows = split(&mut partitioner, &[Some(1), Some(2), Some(3)]);
    assert_eq!(rows.iter().filter(|it| !it.is_empty()).count(), 1);
}
