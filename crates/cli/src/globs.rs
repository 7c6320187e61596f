//! Patterns of file names, for shells that leave them to the program and for patterns in quotes: `*` and `?` within a name,
//! `**` for folders of any depth.

use std::path::{Component, Path, PathBuf};

/// Returns whether a path that is not there is a pattern.
pub fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?'])
}

/// Returns the files and folders that a pattern fits, by name; names that begin with a dot only where the pattern does.
pub fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().to_string_lossy();
        let is_plain = !matches!(component, Component::Normal(_)) || !name.contains(['*', '?']);
        let mut next = Vec::new();
        for base in found {
            if is_plain {
                next.push(base.join(component));
            } else if name == "**" {
                next.extend(folders(&base));
            } else {
                next.extend(entries(&base).into_iter().filter(|path| {
                    path.file_name().is_some_and(|file| fits(&name, &file.to_string_lossy()))
                }));
            }
        }
        found = next;
    }
    found.retain(|path| path.exists());
    found.sort();
    found.dedup();
    found
}

/// Returns what is in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten();
    entries.filter_map(|entry| Some(folder.join(entry.ok()?.file_name()))).collect()
}

/// Returns a folder with all folders below it, but not by links, which may lead around.
fn folders(base: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![base.to_owned()]);
    while let Some(folder) = open.pop() {
        let is_folder = |path: &PathBuf| {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            !is_hidden && std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
        };
        open.extend(entries(&folder).into_iter().filter(is_folder));
        found.push(folder);
    }
    found
}

/// Returns whether a name fits a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last star, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_as_in_a_shell() {
        for (pattern, name) in [
            ("*", "a"),
            ("*.json", "a.json"),
            ("a?c*", "abcd"),
            ("*a*b*", "xaxxbx"),
            (".*", ".a"),
            ("**", "a"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.json", "a.jsonl"), ("?", "ab"), ("*", ".a"), ("a*b", "ac"), ("?", "")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_find_files_in_folders_of_any_depth() {
        let root = std::env::temp_dir().join(format!("pathlight-globs-{}", std::process::id()));
        for file in ["a/1.json", "a/b/2.json", "a/b/.3.json", "c/4.txt"] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| {
            let found = expand(&root.join(pattern));
            found
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
                .collect::<Vec<_>>()
        };
        assert_eq!(found("*/*.json"), ["a/1.json"]);
        assert_eq!(found("**/*.json"), ["a/1.json", "a/b/2.json"]);
        assert_eq!(found("?/?.*"), ["a/1.json", "c/4.txt"]);
        assert_eq!(found("x/*"), Vec::<String>::new());
        assert!(is_pattern(Path::new("a/*.json")) && !is_pattern(Path::new("a.json")));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
