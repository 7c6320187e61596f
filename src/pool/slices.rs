//! Large files in slices, so that all workers read them together.

use std::collections::BTreeMap;

use wasm_bindgen::JsValue;

use super::query::COORDINATOR;
use super::{Input, Kept, Part, Pool, State};
use crate::wire::{Call, Done};
use pathlight_ingest::{Ended, FileReport, SplitPoint, places_to_split};

impl Pool {
    /// Cuts the waiting files that would keep one worker busy while the others wait; their slices wait instead.
    pub(crate) async fn cut_large_files(&self) {
        let epoch = self.0.epoch.get();
        for file in self.large_files() {
            let (blob, places) = {
                let kept = &self.0.kept.borrow()[file];
                let least = self.0.limits.get().large_file / 2;
                (kept.input.blob.clone(), places_to_split(kept.bytes, self.workers(), least))
            };
            let answer = self.call(COORDINATOR, Call::Cut(places), &[JsValue::from(blob)]).await;
            if self.0.epoch.get() != epoch || self.is_cancelled() {
                return;
            }
            match answer {
                Ok((Done::SplitPoints(split_points), _)) if !split_points.is_empty() => {
                    self.cut(file, split_points)
                }
                _ => self.0.kept.borrow_mut()[file].is_uncut = true,
            }
        }
    }

    fn large_files(&self) -> Vec<usize> {
        let least = self.0.limits.get().large_file;
        let kept = self.0.kept.borrow();
        let mut waiting = self.waiting_files();
        let all: u64 = waiting.iter().map(|&file| kept[file].bytes).sum();
        let share = all / (self.workers() as u64 * 2);
        waiting.retain(|&file| {
            let kept = &kept[file];
            let is_whole = kept.part.is_none() && !kept.is_uncut && kept.cut.is_none() && kept.strikes == 0;
            is_whole && kept.bytes >= least && kept.bytes > share
        });
        if self.workers() > 1 { waiting } else { Vec::new() }
    }

    fn cut(&self, file: usize, split_points: Vec<SplitPoint>) {
        let mut all = self.0.kept.borrow_mut();
        if all[file].state != State::Waiting {
            return;
        }
        let (input, group, load) = (all[file].input.clone(), all[file].group, all[file].load);
        let is_unloaded = all[file].is_unloaded;
        let starts = std::iter::once(None).chain(split_points.iter().cloned().map(Some));
        let ends = split_points.iter().cloned().map(Some).chain([None]);
        let mut parts = Vec::new();
        for (from, until) in starts.zip(ends) {
            let start = from.as_ref().map_or(0.0, |point| point.at as f64);
            let end = until.as_ref().map_or(input.blob.size(), |point| point.at as f64);
            // The browser refuses only what is no number.
            let Ok(blob) = input.blob.slice_with_f64_and_f64(start, end) else { return };
            let mut kept = Kept::new(Input { name: input.name.clone(), blob }, group, load);
            kept.is_unloaded = is_unloaded;
            kept.part = Some(Part { file, from, until });
            parts.push(kept);
        }
        all[file].state = State::Cut;
        all.extend(parts);
        drop(all);
        self.with_load(|load| load.files.insert(file));
    }

    /// A file was cut where it cannot be: everything is read again, this file in one piece.
    pub(crate) fn uncut(&self, file: usize) {
        for kept in self.0.kept.borrow_mut().iter_mut() {
            if kept.part.as_ref().is_some_and(|part| part.file == file) {
                kept.state = State::Dropped;
                kept.report = None;
            }
        }
        let kept = &mut self.0.kept.borrow_mut()[file];
        kept.is_uncut = true;
        if kept.state == State::Cut {
            kept.state = State::Waiting;
            self.0.must_rebuild.set(true);
        }
    }

    /// Whether the slices of every file give the whole of it; a file for which they do not is to be read again.
    pub(crate) fn slices_agree(&self) -> bool {
        let wrong: Vec<usize> = {
            let kept = self.0.kept.borrow();
            let mut slices: BTreeMap<usize, Vec<&Kept>> = BTreeMap::new();
            for kept in kept.iter() {
                let Some(part) = &kept.part else { continue };
                slices.entry(part.file).or_default().push(kept);
            }
            slices.retain(|&file, slices| {
                let reports = slices.iter().map(|slice| slice.report.clone());
                kept[file].state == State::Cut
                    && slices.iter().all(|slice| matches!(slice.state, State::Read(_)) && slice.cut.is_none())
                    && reports.collect::<Option<Vec<_>>>().and_then(FileReport::of_chunks).is_none()
            });
            slices.into_keys().collect()
        };
        wrong.iter().for_each(|&file| self.uncut(file));
        wrong.is_empty()
    }

    /// The account of a file that was given; `None` of a slice, and of what was not read.
    pub(crate) fn report(&self, file: usize) -> Option<FileReport> {
        let all = self.0.kept.borrow();
        let kept = &all[file];
        if kept.state != State::Cut {
            return kept.report.clone().filter(|_| kept.part.is_none());
        }
        let slices = all.iter().filter(|kept| kept.part.as_ref().is_some_and(|part| part.file == file));
        let reports: Vec<Option<FileReport>> = slices.map(|slice| slice.report.clone()).collect();
        let is_whole = reports.iter().all(Option::is_some);
        let mut report = FileReport::of_chunks(reports.into_iter().flatten())?;
        if !is_whole && report.ended == Ended::Whole {
            report.ended = Ended::Stopped;
        }
        Some(report)
    }
}
