//! Location of the page, for the commands that show it or write it.

use std::path::{Path, PathBuf};

/// The page in one file, as `cargo xtask build` writes it.
pub const PAGE: &str = "pathlight.html";

/// Returns the places to look at: beside this program, that of the build, and the folder of the user.
fn places(of_build: PathBuf) -> impl Iterator<Item = PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(PAGE)));
    beside.into_iter().chain([of_build, PathBuf::from(PAGE)])
}

/// Returns the page in one file.
pub fn find_file() -> Option<PathBuf> {
    places(Path::new("dist").join(PAGE)).find(|place| place.is_file())
}

/// Returns the page in one file, or the folder of the page.
pub fn find() -> Option<PathBuf> {
    // Other projects have such a folder too.
    let is_ours = |index: String| index.contains("<title>Pathlight");
    let is_page = |place: &PathBuf| {
        place.is_file() || std::fs::read_to_string(place.join("index.html")).is_ok_and(is_ours)
    };
    places(PathBuf::from("dist")).find(is_page)
}
