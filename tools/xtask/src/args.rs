//! The few options the commands take.

use crate::Outcome;

/// Splits `arguments` into flags (of `flags`), options with a value (of `options`) and the rest.
pub struct Arguments {
    flags: Vec<String>,
    options: Vec<(String, String)>,
    /// What is neither a flag nor an option.
    pub rest: Vec<String>,
}

impl Arguments {
    /// Reads `arguments`; both `--name value` and `--name=value` are understood.
    ///
    /// # Errors
    /// An option nobody knows, or one without its value.
    pub fn parse(arguments: &[String], flags: &[&str], options: &[&str]) -> Outcome<Self> {
        let mut parsed = Self { flags: Vec::new(), options: Vec::new(), rest: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if options.contains(&name) {
                let value = value.or_else(|| words.next().cloned()).ok_or(format!("{name} needs a value"))?;
                parsed.options.push((name.to_owned(), value));
            } else if flags.contains(&name) && value.is_none() {
                parsed.flags.push(name.to_owned());
            } else if name.starts_with('-') {
                return Err(format!("unknown option {word}"));
            } else {
                parsed.rest.push(word.clone());
            }
        }
        Ok(parsed)
    }

    /// Returns whether the flag was given.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|given| given == name)
    }

    /// Returns the last value given for an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn both_spellings_of_an_option_are_read_and_the_last_one_wins() {
        let parsed =
            Arguments::parse(&words("--port 1 e2e --fast --port=2"), &["--fast"], &["--port"]).unwrap();
        assert_eq!((parsed.option("--port"), parsed.flag("--fast")), (Some("2"), true));
        assert_eq!(parsed.rest, ["e2e"]);
    }

    #[test]
    fn what_nobody_knows_is_refused_by_name() {
        let error = Arguments::parse(&words("--prot 1"), &[], &["--port"]).err();
        assert_eq!(error.as_deref(), Some("unknown option --prot"));
        let error = Arguments::parse(&words("--port"), &[], &["--port"]).err();
        assert_eq!(error.as_deref(), Some("--port needs a value"));
    }
}
