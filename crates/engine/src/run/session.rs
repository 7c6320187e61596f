//! The traces of one worker, with what was computed from them before.

use super::Cuts;
use crate::EngineError;
use crate::flame::{PathTable, TableBuilder};
use crate::flow::passes::FlowCache;
use crate::requests::{Cut, RequestTypes, RootEndpoint, SelectedRequests, Selection, TypeNames, Until};
use crate::summaries::LoadedSummaries;
use pathlight_base::encoding::Packed;
use pathlight_ingest::{ReadTarget, ReaderMemory, TargetParts};
use pathlight_trace::{PathSettings, PlaceNames, TraceSet};
use std::sync::Arc;

/// How many root endpoints keep their tables.
const TABLES_KEPT: usize = 3;
/// How many selections keep their requests: both sides of a comparison and one more.
const SELECTED_KEPT: usize = 3;

/// What places are called: a hash of their names, and whether they are services.
pub(crate) type Naming = (u64, bool);

/// Whose requests a table holds: a root endpoint, with or without those whose caller is not recorded.
pub(crate) type Whose = (RootEndpoint, bool);

/// What tables are kept by.
pub(crate) type TableKey = (Naming, Whose, PathSettings, Until);
type SelectedKey = (Naming, Option<Arc<TypeNames>>, Selection);
/// Requests that were chosen, and what is cut out of them.
type InsideKey = (Arc<SelectedRequests>, Cut);
type TypesKey = (Naming, Arc<TypeNames>, Whose, PathSettings);

/// Appends to what is kept, the most recently used last, and lets the first go if there are more.
fn keep<K, V>(list: &mut Vec<(K, Arc<V>)>, most: usize, entry: (K, Arc<V>)) -> Arc<V> {
    if list.len() == most {
        list.remove(0);
    }
    let kept = Arc::clone(&entry.1);
    list.push(entry);
    kept
}

/// A worker's traces with what was computed from them before.
#[derive(Default)]
pub struct Session {
    /// The traces. Call [`invalidate`](Self::invalidate) after changing it, and never put another set in its place: what
    /// readers remember is of this one.
    pub set: TraceSet,
    /// The summaries. Call [`invalidate`](Self::invalidate) after changing them.
    pub summaries: LoadedSummaries,
    memory: ReaderMemory,
    /// Most recently used last.
    tables: Vec<(TableKey, Arc<PathTable>)>,
    selected: Vec<(SelectedKey, Arc<SelectedRequests>)>,
    /// The requests inside a cut.
    inside: Vec<(InsideKey, Arc<Vec<u32>>)>,
    types: Vec<(TypesKey, Arc<RequestTypes>)>,
    type_names: Vec<(Arc<Packed<TypeNames>>, Arc<TypeNames>)>,
    /// How rows are named now, and how many traces are.
    named: Option<(Naming, usize)>,
    pub(crate) flows: FlowCache,
    pub(crate) cuts: Cuts,
}

/// A worker reads into its session.
impl ReadTarget for Session {
    fn parts(&mut self) -> TargetParts<'_> {
        TargetParts {
            set: &mut self.set,
            memory: Some(&mut self.memory),
            summaries: Some(&mut self.summaries),
        }
    }
}

/// Takes out what is kept under a key.
fn take_kept<K, V>(list: &mut Vec<(K, Arc<V>)>, is_it: impl Fn(&K) -> bool) -> Option<(K, Arc<V>)> {
    let place = list.iter().position(|(key, _)| is_it(key))?;
    Some(list.remove(place))
}

impl Session {
    /// Returns a session without traces.
    pub fn new() -> Session {
        Session::default()
    }

    /// Returns a session over a set.
    pub fn of(set: TraceSet) -> Session {
        Session { set, ..Session::default() }
    }

    /// Returns how many tables, selections and sets of types are kept.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    pub(crate) fn kept(&self) -> (usize, usize, usize) {
        (self.tables.len(), self.selected.len(), self.types.len())
    }

    /// Forgets what was computed: the set has changed.
    pub fn invalidate(&mut self) {
        self.tables.clear();
        self.selected.clear();
        self.inside.clear();
        self.types.clear();
        self.type_names.clear();
        self.flows.clear();
        self.named = None;
        self.cuts = Cuts::of_data(!self.summaries.is_empty());
    }

    /// Puts all traces and summaries into a group: what is looked at (0) or what that is compared with (1).
    pub fn regroup(&mut self, group: u8) {
        if self.set.loading_group != group {
            self.set.regroup(group);
            self.summaries.regroup(group);
            self.invalidate();
        }
    }

    /// Names all rows, if they are named otherwise.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the names are damaged.
    pub(crate) fn name_places(
        &mut self,
        names: Option<&Packed<PlaceNames>>,
        naming: Naming,
    ) -> Result<(), EngineError> {
        let wanted = (naming, self.set.traces().len());
        if self.named != Some(wanted) {
            let names = names.map(Packed::read).transpose()?;
            self.set.name_places(names.as_ref(), naming.1);
            self.named = Some(wanted);
        }
        Ok(())
    }

    /// Returns how requests are grouped into types, as it came with a pass.
    ///
    /// # Errors
    /// [`EngineError::Message`] if it is damaged.
    pub(crate) fn type_names(
        &mut self,
        packed: Arc<Packed<TypeNames>>,
    ) -> Result<Arc<TypeNames>, EngineError> {
        let entry = match take_kept(&mut self.type_names, |known| *known == packed) {
            Some(entry) => entry,
            None => {
                let names = packed.read()?;
                (packed, Arc::new(names))
            }
        };
        Ok(keep(&mut self.type_names, TABLES_KEPT, entry))
    }

    /// Returns the table of a key, if it is kept.
    pub(crate) fn table(&mut self, key: &TableKey) -> Option<Arc<PathTable>> {
        let entry = take_kept(&mut self.tables, |known| known == key)?;
        Some(keep(&mut self.tables, TABLES_KEPT, entry))
    }

    /// Keeps a table that is built.
    pub(crate) fn keep_table(&mut self, key: TableKey, built: TableBuilder) -> Arc<PathTable> {
        keep(&mut self.tables, TABLES_KEPT, (key, Arc::new(built.finish_named(&mut self.set))))
    }

    /// Returns the requests of a selection; `names`: how they are grouped into types, where that matters.
    pub(crate) fn selected(
        &mut self,
        naming: Naming,
        names: Option<&Arc<TypeNames>>,
        selection: &Selection,
        (table, whose): (&PathTable, &Whose),
    ) -> Arc<SelectedRequests> {
        // A pass to which types do not matter takes those that were chosen for one to which they do.
        let is_it = |(of, types, key): &SelectedKey| {
            *of == naming && (names.is_none() || types.as_ref() == names) && key == selection
        };
        let entry = match take_kept(&mut self.selected, is_it) {
            Some(entry) => entry,
            None => {
                let types = names.map(|names| self.types_of(naming, names, selection, (table, whose)));
                let selected = SelectedRequests::new(&self.set, table, selection, types);
                ((naming, names.cloned(), selection.clone()), Arc::new(selected))
            }
        };
        keep(&mut self.selected, SELECTED_KEPT, entry)
    }

    /// Returns the chosen requests of a table that are inside a cut: numbers in it, by latency.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the cut is damaged.
    pub(crate) fn inside(
        &mut self,
        selected: &Arc<SelectedRequests>,
        table: &PathTable,
        cut: &Cut,
    ) -> Result<Arc<Vec<u32>>, EngineError> {
        let is_it = |(of, known): &InsideKey| Arc::ptr_eq(of, selected) && known == cut;
        let entry = match take_kept(&mut self.inside, is_it) {
            Some(entry) => entry,
            None => {
                let inside = selected.inside(&self.set, &table.requests, cut)?;
                ((Arc::clone(selected), cut.clone()), Arc::new(inside))
            }
        };
        Ok(keep(&mut self.inside, SELECTED_KEPT, entry))
    }

    /// Returns the types of all requests of a table.
    fn types_of(
        &mut self,
        naming: Naming,
        names: &Arc<TypeNames>,
        selection: &Selection,
        (table, whose): (&PathTable, &Whose),
    ) -> Arc<RequestTypes> {
        let key = (naming, names.clone(), whose.clone(), selection.settings());
        let entry = match take_kept(&mut self.types, |known| *known == key) {
            Some(entry) => entry,
            None => {
                let rows = table.requests.iter().map(|request| request.row);
                let of = (table.roots, selection.reading);
                (key, Arc::new(RequestTypes::new(&self.set, rows, names, of)))
            }
        };
        keep(&mut self.types, TABLES_KEPT, entry)
    }
}
