//! A section of a summary: it has a name and a version of its own, so that a later Pathlight can add one or change one and
//! every other query still works (`docs/definitions/summary.md` section 10).

use super::maps::join_maps;
use super::{FileError, Summary};
use pathlight_base::encoding::{self, Damaged};
use pathlight_trace::Endpoint;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Root endpoints that a written summary holds all sums of.
pub const MOST_ROOTS: usize = 1000;
/// The operation under which the other root endpoints of a service are summed together.
pub const OTHERS: &str = "(other root endpoints)";

/// Which section it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    /// Its name in files, for good.
    pub name: &'static str,
    /// Counts the changes of its bytes, from 1.
    pub version: u32,
    /// What it holds, as said after "Pathlight summed".
    pub words: &'static str,
}

/// What one analysis sums.
pub(crate) trait Section: Clone + Default + Serialize + DeserializeOwned {
    const KIND: Kind;

    /// Joins sums of disjoint traces, in any order.
    fn join(parts: Vec<Self>) -> Self;

    /// Returns whether it can be joined and asked: somebody may have made the file by hand.
    fn is_sound(&self) -> bool;

    /// Takes it apart by root endpoint.
    fn into_roots(self) -> BTreeMap<Endpoint, Self>;

    /// Returns the sums of the requests of one root endpoint as those of another.
    fn renamed(self, renaming: Renaming<'_>) -> Self;

    /// Returns the bytes that stand in a file.
    ///
    /// # Errors
    /// Those of packing.
    fn stored(&self) -> Result<Vec<u8>, FileError> {
        Ok(encoding::write(self))
    }

    /// Reads what [`stored`](Self::stored) wrote. A section that has changed reads its bytes of earlier versions here.
    ///
    /// # Errors
    /// [`Damaged`] unless the bytes are such a section.
    fn of_stored(_version: u32, bytes: &[u8]) -> Result<Self, Damaged> {
        encoding::read(bytes)
    }
}

/// What a root endpoint is called in the sums of its requests.
#[derive(Clone, Copy)]
pub(crate) struct Renaming<'a> {
    pub from: &'a Endpoint,
    pub to: &'a Endpoint,
}

impl Renaming<'_> {
    /// Returns what an endpoint of these requests is called: a root endpoint that calls itself is one endpoint still.
    pub fn name(self, endpoint: Endpoint) -> Endpoint {
        if endpoint == *self.from { self.to.clone() } else { endpoint }
    }

    /// Renames an endpoint in a list of them, which may then be out of order.
    pub fn names(self, list: &mut [Endpoint]) {
        list.iter_mut().filter(|name| *name == self.from).for_each(|name| name.clone_from(self.to));
    }

    /// Renames a key of a map; `join` joins its values with those of a key that has the name already.
    pub fn key<V>(self, map: &mut BTreeMap<Endpoint, V>, join: impl FnOnce(&mut V, V)) {
        let Some(value) = map.remove(self.from) else { return };
        match map.get_mut(self.to) {
            Some(known) => join(known, value),
            None => drop(map.insert(self.to.clone(), value)),
        }
    }
}

/// What one analysis sums of the requests of a root endpoint.
pub(crate) trait RootSums: Clone + Serialize + DeserializeOwned {
    const KIND: Kind;

    /// Joins sums of disjoint requests, in any order.
    fn join(parts: Vec<Self>) -> Self;

    /// Returns whether it can be joined and asked.
    fn is_sound(&self) -> bool;

    /// Returns the same sums of requests whose root endpoint has another name.
    fn renamed(self, renaming: Renaming<'_>) -> Self;

    /// Reads the sums of all root endpoints as they stand in a file. Sums that have changed read their bytes of earlier
    /// versions here.
    ///
    /// # Errors
    /// [`Damaged`] unless the bytes are such sums.
    fn of_stored(_version: u32, bytes: &[u8]) -> Result<ByRoot<Self>, Damaged> {
        encoding::read(bytes)
    }
}

/// Sums by root endpoint.
pub(crate) type ByRoot<T> = BTreeMap<Endpoint, T>;

impl<T: RootSums> Section for ByRoot<T> {
    const KIND: Kind = T::KIND;

    fn join(parts: Vec<Self>) -> Self {
        join_maps(parts.into_iter(), T::join)
    }

    fn is_sound(&self) -> bool {
        self.values().all(T::is_sound)
    }

    fn into_roots(self) -> BTreeMap<Endpoint, Self> {
        self.into_iter().map(|(root, sums)| (root.clone(), [(root, sums)].into())).collect()
    }

    fn renamed(self, renaming: Renaming<'_>) -> Self {
        let renamed = |(root, sums): (Endpoint, T)| (renaming.name(root), sums.renamed(renaming));
        self.into_iter().map(renamed).collect()
    }

    fn of_stored(version: u32, bytes: &[u8]) -> Result<Self, Damaged> {
        T::of_stored(version, bytes)
    }
}

/// Why a section is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Lack {
    /// Some file has none.
    Before,
    /// Some file has it in a version that this program does not know.
    Newer(u32),
    /// Its bytes were damaged by hand: a checksum guards the file around them.
    Damaged,
    /// It is there of other root endpoints, and of this one only together with others.
    Together,
}

/// A summary lacks what a query needs; the text says what that is, why, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lacks {
    pub(crate) kind: Kind,
    pub(crate) why: Lack,
}

impl Lacks {
    /// Returns the name of the section in files.
    pub fn section(&self) -> &'static str {
        self.kind.name
    }

    /// Returns whether it is there, but of this root endpoint only together with others.
    pub fn is_together(&self) -> bool {
        self.why == Lack::Together
    }

    /// Returns what it holds, such as "execution flows".
    pub fn words(&self) -> &'static str {
        self.kind.words
    }
}

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kind { name, version, words } = self.kind;
        match self.why {
            Lack::Before => write!(
                f,
                "this summary, or one that was merged into it, was written before Pathlight summed {words}: make it again from its traces"
            ),
            Lack::Newer(found) => write!(
                f,
                "this summary, or one that was merged into it, holds {words} as a newer Pathlight sums them (section {name}, version {found}; this program reads up to version {version}): use a newer Pathlight, or make it again from its traces"
            ),
            Lack::Together => write!(
                f,
                "this summary has more than {MOST_ROOTS} root endpoints, and holds {words} by itself only of those with the most time: of this one it holds latencies and errors, and {words} together with others of its service, under {OTHERS}"
            ),
            Lack::Damaged => write!(
                f,
                "the section {name} of this summary is damaged ({words}): make it again from its traces"
            ),
        }
    }
}

impl std::error::Error for Lacks {}

/// A section of a summary, or why there is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Summed<T> {
    Here(T),
    Lacking(Lack),
}

impl<T: Default> Default for Summed<T> {
    fn default() -> Summed<T> {
        Summed::Here(T::default())
    }
}

impl<T: Section> Summed<T> {
    /// Returns what is summed.
    ///
    /// # Errors
    /// [`Lacks`] if it is not there.
    pub fn get(&self) -> Result<&T, Lacks> {
        match self {
            Summed::Here(sums) => Ok(sums),
            Summed::Lacking(why) => Err(Lacks { kind: T::KIND, why: *why }),
        }
    }

    /// Joins the sections of disjoint traces. Where one lacks it, the whole does: half of the traces would pass for all.
    pub fn join(parts: Vec<Summed<T>>) -> Summed<T> {
        let (mut here, mut lacking) = (Vec::with_capacity(parts.len()), None);
        for part in parts {
            match part {
                Summed::Here(sums) => here.push(sums),
                Summed::Lacking(why) => lacking = lacking.max(Some(why)),
            }
        }
        lacking.map_or_else(|| Summed::Here(T::join(here)), Summed::Lacking)
    }

    /// Returns the sums of the requests of one root endpoint as those of another.
    pub fn renamed(self, renaming: Renaming<'_>) -> Summed<T> {
        match self {
            Summed::Here(sums) => Summed::Here(sums.renamed(renaming)),
            lacking => lacking,
        }
    }

    /// Returns whether it can be joined and asked.
    pub fn is_sound(&self) -> bool {
        self.get().map_or(true, T::is_sound)
    }

    /// Returns it as it stands in a file.
    ///
    /// # Errors
    /// Those of packing.
    pub fn stored(&self) -> Result<Option<Stored>, FileError> {
        self.get().ok().map(|sums| Ok(Stored::new(T::KIND, sums.stored()?))).transpose()
    }

    /// Reads it as it stands in a file.
    ///
    /// # Errors
    /// [`FileError::Damaged`].
    pub fn of_stored(stored: &Stored) -> Result<Summed<T>, FileError> {
        match stored.check_version(T::KIND) {
            Err(Lacks { why, .. }) => Ok(Summed::Lacking(why)),
            Ok(()) => T::of_stored(stored.version, &stored.bytes)
                .map(Summed::Here)
                .map_err(|why| stored.damaged(why)),
        }
    }

    /// Returns what gives each root endpoint its own; `name`: under which one a summary has it.
    pub fn into_roots(
        self,
        name: &dyn Fn(&Endpoint) -> Endpoint,
    ) -> impl FnMut(&Endpoint) -> Summed<T> + use<T> {
        let mut roots = match self {
            Summed::Here(sums) => {
                let named = sums.into_roots().into_iter().map(|(root, sums)| (name(&root), sums));
                Ok(join_maps(std::iter::once(named), T::join))
            }
            Summed::Lacking(why) => Err(why),
        };
        move |root| match &mut roots {
            Ok(roots) => Summed::Here(roots.remove(root).unwrap_or_default()),
            Err(why) => Summed::Lacking(*why),
        }
    }
}

impl Summary {
    /// Returns a section that is asked for the requests of one root endpoint, or of all.
    ///
    /// # Errors
    /// [`Lacks`] if it is not there, or has that root endpoint only together with others.
    pub(crate) fn of_root<'a, T: Section>(
        &self,
        section: &'a Summed<T>,
        root: Option<&Endpoint>,
    ) -> Result<&'a T, Lacks> {
        if root.is_some_and(|root| self.lesser.contains_key(root)) {
            return Err(Lacks { kind: T::KIND, why: Lack::Together });
        }
        section.get()
    }

    /// Returns what is summed of one root endpoint, or of all together; empty if there are no requests.
    ///
    /// # Errors
    /// [`Lacks`] as [`of_root`](Self::of_root).
    pub(crate) fn sums<T: RootSums + Default>(
        &self,
        section: &Summed<ByRoot<T>>,
        root: Option<&Endpoint>,
    ) -> Result<T, Lacks> {
        let roots = self.of_root(section, root)?;
        Ok(match root {
            Some(root) => roots.get(root).cloned().unwrap_or_default(),
            None => T::join(roots.values().cloned().collect()),
        })
    }
}

/// A section as it stands in a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    pub name: String,
    pub version: u32,
    #[serde(with = "pathlight_base::packed")]
    pub bytes: Vec<u8>,
}

impl Stored {
    pub fn new(kind: Kind, bytes: Vec<u8>) -> Stored {
        Stored { name: kind.name.to_owned(), version: kind.version, bytes }
    }

    /// Looks whether this program knows its version.
    ///
    /// # Errors
    /// [`Lacks`] if it is a newer one.
    pub fn check_version(&self, kind: Kind) -> Result<(), Lacks> {
        if self.version <= kind.version {
            Ok(())
        } else {
            Err(Lacks { kind, why: Lack::Newer(self.version) })
        }
    }

    pub fn damaged(&self, why: impl fmt::Display) -> FileError {
        FileError::Damaged(format!("section {}: {why}", self.name))
    }
}
