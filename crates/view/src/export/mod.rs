//! Files that leave the page: pictures, saved reports, and what is left out of them.

pub mod pictures;
pub mod redacted;
pub mod sarif;
pub mod saved;
