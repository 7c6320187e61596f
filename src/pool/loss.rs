//! What happens when a worker dies.

use super::call::no_worker;
use super::load::MOST_STILLBORN;
use super::query::COORDINATOR;
use super::{Pool, PoolEvent, State, UserError};

/// Workers that may die over one file before it is left out.
const MOST_STRIKES: u32 = 2;

impl Pool {
    /// The worker of a slot has died; what it held is to be read again, but not for ever.
    pub(crate) fn bereaved(&self, slot: usize, reason: &str, is_stillborn: bool) {
        let guilty: Vec<usize> = self
            .with_load(|load| {
                // It reads in the order of the calls.
                let first = load.flights.values().find(|flight| flight.slot == slot);
                let guilty = first.map(|flight| flight.files.clone());
                load.full.remove(&slot);
                guilty
            })
            .flatten()
            .unwrap_or_default();
        let mut errors = Vec::new();
        let mut name = String::new();
        let mut is_bereft = false;
        {
            let mut all = self.0.kept.borrow_mut();
            for (file, kept) in all.iter_mut().enumerate() {
                let is_guilty = guilty.contains(&file) && !is_stillborn;
                match kept.state {
                    State::Read(at) if at == slot => {
                        is_bereft = true;
                        if self.0.moved.get() {
                            self.0.must_rebuild.set(true);
                        }
                    }
                    State::Dealt(at) if at == slot => is_bereft = true,
                    _ => continue,
                }
                kept.state = State::Waiting;
                if is_guilty {
                    kept.strikes += 1;
                    name.clone_from(&kept.input.name);
                    if kept.strikes >= MOST_STRIKES {
                        kept.state = State::Dropped;
                        errors.push(UserError {
                            message: format!("Reading {name} ended a worker twice; it is left out."),
                            detail: reason.to_owned(),
                            next_step: "Please report it, with the file if you can share it.".to_owned(),
                        });
                    }
                }
            }
        }
        self.with_load(|load| load.errors.extend(errors));
        if guilty.len() > 1 {
            name = format!("one of {} files", guilty.len());
        }
        if is_bereft {
            self.begin_load();
        } else if slot == COORDINATOR && self.0.stillborn.get() < MOST_STILLBORN {
            self.warm(slot);
        }
        if !is_stillborn {
            self.emit(PoolEvent::WorkerLost { name, reason: reason.to_owned() });
        } else if self.0.stillborn.get() >= MOST_STILLBORN && !self.is_loading() {
            self.emit(PoolEvent::Failed(no_worker(reason)));
        }
    }
}
