//! A summary as a file: a line that says what it is, then gzip (whose checksum guards it) of its sections
//! (`docs/definitions/summary.md` section 10).

use super::by_weight::WEIGHTS;
use super::fewer::LESSER;
use super::packed::{VERSION, unzip, zip};
use super::part::LATENCIES;
use super::section::{ByRoot, Stored};
use super::sections::Sections;
use super::{FileError, Summary, before};
use pathlight_base::encoding;
use std::collections::BTreeSet;

/// What every summary file begins with; the version and a line break follow.
const MAGIC: &[u8] = b"pathlight-summary ";

/// Returns whether a file is a summary, by its first bytes; whatever its version.
pub fn is_summary(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Returns a summary as a file. Equal summaries give equal bytes.
///
/// # Errors
/// [`FileError::Damaged`] only if it cannot be packed, which no summary has shown yet.
pub fn write(summary: &Summary) -> Result<Vec<u8>, FileError> {
    let Summary { settings, traces, spans, start_us, roots, sections, by_weight, lesser, unknown: _ } =
        summary;
    let latencies = encoding::write(&(settings, traces, spans, start_us, roots));
    let mut stored = vec![Stored::new(LATENCIES, latencies)];
    stored.extend(sections.stored()?);
    if !by_weight.is_empty() {
        stored.push(Stored::new(WEIGHTS, encoding::write(by_weight)));
    }
    if !lesser.is_empty() {
        stored.push(Stored::new(LESSER, encoding::write(lesser)));
    }
    Ok([MAGIC, format!("{VERSION}\n").as_bytes(), &zip(&encoding::write(&stored))?].concat())
}

/// Reads a file that [`write()`] has made, or that of a version before or after. Of a later one it leaves out what it does
/// not know: sections of other names stand in [`Summary::unknown`], and those of other versions are lacking.
///
/// # Errors
/// [`FileError`] if it is anything else.
pub fn read(bytes: &[u8]) -> Result<Summary, FileError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(FileError::NoSummary)?;
    let line = rest.iter().take(12).position(|&byte| byte == b'\n').ok_or(FileError::NoSummary)?;
    let version = String::from_utf8_lossy(&rest[..line]);
    let from_inside: fn(&[u8]) -> Result<Summary, FileError> = match version.parse() {
        Ok(VERSION) => of_sections,
        Ok(4) => before::read_4,
        Ok(3) => before::read_3,
        Ok(2) => before::read_2,
        Ok(1) => before::read_1,
        _ => return Err(FileError::Version(version.into_owned())),
    };
    let summary = from_inside(&unzip(&rest[line + 1..])?)?;
    match summary.unsound() {
        None => Ok(summary),
        Some(section) => Err(contradicts(section)),
    }
}

/// Returns the error of a section whose numbers contradict each other.
pub(crate) fn contradicts(section: &str) -> FileError {
    FileError::Damaged(format!("section {section}: its numbers contradict each other"))
}

fn of_sections(inside: &[u8]) -> Result<Summary, FileError> {
    let list: Vec<Stored> = encoding::read(inside)?;
    // Lengths that are wrong may leave a rest, of which nothing would be known.
    if encoding::write(&list).len() != inside.len() {
        return Err(FileError::Damaged("there is more behind its sections".to_owned()));
    }
    let (mut names, mut latencies, mut by_weight) = (BTreeSet::new(), None, ByRoot::new());
    let mut lesser = ByRoot::new();
    let (mut sections, mut unknown) = (Sections::none(), BTreeSet::new());
    for stored in &list {
        if !names.insert(&stored.name) {
            return Err(stored.damaged("it is there twice"));
        }
        if stored.name == LATENCIES.name {
            stored.check_version(LATENCIES)?;
            latencies = Some(encoding::read(&stored.bytes).map_err(|why| stored.damaged(why))?);
        } else if stored.name == WEIGHTS.name && stored.check_version(WEIGHTS).is_ok() {
            by_weight = encoding::read(&stored.bytes).map_err(|why| stored.damaged(why))?;
        } else if stored.name == LESSER.name && stored.check_version(LESSER).is_ok() {
            lesser = encoding::read(&stored.bytes).map_err(|why| stored.damaged(why))?;
        } else if !sections.take(stored)? {
            unknown.insert(stored.name.clone());
        }
    }
    let lacks = || FileError::Damaged(format!("section {}: it is not there", LATENCIES.name));
    let (settings, traces, spans, start_us, roots) = latencies.ok_or_else(lacks)?;
    Ok(Summary { settings, traces, spans, start_us, roots, sections, by_weight, lesser, unknown })
}
