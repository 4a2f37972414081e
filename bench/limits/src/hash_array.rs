//! A hash table of 64-bit keys over two arrays: the table of a program that knows its keys.

/// Keys that are not 0, each with one value. Open addressing, linear probing, at most half full.
pub struct HashArray {
    /// 0 where nothing is.
    keys: Vec<u64>,
    values: Vec<u64>,
    shift: u32,
}

impl HashArray {
    /// A table for this maximum number of keys.
    pub fn with_capacity(keys: usize) -> HashArray {
        let slots = (keys * 2).next_power_of_two().max(2);
        HashArray { keys: vec![0; slots], values: vec![0; slots], shift: 64 - slots.ilog2() }
    }

    /// The value of a key, 0 at first.
    #[inline]
    pub fn entry(&mut self, key: u64) -> &mut u64 {
        let slot = self.slot(key);
        self.keys[slot] = key;
        &mut self.values[slot]
    }

    /// The value of a key that was added.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        let slot = self.slot(key);
        (self.keys[slot] == key).then(|| self.values[slot])
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.keys.iter().zip(&self.values).filter(|it| *it.0 != 0).map(|it| *it.1)
    }

    /// Where the key is or would be.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 divided by the golden ratio, odd
        let mut slot = (key.wrapping_mul(MULTIPLIER) >> self.shift) as usize;
        while self.keys[slot] != key && self.keys[slot] != 0 {
            slot = (slot + 1) & (self.keys.len() - 1);
        }
        slot
    }
}
