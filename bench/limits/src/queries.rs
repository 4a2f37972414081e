//! TPC-H 1 and 6 against loops over decoded columns in memory.
//!
//! Volley runs each query twice: on the Parquet file, and on a table in memory that has the columns
//! of the query as they came from the file, dictionaries included.

use crate::{
    Args,
    measure::Table,
    setup::{array, execute, number, numbers, session, tpch_file},
};
use volley::{Batch, Result, Session};

/// 1998-12-01 less 90 days, in days since 1970.
const Q1_LAST_DAY: i32 = 10471;

/// 1994-01-01 and 1995-01-01, in days since 1970.
const Q6_DAYS: std::ops::Range<i32> = 8766..9131;

/// Rows whose sums fit 64 bits, before they are added to wider ones.
const BLOCK: usize = 8192;

/// The columns of lineitem that the queries use, decimals in hundredths.
struct Lines {
    return_flag: Vec<u8>,
    status: Vec<u8>,
    quantity: Vec<i64>,
    price: Vec<i64>,
    discount: Vec<i64>,
    tax: Vec<i64>,
    ship_day: Vec<i32>,
}

const COLUMNS: &str = "l_returnflag, l_linestatus, l_quantity, l_extendedprice, l_discount, l_tax, \
                       l_shipdate";

/// Adds the lines.
pub fn run(args: &Args, table: &mut Table) -> Result<()> {
    let path = tpch_file(args, "lineitem")?;
    let on_file = session(1)?;
    on_file.register_files("lineitem", &path.to_string_lossy())?;
    let in_memory = session(1)?;
    let source = path.to_string_lossy().replace('\'', "''");
    execute(&in_memory, &format!("CREATE TABLE lineitem AS SELECT {COLUMNS} FROM '{source}'"))?;
    let lines = Lines::read(&on_file)?;
    for (session, place) in [(&on_file, "Parquet"), (&in_memory, "memory")] {
        let name = format!("TPC-H 1 from {place}");
        table.compare(&name, || answer_1(session), || lines.query_1())?;
    }
    for (session, place) in [(&on_file, "Parquet"), (&in_memory, "memory")] {
        let sql = volley_tpch::QUERIES[5];
        let name = format!("TPC-H 6 from {place}");
        table.compare(&name, || Ok(numbers(session, sql)?[0][0]), || lines.query_6())?;
    }
    Ok(())
}

/// Flag, status, four sums and the count by group, in the order of the groups.
type Groups = Vec<[i128; 7]>;

fn answer_1(session: &Session) -> Result<Groups> {
    let rows = session.sql(volley_tpch::QUERIES[0])?.collect_values()?;
    // Averages, which follow from sums and count, are in the columns between.
    Ok(rows.iter().map(|row| [0, 1, 2, 3, 4, 5, 9].map(|at| number(&row[at]))).collect())
}

/// The sums of a group within a block.
#[derive(Clone, Copy, Default)]
struct Sums {
    quantity: i64,
    price: i64,
    discounted: i64,
    charge: i64,
    rows: i64,
}

impl Lines {
    fn read(session: &Session) -> Result<Lines> {
        let batches: Vec<Batch> =
            session.sql(&format!("SELECT {COLUMNS} FROM lineitem"))?.collect()?;
        let byte = |column| array(&batches, column, |it, row| it.bytes(row)[0]);
        let decimal = |column| array(&batches, column, |it, row| it.native::<i64>()[it.index(row)]);
        Ok(Lines {
            return_flag: byte(0)?,
            status: byte(1)?,
            quantity: decimal(2)?,
            price: decimal(3)?,
            discount: decimal(4)?,
            tax: decimal(5)?,
            ship_day: array(&batches, 6, |it, row| it.native::<i32>()[it.index(row)])?,
        })
    }

    fn query_1(&self) -> Groups {
        // Flags are A, N and R, statuses F and O: four bits and one bit of each distinguish them.
        let group = |row: usize| {
            usize::from(self.return_flag[row] & 31) << 1 | usize::from(self.status[row] & 8 == 8)
        };
        let mut totals = [[0i128; 7]; 64];
        for start in (0..self.ship_day.len()).step_by(BLOCK) {
            let mut sums = [Sums::default(); 64];
            for row in start..self.ship_day.len().min(start + BLOCK) {
                if self.ship_day[row] > Q1_LAST_DAY {
                    continue;
                }
                let discounted = self.price[row] * (100 - self.discount[row]);
                let sums = &mut sums[group(row)];
                sums.quantity += self.quantity[row];
                sums.price += self.price[row];
                sums.discounted += discounted;
                sums.charge += discounted * (100 + self.tax[row]);
                sums.rows += 1;
            }
            for (total, it) in totals.iter_mut().zip(&sums) {
                let values = [it.quantity, it.price, it.discounted, it.charge, it.rows];
                total[2..].iter_mut().zip(values).for_each(|(sum, it)| *sum += i128::from(it));
            }
        }
        for row in 0..self.ship_day.len().min(BLOCK) {
            totals[group(row)][0] = self.return_flag[row].into();
            totals[group(row)][1] = self.status[row].into();
        }
        let mut groups: Groups = totals.into_iter().filter(|it| it[6] > 0).collect();
        groups.sort();
        groups
    }

    fn query_6(&self) -> i128 {
        let rows = self.ship_day.iter().zip(&self.discount).zip(&self.quantity).zip(&self.price);
        let revenue = rows.map(|(((day, discount), quantity), price)| {
            let wanted = Q6_DAYS.contains(day) & (5..=7).contains(discount) & (*quantity < 2400);
            price * discount * i64::from(wanted)
        });
        revenue.sum::<i64>().into()
    }
}
