//! Long work in small steps. It is written as one piece, an `async` function that says how much it does; whoever runs it
//! polls it once a step, so that a busy worker can hear between two of them, or to its end in one go.

use std::hint::black_box;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// Units of work in one step: a unit is a value looked at, read or sorted, well below a tenth of a microsecond natively.
pub const STEP: u64 = 200_000;

/// Items that one call of a loop over very many works on; few where tests run, so that they too have several blocks.
///
/// A browser runs new code slowly at first, and better code takes its place only when the function is called again: a loop
/// over a million spans in one call is slow to its end.
pub const BLOCK: usize = if cfg!(debug_assertions) { 8 } else { 1 << 12 };

/// Returns the numbers below `len` in blocks, for a loop whose body is a function that is never inlined.
pub fn blocks(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(BLOCK).map(move |from| from..len.min(from + BLOCK))
}

/// Calls `each` for one block of the numbers below `len` after the other.
#[inline(never)]
pub fn in_blocks(len: usize, each: &mut dyn FnMut(Range<usize>)) {
    // Else the compiler may write the code of `each` into this loop, where all blocks would be one long call.
    let each = black_box(each);
    blocks(len).for_each(each);
}

/// Progress of some work, for those who wait for it.
#[derive(Clone, Default)]
pub struct WorkCount(Arc<Counts>);

#[derive(Default)]
struct Counts {
    units: AtomicU64,
    longest: AtomicU64,
}

impl WorkCount {
    /// Returns the units spent so far.
    pub fn units(&self) -> u64 {
        self.0.units.load(Ordering::Relaxed)
    }

    /// Returns the most units between two pauses; [`STEP`] and what one piece of the work takes.
    pub fn longest(&self) -> u64 {
        self.0.longest.load(Ordering::Relaxed)
    }
}

/// Counts work and pauses it.
#[derive(Default)]
pub struct Pace {
    spent: u64,
    done: WorkCount,
}

impl Pace {
    /// Returns a pace that tells `done`.
    pub fn telling(done: &WorkCount) -> Pace {
        Pace { spent: 0, done: done.clone() }
    }

    /// Takes note of units of work; ends the step once there were enough.
    pub async fn spend(&mut self, units: usize) {
        self.spent += units as u64;
        if self.spent >= STEP {
            self.done.0.units.fetch_add(self.spent, Ordering::Relaxed);
            self.done.0.longest.fetch_max(self.spent, Ordering::Relaxed);
            self.spent = 0;
            Pause(false).await;
        }
    }
}

/// A future that is pending the first time it is polled, so that whoever runs the work gets a turn.
struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Work under way.
pub type SteppedJob<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Returns one step; what came of the work if it was the last.
pub fn step<T>(job: &mut SteppedJob<T>) -> Option<T> {
    match job.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Returns all steps at once. The work must wait for nothing but its [`Pace`].
pub fn all_at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        if let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_every_number_once_and_in_order() {
        for len in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let (mut all, mut longest) = (Vec::new(), 0);
            in_blocks(len, &mut |block| {
                longest = longest.max(block.len());
                all.extend(block);
            });
            assert!(all.into_iter().eq(0..len) && longest <= BLOCK, "{len}");
        }
    }

    async fn sum(to: u64, mut pace: Pace) -> u64 {
        let mut sum = 0;
        for value in 0..to {
            sum += value;
            pace.spend(STEP as usize / 10).await;
        }
        sum
    }

    #[test]
    fn work_pauses_once_it_has_spent_a_step_and_ends_with_its_result() {
        let done = WorkCount::default();
        let mut job: SteppedJob<u64> = Box::pin(sum(25, Pace::telling(&done)));
        assert_eq!((step(&mut job), done.units()), (None, STEP));
        assert_eq!((step(&mut job), done.units()), (None, 2 * STEP));
        assert_eq!(step(&mut job), Some(300));
        assert_eq!(all_at_once(sum(25, Pace::default())), 300);
    }
}
