//! `.github/workflows`: are they YAML, and of the form that GitHub runs? What they do shows only there.

use yaml_rust2::{Yaml, YamlLoader};

use crate::{Outcome, sh};

/// Checks every workflow; the error names each wrong file with its mistake.
pub fn check() -> Outcome {
    let folder = sh::root().join(".github/workflows");
    let mut mistakes = Vec::new();
    for entry in sh::on(&folder, folder.read_dir())? {
        let file = sh::on(&folder, entry)?.path();
        if let Err(mistake) = check_text(&sh::on(&file, std::fs::read_to_string(&file))?) {
            mistakes.push(format!("{}: {mistake}", file.display()));
        }
    }
    mistakes.sort();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
}

fn check_text(text: &str) -> Outcome {
    let documents = YamlLoader::load_from_str(text).map_err(|error| error.to_string())?;
    let [workflow] = documents.as_slice() else { return Err("it is not one document".to_owned()) };
    // To YAML 1.2, `on` is text; parsers of YAML 1.1 take it for the boolean true.
    if workflow["on"].is_badvalue() {
        return Err("it does not say when it runs (`on`)".to_owned());
    }
    let jobs = workflow["jobs"].as_hash().filter(|jobs| !jobs.is_empty()).ok_or("it has no `jobs`")?;
    for (name, job) in jobs {
        let name = name.as_str().unwrap_or_default();
        if !(job["runs-on"].as_str().is_some() || job["uses"].as_str().is_some()) {
            return Err(format!("job {name} has no `runs-on`"));
        }
        // A container is a text, or an object with an image.
        let container = job["container"].as_str().or(job["container"]["image"].as_str());
        if let Some(image) = container.filter(|image| !is_exact(image)) {
            return Err(format!("job {name} names no exact version of {image}"));
        }
        for (number, step) in (1..).zip(job["steps"].as_vec().into_iter().flatten()) {
            check_step(step).map_err(|mistake| format!("step {number} of job {name} {mistake}"))?;
        }
    }
    Ok(())
}

fn check_step(step: &Yaml) -> Outcome<()> {
    match (step["uses"].as_str(), step["run"].as_str()) {
        (Some(action), None) if action.starts_with("./") || is_pinned(action) => Ok(()),
        (Some(action), None) => Err(format!("names no commit of {action}")),
        (None, Some(_)) => Ok(()),
        _ => Err("has either `uses` or `run`, not both or none".to_owned()),
    }
}

/// Returns whether an image is named by its digest or by a whole version: `rust:1` is another image every few weeks.
fn is_exact(image: &str) -> bool {
    let is_version = |tag: &str| {
        let version = tag.split('-').next().unwrap_or_default();
        version.split('.').count() == 3 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let name = image.rsplit('/').next().unwrap_or_default();
    image.contains("@sha256:") || name.split_once(':').is_some_and(|(_, tag)| is_version(tag))
}

/// Returns whether an action is named by its commit: whoever has its repository can point a tag elsewhere.
fn is_pinned(action: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    action.split_once('@').is_some_and(|(_, commit)| commit.len() == 40 && commit.bytes().all(is_hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> String {
        check_text(text).err().unwrap_or_default()
    }

    #[test]
    fn a_workflow_has_a_trigger_and_jobs_with_steps() {
        let job = "jobs:\n  a:\n    runs-on: x\n    steps:\n";
        let with = |step: &str| mistake(&format!("on:\n  push:\n{job}      - {step}\n"));
        assert_eq!(with("run: cargo xtask test"), "");
        assert_eq!(with("uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2"), "");
        for action in ["actions/checkout", "actions/checkout@v4", "actions/checkout@11bd719"] {
            let mistake = format!("step 1 of job a names no commit of {action}");
            assert_eq!(with(&format!("uses: {action}")), mistake);
        }
        assert_eq!(with("name: nothing"), "step 1 of job a has either `uses` or `run`, not both or none");
        let within =
            |image: &str| mistake(&format!("on: push\n{job}      - run: a\n    container: {image}\n"));
        let digest = "rust@sha256:0123456789012345678901234567890123456789012345678901234567890123";
        for image in ["rust:1.95.0-bookworm", "{ image: \"host:5000/rust:1.95.0\" }", digest] {
            assert_eq!(within(image), "");
        }
        for image in ["rust", "rust:latest", "rust:1-bookworm", "rust:1.95", "host:5000/rust"] {
            assert_eq!(within(image), format!("job a names no exact version of {image}"));
        }
        assert_eq!(mistake(job), "it does not say when it runs (`on`)");
        assert_eq!(mistake("on: push\n"), "it has no `jobs`");
        assert_eq!(mistake("on: push\njobs:\n  a:\n    steps: []\n"), "job a has no `runs-on`");
        assert_eq!(mistake(""), "it is not one document");
    }

    #[test]
    fn what_is_not_yaml_is_reported_with_its_place() {
        assert!(mistake("on: push\n jobs: a").contains("line 2"));
        assert!(mistake("on: push\njobs:\n\ta: 1").contains("line 3"));
        assert!(mistake("on: push\non: pull_request\n").contains("duplicate"));
    }

    #[test]
    fn the_workflows_of_the_project_are_right() {
        assert_eq!(check(), Ok(()));
    }
}
