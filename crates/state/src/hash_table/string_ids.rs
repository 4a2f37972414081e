//! Small integers for the few distinct strings of a key.
//!
//! Ids are assigned in order of appearance. A dictionary's entries are looked up once, however many
//! batches share it; other strings pass a small cache by their views, so that a string that repeats
//! is neither hashed nor compared.

use hashbrown::HashTable;
use std::{
    hash::BuildHasher,
    sync::{Arc, Weak},
};
use volley_types::{Type, Value};
use volley_vector::{Buffer, Decoded, Encoding, Indices, StringValues, Values, Vector};

/// Dictionaries of more entries per row of a batch are not worth ids, except for this
const ENTRIES_PER_ROW: usize = 4;

/// number of entries.
const ENTRIES_FREE: usize = 1 << 12;

/// Longer strings get no ids, so that all of them take at most 2 MiB.
const STRING_BYTES_MAX: usize = 128;

/// Entries of the cache by view.
const CACHE_LEN: usize = 1 << 8;

/// An id that is not given.
const NO_ID: u32 = u32::MAX;

/// The ids of one key column.
#[derive(Debug)]
pub(super) struct StringIds {
    /// More distinct strings than this are not worth ids.
    strings_max: usize,
    strings: Vec<Box<[u8]>>,
    table: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    /// By a hash of the view: a view and its id.
    cache: Vec<(u128, u32)>,
    /// What the cached views of long strings point into.
    cache_buffers: Option<Arc<[Buffer]>>,
    /// The dictionary of the last batch, and the ids of its entries as far as they are known.
    dictionary: Weak<Vector>,
    dictionary_ids: Vec<u32>,
}

/// There are too many strings, or too long ones.
#[derive(Debug)]
pub(super) struct TooMany;

impl StringIds {
    pub(super) fn new(strings_max: usize) -> StringIds {
        StringIds {
            strings_max,
            strings: Vec::new(),
            table: HashTable::new(),
            hasher: foldhash::fast::FixedState::default(),
            cache: Vec::new(),
            cache_buffers: None,
            dictionary: Weak::new(),
            dictionary_ids: Vec::new(),
        }
    }

    /// The number of ids.
    pub(super) fn len(&self) -> usize {
        self.strings.len()
    }

    /// A column of ids for a column of strings, with the same nulls.
    pub(super) fn ids_of(&mut self, column: &Vector, decoded: &Decoded) -> Result<Vector, TooMany> {
        let Values::View(strings) = decoded.values() else {
            return Ok(Vector::nulls(Type::Integer, column.len()));
        };
        let nulls = decoded.nulls();
        if let (Encoding::Dictionary { codes, base }, None) = (column.encoding(), &nulls)
            && base.len() <= self.strings_max
            && base.len() <= (codes.len() * ENTRIES_PER_ROW).max(ENTRIES_FREE)
            && matches!(base.encoding(), Encoding::Flat(_))
        {
            let ids = self.ids_of_codes(codes, base, strings)?;
            return Ok(Vector::native::<i32>(Type::Integer, ids, None));
        }
        self.use_buffers(strings);
        if let (Indices::Constant(index), None) = (decoded.indices(), &nulls) {
            let id = self.id_of(strings, *index as usize)? as i32;
            return Ok(Vector::constant(Type::Integer, &Value::Integer(id), column.len()));
        }
        let mut ids = vec![0; column.len()];
        for (row, id) in ids.iter_mut().enumerate() {
            if nulls.as_ref().is_none_or(|it| it.is_valid(row)) {
                *id = self.id_of(strings, decoded.index(row))? as i32;
            }
        }
        Ok(Vector::native::<i32>(Type::Integer, ids, nulls))
    }

    fn ids_of_codes(
        &mut self,
        codes: &[u32],
        base: &Arc<Vector>,
        strings: &StringValues,
    ) -> Result<Vec<i32>, TooMany> {
        if !std::ptr::eq(self.dictionary.as_ptr(), Arc::as_ptr(base)) {
            self.dictionary = Arc::downgrade(base);
            self.dictionary_ids.clear();
            self.dictionary_ids.resize(base.len(), NO_ID);
        }
        let mut ids = Vec::with_capacity(codes.len());
        let mut all_known = true;
        for code in codes {
            let id = self.dictionary_ids[*code as usize];
            all_known &= id != NO_ID;
            ids.push(id as i32);
        }
        if all_known {
            return Ok(ids);
        }
        self.use_buffers(strings);
        for (code, id) in codes.iter().zip(&mut ids) {
            let code = *code as usize;
            if self.dictionary_ids[code] == NO_ID {
                self.dictionary_ids[code] = self.id_of(strings, code)?;
            }
            *id = self.dictionary_ids[code] as i32;
        }
        Ok(ids)
    }

    /// Empties the cache when views of long strings mean something else than before.
    fn use_buffers(&mut self, strings: &StringValues) {
        let is_same =
            self.cache_buffers.as_ref().is_some_and(|it| Arc::ptr_eq(it, &strings.buffers));
        if !is_same {
            self.cache.clear();
            self.cache.resize(CACHE_LEN, (u128::MAX, NO_ID));
            self.cache_buffers = Some(Arc::clone(&strings.buffers));
        }
    }

    #[inline]
    fn id_of(&mut self, strings: &StringValues, index: usize) -> Result<u32, TooMany> {
        let view = strings.views[index];
        let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 56) as usize % CACHE_LEN;
        let (cached, id) = self.cache[place];
        if cached == view {
            return Ok(id);
        }
        let id = self.find_or_add(strings.bytes(index))?;
        self.cache[place] = (view, id);
        Ok(id)
    }

    fn find_or_add(&mut self, bytes: &[u8]) -> Result<u32, TooMany> {
        let hash = self.hasher.hash_one(bytes);
        let strings = &self.strings;
        if let Some(id) = self.table.find(hash, |id| &*strings[*id as usize] == bytes) {
            return Ok(*id);
        }
        if self.strings.len() == self.strings_max || bytes.len() > STRING_BYTES_MAX {
            return Err(TooMany);
        }
        let id = self.strings.len() as u32;
        self.strings.push(bytes.into());
        let (strings, hasher) = (&self.strings, &self.hasher);
        self.table.insert_unique(hash, id, |id| hasher.hash_one(&*strings[*id as usize]));
        Ok(id)
    }
}
