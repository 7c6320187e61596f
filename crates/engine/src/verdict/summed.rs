//! Calls between services and visits of services: what explains a change.

use crate::summaries::section::{Kind, RootSums};
use crate::summaries::{Lacks, Summary};
use crate::verdict::ServicesPartial;
use pathlight_trace::Endpoint;

impl RootSums for ServicesPartial {
    const KIND: Kind = Kind { name: "services", version: 1, words: "calls between services" };

    fn join(parts: Vec<ServicesPartial>) -> ServicesPartial {
        ServicesPartial::merge(parts)
    }

    fn is_sound(&self) -> bool {
        ServicesPartial::is_sound(self)
    }
}

impl Summary {
    /// Returns calls between services and visits of services, in the requests of one root endpoint or of all together.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn services(&self, root: Option<&Endpoint>) -> Result<ServicesPartial, Lacks> {
        self.sections.services.of(root)
    }
}
