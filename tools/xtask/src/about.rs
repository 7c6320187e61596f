//! The text of the page about itself: its version, the commit it was built from, and the notices of what is built into it, in the
//! template of `index.html`, so in the single file and in saved reports too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::supply::{self, list, text};
use crate::{Outcome, sh, tools};

/// The template that the notices go into.
const TEMPLATE: &str = "<template id=\"about\"></template>";

/// What the terms of most crates begin with: what stands before are a title and who holds the rights.
const TERMS: &str = "Permission is hereby granted";

/// The terms of the MIT licence, for packages that came without their own copy.
const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated \
                   documentation files (the \"Software\"), to deal in the Software without restriction, including without \
                   limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of \
                   the Software, and to permit persons to whom the Software is furnished to do so, subject to the following \
                   conditions: The above copyright notice and this permission notice shall be included in all copies or \
                   substantial portions of the Software. THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, \
                   EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A \
                   PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR \
                   ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, \
                   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.";

/// A licence has at least so many bytes; what has less is a link that was packed as a file.
const LEAST: usize = 200;

/// Fills the template of the page.
pub fn fill(index: &str) -> Outcome<String> {
    if !index.contains(TEMPLATE) {
        return Err(format!("index.html has no {TEMPLATE}"));
    }
    let metadata = supply::metadata("Cargo.toml", &["--filter-platform", tools::WASM])?;
    let packages = supply::built_in(&metadata)?;
    let own =
        packages.iter().find(|package| text(package, "name") == "pathlight").ok_or("no package pathlight")?;
    let commit = commit().map_or_else(String::new, |commit| format!(", commit {commit}"));
    let mut html = format!(
        "<section data-about><p data-version>Pathlight {}{}, {}.</p>",
        escaped(text(own, "version")),
        escaped(&commit),
        escaped(text(own, "license")),
    );
    html.push_str("<h3>Third-party notices</h3><p>Built into this page, with the Rust standard library (MIT OR Apache-2.0, The Rust Project Developers):</p>");
    for (terms, packages) in by_terms(&packages)? {
        let items: String = packages.iter().map(|package| format!("<li>{}</li>", escaped(package))).collect();
        html.push_str(&format!("<ul>{items}</ul><pre>{}</pre>", escaped(&terms)));
    }
    html.push_str("</section>");
    Ok(index.replacen(TEMPLATE, &TEMPLATE.replacen("><", &format!(">{html}<"), 1), 1))
}

/// Returns the notices as plain text, for the package of the library.
pub fn notices() -> Outcome<String> {
    let metadata = supply::metadata("Cargo.toml", &["--filter-platform", tools::WASM])?;
    let mut out = "Built into the module, with the Rust standard library (MIT OR Apache-2.0, The Rust Project Developers):\n".to_owned();
    for (terms, packages) in by_terms(&supply::built_in(&metadata)?)? {
        out += &format!("\n{}\n\n{terms}\n", packages.join("\n"));
    }
    Ok(out)
}

/// Returns the packages from elsewhere, each with version, licence and who holds the rights, by the terms.
fn by_terms(packages: &[&Value]) -> Outcome<BTreeMap<String, Vec<String>>> {
    let mut by_terms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.iter().filter(|package| package["source"].is_string()) {
        let (holders, terms) = notice(package)?;
        let holders = if holders.is_empty() { String::new() } else { format!(": {}", holders.join("; ")) };
        let (name, version, licence) =
            (text(package, "name"), text(package, "version"), text(package, "license"));
        by_terms.entry(terms).or_default().push(format!("{name} {version} ({licence}){holders}"));
    }
    Ok(by_terms)
}

/// Returns the commit of this folder, with a plus if files have changed since; `None` where there is no git.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| sh::output(sh::command("git").args(arguments).current_dir(sh::root()));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    let is_changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|changes| !changes.is_empty());
    (!commit.is_empty()).then(|| if is_changed { commit + "+" } else { commit })
}

/// Returns who holds the rights of a package, and its terms: of several to choose from the shortest ones.
fn notice(package: &Value) -> Outcome<(Vec<String>, String)> {
    let folder = Path::new(text(package, "manifest_path")).parent().unwrap_or(Path::new("."));
    let mut files = Vec::new();
    for entry in sh::on(folder, fs::read_dir(folder))? {
        let path = sh::on(folder, entry)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "UNLICENSE"].iter().any(|start| name.starts_with(start))
        {
            files.push((name, sh::on(&path, fs::read_to_string(&path))?));
        }
    }
    files.sort();
    let texts: Vec<&str> =
        files.iter().map(|(_, text)| text.as_str()).filter(|text| text.len() >= LEAST).collect();
    let (holders, terms) = parts(&texts);
    if terms.is_empty() {
        // The package came without its text, as some parts of a workspace do.
        let name = text(package, "name");
        let authors: Vec<&str> = list(package, "authors").iter().filter_map(Value::as_str).collect();
        let holder = if authors.is_empty() { format!("the authors of {name}") } else { authors.join(", ") };
        let licence = text(package, "license");
        // Anything else is seen by the test.
        let terms =
            if licence.contains("MIT") { MIT.to_owned() } else { format!("By the terms of {licence}.") };
        return Ok((vec![holder], terms));
    }
    Ok((holders, terms))
}

/// Returns the holders and the terms of the best of some licence files.
fn parts(texts: &[&str]) -> (Vec<String>, String) {
    let Some(text) =
        texts.iter().find(|text| text.contains(TERMS)).or_else(|| texts.iter().min_by_key(|text| text.len()))
    else {
        return Default::default();
    };
    let is_holder = |line: &&str| {
        line.to_lowercase().starts_with("copyright ") && line.contains(|c: char| c.is_ascii_digit())
    };
    let lines = || text.lines().map(str::trim);
    let holders = lines().filter(is_holder).map(str::to_owned).collect();
    let terms: Vec<&str> = match text.find(TERMS) {
        Some(at) => text[at..].split_whitespace().collect(),
        None => return (holders, text.trim().to_owned()),
    };
    (holders, terms.join(" "))
}

/// Escapes text for markup. Quotes too: what looks like an attribute would be taken for the name of a file of the page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_its_version_and_everything_that_is_built_into_it() {
        let page = fill(&format!("<body>{TEMPLATE}</body>")).unwrap();
        assert!(page.contains("<p data-version>Pathlight "), "{page:.300}");
        assert!(page.contains("Apache-2.0"));
        for name in ["wasm-bindgen", "web-sys", "serde_json", "plotters"] {
            assert!(page.contains(&format!("<li>{name} ")), "{name} has no notice");
        }
        for name in ["axum", "clap", "tokio", "proptest"] {
            assert!(!page.contains(&format!("<li>{name} ")), "{name} is not in the page");
        }
        assert!(page.contains("Copyright (c) 2014 Alex Crichton") && page.contains(TERMS));
        for line in page.split("<pre>").skip(1) {
            let terms = line.split("</pre>").next().unwrap_or_default();
            assert!(terms.len() >= LEAST, "no terms: {terms}");
        }
        assert!(!page.contains("href=") && !page.contains(" src=\""), "nothing that would be fetched");
        assert!(page.len() < 60_000, "{} bytes", page.len());
        assert_eq!(page, fill(&format!("<body>{TEMPLATE}</body>")).unwrap());
    }

    #[test]
    fn of_several_licences_the_short_one_is_given_with_its_holders() {
        let mit = "The MIT License\n\nCopyright (c) 2020 A. Body\nCopyright 2021 B\n\nPermission is hereby granted, free\nof charge\n";
        let (holders, terms) = parts(&["Apache, long, long, long, long", mit]);
        assert_eq!(holders, ["Copyright (c) 2020 A. Body", "Copyright 2021 B"]);
        assert_eq!(terms, "Permission is hereby granted, free of charge");
        assert_eq!(parts(&["longer than the other", "short\n"]).1, "short");
        assert_eq!(parts(&[]), Default::default());
    }
}
