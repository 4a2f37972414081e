//! T-digest: a sketch of the distribution of doubles that is finest at its ends (Dunning, Ertl:
//! "Computing extremely accurate quantiles using t-digests", 2019; merging digests, scale k1).
//!
//! ```text
//! byte 0   1, the version     1   0, of doubles
//! 2..42    min, max, sum, compression, total weight: doubles
//! 42..46   the number of centroids, a 32-bit integer
//! then     the weights of the centroids, and then their means: doubles
//! ```
//!
//! All numbers are little-endian; of an empty digest min is infinity, and max minus infinity. The
//! layout is that of Presto's TDIGEST.

use std::f64::consts::PI;
use volley_functions::kll::take;
use volley_functions::value_aggregate::SqlOrder;

/// The compression where nothing else is asked for.
pub const DEFAULT_COMPRESSION: f64 = 100.0;

/// The most centroids that bytes may hold.
const CENTROIDS_MAX: usize = 1 << 20;

/// A mean and how many values it represents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centroid {
    /// The mean.
    pub mean: f64,
    /// The weight, above 0.
    pub weight: f64,
}

/// A digest.
#[derive(Clone, Debug)]
pub struct TDigest {
    compression: f64,
    min: f64,
    max: f64,
    sum: f64,
    total: f64,
    /// Sorted ones, and after them new ones.
    centroids: Vec<Centroid>,
    sorted: usize,
}

impl TDigest {
    /// An empty digest. The compression is brought into the range from 10 to 1000.
    pub fn new(compression: f64) -> TDigest {
        TDigest {
            compression: compression.clamp(10.0, 1000.0),
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
            total: 0.0,
            centroids: Vec::new(),
            sorted: 0,
        }
    }

    /// The digest of parts that were told apart; `None` when they do not fit together.
    pub fn from_parts(compression: f64, stats: [f64; 3], parts: Vec<Centroid>) -> Option<TDigest> {
        let [min, max, sum] = stats;
        let is_valid = |it: &Centroid| it.mean.is_finite() && it.weight > 0.0;
        let is_sorted = parts.is_sorted_by(|left, right| left.mean <= right.mean);
        let total: f64 = parts.iter().map(|it| it.weight).sum();
        let in_range = match (parts.first(), parts.last()) {
            (Some(first), Some(last)) => min <= first.mean && last.mean <= max,
            _ => true,
        };
        let is_finite = total.is_finite() && !sum.is_nan() && compression.is_finite();
        if !parts.iter().all(is_valid) || !is_sorted || !in_range || !is_finite {
            return None;
        }
        let mut digest = TDigest::new(compression);
        if !parts.is_empty() {
            (digest.min, digest.max, digest.sum) = (min, max, sum);
        }
        (digest.total, digest.sorted, digest.centroids) = (total, parts.len(), parts);
        Some(digest)
    }

    /// Adds a finite value of a weight above 0.
    pub fn add(&mut self, value: f64, weight: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value * weight;
        self.push(Centroid { mean: value, weight });
    }

    /// Adds what another digest holds.
    pub fn merge(&mut self, other: &TDigest) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        other.centroids.iter().for_each(|it| self.push(*it));
    }

    fn push(&mut self, centroid: Centroid) {
        self.total += centroid.weight;
        if self.centroids.is_empty() {
            self.centroids.reserve_exact(1);
        }
        self.centroids.push(centroid);
        let room = 5.0 * self.compression;
        if (self.centroids.len() - self.sorted) as f64 > room {
            self.compress();
        }
    }

    /// Sorts the centroids and joins neighbors as far as the scale allows.
    pub fn compress(&mut self) {
        if self.sorted == self.centroids.len() {
            return;
        }
        let mut all = std::mem::take(&mut self.centroids);
        all.sort_by(|left, right| left.mean.sql_cmp(&right.mean));
        let mut before = 0.0;
        let mut limit = self.limit_from(0.0);
        for next in all {
            let Some(last) = self.centroids.last_mut() else {
                self.centroids.push(next);
                continue;
            };
            let weight = last.weight + next.weight;
            if before + weight <= limit {
                let mean = last.mean + (next.mean - last.mean) * next.weight / weight;
                *last = Centroid { mean, weight };
                continue;
            }
            before += last.weight;
            self.centroids.push(next);
            limit = self.limit_from(before / self.total);
        }
        self.sorted = self.centroids.len();
    }

    /// The weight up to which a centroid may reach that begins at a fraction of the total.
    fn limit_from(&self, fraction: f64) -> f64 {
        // Twice the scale of the paper, as its authors' code has it: at most about as many
        // centroids as the compression says.
        let scale = self.compression / PI;
        let position = scale * (2.0 * fraction.min(1.0) - 1.0).asin() + 1.0;
        let angle = position / scale;
        let end = if angle >= PI / 2.0 { 1.0 } else { (angle.sin() + 1.0) / 2.0 };
        end * self.total
    }

    /// The digest with all centroids sorted.
    pub fn compressed(&self) -> TDigest {
        let mut digest = self.clone();
        digest.compress();
        digest
    }

    /// The sum of the weights.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Compression, min, max and sum.
    pub fn statistics(&self) -> [f64; 4] {
        [self.compression, self.min, self.max, self.sum]
    }

    /// The centroids, sorted when the digest is [compressed](TDigest::compressed).
    pub fn centroids(&self) -> &[Centroid] {
        &self.centroids
    }

    /// Multiplies all weights with a factor above 0.
    pub fn scale(&mut self, factor: f64) {
        self.centroids.iter_mut().for_each(|it| it.weight *= factor);
        self.total *= factor;
        self.sum *= factor;
    }

    /// Points of the cumulative distribution of a compressed digest, by weight: the least value at
    /// 0, each centroid at its middle, the greatest value at the total.
    fn points(&self) -> Vec<(f64, f64)> {
        let mut points = vec![(0.0, self.min)];
        let mut before = 0.0;
        for centroid in &self.centroids {
            // A value that is taken literally does so from its beginning to its end.
            if centroid.weight <= 1.0 {
                points.push((before, centroid.mean));
                points.push((before + centroid.weight, centroid.mean));
            } else {
                points.push((before + centroid.weight / 2.0, centroid.mean));
            }
            before += centroid.weight;
        }
        points.push((before, self.max));
        points
    }

    /// The value at a fraction of the total weight, from 0 to 1; `None` of an empty digest.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        if self.centroids.is_empty() {
            return None;
        }
        let wanted = fraction * self.total;
        let points = self.points();
        let at = points.partition_point(|it| it.0 < wanted);
        let Some(right) = points.get(at) else { return Some(self.max) };
        let Some(left) = at.checked_sub(1).and_then(|it| points.get(it)) else {
            return Some(self.min);
        };
        let share = (wanted - left.0) / (right.0 - left.0);
        Some(left.1 + (right.1 - left.1) * share)
    }

    /// The fraction of the total weight at or below a value; `None` of an empty digest.
    pub fn rank(&self, value: f64) -> Option<f64> {
        if self.centroids.is_empty() {
            return None;
        }
        if value < self.min {
            return Some(0.0);
        }
        if value >= self.max {
            return Some(1.0);
        }
        let points = self.points();
        let at = points.partition_point(|it| it.1 <= value);
        let (left, right) = (points.get(at.checked_sub(1)?)?, points.get(at)?);
        let share = (value - left.1) / (right.1 - left.1);
        Some((left.0 + (right.0 - left.0) * share) / self.total)
    }

    /// The weight of the centroids between two fractions of the total, and the sum of what they
    /// represent.
    fn between(&self, low: f64, high: f64) -> (f64, f64) {
        let (low, high) = (low * self.total, high * self.total);
        let (mut before, mut weight, mut sum) = (0.0, 0.0, 0.0);
        for centroid in &self.centroids {
            let end = before + centroid.weight;
            let inside = (end.min(high) - f64::max(before, low)).max(0.0);
            weight += inside;
            sum += inside * centroid.mean;
            before = end;
        }
        (weight, sum)
    }

    /// The mean of the values between two fractions; `None` when there are none.
    pub fn trimmed_mean(&self, low: f64, high: f64) -> Option<f64> {
        let (weight, sum) = self.between(low, high);
        (weight > 0.0).then(|| sum / weight)
    }

    /// The mean of the values, those outside of two fractions replaced by the values there.
    pub fn winsorized_mean(&self, low: f64, high: f64) -> Option<f64> {
        let (least, greatest) = (self.quantile(low)?, self.quantile(high)?);
        let (_, sum) = self.between(low, high);
        let tails = least * low * self.total + greatest * (1.0 - high) * self.total;
        Some((sum + tails) / self.total)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.centroids.capacity() * size_of::<Centroid>()
    }

    /// The digest as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let digest = self.compressed();
        let mut bytes = vec![1, 0];
        let TDigest { min, max, sum, compression, total, centroids, .. } = digest;
        for number in [min, max, sum, compression, total] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((centroids.len() as i32).to_le_bytes());
        centroids.iter().for_each(|it| bytes.extend(it.weight.to_le_bytes()));
        centroids.iter().for_each(|it| bytes.extend(it.mean.to_le_bytes()));
        bytes
    }

    /// The digest that bytes are; `None` when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<TDigest> {
        let mut rest = bytes;
        let [1, 0] = take(&mut rest)? else { return None };
        let mut stats = [0.0; 5];
        for number in &mut stats {
            *number = f64::from_le_bytes(take(&mut rest)?);
        }
        let [min, max, sum, compression, _] = stats;
        let count = usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?;
        if count > CENTROIDS_MAX || rest.len() != count * 16 {
            return None;
        }
        let (weights, means) = rest.split_at(count * 8);
        let numbers = |it: &[u8]| {
            let chunks = it.chunks_exact(8).filter_map(|it| it.try_into().ok());
            chunks.map(f64::from_le_bytes).collect::<Vec<f64>>()
        };
        let pairs = numbers(means).into_iter().zip(numbers(weights));
        let centroids = pairs.map(|(mean, weight)| Centroid { mean, weight }).collect();
        TDigest::from_parts(compression, [min, max, sum], centroids)
    }
}
