//! The files of a page by name, and packed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};

use crate::{Outcome, sh};

/// Files by the name `index.html` uses for them.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Packs `bytes` as a gzip file without a time stamp: same input, same file.
pub fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(|error| format!("gzip: {error}"))
}

/// Reads a folder, subfolders included; names are `prefix/...` with forward slashes.
pub fn read_folder(folder: &Path, prefix: &str, files: &mut Files) -> Outcome {
    let mut waiting = vec![(folder.to_owned(), prefix.to_owned())];
    while let Some((folder, prefix)) = waiting.pop() {
        for entry in sh::on(&folder, fs::read_dir(&folder))? {
            let path = sh::on(&folder, entry)?.path();
            let name = format!("{prefix}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            if path.is_dir() {
                waiting.push((path, name));
            } else {
                files.insert(name, sh::on(&path, fs::read(&path))?);
            }
        }
    }
    Ok(())
}
