//! The samples of the README are what the commands print.

use crate::Golden;
use crate::common::Scratch;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Lines of its output that the README shows of a command; of others none.
const SHOWN: [(&str, usize); 2] = [("findings", 6), ("compare", 4)];
/// Where lines are broken.
const WIDTH: usize = 126;

/// Runs a line of the README in a folder; returns the first lines of its output.
fn shown(folder: &Path, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_matches('\'')).collect();
    assert_eq!(words[0], "pathlight");
    let output =
        Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let Some((_, most)) = SHOWN.iter().find(|(command, _)| *command == words[1]) else { return Vec::new() };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() > *most, "{line} prints no more than is shown");
    text.lines().take(*most).flat_map(broken).chain(["...".to_owned()]).collect()
}

/// Breaks a line at spaces; what belongs to a number of a list is indented.
fn broken(line: &str) -> Vec<String> {
    let start = line.trim_start();
    let is_item = start.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let indent = if is_item { "    " } else { "" };
    let mut lines = vec![line[..line.len() - start.len()].to_owned()];
    for (at, word) in start.split(' ').enumerate() {
        let last = lines.last().unwrap();
        if at > 0 && last.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{indent}{word}"));
        } else {
            let space = if at > 0 { " " } else { "" };
            lines.last_mut().unwrap().push_str(&format!("{space}{word}"));
        }
    }
    lines
}

#[test]
fn the_samples_of_the_readme_are_what_the_commands_print() {
    let folder = Scratch::new("readme");
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (mut found, mut commands, mut is_sample) = (String::new(), 0, false);
    let mut lines = readme.lines().peekable();
    while let Some(line) = lines.next() {
        // What is shown of the output is written anew.
        is_sample &= line != "```";
        let command = line.strip_prefix("$ ").filter(|_| is_sample);
        if command.is_some() || !is_sample {
            found += &format!("{line}\n");
        }
        is_sample |=
            line == "```" && lines.peek().is_some_and(|next| next.starts_with("$ pathlight generate "));
        if let Some(command) = command {
            commands += 1;
            shown(folder.path(), command).iter().for_each(|line| found += &format!("{line}\n"));
        }
    }
    assert_eq!(commands, 4);
    let mut golden = Golden::default();
    golden.compare("../../README.md", &found);
    golden.finish();
}
