//! The messages about files that gave no trace, or only a part.

use pathlight_base::format::counted;
use pathlight_engine::pool::UserError;
use pathlight_ingest::{Ended, ErrorKind, FileReport};

/// Files named one by one in error rows; of more, the rows give counts and the details the names.
const NAMED_FILES: usize = 3;

/// Returns the messages about files that gave no trace or ended in the middle; one for all of a kind if there are many.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pathlight_ingest::{IngestError, KeptTraces};

    /// Returns the report of a file of two traces that ended so.
    pub(crate) fn file(name: &str, ended: Ended) -> FileReport {
        FileReport {
            name: name.to_owned(),
            format: "jaeger".to_owned(),
            bytes: 1_000,
            traces: 2,
            spans: 9,
            problems: Vec::new(),
            ended,
            keep: KeptTraces::All,
            guess: None,
            chunk: None,
        }
    }

    fn failed(name: &str, kind: ErrorKind) -> FileReport {
        let error = IngestError {
            kind,
            file: name.to_owned(),
            offset: 7,
            reason: "it is a picture.".to_owned(),
            next: "Choose another file.".to_owned(),
        };
        file(name, Ended::Failed(error))
    }

    #[test]
    fn a_few_files_are_named_one_by_one() {
        let files = [
            file("whole.json", Ended::Whole),
            failed("cat.png", ErrorKind::NotRecognised),
            // Said by the pool, once for all files.
            failed("large.json", ErrorKind::Memory),
            file("cut.json", Ended::Cut { offset: 500 }),
        ];
        let error = |message: &str, detail: &str, next_step: &str| UserError {
            message: message.to_owned(),
            detail: detail.to_owned(),
            next_step: next_step.to_owned(),
        };
        assert_eq!(
            file_errors(&files),
            [
                error("cat.png: it is a picture.", "cat.png, byte 7", "Choose another file."),
                error(
                    "cut.json ends in the middle, at byte 500; the 2 complete traces before are kept.",
                    "cut.json, byte 500",
                    "Export or copy it again to have the rest."
                ),
            ]
        );
    }

    #[test]
    fn many_files_are_counted() {
        let mut files: Vec<FileReport> =
            (0..5).map(|i| failed(&format!("{i}.png"), ErrorKind::NotRecognised)).collect();
        files.push(file("whole.json", Ended::Whole));
        let errors = file_errors(&files);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].message, "5 of 6 files gave no trace.");
        assert_eq!(errors[0].detail.lines().count(), 5);
        assert_eq!(errors[0].detail.lines().next(), Some("0.png: it is a picture. (0.png, byte 7)"));
    }
}
