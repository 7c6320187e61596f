//! The sections of a summary: each analysis owns one.

use super::section::{ByRoot, Lack, Renaming, Section, Stored, Summed};
use super::{FileError, Lacks};
use crate::anomalies::summed::NormalRequests;
use crate::diagnosis::summed::DiagnosisSums;
use crate::endpoints::summed::SummedEndpoints;
use crate::errors::summed::ErrorSums;
use crate::flame::summed::FlameSums;
use crate::flow::summed::FlowSums;
use crate::verdict::ServicesPartial;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Makes the list of sections: a line for each, in the order in which they stand in a file.
macro_rules! sections {
    ($($(#[$about:meta])* $field:ident: $type:ty,)*) => {
        /// What the analyses sum, beside the latencies that every query needs.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub(crate) struct Sections {
            $($(#[$about])* pub $field: Summed<$type>,)*
        }

        impl Sections {
            /// Returns the sections of a file that has none.
            pub fn none() -> Sections {
                Sections { $($field: Summed::Lacking(Lack::Before),)* }
            }

            /// Joins the sections of disjoint traces.
            pub fn join(parts: Vec<Sections>) -> Sections {
                $(let mut $field = Vec::with_capacity(parts.len());)*
                for part in parts {
                    $($field.push(part.$field);)*
                }
                Sections { $($field: Summed::join($field),)* }
            }

            /// Returns what gives each root endpoint its own, in linear time, however many there are; `name`: under which
            /// one a summary has it.
            pub fn into_roots(self, name: &dyn Fn(&Endpoint) -> Endpoint) -> impl FnMut(&Endpoint) -> Sections + use<> {
                $(let mut $field = self.$field.into_roots(name);)*
                move |root| Sections { $($field: $field(root),)* }
            }

            /// Returns the sums of the requests of one root endpoint as those of another.
            pub fn renamed(self, renaming: Renaming<'_>) -> Sections {
                Sections { $($field: self.$field.renamed(renaming),)* }
            }

            /// Returns the name of a section whose numbers contradict each other.
            pub fn unsound(&self) -> Option<&'static str> {
                $(if !self.$field.is_sound() {
                    return Some(<$type as Section>::KIND.name);
                })*
                None
            }

            /// Returns those that are there, as they stand in a file.
            ///
            /// # Errors
            /// Those of packing.
            pub fn stored(&self) -> Result<Vec<Stored>, FileError> {
                Ok([$(self.$field.stored()?,)*].into_iter().flatten().collect())
            }

            /// Takes a section of a file; false if it is none of these.
            ///
            /// # Errors
            /// [`FileError::Damaged`].
            pub fn take(&mut self, stored: &Stored) -> Result<bool, FileError> {
                $(if stored.name == <$type as Section>::KIND.name {
                    self.$field = Summed::of_stored(stored)?;
                    return Ok(true);
                })*
                Ok(false)
            }

            /// Returns what is not there.
            pub fn lacks(&self) -> Vec<Lacks> {
                [$(self.$field.get().err(),)*].into_iter().flatten().collect()
            }
        }
    };
}

sections! {
    /// Calling contexts on critical paths.
    flame: FlameSums,
    /// Endpoints on critical paths.
    endpoints: ByRoot<SummedEndpoints>,
    /// Calls between services and visits of services.
    services: ByRoot<ServicesPartial>,
    /// Where errors start and stop.
    errors: ByRoot<ErrorSums>,
    /// What waits for what.
    flow: ByRoot<FlowSums>,
    /// Where time is spent, also off critical paths.
    diagnosis: ByRoot<DiagnosisSums>,
    /// Sample of normal requests.
    anomalies: NormalRequests,
}
