use super::*;
use volley_error::ErrorKind;
use volley_types::{
    Field, Interval, Type, Value,
    custom::{IpAddress, Uuid, ZonedClock, ZonedTimestamp},
};
use volley_vector::{
    Batch, Vector,
    random::{Generator, Shape},
};

/// Types that Presto has, nested ones among them.
fn types() -> Vec<Type> {
    let row = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    vec![
        Type::Unknown,
        Type::Boolean,
        Type::TinyInt,
        Type::SmallInt,
        Type::Integer,
        Type::BigInt,
        Type::Real,
        Type::Double,
        Type::decimal(18, 2),
        Type::decimal(38, 10),
        Type::Varchar,
        Type::Varbinary,
        Type::Date,
        Type::array(Type::Varchar),
        Type::array(Type::array(Type::decimal(20, 0))),
        Type::map(Type::Varchar, Type::array(Type::Boolean)),
        row.clone(),
        Type::row([]),
        Type::array(row.clone()),
        Type::map(Type::BigInt, Type::row([Field::new("", row)])),
    ]
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    let byte = |it: &[u8]| u8::from_str_radix(std::str::from_utf8(it).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn texts(batch: &Batch) -> Vec<String> {
    // As texts: NaN is not equal to itself as a Rust number.
    batch.columns().iter().map(|it| format!("{:?}", it.to_values().unwrap())).collect()
}

/// The rows of all pages, column by column.
fn read(bytes: &[u8], types: &[Type], format: PrestoPageOptions) -> Vec<Batch> {
    PageReader::new(bytes, types, format).map(|it| it.unwrap()).collect()
}

/// The only page of `hex`, which Presto wrote, and the values of its columns.
fn check_recorded(hex: &str, types: &[Type], columns: &[&[Value]]) {
    let pages = read(&bytes(hex), types, PrestoPageOptions::default());
    assert_eq!(pages.len(), 1);
    for (column, values) in pages[0].columns().iter().zip(columns) {
        assert_eq!(column.to_values().unwrap(), *values);
    }
}

fn one_error(bytes: &[u8], types: &[Type]) -> ErrorKind {
    let pages: Vec<_> = PageReader::new(bytes, types, PrestoPageOptions::default()).collect();
    pages.into_iter().find_map(Result::err).expect("an error").kind()
}

const LONGS: &str = "020000000027000000270000000000000000000000010000000a0000004c4f4e475f4152524159\
                     0200000000e21a000000000000e671000000000000";

#[test]
fn recorded_pages_are_read() {
    check_recorded(LONGS, &[Type::BigInt], &[&[Value::BigInt(6882), Value::BigInt(29158)]]);
    check_recorded(
        "020000000054000000540000000000000000000000020000000e0000005641524941424c455f5749445448\
         02000000050000000a000000000a0000004348494e414a4150414e0a0000004c4f4e475f41525241590200\
         000000 05819583e5962641c2f5287c56292441",
        &[Type::Varchar, Type::Double],
        &[&[Value::text("CHINA"), Value::text("JAPAN")]],
    );
    check_recorded(
        "020000000059000000590000000000000000000000010000000a00000044494354494f4e41525902000000\
         0a0000004c4f4e475f4152524159020000000021000000000000002c000000000000000000000001000000\
         d548cd504efacfd2c39d47314318f684cc02000000000000",
        &[Type::BigInt],
        &[&[Value::BigInt(33), Value::BigInt(44)]],
    );
    check_recorded(
        "020000000041000000410000000000000000000000020000000a0000004c4f4e475f415252415902000000\
         000200000000000000030000000000000009000000494e545f4152524159020000000067260000ef210000",
        &[Type::BigInt, Type::Date],
        &[&[Value::BigInt(2), Value::BigInt(3)], &[Value::Date(9831), Value::Date(8687)]],
    );
}

#[test]
fn recorded_blocks_are_read() {
    let run = bytes("03000000524c45000100000a000000425954455f4152524159010000000001");
    let values = read_block(&run, &Type::Boolean).unwrap().to_values().unwrap();
    assert_eq!(values, vec![Value::Boolean(true); 256]);
    // The state of avg(double) in 0.296: sum and count.
    let rows = bytes(
        "03000000524f57020000000a0000004c4f4e475f4152524159030000000000000000604cf740000000005064\
         f7400000000070c306410a0000004c4f4e475f415252415903000000008f0e0000000000003f0e0000000000\
         008f1c000000000000030000000000000001000000020000000300000000",
    );
    let state = Type::row([Field::new("", Type::Double), Field::new("", Type::BigInt)]);
    let row = |sum, count| Value::Row(vec![Value::Double(sum), Value::BigInt(count)].into());
    let values = read_block(&rows, &state).unwrap().to_values().unwrap();
    assert_eq!(values, [row(95430.0, 3727), row(95813.0, 3647), row(186478.0, 7311)]);
}

/// A constant of a plan of Presto 0.296.
fn check_constant(hex: &str, data_type: &Type, expected: Value) {
    let values = read_block(&bytes(hex), data_type).unwrap().to_values().unwrap();
    assert_eq!(values, [expected], "{data_type}");
}

#[test]
fn recorded_constants_are_read() {
    let array = |values: &[Value]| Value::Array(values.into());
    check_constant(
        "05000000415252415909000000494e545f4152524159030000000140010000000300000001000000000000\
         000300000000",
        &Type::array(Type::Integer),
        array(&[Value::Integer(1), Value::Null, Value::Integer(3)]),
    );
    let entry = |key, value| (Value::text(key), value);
    check_constant(
        "030000004d41500e0000005641524941424c455f5749445448020000000100000002000000000200000061\
         620a0000004c4f4e475f41525241590200000001400f0000000000000004000000ffffffff000000000100\
         0000ffffffff0100000000000000020000000100",
        &Type::map(Type::Varchar, Type::decimal(2, 1)),
        Value::Map([entry("a", Value::Decimal(15)), entry("b", Value::Null)].into()),
    );
    let field = |it: Type| Field::new("", it);
    check_constant(
        "03000000524f570300000009000000494e545f41525241590100000000010000000e0000005641524941\
         424c455f5749445448010000000100000000010000007803000000524c45010000000a00000042595445\
         5f415252415901000000018001000000000000000100000000",
        &Type::row([field(Type::Integer), field(Type::Varchar), field(Type::Unknown)]),
        Value::Row([Value::Integer(1), Value::text("x"), Value::Null].into()),
    );
    let nested = "\
        0500000041525241590500000041525241590e0000005641524941424c455f5749445448010000000100\
        000000010000007802000000000000000100000001000000014001000000000000000200000000";
    let inner = array(&[Value::text("x")]);
    check_constant(nested, &Type::array(Type::array(Type::Varchar)), array(&[inner, Value::Null]));
    let of_rows = "\
        030000004d415009000000494e545f415252415901000000000100000003000000524f57020000000900\
        0000494e545f41525241590100000000020000000500000041525241590a000000425954455f41525241\
        59010000000001010000000000000001000000000100000000000000010000000002000000ffffffff00\
        0000000100000000000000010000000100";
    let row = Type::row([field(Type::Integer), field(Type::array(Type::Boolean))]);
    let value = Value::Row([Value::Integer(2), array(&[Value::Boolean(true)])].into());
    let entries = [(Value::Integer(1), value)];
    check_constant(of_rows, &Type::map(Type::Integer, row), Value::Map(entries.into()));
}

#[test]
fn recorded_scalar_constants_are_read() {
    let decimal = "0c000000494e543132385f41525241590100000000";
    let positive = Value::Decimal(12345678901234567890123456789012);
    let precise = Type::decimal(38, 2);
    check_constant(&format!("{decimal}143aa09016dd4359643c0ad39b000000"), &precise, positive);
    let negative = format!("{decimal}96000000000000000000000000000080");
    check_constant(&negative, &precise, Value::Decimal(-150));
    check_constant(
        "0b00000053484f52545f41525241590100000001000700",
        &Type::SmallInt,
        Value::SmallInt(7),
    );
    let real = "09000000494e545f415252415901000000000000c03f";
    check_constant(real, &Type::Real, Value::Real(1.5));
    check_constant(
        "03000000524c45010000000a0000004c4f4e475f4152524159010000000180",
        &Type::BigInt,
        Value::Null,
    );
    check_constant(
        "0a0000004c4f4e475f41525241590100000000fcb69f5e6f010000",
        &Type::Timestamp,
        Value::Timestamp(1_577_840_523_004_000),
    );
    check_constant(
        "0a0000004c4f4e475f41525241590100000000c8385e0500000000",
        &Type::Interval,
        Value::Interval(Interval::new(0, 1, 3_661_000_000_000)),
    );
}

#[test]
fn a_page_is_written_as_presto_writes_it() {
    let column = Vector::from_values(Type::BigInt, &[Value::BigInt(6882), Value::BigInt(29158)]);
    let mut out = Vec::new();
    write_page(&Batch::new(vec![column], 2), &PrestoPageOptions::default(), &mut out).unwrap();
    assert_eq!(out, bytes(LONGS));
}

#[test]
fn all_encodings_nulls_and_lengths_come_back() {
    for seed in 0..40 {
        let mut random = Generator::new(seed).with_null_ratio([0.0, 0.2, 1.0][seed as usize % 3]);
        for rows in [0, 1, 3, 9, 100] {
            let batch = random.batch(&types(), rows);
            let format = PrestoPageOptions {
                compression: PageCompression::ALL[seed as usize % 6],
                has_checksum: seed % 2 == 0,
                ..PrestoPageOptions::default()
            };
            let mut out = Vec::new();
            write_page(&batch, &format, &mut out).unwrap();
            write_page(&batch, &format, &mut out).unwrap();
            let pages = read(&out, &types(), format);
            assert_eq!(pages.len(), 2);
            for page in pages {
                page.validate().unwrap();
                assert_eq!(page.rows(), rows);
                assert_eq!(texts(&page), texts(&batch), "seed {seed}, {rows} rows");
            }
        }
    }
}

#[test]
fn copied_buffers_equal_written_values() {
    let mut random = Generator::new(7).with_null_ratio(0.0);
    for data_type in [Type::SmallInt, Type::Integer, Type::Real, Type::BigInt, Type::Double] {
        let flat = random.encoded(Shape::Flat, &data_type, 1024).flatten().unwrap();
        let codes: Vec<u32> = (0..1024).collect();
        let indirect = Vector::dictionary(codes.into(), flat.clone().into(), None);
        let (mut fast, mut plain) = (Vec::new(), Vec::new());
        write_block(&flat, &mut fast).unwrap();
        write_block(&indirect, &mut plain).unwrap();
        assert_eq!(fast, plain, "{data_type}");
    }
}

#[test]
fn constants_are_runs_of_one_block() {
    let mut out = Vec::new();
    let column = Vector::constant(Type::Varchar, &Value::text("a"), 1_000_000);
    write_block(&column, &mut out).unwrap();
    assert!(out.len() < 60, "{} bytes", out.len());
    let back = read_block(&out, &Type::Varchar).unwrap();
    assert!(back.is_constant());
    assert_eq!(back.len(), 1_000_000);
}

#[test]
fn nulls_are_bits_from_the_highest() {
    let values: Vec<Value> =
        (0..10).map(|it| if it % 3 == 0 { Value::Null } else { Value::TinyInt(it) }).collect();
    let mut out = Vec::new();
    write_block(&Vector::from_values(Type::TinyInt, &values), &mut out).unwrap();
    let expected = [
        &b"\x0a\0\0\0BYTE_ARRAY\x0a\0\0\0\x01"[..],
        &[0b1001_0010, 0b0100_0000],
        &[1, 2, 4, 5, 7, 8],
    ];
    assert_eq!(out, expected.concat());
}

#[test]
fn long_decimals_are_sign_and_magnitude() {
    let limit = 10i128.pow(38) - 1;
    let data_type = Type::decimal(38, 0);
    let values = [0, 1, -1, limit, -limit].map(Value::Decimal);
    let column = Vector::from_values(data_type.clone(), &values);
    let mut out = Vec::new();
    write_block(&column, &mut out).unwrap();
    let stored = &out[out.len() - 80..];
    assert_eq!(stored[16..48], [&[1][..], &[0; 15], &[1], &[0; 14], &[0x80]].concat());
    assert_eq!(read_block(&out, &data_type).unwrap().to_values().unwrap(), values);
}

#[test]
fn times_have_milliseconds() {
    let column = Vector::from_values(Type::Timestamp, &[Value::Timestamp(-1), Value::Null]);
    let mut out = Vec::new();
    write_block(&column, &mut out).unwrap();
    assert_eq!(out[out.len() - 8..], (-1i64).to_le_bytes());
    let back = read_block(&out, &Type::Timestamp).unwrap().to_values().unwrap();
    assert_eq!(back, [Value::Timestamp(-1000), Value::Null]);
    let end = out.len();
    out[end - 8..].copy_from_slice(&i64::MAX.to_le_bytes());
    assert_eq!(read_block(&out, &Type::Timestamp).unwrap_err().kind(), ErrorKind::InvalidValue);
}

#[test]
fn intervals_are_milliseconds_or_months() {
    let read = |block: &[u8]| read_block(block, &Type::Interval).unwrap().to_values().unwrap();
    let numbers = |data_type, value| {
        let mut out = Vec::new();
        write_block(&Vector::from_values(data_type, &[value, Value::Null]), &mut out).unwrap();
        read(&out)
    };
    let interval = |months, days, nanos| Value::Interval(Interval::new(months, days, nanos));
    let of_ms = numbers(Type::BigInt, Value::BigInt(-86_400_001));
    assert_eq!(of_ms, [interval(0, -1, -1_000_000), Value::Null]);
    assert_eq!(numbers(Type::Integer, Value::Integer(14)), [interval(14, 0, 0), Value::Null]);
    // Between workers of this engine.
    let both = interval(-3, 7, i64::MIN);
    assert_eq!(numbers(Type::Interval, both.clone()), [both, Value::Null]);
}

#[test]
fn custom_types_have_prestos_bytes() {
    let check = |data_type: Type, text: &str, stored: &[u8]| {
        let Type::Custom(custom) = &data_type else { panic!("no custom type") };
        let value = custom.parse(text).unwrap();
        let mut out = Vec::new();
        let values = [Value::Null, value];
        write_block(&Vector::from_values(data_type.clone(), &values), &mut out).unwrap();
        assert!(out.ends_with(stored), "{text}: {out:x?}");
        assert_eq!(read_block(&out, &data_type).unwrap().to_values().unwrap(), values);
    };
    check(
        Uuid::data_type(),
        "12151fd2-7586-11e9-8f9e-2a86e4085a59",
        &[
            0xe9, 0x11, 0x86, 0x75, 0xd2, 0x1f, 0x15, 0x12, 0x59, 0x5a, 0x08, 0xe4, 0x86, 0x2a,
            0x9e, 0x8f,
        ],
    );
    let mut address = [0; 16];
    address[10..].copy_from_slice(&[0xff, 0xff, 10, 1, 2, 3]);
    check(IpAddress::data_type(), "10.1.2.3", &address);
    let zoned = ((5_025_000i64 << 12) | 1825).to_le_bytes();
    check(ZonedTimestamp::data_type(), "1969-12-31 17:23:45 America/Los_Angeles", &zoned);
    let clock = ((36_000_000i64 << 12) | 960).to_le_bytes();
    check(ZonedClock::data_type(), "12:00:00 +02:00", &clock);
}

#[test]
fn changed_and_cut_pages_are_errors_or_pages() {
    let mut random = Generator::new(3);
    let types = types();
    let format = PrestoPageOptions { has_checksum: true, ..PrestoPageOptions::default() };
    let mut page = Vec::new();
    write_page(&random.batch(&types, 5), &format, &mut page).unwrap();
    for len in 1..page.len() {
        assert_eq!(one_error(&page[..len], &types), ErrorKind::Corruption, "cut at {len}");
    }
    for bit in 0..page.len() * 8 {
        let mut changed = page.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // Where the bit is that of the checksum's marker, the page is right without it.
        let is_marker = bit == 4 * 8 + 2;
        let found: Vec<_> = PageReader::new(&changed, &types, format).collect();
        assert_eq!(found[0].is_ok(), is_marker, "bit {bit}");
    }
    page[4] = 0;
    for bit in 21 * 8..page.len() * 8 {
        let mut changed = page.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        for batch in PageReader::new(&changed, &types, PrestoPageOptions::default()).flatten() {
            batch.validate().unwrap();
        }
    }
}

#[test]
fn stated_sizes_are_not_believed() {
    let huge = i32::MAX.to_le_bytes();
    let page = |markers: u8, payload: &[u8], uncompressed: [u8; 4]| {
        let size = (payload.len() as i32).to_le_bytes();
        [&[1, 0, 0, 0, markers], &uncompressed[..], &size, &[0; 8], payload].concat()
    };
    assert_eq!(one_error(&page(0, &[0; 8], huge), &[Type::BigInt]), ErrorKind::Corruption);
    for compression in PageCompression::ALL {
        let format = PrestoPageOptions { compression, ..PrestoPageOptions::default() };
        let bytes = page(1, &[0; 40], huge);
        assert!(PageReader::new(&bytes, &[Type::BigInt], format).next().unwrap().is_err());
    }
    for kind in ["BYTE_ARRAY", "LONG_ARRAY", "VARIABLE_WIDTH", "ARRAY", "DICTIONARY", "RLE"] {
        let name = (kind.len() as i32).to_le_bytes();
        let block = [&name, kind.as_bytes(), &huge[..], &[1; 20]].concat();
        for data_type in types() {
            assert!(read_block(&block, &data_type).is_err());
        }
    }
}

#[test]
fn blocks_do_not_nest_without_end() {
    let run: &[u8] = b"\x03\0\0\0RLE\x01\0\0\0";
    let error = read_block(&run.repeat(1_000_000), &Type::BigInt).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
}

#[test]
fn what_presto_lacks_is_unsupported() {
    let column = Vector::from_values(Type::HugeInt, &[]);
    let error = write_block(&column, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("HUGEINT"), "{error}");
    let mut page = bytes(LONGS);
    page[4] = 2;
    assert_eq!(one_error(&page, &[Type::BigInt]), ErrorKind::Unsupported);
}

#[test]
fn another_type_is_named() {
    let pages: Vec<_> =
        PageReader::new(&bytes(LONGS), &[Type::Varchar], PrestoPageOptions::default())
            .map(Result::err)
            .collect();
    let message = pages[0].as_ref().unwrap().to_string();
    assert!(message.contains("LONG_ARRAY") && message.contains("VARCHAR"), "{message}");
}
