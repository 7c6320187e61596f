//! A value handed over once, within one thread.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

enum State<T> {
    Waiting(Option<Waker>),
    Sent(T),
    /// Taken already, or the sender is gone.
    Over,
}

/// The giving end; dropping it unused tells the receiver so.
pub struct Sender<T>(Rc<RefCell<State<T>>>);

/// The taking end: a future of the value, `None` if the sender was dropped.
pub struct Receiver<T>(Rc<RefCell<State<T>>>);

/// A pair.
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let state = Rc::new(RefCell::new(State::Waiting(None)));
    (Sender(state.clone()), Receiver(state))
}

impl<T> Sender<T> {
    /// Hands the value over.
    pub fn send(self, value: T) {
        let before = self.0.replace(State::Sent(value));
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waker = match &mut *self.0.borrow_mut() {
            State::Waiting(waker) => waker.take(),
            _ => return,
        };
        self.0.replace(State::Over);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.borrow_mut();
        if let State::Waiting(waker) = &mut *state {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Over) {
            State::Sent(value) => Poll::Ready(Some(value)),
            _ => Poll::Ready(None),
        }
    }
}
