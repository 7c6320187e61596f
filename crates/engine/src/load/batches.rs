//! Batches: what a reader gets at a time, so that all readers are busy until the end of a load.

/// Files up to this many bytes share batches.
const SMALL: u64 = 256 << 10;
/// Bytes of a batch, at least and at most.
const BATCH: (u64, u64) = (64 << 10, 4 << 20);
/// Files of a batch at most.
const BATCH_FILES: usize = 256;

/// Divides files of these sizes, in bytes, among readers that each take the next batch when they are free. Large files come
/// first, the largest of all in front and each alone, so that none is begun late; then the small ones, several a batch.
/// Returns the batches as lists of indices into `sizes`; every index stands in exactly one of them.
pub fn batches(sizes: &[u64], readers: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(sizes[index]), index));
    let first_small = order.partition_point(|&index| sizes[index] > SMALL);
    let (large, small) = order.split_at(first_small);
    let small_bytes: u64 = small.iter().map(|&index| sizes[index]).sum();
    let shares = readers.max(1) as u64 * 4;
    let bytes = (small_bytes / shares).clamp(BATCH.0, BATCH.1);
    let files = small.len().div_ceil(shares as usize).clamp(1, BATCH_FILES);
    let mut batches: Vec<Vec<usize>> = large.iter().map(|&index| vec![index]).collect();
    let mut batch: Vec<usize> = Vec::new();
    let mut batched = 0;
    for &index in small {
        if !batch.is_empty() && (batch.len() >= files || batched + sizes[index] > bytes) {
            batches.push(std::mem::take(&mut batch));
            batched = 0;
        }
        batch.push(index);
        batched += sizes[index];
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_one_batch_the_large_ones_first_and_alone() {
        let mut sizes = vec![10; 1000];
        sizes.extend([5 << 20, 1 << 20, 9 << 20]);
        let found = batches(&sizes, 2);
        assert_eq!(found[..3], [vec![1002], vec![1000], vec![1001]]);
        let mut all: Vec<usize> = found.concat();
        all.sort_unstable();
        assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
    }

    #[test]
    fn small_files_make_batches_enough_for_every_reader() {
        let found = batches(&vec![1000; 4000], 4);
        assert!(found.len() >= 16, "{} batches", found.len());
        assert!(found.iter().all(|batch| batch.len() <= BATCH_FILES));
        let found = batches(&vec![SMALL; 100], 1);
        assert!(found.iter().all(|batch| batch.len() as u64 * SMALL <= BATCH.1));
        assert_eq!(batches(&[1, 2], 8).len(), 2);
        assert!(batches(&[], 8).is_empty());
    }
}
