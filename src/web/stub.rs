//! Stands in for ingest until it lands.
#![allow(missing_docs)]
use crate::trace::TraceSet;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileReport {
    pub name: String,
    pub bytes: u64,
}
#[derive(Default)]
pub struct Options;
pub struct Reader(FileReport);
impl Reader {
    pub fn new(name: &str, _options: Options) -> Reader {
        Reader(FileReport { name: name.to_owned(), bytes: 0 })
    }
    pub fn feed(&mut self, bytes: &[u8], set: &mut TraceSet) -> Result<(), crate::trace::SetFull> {
        self.0.bytes += bytes.len() as u64;
        set.logs += bytes.iter().filter(|&&b| b == b'{').count() as u64;
        Ok(())
    }
    pub fn finish(self, _set: &mut TraceSet) -> FileReport {
        self.0
    }
}
