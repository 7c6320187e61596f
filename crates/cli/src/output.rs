//! Writing results: to standard output, or to a file that is there whole or stays as it was.

use super::{Failure, unfinished};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being written beside its place, and takes it when it is whole.
pub struct OutputFile {
    file: File,
    /// Path that was asked for, to be named if that fails.
    path: PathBuf,
    /// The file under its temporary name, and its place; `None` if it is a device or a pipe, written as it comes.
    renamed: Option<(PathBuf, PathBuf)>,
}

impl OutputFile {
    /// Begins to write what is to stand at a place.
    ///
    /// # Errors
    /// [`Failure::Usage`] if nothing can be written there.
    pub fn create(path: &Path) -> Result<OutputFile, Failure> {
        Self::begin(path).map_err(|error| cannot_write(path, &error))
    }

    fn begin(path: &Path) -> io::Result<OutputFile> {
        let old = fs::metadata(path).ok();
        // /dev/stdout may be a file that somebody else writes too.
        let is_device = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
        if is_device || old.as_ref().is_some_and(|old| !old.is_file()) {
            return Ok(OutputFile { file: File::create(path)?, path: path.to_owned(), renamed: None });
        }
        // A link stays, and what it leads to is written.
        let place = if old.is_some() { path.canonicalize()? } else { path.to_owned() };
        if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let name = place.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
        let part = place.with_file_name(format!(".{name}.{}.part", std::process::id()));
        unfinished::begin(&part);
        let file = File::create(&part).inspect_err(|_| unfinished::end(&part))?;
        let output = OutputFile { file, path: path.to_owned(), renamed: Some((part, place)) };
        if let Some(old) = old {
            output.file.set_permissions(old.permissions())?;
        }
        Ok(output)
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// [`Failure::Usage`] if that cannot be done; what was there before stays.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.file.flush()?;
        let Some((part, place)) = &self.renamed else { return Ok(()) };
        fs::rename(part, place).map_err(|error| cannot_write(place, &error))?;
        unfinished::end(part);
        self.renamed = None;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display()))
        };
        self.file.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.renamed {
            // It is ours and only half written. If it cannot be removed, nothing is lost.
            let _ = fs::remove_file(part);
            unfinished::end(part);
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", path.display()))
}

/// Prints a result, or writes it to a file.
///
/// # Errors
/// [`Failure::Io`], or [`Failure::Usage`] if the file cannot be written.
pub fn print(out: Option<&Path>, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    match out {
        Some(path) => write(path, text.as_ref()),
        None => Ok(io::stdout().lock().write_all(text.as_ref())?),
    }
}

/// Writes a file.
///
/// # Errors
/// [`Failure::Usage`] if it cannot be written; what was there before stays.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Writes a file that takes its place only if what stands on the disk passes a check. What goes into a pipe or a device
/// passes it before.
///
/// # Errors
/// [`Failure::Usage`] if it cannot be written or read again, and that of the check; what was there before stays.
pub fn write_checked(
    path: &Path,
    bytes: &[u8],
    check: impl Fn(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut file = OutputFile::create(path)?;
    if file.renamed.is_none() {
        check(bytes)?;
    }
    file.write_all(bytes)?;
    if let Some((part, _)) = &file.renamed {
        check(&fs::read(part).map_err(|error| cannot_write(path, &error))?)?;
    }
    file.finish()
}

/// Refuses to overwrite an input.
///
/// # Errors
/// [`Failure::Usage`] if the file to write is one of them.
pub fn refuse_inputs(out: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    Inputs::of(inputs).refuse(out)
}

/// The files that a command reads, by their real paths, for a command that writes many files.
pub struct Inputs(BTreeSet<PathBuf>);

impl Inputs {
    /// Resolves the paths of files.
    pub fn of(files: &[PathBuf]) -> Inputs {
        Inputs(files.iter().filter_map(|file| file.canonicalize().ok()).collect())
    }

    /// Refuses to overwrite one of them.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the file to write is one of them.
    pub fn refuse(&self, out: &Path) -> Result<(), Failure> {
        // What is not there yet is no input, and what is no file is not overwritten.
        let Some(real) = out.canonicalize().ok().filter(|real| real.is_file()) else { return Ok(()) };
        if self.0.contains(&real) {
            let words = "is read as input and would be overwritten: name another place to write to";
            return Err(Failure::Usage(format!("{} {words}", out.display())));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_when_the_new_one_is_whole() {
        let folder = std::env::temp_dir().join(format!("pathlight-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        write(&path, b"old").unwrap();
        let mut half = OutputFile::create(&path).unwrap();
        half.write_all(b"ne").unwrap();
        drop(half);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        // The check looks at what stands on the disk, and what fails it leaves the place as it was.
        let is = |wanted: &'static [u8]| {
            move |found: &[u8]| if found == wanted { Ok(()) } else { Err(Failure::NoTrace) }
        };
        assert!(matches!(write_checked(&path, b"newer", is(b"x")), Err(Failure::NoTrace)));
        assert_eq!(fs::read(&path).unwrap(), b"new");
        write_checked(&path, b"newer", is(b"newer")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        assert!(write(&folder, b"x").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
