//! Quantile digest: counts of integers in a binary tree over their bits (Shrivastava, Buragohain,
//! Agrawal, Suri: "Medians and beyond", 2004), as airlift has it.
//!
//! ```text
//! byte 0     0, the version
//! 1..17      accuracy, and the decay of counts, which is 0: doubles
//! 17..41     start of the decay, least and greatest number: 64-bit integers
//! 41..45     the number of nodes, a 32-bit integer
//! then       the nodes, children before their parent and left before right:
//!            level - 1 · 4 + 2 if there is a right child + 1 if there is a left one, one byte
//!            count, a double; number with the upper bit flipped, 64 bits
//! ```
//!
//! All numbers are little-endian. A node of level `n` stands for the numbers that share all but the
//! lower `n` bits. Doubles and reals are integers of the same order: [`DigestNumber`]. The same
//! numbers in the same order give the same bytes as in Presto.

use super::aggregate::Sketch;
use volley_error::Result;
use volley_functions::kll::take;
use volley_types::{Type, Value};

/// The accuracy where nothing else is asked for.
pub(super) const DEFAULT_ACCURACY: f64 = 0.01;

/// Counts below this are none.
const COUNT_MIN: f64 = 1e-5;

/// Bytes before the nodes, and of a node.
const HEADER_BYTES: usize = 45;
const NODE_BYTES: usize = 17;

const HAS_LEFT: u8 = 1;
const HAS_RIGHT: u8 = 2;

/// The bit that makes the order of signed numbers that of unsigned ones.
const SIGN: u64 = 1 << 63;

/// A digest.
#[derive(Clone, Debug)]
pub(super) struct QuantileDigest {
    accuracy: f64,
    total: f64,
    min: i64,
    max: i64,
    root: Option<u32>,
    nodes: Vec<Node>,
    /// Nodes that are not in use.
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node {
    count: f64,
    /// A number of the node, with the upper bit flipped.
    bits: u64,
    /// 0 for one number, 64 for all.
    level: u8,
    left: Option<u32>,
    right: Option<u32>,
}

impl Node {
    fn child(&mut self, is_right: bool) -> &mut Option<u32> {
        if is_right { &mut self.right } else { &mut self.left }
    }

    /// The bits in which numbers of the node differ.
    fn mask(&self) -> u64 {
        if self.level == 0 { 0 } else { u64::MAX >> (64 - self.level.min(64)) }
    }

    /// The greatest number that the node stands for.
    fn upper_bound(&self) -> i64 {
        ((self.bits | self.mask()) ^ SIGN) as i64
    }

    fn lower_bound(&self) -> i64 {
        ((self.bits & !self.mask()) ^ SIGN) as i64
    }
}

/// Whether numbers below a node of a level are right of its middle.
fn is_right(bits: u64, level: u8) -> bool {
    level > 0 && (bits >> (level.min(64) - 1)) & 1 == 1
}

fn in_same_subtree(left: u64, right: u64, level: u8) -> bool {
    level >= 64 || left >> level == right >> level
}

impl QuantileDigest {
    /// An empty digest of an accuracy between 0 and 1.
    pub(super) fn new(accuracy: f64) -> QuantileDigest {
        QuantileDigest {
            accuracy,
            total: 0.0,
            min: i64::MAX,
            max: i64::MIN,
            root: None,
            nodes: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a number of a weight above 0.
    pub(super) fn add(&mut self, number: i64, weight: f64) {
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        let before = self.total;
        self.insert(number as u64 ^ SIGN, weight);
        let nodes = self.compressed_nodes();
        let steps = |it: f64| it as i64 / nodes;
        if steps(before) != steps(self.total) {
            self.compress();
        }
    }

    /// About how many nodes a compressed tree has.
    fn compressed_nodes(&self) -> i64 {
        let Some(root) = self.root else { return 1 };
        let levels = f64::from(self.nodes[root as usize].level) + 1.0;
        i64::from((levels / self.accuracy) as i32).max(1)
    }

    fn insert(&mut self, bits: u64, weight: f64) {
        if weight < COUNT_MIN {
            return;
        }
        self.total += weight;
        // The node whose child `at` is, and whether it is the right one.
        let mut parent = None;
        let mut at = self.root;
        while let Some(index) = at {
            let node = &mut self.nodes[index as usize];
            if !in_same_subtree(bits, node.bits, node.level) {
                let leaf = self.create(bits, 0, weight);
                let inner = self.make_siblings(index, leaf);
                return self.set_child(parent, inner);
            }
            if node.level == 0 {
                node.count += weight;
                return;
            }
            let right = is_right(bits, node.level);
            parent = Some((index, right));
            at = *node.child(right);
        }
        let leaf = self.create(bits, 0, weight);
        self.set_child(parent, leaf);
    }

    fn set_child(&mut self, parent: Option<(u32, bool)>, child: u32) {
        match parent {
            None => self.root = Some(child),
            Some((index, right)) => *self.nodes[index as usize].child(right) = Some(child),
        }
    }

    /// A node above two that are in different subtrees.
    fn make_siblings(&mut self, one: u32, other: u32) -> u32 {
        let (bits, others) = (self.nodes[one as usize].bits, self.nodes[other as usize].bits);
        let level = 64 - (bits ^ others).leading_zeros() as u8;
        let inner = self.create(bits, level, 0.0);
        let right = is_right(bits, level);
        let node = &mut self.nodes[inner as usize];
        *node.child(right) = Some(one);
        *node.child(!right) = Some(other);
        inner
    }

    fn create(&mut self, bits: u64, level: u8, count: f64) -> u32 {
        let node = Node { count, bits, level, left: None, right: None };
        if let Some(index) = self.free.pop() {
            self.nodes[index as usize] = node;
            return index;
        }
        self.nodes.push(node);
        // A digest has fewer nodes than bytes address.
        (self.nodes.len() - 1) as u32
    }

    /// Moves small counts of children to their parents, and removes nodes without counts.
    fn compress(&mut self) {
        let bound = (self.total / self.compressed_nodes() as f64).floor();
        for index in self.in_order(Order::Forward) {
            let node = &self.nodes[index as usize];
            let children = [node.left, node.right];
            let count = |it: Option<u32>| it.map_or(0.0, |it| self.nodes[it as usize].count);
            let counts = children.map(count);
            let is_small = node.count + counts[0] + counts[1] < bound;
            for (right, (child, count)) in
                [false, true].into_iter().zip(children.into_iter().zip(counts))
            {
                if let Some(child) = child
                    && (is_small || count < COUNT_MIN)
                {
                    let kept = self.try_remove(child);
                    let node = &mut self.nodes[index as usize];
                    *node.child(right) = kept;
                    node.count += count;
                }
            }
        }
        if let Some(root) = self.root
            && self.nodes[root as usize].count < COUNT_MIN
        {
            self.root = self.try_remove(root);
        }
    }

    /// What takes the place of a node whose count is 0: nothing, its only child, or the node.
    fn try_remove(&mut self, index: u32) -> Option<u32> {
        let node = &mut self.nodes[index as usize];
        if node.left.is_some() && node.right.is_some() {
            node.count = 0.0;
            return Some(index);
        }
        let child = node.left.or(node.right);
        self.free.push(index);
        child
    }

    /// The nodes, children before their parent.
    fn in_order(&self, order: Order) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open: Vec<u32> = self.root.into_iter().collect();
        // Parents before children and the last ones first, then the other way round.
        while let Some(index) = open.pop() {
            found.push(index);
            let node = &self.nodes[index as usize];
            let children = match order {
                Order::Forward => [node.left, node.right],
                Order::Reverse => [node.right, node.left],
            };
            open.extend(children.into_iter().flatten());
        }
        found.reverse();
        found
    }

    /// Adds what another digest holds.
    pub(super) fn merge(&mut self, other: &QuantileDigest) {
        self.root = self.merged(self.root, other, other.root);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.total += other.total;
        self.compress();
    }

    /// The union of a tree and one of another digest. Levels fall with the depth, which bounds it.
    fn merged(
        &mut self,
        at: Option<u32>,
        other: &QuantileDigest,
        from: Option<u32>,
    ) -> Option<u32> {
        let Some(from) = from else { return at };
        let Some(at) = at else { return Some(self.copied(other, from)) };
        let theirs = &other.nodes[from as usize];
        let ours = self.nodes[at as usize].clone();
        if !in_same_subtree(ours.bits, theirs.bits, ours.level.max(theirs.level)) {
            let copied = self.copied(other, from);
            return Some(self.make_siblings(at, copied));
        }
        if ours.level > theirs.level {
            let right = is_right(theirs.bits, ours.level);
            let child = if right { ours.right } else { ours.left };
            let child = self.merged(child, other, Some(from));
            *self.nodes[at as usize].child(right) = child;
            return Some(at);
        }
        if ours.level < theirs.level {
            let right = is_right(ours.bits, theirs.level);
            let (into, beside) =
                if right { (theirs.right, theirs.left) } else { (theirs.left, theirs.right) };
            let into = self.merged(Some(at), other, into);
            let beside = beside.map(|it| self.copied(other, it));
            let inner = self.create(theirs.bits, theirs.level, theirs.count);
            let node = &mut self.nodes[inner as usize];
            *node.child(right) = into;
            *node.child(!right) = beside;
            return Some(inner);
        }
        let left = self.merged(ours.left, other, theirs.left);
        let right = self.merged(ours.right, other, theirs.right);
        let node = &mut self.nodes[at as usize];
        node.count += theirs.count;
        (node.left, node.right) = (left, right);
        Some(at)
    }

    fn copied(&mut self, other: &QuantileDigest, from: u32) -> u32 {
        let node = &other.nodes[from as usize];
        let copy = self.create(node.bits, node.level, node.count);
        let left = node.left.map(|it| self.copied(other, it));
        let right = node.right.map(|it| self.copied(other, it));
        let copied = &mut self.nodes[copy as usize];
        (copied.left, copied.right) = (left, right);
        copy
    }

    /// Multiplies all counts with a factor above 0.
    pub(super) fn scale(&mut self, factor: f64) {
        self.nodes.iter_mut().for_each(|it| it.count *= factor);
        self.total *= factor;
        self.compress();
    }

    /// The sum of the weights.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The numbers at fractions of the total weight, from 0 to 1; the greatest one of an empty
    /// digest.
    pub(super) fn quantiles(&self, fractions: &[f64]) -> Vec<i64> {
        let order = self.in_order(Order::Forward);
        let quantile = |fraction: &f64| {
            let mut sum = 0.0;
            let found = order.iter().map(|it| &self.nodes[*it as usize]).find(|node| {
                sum += node.count;
                sum > fraction * self.total
            });
            found.map_or(self.max, |node| node.upper_bound().min(self.max))
        };
        fractions.iter().map(quantile).collect()
    }

    /// The fraction of the weight below a number; `None` outside of the range.
    pub(super) fn rank(&self, number: i64) -> Option<f64> {
        let order = self.in_order(Order::Forward);
        let nodes = order.iter().map(|it| &self.nodes[*it as usize]);
        let least = nodes.clone().find(|it| it.count >= COUNT_MIN)?.lower_bound().max(self.min);
        let reverse = self.in_order(Order::Reverse);
        let mut last = reverse.iter().map(|it| &self.nodes[*it as usize]);
        let greatest = last.find(|it| it.count >= COUNT_MIN)?.upper_bound().min(self.max);
        if !(least..=greatest).contains(&number) {
            return None;
        }
        let below = nodes.take_while(|it| number > it.upper_bound()).map(|it| it.count);
        Some(below.sum::<f64>() / self.total)
    }

    fn push_node(&self, index: u32, bytes: &mut Vec<u8>) {
        let node = &self.nodes[index as usize];
        let left = if node.left.is_some() { HAS_LEFT } else { 0 };
        let right = if node.right.is_some() { HAS_RIGHT } else { 0 };
        bytes.push((node.level.saturating_sub(1) << 2) | left | right);
        bytes.extend(node.count.to_le_bytes());
        bytes.extend(node.bits.to_le_bytes());
    }

    /// The root of the nodes in bytes; `None` if they are no tree.
    fn read_nodes(&mut self, mut bytes: &[u8]) -> Option<()> {
        // Subtrees without a parent so far.
        let mut open: Vec<u32> = Vec::new();
        while !bytes.is_empty() {
            let [flags] = take(&mut bytes)?;
            let count = f64::from_le_bytes(take(&mut bytes)?);
            let bits = u64::from_le_bytes(take(&mut bytes)?);
            let (has_left, has_right) = (flags & HAS_LEFT != 0, flags & HAS_RIGHT != 0);
            let level = (flags >> 2) + u8::from(has_left || has_right);
            if !(count >= 0.0 && count.is_finite()) {
                return None;
            }
            let index = self.create(bits, level, count);
            let right = if has_right { Some(open.pop()?) } else { None };
            let left = if has_left { Some(open.pop()?) } else { None };
            for (child, side) in [(left, false), (right, true)] {
                let Some(child) = child.map(|it| &self.nodes[it as usize]) else { continue };
                let is_below = child.level < level && in_same_subtree(child.bits, bits, level);
                if !is_below || is_right(child.bits, level) != side {
                    return None;
                }
            }
            let node = &mut self.nodes[index as usize];
            (node.left, node.right) = (left, right);
            self.total += count;
            open.push(index);
        }
        self.root = open.pop();
        (open.is_empty() && self.total.is_finite()).then_some(())
    }
}

/// Which child is visited first.
#[derive(Clone, Copy)]
enum Order {
    Forward,
    Reverse,
}

impl Sketch for QuantileDigest {
    fn read(bytes: &[u8]) -> Option<QuantileDigest> {
        let mut rest = bytes;
        let [0] = take(&mut rest)? else { return None };
        let accuracy = f64::from_le_bytes(take(&mut rest)?);
        let decay = f64::from_le_bytes(take(&mut rest)?);
        let _start = i64::from_le_bytes(take(&mut rest)?);
        let min = i64::from_le_bytes(take(&mut rest)?);
        let max = i64::from_le_bytes(take(&mut rest)?);
        let count = usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?;
        let is_valid = accuracy > 0.0 && accuracy <= 1.0 && decay == 0.0;
        if !is_valid || rest.len() != count.checked_mul(NODE_BYTES)? {
            return None;
        }
        let mut digest = QuantileDigest { min, max, ..QuantileDigest::new(accuracy) };
        digest.nodes.reserve_exact(count);
        digest.read_nodes(rest)?;
        Some(digest)
    }

    fn write(&self) -> Vec<u8> {
        let mut digest = self.clone();
        digest.compress();
        let nodes = digest.in_order(Order::Forward);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + nodes.len() * NODE_BYTES);
        bytes.push(0);
        for number in [digest.accuracy, 0.0] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [0, digest.min, digest.max] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((nodes.len() as i32).to_le_bytes());
        nodes.into_iter().for_each(|it| digest.push_node(it, &mut bytes));
        bytes
    }

    fn absorb(&mut self, other: &QuantileDigest) -> Result<()> {
        self.merge(other);
        if self.total.is_finite() { Ok(()) } else { Err(crate::aggregate::weights_overflow()) }
    }

    fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.free.capacity() * size_of::<u32>()
    }
}

/// Numbers of a type of digests as integers of the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DigestNumber {
    BigInt,
    Real,
    Double,
}

impl DigestNumber {
    /// Of the element type of a digest.
    pub(super) fn of(element: &Type) -> DigestNumber {
        match element {
            Type::Real => DigestNumber::Real,
            Type::Double => DigestNumber::Double,
            _ => DigestNumber::BigInt,
        }
    }

    /// The integer of a value of the type; `None` of null.
    pub(super) fn encode(self, value: &Value) -> Option<i64> {
        Some(match (self, value) {
            (DigestNumber::Real, Value::Real(it)) => {
                let bits = if it.is_nan() { f32::NAN } else { *it }.to_bits() as i32;
                (bits ^ ((bits >> 31) & i32::MAX)).into()
            }
            (DigestNumber::Double, Value::Double(it)) => {
                let bits = if it.is_nan() { f64::NAN } else { *it }.to_bits() as i64;
                bits ^ ((bits >> 63) & i64::MAX)
            }
            (_, other) => i64::try_from(other.as_i128()?).ok()?,
        })
    }

    /// The value of an integer.
    pub(super) fn decode(self, number: i64) -> Value {
        match self {
            DigestNumber::BigInt => Value::BigInt(number),
            DigestNumber::Real => {
                let number = number as i32;
                Value::Real(f32::from_bits((number ^ ((number >> 31) & i32::MAX)) as u32))
            }
            DigestNumber::Double => {
                Value::Double(f64::from_bits((number ^ ((number >> 63) & i64::MAX)) as u64))
            }
        }
    }
}
