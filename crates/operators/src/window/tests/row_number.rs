//! Global row numbers against the operator that collects rows.

use super::{super::row_number::RowNumber, *};

fn row_number() -> WindowCall {
    WindowCall {
        function: "row_number".into(),
        args: Vec::new(),
        arg_types: Vec::new(),
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        ignore_nulls: false,
        order_keys: 0,
        frame: Frame::up_to_peers(),
        place: volley_expression::SourceSpan::default(),
    }
}

fn global(calls: Vec<WindowCall>, types: &[Type]) -> WindowNode {
    let node = node(&mut Random(1), types, false);
    WindowNode {
        calls,
        partition_by: Vec::new(),
        order_by: Vec::new(),
        limit: None,
        output: vec![TEXT, ID],
        ..node
    }
}

#[test]
fn row_numbers_of_a_stream_equal_those_of_collected_rows() {
    let types = types(&Type::BigInt, &Type::Varchar);
    for seed in 0..20 {
        let rows = rows(&mut Random(seed), &types, false);
        let node = global(vec![row_number(); 1 + seed as usize % 2], &types);
        assert!(RowNumber::computes(&node));
        for batch_rows in [1, 3, 1024] {
            let cx = Harness::context(batch_rows);
            let expected = run(&node, &types, &rows, &cx, None);
            let batches = batches(&types, &rows, batch_rows.min(7));
            let found = Harness::new(volley_exec::TransformOperator::new(RowNumber::new(&node)))
                .feed(batches)
                .unwrap();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}

#[test]
fn other_windows_collect_their_rows() {
    let types = types(&Type::BigInt, &Type::Varchar);
    let plain = global(vec![row_number()], &types);
    let key = SortKey { column: ID, descending: false, nulls_first: false };
    let others = [
        WindowNode { partition_by: vec![PARTITION], ..plain.clone() },
        WindowNode { order_by: vec![key], ..plain.clone() },
        WindowNode { limit: Some(WindowLimit { call: 0, rows: 3 }), ..plain.clone() },
        global(vec![row_number(), WindowCall { function: "rank".into(), ..row_number() }], &types),
    ];
    for other in others {
        assert!(!RowNumber::computes(&other));
    }
}
