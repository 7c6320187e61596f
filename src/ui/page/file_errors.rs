//! What is said of files that gave nothing, or not all of themselves.

use crate::pool::UserError;
use pathlight_ingest::{Ended, ErrorKind, FileReport};
use pathlight_text::format::counted;

/// Files named one by one in error rows; of more, the rows give counts and the details the names.
const NAMED_FILES: usize = 3;

/// What to say of files that gave nothing, or not all of themselves.
pub fn file_errors(files: &[FileReport]) -> Vec<UserError> {
    let mut nothing = Vec::new();
    let mut cut = Vec::new();
    for file in files {
        match &file.ended {
            Ended::Whole | Ended::Stopped => {}
            // Said by the pool, once for all files.
            Ended::Failed(error) if error.kind == ErrorKind::Memory => {}
            Ended::Failed(error) => nothing.push(UserError {
                message: format!("{}: {}.", file.name, error.reason.trim_end_matches('.')),
                detail: format!("{}, byte {}", file.name, error.offset),
                next_step: error.next.clone(),
            }),
            Ended::Cut { offset } => {
                let place =
                    file.problems.last().map_or_else(String::new, |p| format!(": {}", p.example.text));
                cut.push(UserError {
                    message: format!(
                        "{} ends in the middle, at byte {offset}; the {} before are kept.",
                        file.name,
                        counted(file.traces, "complete trace")
                    ),
                    detail: format!("{}, byte {offset}{place}", file.name),
                    next_step: "Export or copy it again to have the rest.".to_owned(),
                });
            }
        }
    }
    let mut errors = Vec::new();
    for (list, words) in [(nothing, "gave no trace"), (cut, "end in the middle; what is complete is kept")] {
        if list.len() <= NAMED_FILES {
            errors.extend(list);
            continue;
        }
        let lines: Vec<String> =
            list.iter().map(|error| format!("{} ({})", error.message, error.detail)).collect();
        errors.push(UserError {
            message: format!("{} of {} files {words}.", list.len(), files.len()),
            detail: lines.join("\n"),
            next_step: "The notes list every file.".to_owned(),
        });
    }
    errors
}
