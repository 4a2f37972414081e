//! The tree of pools.

use crate::{
    ArbitrationPolicy, Participant, Reservation,
    arbiter::{Arbiter, Scarcity},
    format_bytes,
    reclaimable::Reclaimable,
};
use std::sync::{
    Arc, Mutex, OnceLock, PoisonError, Weak,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
use volley_error::{Error, ErrorKind, Result};

/// How many consumers an out-of-memory error lists.
const CONSUMERS_LISTED: usize = 5;

/// More than any machine has, and far enough from overflow.
const NO_LIMIT: usize = isize::MAX as usize;

/// The part of a limit that is headroom: memory is scarce once it is touched.
const HEADROOM_SHARE: usize = 8;

/// But at least (for larger limits) and at most this number of bytes.
const HEADROOM_MIN: usize = 16 << 20;
const HEADROOM_MAX: usize = 512 << 20;

/// The part of a limit that a batch may take, and at least and at most how much.
const BATCH_SHARE: usize = 64;
const BATCH_BYTES_MIN: usize = 1 << 20;
const BATCH_BYTES_MAX: usize = 16 << 20;

/// A node of the pool tree. Cheap to clone; clones are the same pool.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Node>);

#[derive(Debug)]
struct Node {
    name: String,
    /// Bytes reserved by this pool and everything below it.
    bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    /// Most bytes this pool may hold; [`NO_LIMIT`] when only the ancestors limit it.
    limit_bytes: AtomicUsize,
    parent: Option<Pool>,
    children: Mutex<Vec<Weak<Node>>>,
    /// Of a query's pool: whether the query was let begin.
    has_begun: AtomicBool,
    /// Of the pool without parent: the bytes that are reserved for later.
    promised_bytes: AtomicUsize,
    /// Of the pool without parent.
    arbiter: Arbiter,
    /// Of the pool without parent.
    refusals: Refusals,
    /// Of the pool without parent, if it has one.
    cache: OnceLock<Cache>,
}

/// The part of a limit that is reserved for queries that hold at most [`SMALL_QUERY_SHARE`] of it.
/// Otherwise others could hold all memory until their results are read, and small queries would
/// fail.
const RESERVE_SHARE: usize = 64;
const SMALL_QUERY_SHARE: usize = 128;

/// The part of a limit that each query that runs has a claim on, and the most of it.
const CLAIM_SHARE: usize = 8;
const CLAIM_MAX: usize = 64 << 20;

/// The cache of a pool without parent.
#[derive(Debug)]
struct Cache {
    /// What its bytes are reserved in.
    pool: Weak<Node>,
    memory: Weak<dyn Reclaimable>,
}

/// Which growth is refused, for tests. Without them, one look per growth.
#[derive(Debug, Default)]
struct Refusals {
    is_armed: AtomicBool,
    refused: AtomicU64,
    /// Since it is armed.
    growths: AtomicU64,
}

/// What a limit keeps for giving memory back.
fn headroom(limit: usize) -> usize {
    (limit / HEADROOM_SHARE).clamp(HEADROOM_MIN.min(limit / 2), HEADROOM_MAX)
}

impl Refusals {
    /// Counts a growth; whether it is refused.
    fn next(&self) -> bool {
        self.is_armed.load(Ordering::Acquire)
            && self.growths.fetch_add(1, Ordering::Relaxed) == self.refused.load(Ordering::Relaxed)
    }
}

/// What a pool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes held now.
    pub bytes: usize,
    /// The maximum number of bytes held at one time.
    pub peak_bytes: usize,
}

impl Pool {
    /// A pool without parent, such as the process's. `limit_bytes`: `None` for no limit.
    pub fn root(name: impl Into<String>, limit_bytes: Option<usize>) -> Pool {
        Pool::node(name.into(), limit_bytes, None)
    }

    /// A pool whose bytes count in this one, too.
    pub fn child(&self, name: impl Into<String>) -> Pool {
        let child = Pool::node(name.into(), None, Some(self.clone()));
        let mut children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|it| it.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        child
    }

    /// The pool of the cache of this pool's topmost one: what is reserved in it does not count as
    /// used, and `cache` releases it when another growth needs it. A topmost pool has one cache; a
    /// further one gets an ordinary pool.
    pub fn reclaimable_child(&self, name: impl Into<String>, cache: &Arc<dyn Reclaimable>) -> Pool {
        let pool = self.child(name);
        let cache = Cache { pool: Arc::downgrade(&pool.0), memory: Arc::downgrade(cache) };
        // A second one stays an ordinary child.
        let _ = self.root_pool().0.cache.set(cache);
        pool
    }

    /// What the cache holds of this pool, which has no parent.
    fn cache_bytes(&self) -> usize {
        let pool = self.0.cache.get().and_then(|it| it.pool.upgrade());
        pool.map_or(0, |it| it.bytes.load(Ordering::Relaxed))
    }

    /// Lets the cache of this pool, which has no parent, release bytes; whether it released any.
    fn reclaim_cache(&self, bytes: usize) -> bool {
        let memory = self.0.cache.get().and_then(|it| it.memory.upgrade());
        memory.is_some_and(|it| it.reclaim(bytes) > 0)
    }

    fn node(name: String, limit_bytes: Option<usize>, parent: Option<Pool>) -> Pool {
        Pool(Arc::new(Node {
            name,
            bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
            limit_bytes: AtomicUsize::new(limit_bytes.unwrap_or(NO_LIMIT)),
            parent,
            children: Mutex::new(Vec::new()),
            has_begun: AtomicBool::new(false),
            promised_bytes: AtomicUsize::new(0),
            arbiter: Arbiter::default(),
            refusals: Refusals::default(),
            cache: OnceLock::new(),
        }))
    }

    /// Changes the limit; what is held already stays.
    pub fn set_limit(&self, limit_bytes: Option<usize>) {
        self.0.limit_bytes.store(limit_bytes.unwrap_or(NO_LIMIT), Ordering::Relaxed);
    }

    /// The limit of the topmost pool; the greatest number without one.
    pub fn limit_bytes(&self) -> usize {
        self.root_pool().0.limit_bytes.load(Ordering::Relaxed)
    }

    /// The name given at creation.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Takes part in the arbitration of the memory that this pool, a query's, takes from; see
    /// [`Participant`].
    pub fn participate(&self) -> Participant {
        Participant::join(self)
    }

    /// Sets the policy that decides when the memory of this pool, which has no parent, is scarce.
    pub fn set_arbitration_policy(&self, policy: Arc<dyn ArbitrationPolicy>) {
        self.root_pool().arbiter().set_policy(policy);
    }

    /// The pool above all.
    pub(crate) fn root_pool(&self) -> &Pool {
        let mut pool = self;
        while let Some(parent) = &pool.0.parent {
            pool = parent;
        }
        pool
    }

    pub(crate) fn arbiter(&self) -> &Arbiter {
        &self.0.arbiter
    }

    /// Whether the query that the pool belongs to was let begin.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.0.has_begun.store(true, Ordering::Relaxed);
    }

    /// Distinguishes pools while they exist.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).expose_provenance()
    }

    /// What is held, and from where on it is too much.
    pub(crate) fn scarcity(&self) -> Scarcity {
        let limit = self.0.limit_bytes.load(Ordering::Relaxed);
        let threshold = limit.saturating_sub(headroom(limit));
        Scarcity {
            bytes: self.0.bytes.load(Ordering::Relaxed).saturating_sub(self.cache_bytes())
                + self.0.arbiter.uncharged_bytes(),
            threshold,
            claim: (threshold / CLAIM_SHARE).min(CLAIM_MAX),
        }
    }

    /// Whether reservations reach into the arbiter's headroom: structures that can work with less
    /// memory must not grow then.
    pub fn is_scarce(&self) -> bool {
        self.root_pool().scarcity().is_scarce()
    }

    /// What giving memory back, and all steps until then, may take together.
    pub fn headroom_bytes(&self) -> usize {
        headroom(self.root_pool().0.limit_bytes.load(Ordering::Relaxed))
    }

    /// About how many bytes a batch should take at most, and rows that wait to become one: those of
    /// wide rows have fewer rows.
    pub fn batch_bytes(&self) -> usize {
        (self.limit_bytes() / BATCH_SHARE).clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX)
    }

    /// How many bytes can be taken before memory is scarce.
    pub fn spare_bytes(&self) -> usize {
        let Scarcity { bytes, threshold, .. } = self.root_pool().scarcity();
        threshold.saturating_sub(bytes)
    }

    /// An empty reservation in this pool.
    pub fn reservation(&self) -> Reservation {
        Reservation::new(self.clone(), false)
    }

    /// An empty reservation of memory that is needed later: it limits and is limited as any other,
    /// but the process has not taken its bytes yet.
    pub fn reserve_ahead(&self) -> Reservation {
        Reservation::new(self.clone(), true)
    }

    /// Counts `more` bytes as promised and `less` no longer.
    pub(crate) fn count_promised(&self, more: usize, less: usize) {
        let promised = &self.root_pool().0.promised_bytes;
        promised.fetch_add(more, Ordering::Relaxed);
        promised.fetch_sub(less, Ordering::Relaxed);
    }

    /// The used bytes of this pool, which has no parent, without promised bytes.
    pub(crate) fn taken_bytes(&self) -> usize {
        let promised = self.0.promised_bytes.load(Ordering::Relaxed);
        self.0.bytes.load(Ordering::Relaxed).saturating_sub(promised)
    }

    /// What this pool holds, children included.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            bytes: self.0.bytes.load(Ordering::Relaxed),
            peak_bytes: self.0.peak_bytes.load(Ordering::Relaxed),
        }
    }

    /// Adds `bytes` here and in every ancestor, or nowhere.
    pub(crate) fn grow(&self, bytes: usize) -> Result<()> {
        let mut pool = self;
        // The bytes of a query, or of another child of the topmost pool, including these bytes.
        let mut below = 0;
        loop {
            if let Err(held) = pool.add_or_reclaim(bytes, below) {
                self.undo_until(pool, bytes);
                return Err(self.exhausted(pool, bytes, held));
            }
            match &pool.0.parent {
                Some(parent) => {
                    below = pool.0.bytes.load(Ordering::Relaxed);
                    pool = parent;
                }
                None if pool.0.refusals.next() => {
                    pool.shrink(bytes);
                    self.undo_until(pool, bytes);
                    return Err(self.exhausted(pool, bytes, pool.stats().bytes));
                }
                None => return Ok(()),
            }
        }
    }

    /// For tests: refuses the growth number `growth` of all pools below this one, which has no
    /// parent, counted from this call, 0; later ones are granted.
    pub fn refuse_growth(&self, growth: u64) {
        let refusals = &self.0.refusals;
        refusals.growths.store(0, Ordering::Relaxed);
        refusals.refused.store(growth, Ordering::Relaxed);
        refusals.is_armed.store(true, Ordering::Release);
    }

    /// Growths since [`Pool::refuse_growth`].
    pub fn growths(&self) -> u64 {
        self.0.refusals.growths.load(Ordering::Relaxed)
    }

    /// Takes `bytes` from here and from every ancestor.
    pub(crate) fn shrink(&self, bytes: usize) {
        let mut pool = Some(self);
        while let Some(it) = pool {
            it.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
            pool = it.0.parent.as_ref();
        }
    }

    /// Adds to this pool only; returns the used bytes if that would exceed the limit. Refused bytes
    /// are never added: others would be refused because of them. `below` are the bytes of the child
    /// pool that receives them.
    fn add(&self, bytes: usize, below: usize) -> Result<(), usize> {
        let node = &*self.0;
        let limit = node.limit_bytes.load(Ordering::Relaxed);
        let is_large = node.parent.is_none() && below > limit / SMALL_QUERY_SHARE;
        let limit = if is_large { limit - limit / RESERVE_SHARE } else { limit };
        let within = |held: usize| held.checked_add(bytes).filter(|total| *total <= limit);
        let held = node.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within)?;
        node.peak_bytes.fetch_max(held + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// As [`Pool::add`]; the cache releases what is missing.
    fn add_or_reclaim(&self, bytes: usize, below: usize) -> Result<(), usize> {
        let Err(held) = self.add(bytes, below) else { return Ok(()) };
        let limit = self.0.limit_bytes.load(Ordering::Relaxed);
        // A share of the limit is kept for small queries, which the growth must leave as well.
        let missing = held.saturating_add(bytes).saturating_sub(limit - limit / RESERVE_SHARE);
        if self.0.parent.is_some() || missing > self.cache_bytes() || !self.reclaim_cache(missing) {
            return Err(held);
        }
        self.add(bytes, below)
    }

    fn undo_until(&self, end: &Pool, bytes: usize) {
        let mut pool = self;
        while !Arc::ptr_eq(&pool.0, &end.0) {
            pool.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
            match &pool.0.parent {
                Some(parent) => pool = parent,
                None => return,
            }
        }
    }

    fn exhausted(&self, full: &Pool, bytes: usize, held: usize) -> Error {
        let limit = full.0.limit_bytes.load(Ordering::Relaxed);
        let mut leaves = Vec::new();
        full.collect_leaves(&mut leaves);
        leaves.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let consumers: Vec<_> = leaves
            .iter()
            .take(CONSUMERS_LISTED)
            .map(|(name, bytes)| format!("{name} {}", format_bytes(*bytes)))
            .collect();
        let is_kept = held.checked_add(bytes).is_some_and(|it| it <= limit);
        let kept = if is_kept { ", the rest is kept for queries that hold little" } else { "" };
        Error::new(
            ErrorKind::OutOfMemory,
            format!(
                "memory limit exceeded: {} asks for {} more, {} of {} are in use{kept}",
                self.name(),
                format_bytes(bytes),
                format_bytes(held),
                format_bytes(limit)
            ),
        )
        .at("largest consumers", consumers.join(", "))
        .hint("raise the limit with SET memory_limit = '8GB' or --memory-limit 8GB")
    }

    fn collect_leaves(&self, leaves: &mut Vec<(String, usize)>) {
        let children: Vec<_> = {
            let children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
            children.iter().filter_map(Weak::upgrade).map(Pool).collect()
        };
        let below: usize = children.iter().map(|it| it.stats().bytes).sum();
        let own = self.stats().bytes.saturating_sub(below);
        if own > 0 {
            leaves.push((self.0.name.clone(), own));
        }
        for child in &children {
            child.collect_leaves(leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_growth_changes_nothing_and_names_the_consumers() {
        let root = Pool::root("process", Some(1 << 20));
        let (query, other) = (root.child("query 1"), root.child("query 2"));
        let mut held = other.child("hash join build").reservation();
        held.resize(768 << 10).unwrap();
        let mut more = query.child("order by").reservation();
        let error = more.resize(512 << 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.to_string().contains("hash join build"), "{error}");
        assert_eq!(query.stats().bytes, 0);
        assert_eq!(root.stats().bytes, 768 << 10);
        drop(held);
        more.resize(512 << 10).unwrap();
        assert_eq!(root.stats().peak_bytes, 768 << 10);
    }

    #[test]
    fn who_holds_little_gets_the_last_bytes() {
        let root = Pool::root("process", Some(64 << 20));
        let mut large = root.child("query 1").child("join").reservation();
        large.resize(63 << 20).unwrap();
        let error = large.grow(64 << 10).unwrap_err().to_string();
        assert!(error.contains("kept for queries that hold little"), "{error}");
        let mut small = root.child("query 2").child("join").reservation();
        small.resize(512 << 10).unwrap();
        assert!(small.grow(64 << 10).is_err());
        let mut other = root.child("query 3").reservation();
        other.resize(512 << 10).unwrap();
        let error = other.grow(64 << 10).unwrap_err().to_string();
        assert!(!error.contains("kept"), "{error}");
    }

    #[test]
    fn who_asks_for_too_much_does_not_stand_in_the_way_of_others() {
        let root = Pool::root("process", Some(4 << 20));
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut large = root.child("query 1").reservation();
                while !has_ended.load(Ordering::Relaxed) {
                    assert!(large.resize(8 << 20).is_err());
                }
            });
            let mut small = root.child("query 2").reservation();
            let refused = (0..100_000).find_map(|_| {
                let refused = small.resize(1 << 20).err();
                small.clear();
                refused
            });
            has_ended.store(true, Ordering::Relaxed);
            assert!(refused.is_none(), "{refused:?}");
        });
    }

    /// A cache that releases what it has.
    #[derive(Debug)]
    struct Releasing(Mutex<Option<Reservation>>);

    impl Reclaimable for Releasing {
        fn reclaim(&self, bytes: usize) -> usize {
            let mut held = self.0.lock().unwrap();
            let Some(held) = &mut *held else { return 0 };
            let released = bytes.min(held.bytes());
            held.shrink(released);
            released
        }
    }

    #[test]
    fn a_cache_makes_way_for_all_others() {
        let root = Pool::root("process", Some(64 << 20));
        let cache = Arc::new(Releasing(Mutex::new(None)));
        let as_reclaimable = Arc::clone(&cache) as Arc<dyn Reclaimable>;
        let pool = root.child("tables").reclaimable_child("cache", &as_reclaimable);
        let mut held = pool.reservation();
        held.resize(60 << 20).unwrap();
        *cache.0.lock().unwrap() = Some(held);
        assert!(!root.is_scarce() && root.spare_bytes() == 48 << 20);
        let mut query = root.child("query").reservation();
        query.resize(50 << 20).unwrap();
        assert!(root.is_scarce());
        assert!(pool.stats().bytes <= 14 << 20);
        assert!(query.resize(65 << 20).is_err());
        query.resize(62 << 20).unwrap();
        drop(query);
        *cache.0.lock().unwrap() = None;
        drop(cache);
        assert_eq!(root.stats().bytes, 0);
    }

    #[test]
    fn a_growth_is_refused_by_its_number() {
        let root = Pool::root("process", None);
        let child = root.child("query").child("operator");
        let mut held = child.reservation();
        held.resize(1 << 20).unwrap();
        root.refuse_growth(1);
        held.resize(2 << 20).unwrap();
        let error = held.resize(3 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert_eq!((root.stats().bytes, child.stats().bytes), (2 << 20, 2 << 20));
        held.resize(3 << 20).unwrap();
        assert_eq!(root.growths(), 3);
        drop(held);
        assert_eq!((root.stats().bytes, child.stats().bytes), (0, 0));
    }
}
