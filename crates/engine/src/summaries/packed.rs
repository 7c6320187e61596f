//! The bytes of a summary packed with a checksum, and why a file gives no summary.

use super::Lacks;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use pathlight_base::encoding;
use std::io::{Read as _, Write as _};

/// Counts the changes of how a file holds its sections.
pub(crate) const VERSION: u32 = 5;

/// Larger ones are not unpacked: nobody's summary is.
const MOST_BYTES: u64 = 1 << 30;

/// Why a file gives no summary.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is no summary.
    #[error("it is no summary; `pathlight summarise FILES -o NAME.pathlight` makes one of traces")]
    NoSummary,
    /// Another program wrote it.
    #[error(
        "it is of version {0} and this program reads version {VERSION}; make it again from its traces, or use the program that wrote it"
    )]
    Version(String),
    /// Of what every query needs, it holds another version.
    #[error(transparent)]
    Section(#[from] Lacks),
    /// The file is larger than any summary.
    #[error("it unpacks to more than {} MiB, which no summary does", MOST_BYTES >> 20)]
    TooLarge,
    /// The file was cut or changed.
    #[error("it is damaged ({0}); make it again from its traces")]
    Damaged(String),
}

impl From<encoding::Damaged> for FileError {
    fn from(error: encoding::Damaged) -> FileError {
        FileError::Damaged(error.to_string())
    }
}

/// Packs bytes with a checksum.
pub(crate) fn zip(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    packed.map_err(|error| FileError::Damaged(error.to_string()))
}

/// Undoes [`zip`].
pub(crate) fn unzip(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    let mut out = Vec::new();
    let mut packed = GzDecoder::new(bytes).take(MOST_BYTES + 1);
    packed.read_to_end(&mut out).map_err(|error| FileError::Damaged(error.to_string()))?;
    if out.len() as u64 > MOST_BYTES { Err(FileError::TooLarge) } else { Ok(out) }
}
