//! Makes `fuzz/corpus/spill`: a few random batches of each list of types.

use std::{fs, path::Path};
use volley_fuzz_targets::spill_types;
use volley_vector::{Batch, random::Generator};
use volley_wire::encode;

/// Rows of the batches.
const ROWS: [usize; 4] = [0, 1, 9, 40];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/spill");
    fs::create_dir_all(&folder)?;
    let mut random = Generator::new(1);
    for (index, types) in spill_types().iter().enumerate() {
        for rows in ROWS {
            let columns = types.iter().map(|it| random.vector(it, rows)).collect();
            let mut bytes = vec![u8::try_from(index)?];
            encode(&Batch::new(columns, rows).loaded()?, &mut bytes)?;
            fs::write(folder.join(format!("{index}_{rows}")), bytes)?;
        }
    }
    Ok(())
}
