//! What a client may have read: folders, and addresses of services.

use std::path::{Path, PathBuf};

/// What a client may have read. A program decides with it what to open, so it says no unless something says yes.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Canonical paths of folders and files.
    folders: Vec<PathBuf>,
    /// Base addresses without a slash at their end.
    addresses: Vec<String>,
}

impl Allowed {
    /// Allows folders with all below them, and base addresses.
    ///
    /// # Errors
    /// A folder is not there.
    pub fn new(folders: &[PathBuf], addresses: &[String]) -> Result<Allowed, String> {
        let real = |folder: &PathBuf| {
            folder.canonicalize().map_err(|error| format!("cannot read {}: {error}", folder.display()))
        };
        let folders = folders.iter().map(real).collect::<Result<_, _>>()?;
        let addresses = addresses.iter().map(|text| text.trim_end_matches('/').to_owned()).collect();
        Ok(Allowed { folders, addresses })
    }

    /// Checks that a path leads, by all links, to a file or folder within an allowed one.
    ///
    /// # Errors
    /// It does not. Whether something is there is not said of what lies outside.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        let real = path.canonicalize().ok().filter(|real| real.is_dir() || real.is_file());
        let is_allowed = |real: &PathBuf| self.folders.iter().any(|folder| real.starts_with(folder));
        if real.as_ref().is_some_and(is_allowed) {
            return Ok(());
        }
        let folders: Vec<String> =
            self.folders.iter().map(|folder| format!("{:?}", folder.display())).collect();
        Err(format!(
            "{:?} is no file or folder in one of the folders that may be read: {}. pathlight mcp --folder DIR allows others",
            path.display(),
            if folders.is_empty() { "none".to_owned() } else { folders.join(", ") }
        ))
    }

    /// Checks that an address is an allowed one, or lies below it.
    ///
    /// # Errors
    /// It does not.
    pub fn check_address(&self, address: &str) -> Result<(), String> {
        let address = address.trim_end_matches('/');
        // A path may not climb out of what is allowed, however it is written.
        let is_plain = !address.contains("..") && !address.contains(['%', '\\', '@', '?', '#']);
        let is_below = |base: &String| {
            address == base || address.strip_prefix(base.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if self.addresses.iter().any(|base| address == base || is_plain && is_below(base)) {
            return Ok(());
        }
        Err(format!("{address:?} may not be asked: pathlight mcp --allow URL allows an address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_within_an_allowed_folder_may_be_read() {
        let folder = std::env::temp_dir().join(format!("pathlight-allowed-{}", std::process::id()));
        let (inside, outside) = (folder.join("in"), folder.join("in-not"));
        for dir in [&inside, &outside] {
            std::fs::create_dir_all(dir).unwrap();
            std::fs::write(dir.join("a.json"), "{}").unwrap();
        }
        let allowed = Allowed::new(std::slice::from_ref(&inside), &[]).unwrap();
        assert_eq!(allowed.check(&inside), Ok(()));
        assert_eq!(allowed.check(&inside.join("a.json")), Ok(()));
        for path in [
            inside.join("../in-not/a.json"),
            outside.join("a.json"),
            inside.join("none"),
            "/dev/null".into(),
            "-".into(),
        ] {
            assert!(allowed.check(&path).is_err(), "{}", path.display());
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.join("a.json"), inside.join("link.json")).unwrap();
            assert!(allowed.check(&inside.join("link.json")).is_err());
        }
        assert!(Allowed::default().check(&inside).is_err());
        assert!(Allowed::new(&[folder.join("gone")], &[]).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_allowed_addresses_may_be_asked() {
        let allowed =
            Allowed::new(&[], &["http://jaeger:16686/".to_owned(), "https://h/tempo".to_owned()]).unwrap();
        for address in
            ["http://jaeger:16686", "http://jaeger:16686/jaeger", "https://h/tempo/", "https://h/tempo/a"]
        {
            assert_eq!(allowed.check_address(address), Ok(()), "{address}");
        }
        for address in [
            "http://jaeger:166861",
            "http://jaeger:16686@evil/",
            "https://h",
            "https://h/tempo/../other",
            "https://h/tempo/%2e%2e/other",
            "https://h/tempos",
            "",
        ] {
            assert!(allowed.check_address(address).is_err(), "{address}");
        }
    }
}
