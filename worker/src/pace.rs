//! Working in small steps: a busy worker hears nothing, so it must pause often.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessagePort};

/// Longest duration of a step in milliseconds. Two things may run side by side, and each takes its step before a
/// message is heard, so this is well below what a user notices.
const STEP_MS: f64 = 12.0;

/// Returns the worker's global scope.
pub fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Milliseconds of a clock that never goes back.
pub fn now_ms() -> f64 {
    scope().performance().map_or_else(js_sys::Date::now, |clock| clock.now())
}

/// The time of one step.
pub struct StepClock {
    until_ms: f64,
}

impl StepClock {
    /// Returns a step that begins now.
    pub fn begin() -> StepClock {
        StepClock { until_ms: now_ms() + STEP_MS }
    }

    /// Returns whether it is time to [yield](YieldPace::yield_now).
    pub fn is_over(&self) -> bool {
        now_ms() >= self.until_ms
    }
}

/// Yields to messages and to whatever else is under way. By a MessageChannel, because timers are held back to 4 ms.
pub struct YieldPace {
    port: MessagePort,
    waiting: Rc<RefCell<VecDeque<Waker>>>,
    _on_message: Closure<dyn FnMut()>,
}

impl YieldPace {
    /// Returns a pace of its own channel.
    ///
    /// # Errors
    /// The browser's, if it has no channel to give.
    pub fn new() -> Result<YieldPace, JsValue> {
        let channel = MessageChannel::new()?;
        let waiting: Rc<RefCell<VecDeque<Waker>>> = Rc::default();
        let woken = waiting.clone();
        let on_message = Closure::<dyn FnMut()>::new(move || {
            let next = woken.borrow_mut().pop_front();
            if let Some(waker) = next {
                waker.wake();
            }
        });
        channel.port1().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        Ok(YieldPace { port: channel.port2(), waiting, _on_message: on_message })
    }

    /// Lets the event loop turn once.
    pub async fn yield_now(&self) {
        let mut is_asked = false;
        poll_fn(|context| {
            if is_asked {
                return Poll::Ready(());
            }
            // Without a message nothing would wake this again.
            if self.port.post_message(&JsValue::NULL).is_err() {
                return Poll::Ready(());
            }
            is_asked = true;
            self.waiting.borrow_mut().push_back(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
