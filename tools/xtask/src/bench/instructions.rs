//! Counts of instructions: `benches/count.rs` under valgrind. A busy machine does not change them, so they tell whether a
//! change of the code makes it slower.

use std::fmt::Write as _;
use std::process::Stdio;

use serde_json::Value;

use super::report::{Report, Row};
use crate::supply::{list, text};
use crate::{Outcome, sh, tools};

/// How many instructions something takes.
#[derive(Debug, PartialEq)]
struct Count {
    what: String,
    instructions: f64,
    /// How many more than those of the run that it is compared with.
    more_percent: Option<f64>,
}

/// Adds the counts to the report.
pub fn run(report: &mut Report) -> Outcome {
    for Count { what, instructions, .. } in counts(&[])? {
        report.add(Row::new("Instructions, native, one thread", &what, instructions, "", ""));
    }
    Ok(())
}

/// Prints the counts, compared with those that an earlier run saved as `base`; saves them as `save`.
pub fn compare(base: Option<&str>, save: Option<&str>) -> Outcome {
    let option = |name: &str, value: Option<&str>| value.map(|value| format!("--{name}={value}"));
    let options = [option("baseline", base), option("save-baseline", save)];
    let mut counts = counts(&options.into_iter().flatten().collect::<Vec<_>>())?;
    if base.is_none() {
        // What gungraun compares with then was not asked for: the run before.
        counts.iter_mut().for_each(|count| count.more_percent = None);
    } else if counts.iter().all(|count| count.more_percent.is_none()) {
        let base = base.unwrap_or_default();
        return Err(format!(
            "no counts are saved as {base}: run `cargo xtask bench count --save {base}` before"
        ));
    }
    print!("{}", table(&counts));
    Ok(())
}

/// Runs the bench.
fn counts(options: &[String]) -> Outcome<Vec<Count>> {
    let runner = tools::gungraun_runner()?.join("gungraun-runner");
    let mut command = sh::cargo();
    // Without the feature of the binary, which would be built as well.
    command
        .args(["bench", "--quiet", "-p", "pathlight", "--no-default-features", "--bench", "count"])
        .args(["--", "--output-format=json"])
        .args(options)
        .env("GUNGRAUN_RUNNER", runner);
    eprintln!("  $ {}", sh::spell(&command));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start `{}`: {error}", sh::spell(&command)))?;
    if !output.status.success() {
        return Err(format!("`{}` ended with {}", sh::spell(&command), output.status));
    }
    String::from_utf8_lossy(&output.stdout).lines().map(parse).collect()
}

/// Reads what gungraun writes of one count.
fn parse(line: &str) -> Outcome<Count> {
    let found: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
    let what = format!("{}: {}", text(&found, "function_name"), text(&found, "id")).replace('_', " ");
    let ir = &list(&found, "profiles").first().unwrap_or(&Value::Null)["data"]["total"]["metrics"]["Ir"];
    let instructions = ir["values"]["new"].as_f64().ok_or(format!("no instructions: {line}"))?;
    Ok(Count { what, instructions, more_percent: text(&ir["change"], "diff_pct").parse().ok() })
}

fn table(counts: &[Count]) -> String {
    let mut out = format!("{:40} {:>14} {:>9}\n", "what", "instructions", "change");
    for Count { what, instructions, more_percent } in counts {
        let figure = Row::new("", what, *instructions, "", "").figure();
        let change = more_percent.map_or_else(String::new, |percent| format!("{percent:+.3} %"));
        let _ = writeln!(out, "{}", format!("{what:40} {figure:>14} {change:>9}").trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(metrics: &str) -> String {
        format!(
            r#"{{"function_name":"read","id":"otlp_json","profiles":[{{"data":{{"total":{{"metrics":{metrics}}}}}}}]}}"#
        )
    }

    #[test]
    fn counts_are_read_and_written_with_their_change() {
        let compared = r#"{"Ir":{"change":{"diff_pct":"-1.25","factor":"-1.0126"},"values":{"new":39500000,"old":40000000}}}"#;
        let alone = r#"{"Ir":{"values":{"new":7}}}"#;
        let counts = [compared, alone].map(|metrics| parse(&line(metrics)).unwrap());
        assert_eq!((counts[0].more_percent, counts[1].more_percent), (Some(-1.25), None));
        let table = table(&counts);
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1], ["read:", "otlp", "json", "39,500,000", "-1.250", "%"]);
        assert_eq!(words[2], ["read:", "otlp", "json", "7"]);
        assert!(parse(&line("{}")).unwrap_err().starts_with("no instructions"));
    }
}
