//! `.pathlight.toml`: rules, thresholds and accepted findings of a repository, for jobs that decide.

use super::Failure;
use pathlight_base::format::harmless;
use pathlight_engine::findings::Finding;
use pathlight_engine::flow::LatencyChange;
use pathlight_engine::summaries::GateRule;
use pathlight_trace::Endpoint;
use pathlight_view::export::sarif::{endpoint_of, kind_key};
use pathlight_view::findings::fingerprint::fingerprint;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the file.
pub const NAME: &str = ".pathlight.toml";

/// The option of commands that read it.
#[derive(Debug, clap::Args)]
pub struct ConfigOption {
    /// Rules, thresholds and accepted findings (default: `.pathlight.toml` in the working directory, or above it up to the root of
    /// its repository)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What the file says.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Path of the file as results name it, relative to the working directory; empty if there is none.
    #[serde(skip)]
    pub path: String,
    check: Check,
    findings: Thresholds,
    accepted: Vec<Accepted>,
}

/// Rules of `check`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Check {
    fail_on: Vec<String>,
}

/// What `findings` reports.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Thresholds {
    /// Least cost per request, as `5ms`; what is not about time stays.
    least_cost: Option<String>,
    /// Kinds that are not reported.
    leave_out: Vec<String>,
}

/// A finding that is known and accepted for a while.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    /// By its fingerprint, as SARIF has it;
    fingerprint: Option<String>,
    /// or by kind, service and operation, of which those that are given must fit.
    kind: Option<String>,
    service: Option<String>,
    operation: Option<String>,
    reason: String,
    /// The last day on which it is accepted.
    until: toml::value::Datetime,
}

/// What is said of a known finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is accepted, for this reason.
    Accepted(String),
    /// It was accepted until a day that is past.
    Expired(String),
}

impl ConfigOption {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the one that is named is not there, or what it says is wrong.
    pub fn read(&self) -> Result<Config, Failure> {
        let found = match &self.config {
            Some(path) => Some(path.clone()),
            None => find(),
        };
        let Some(path) = found else { return Ok(Config::default()) };
        let fail = |words: String| Failure::Usage(format!("{}: {words}", path.display()));
        let text =
            std::fs::read_to_string(&path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let mut config = Config::parse(&text).map_err(fail)?;
        config.path = path.to_string_lossy().trim_start_matches("./").to_owned();
        Ok(config)
    }
}

/// Returns the file in the working directory, or above it up to the root of its repository.
fn find() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let mut back = PathBuf::new();
    for folder in here.ancestors() {
        let path = back.join(NAME);
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            break;
        }
        back.push("..");
    }
    None
}

/// Returns today as a number that grows with the days: year, month and day in UTC.
fn today() -> (u16, u8, u8) {
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let text = pathlight_base::format::moment(now_us);
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    let mut number = || parts.next().and_then(|part| part.parse::<u16>().ok()).unwrap_or(0);
    let (year, month, day) = (number(), number(), number());
    (year, month as u8, day as u8)
}

impl Config {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong, and where.
    fn parse(text: &str) -> Result<Config, String> {
        let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
        config.rules()?;
        config.least_us()?;
        for known in &config.accepted {
            if known.reason.trim().is_empty() {
                return Err("every accepted finding needs a reason".to_owned());
            }
            if known.until.date.is_none() || known.until.time.is_some() {
                return Err(format!("until = {} is no day: write until = 2027-01-31", known.until));
            }
            if known.fingerprint.is_none() && known.kind.is_none() && known.service.is_none() {
                return Err("an accepted finding is named by fingerprint, or by kind, service and operation"
                    .to_owned());
            }
        }
        Ok(config)
    }

    /// Returns the rules of `check`.
    ///
    /// # Errors
    /// One of them is no rule.
    pub fn rules(&self) -> Result<Vec<GateRule>, String> {
        self.check.fail_on.iter().map(|rule| rule.parse()).collect()
    }

    fn least_us(&self) -> Result<f64, String> {
        let Some(text) = &self.findings.least_cost else { return Ok(0.0) };
        match LatencyChange::parse_amount(text) {
            Some((0, us)) if us >= 0 => Ok(us as f64),
            _ => Err(format!("least-cost = {text:?} is no time: write \"5ms\"")),
        }
    }

    /// Returns whether a finding is reported: its kind is wanted and its cost is large enough.
    pub fn reports(&self, finding: &Finding) -> bool {
        let kind = kind_key(finding.kind());
        let least_us = self.least_us().unwrap_or(0.0);
        let costs = finding.stake_us <= 0.0 || finding.stake_us >= least_us;
        costs && !self.findings.leave_out.contains(&kind)
    }

    /// Returns what is known of a finding; `None` if it is new.
    pub fn knows(&self, finding: &Finding) -> Option<Known> {
        let place = endpoint_of(&finding.place);
        self.known(&fingerprint(finding), &kind_key(finding.kind()), place.as_ref())
    }

    /// Returns what is known of something by fingerprint, kind and place.
    pub fn known(&self, fingerprint: &str, kind: &str, place: Option<&Endpoint>) -> Option<Known> {
        let fits = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        let known = self.accepted.iter().find(|known| {
            fits(&known.fingerprint, Some(fingerprint))
                && fits(&known.kind, Some(kind))
                && fits(&known.service, place.map(|place| place.service.as_str()))
                && fits(&known.operation, place.map(|place| place.operation.as_str()))
        })?;
        let date = known.until.date?;
        let words = format!("{} (until {})", harmless(&known.reason), known.until);
        let is_over = (date.year, date.month, date.day) < today();
        Some(if is_over { Known::Expired(words) } else { Known::Accepted(words) })
    }

    /// Returns the folder in which the file lies, if there is one.
    pub fn home(&self) -> Option<&str> {
        Some(self.path.as_str()).filter(|path| !path.is_empty() && !Path::new(path).is_absolute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[check]
fail-on = ["p95>10%", "errors>1%"]

[findings]
least-cost = "5ms"
leave-out = ["not_instrumented"]

[[accepted]]
kind = "slow_tail"
service = "cart"
reason = "known: ticket 12"
until = 2999-01-31

[[accepted]]
fingerprint = "0123456789abcdef"
reason = "was to be mended"
until = 2020-02-29
"#;

    #[test]
    fn rules_thresholds_and_accepted_findings_are_read() {
        let config = Config::parse(TEXT).unwrap();
        assert_eq!(config.rules().unwrap().len(), 2);
        assert_eq!(config.least_us(), Ok(5000.0));
        let cart = Endpoint::new("cart", "GET /cart");
        let accepted = Known::Accepted("known: ticket 12 (until 2999-01-31)".to_owned());
        assert_eq!(config.known("x", "slow_tail", Some(&cart)), Some(accepted));
        assert_eq!(config.known("x", "slow_tail", Some(&Endpoint::new("pay", ""))), None);
        assert_eq!(config.known("x", "slow_tail", None), None);
        let expired = Known::Expired("was to be mended (until 2020-02-29)".to_owned());
        assert_eq!(config.known("0123456789abcdef", "who", None), Some(expired));
        assert!(today() > (2025, 1, 1), "{:?}", today());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("[check]\nfail-on = [\"p95\"]", "is no rule"),
            ("[check]\nfail = []", "unknown field"),
            ("[findings]\nleast-cost = \"5 %\"", "is no time"),
            ("[[accepted]]\nkind = \"who\"\nreason = \"x\"", "until"),
            ("[[accepted]]\nkind = \"who\"\nreason = \" \"\nuntil = 2999-01-01", "needs a reason"),
            ("[[accepted]]\nreason = \"x\"\nuntil = 2999-01-01", "is named by"),
            ("[[accepted]]\nkind = \"who\"\nreason = \"x\"\nuntil = 2999-01-01T10:00:00", "is no day"),
        ] {
            let error = Config::parse(text).err().unwrap_or_default();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
