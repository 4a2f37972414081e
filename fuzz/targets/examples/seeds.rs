//! Makes `fuzz/corpus/spill`: a few random batches of each list of types.
//! Makes `fuzz/corpus/presto_page`: likewise, in each compression.
//! Makes `fuzz/corpus/native_page`: likewise, in both shapes of native pages.
//! Makes `fuzz/corpus/codec`: a random column of each type in every codec that can hold it.
//! Makes `fuzz/corpus/delta`: frozen changes of each list of types.
//! Makes `fuzz/corpus/log`, `manifest` and `zones`: those of a small database.
//! Makes `fuzz/corpus/plan`: the plans of `fuzz/corpus/sql` that are small and have nodes or
//! functions that no other has.

use std::{collections::HashSet, error::Error, fs, path::Path};
use volley_codec::{CodecId, Options};
use volley_fuzz_targets::{
    codec_types, delta_content, lowered, page_types, plan_content, spill_types,
};
use volley_storage::fuzzing;
use volley_vector::{Batch, random::Generator};
use volley_wire::{
    NativeFormat, PageFormat, encode,
    presto_page::{PageCompression, PrestoPageOptions, write_page},
};

/// Rows of the batches.
const ROWS: [usize; 4] = [0, 1, 9, 40];

/// Maximum bytes of a plan that is kept.
const PLAN_BYTES_MAX: usize = 2500;

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    batches(&corpus.join("spill"))?;
    presto_pages(&corpus.join("presto_page"))?;
    native_pages(&corpus.join("native_page"))?;
    columns(&corpus.join("codec"))?;
    databases(&corpus)?;
    plans(&corpus.join("sql"), &corpus.join("plan"))
}

fn batches(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
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

fn presto_pages(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut random = Generator::new(3);
    for (index, types) in page_types().iter().enumerate() {
        for (rows, number) in ROWS.into_iter().zip([0, 1, 2, 3]) {
            let mut bytes = vec![u8::try_from(index)?, number];
            let compression = PageCompression::ALL[usize::from(number)];
            let format = PrestoPageOptions { compression, ..PrestoPageOptions::default() };
            write_page(&random.batch(types, rows), &format, &mut bytes)?;
            fs::write(folder.join(format!("{index}_{rows}")), bytes)?;
        }
    }
    Ok(())
}

fn native_pages(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut random = Generator::new(4);
    for (index, types) in spill_types().iter().enumerate() {
        for rows in ROWS {
            for (format, name) in [(NativeFormat::Plain, "plain"), (NativeFormat::Packed, "packed")]
            {
                let mut bytes = vec![u8::try_from(index)?];
                format.writer(types)?.write(&random.batch(types, rows), &mut bytes)?;
                fs::write(folder.join(format!("{index}_{rows}_{name}")), bytes)?;
            }
        }
    }
    Ok(())
}

fn columns(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut random = Generator::new(2);
    for (index, data_type) in codec_types().iter().enumerate() {
        let mut known = HashSet::new();
        for codec in CodecId::ALL {
            let vector = random.vector(data_type, *random.clone().choose(&ROWS[1..]));
            let mut bytes = vec![u8::try_from(index)?];
            let options = Options { codec: Some(codec), ..Options::default() };
            bytes.extend(volley_codec::encode(&vector, options)?);
            // The byte after the type is the codec that holds the column.
            if known.insert(bytes.get(1).copied()) {
                fs::write(folder.join(format!("{index}_{}", codec.name())), bytes)?;
            }
        }
    }
    Ok(())
}

/// Parts of databases.
fn databases(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let mut deltas = Vec::new();
    for list in 0..spill_types().len() {
        for changes in [1, 12] {
            deltas.push(delta_content(list, changes)?);
        }
    }
    let parts = [
        ("delta", deltas),
        ("log", fuzzing::log_seeds()?),
        ("manifest", fuzzing::manifest_seeds()?),
        ("zones", fuzzing::zones_seeds()?),
    ];
    for (name, seeds) in parts {
        let folder = corpus.join(name);
        fs::create_dir_all(&folder)?;
        for (number, bytes) in seeds.iter().enumerate() {
            fs::write(folder.join(number.to_string()), bytes)?;
        }
    }
    Ok(())
}

/// The smallest plans first. A plan is kept if it has a word that no earlier one had.
fn plans(texts: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut plans = Vec::new();
    for file in fs::read_dir(texts)? {
        let text = fs::read_to_string(file?.path())?;
        for plan in lowered(&text).into_iter().flatten().flatten() {
            if let Ok(bytes) = plan_content(&plan) {
                plans.push((bytes, plan.to_string()));
            }
        }
    }
    plans.retain(|it| it.0.len() <= PLAN_BYTES_MAX);
    plans.sort_by(|left, right| (left.0.len(), &left.0).cmp(&(right.0.len(), &right.0)));
    fs::create_dir_all(folder)?;
    let mut seen = HashSet::new();
    for (bytes, text) in plans {
        let words = text.split(|it: char| !it.is_ascii_alphabetic()).map(str::to_owned);
        let known = seen.len();
        seen.extend(words);
        if seen.len() > known {
            fs::write(folder.join(seen.len().to_string()), bytes)?;
        }
    }
    Ok(())
}
