use super::*;
use volley_function::Package;
use volley_types::{Field, Value, custom::Uuid};
use volley_vector::random::Generator;

fn types() -> TypeRegistry {
    let mut types = TypeRegistry::default();
    types.add_plain(Uuid);
    types
}

/// One expression of every kind, with a lambda in a lambda.
fn case() -> Case {
    let mut random = Generator::new(11);
    let array = Type::array(Type::array(Type::Integer));
    let columns = [array.clone(), Type::Varchar, Uuid::data_type()];
    let inputs = vec![random.batch(&columns, 6), random.batch(&columns, 0)];
    let parameter = |level: usize, index: usize, data_type: Type| {
        Expr::new(ExprKind::Parameter(Parameter { level, index }), data_type)
    };
    let lambda = |level: usize, parameters: Vec<Type>, body: Expr| {
        let data_type = body.data_type.clone();
        Expr::new(ExprKind::Lambda { level, parameters, body: Box::new(body) }, data_type)
    };
    let row = Type::row([Field::new("a", Type::Integer)]);
    let one = Value::Row([Value::Integer(1)].into());
    let inner = lambda(1, vec![Type::Integer], parameter(1, 0, Type::Integer));
    let list = Type::array(Type::Integer);
    let inner = Expr::call("transform", vec![parameter(0, 0, list.clone()), inner], list.clone());
    let outer = lambda(0, vec![list], inner);
    let column = Expr::column(1, Type::Varchar);
    let is_null = Expr::special(SpecialForm::IsNull, vec![column.clone()], Type::Boolean);
    let kind =
        ExprKind::Cast { input: Box::new(column), null_on_error: true, package: Package::Core };
    Case {
        exprs: vec![
            Expr::call("transform", vec![Expr::column(0, array.clone()), outer], array),
            Expr::constant(one, row.clone()),
            Expr::constant(Value::Null, row),
            Expr::new(kind, Uuid::data_type()),
            Expr::special(SpecialForm::And, vec![is_null.clone(), is_null], Type::Boolean),
        ],
        inputs,
    }
}

#[test]
fn expressions_and_their_input_come_back() {
    let case = case();
    let back = Case::from_bytes(&case.to_bytes().unwrap(), &types()).unwrap();
    assert_eq!(back.exprs, case.exprs);
    assert_eq!(back.inputs.len(), 2);
    for (left, right) in back.inputs.iter().zip(&case.inputs) {
        for (left, right) in left.columns().iter().zip(right.columns()) {
            assert_eq!(left.to_values().unwrap(), right.to_values().unwrap());
        }
    }
}

#[test]
fn files_that_end_too_early_and_changed_bits_are_errors() {
    let bytes = case().to_bytes().unwrap();
    for len in 0..bytes.len() {
        assert!(Case::from_bytes(&bytes[..len], &types()).is_err(), "cut at {len}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(Case::from_bytes(&changed, &types()).is_err(), "bit {bit}");
    }
}

/// Writes a case of one expression, whatever it is.
fn refused(expr: Expr) -> String {
    let case = Case { exprs: vec![expr], inputs: vec![Batch::new(Vec::new(), 3)] };
    let bytes = case.to_bytes().unwrap();
    Case::from_bytes(&bytes, &types()).unwrap_err().message().to_owned()
}

#[test]
fn expressions_that_do_not_fit_their_surroundings_are_errors() {
    assert!(refused(Expr::column(0, Type::Integer)).contains("column #0 of 0"));
    let kind = ExprKind::Parameter(Parameter { level: 0, index: 0 });
    assert!(refused(Expr::new(kind, Type::Integer)).contains("parameter of no lambda"));
    let form = Expr::special(SpecialForm::Switch, vec![], Type::Integer);
    assert!(refused(form).contains("other arguments"));
}

#[test]
fn expressions_too_deep_to_save_are_errors() {
    let mut expr = Expr::constant(Value::Boolean(true), Type::Boolean);
    for _ in 0..volley_vector::save::DEPTH_MAX {
        expr = Expr::call("not", vec![expr], Type::Boolean);
    }
    let case = Case { exprs: vec![expr], inputs: Vec::new() };
    assert!(case.to_bytes().unwrap_err().message().contains("levels"));
}
