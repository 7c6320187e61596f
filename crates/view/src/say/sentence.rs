//! Sentences built from parts, so that names can be links, numbers carry their unit, and page, text, Markdown and JSON say
//! the same.

use crate::search::finder::Finder;
use pathlight_base::format;
use pathlight_trace::Endpoint;
use serde::Serialize;

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain words.
    Text(String),
    /// An endpoint.
    Endpoint {
        /// Service name.
        service: String,
        /// Operation name.
        operation: String,
    },
    /// A service.
    Service(String),
    /// A number as people read it, with its unit.
    Number(String),
}

/// A sentence, or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// In order; together they are the text.
    pub parts: Vec<Part>,
}

impl Sentence {
    /// Adds plain words.
    #[must_use]
    pub fn text(mut self, words: &str) -> Sentence {
        self.parts.push(Part::Text(words.to_owned()));
        self
    }

    /// Adds a number with its unit.
    #[must_use]
    pub fn number(mut self, words: impl Into<String>) -> Sentence {
        self.parts.push(Part::Number(words.into()));
        self
    }

    /// Adds the name of an endpoint.
    #[must_use]
    pub fn name(mut self, endpoint: &Endpoint) -> Sentence {
        let (service, operation) = (endpoint.service.clone(), endpoint.operation.clone());
        self.parts.push(Part::Endpoint { service, operation });
        self
    }

    /// Adds the name of a service.
    #[must_use]
    pub fn service(mut self, service: &str) -> Sentence {
        self.parts.push(Part::Service(service.to_owned()));
        self
    }

    /// Adds the parts of another sentence.
    #[must_use]
    pub fn then(mut self, other: Sentence) -> Sentence {
        self.parts.extend(other.parts);
        self
    }

    /// Adds names of services as a list.
    #[must_use]
    pub fn services(mut self, names: &[String]) -> Sentence {
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                self = self.text(if at + 1 == names.len() { " and " } else { ", " });
            }
            self = self.service(name);
        }
        self
    }

    /// Returns what stands before the first full stop or semicolon, as a sentence of its own, and what follows.
    pub fn split(self) -> (Sentence, Sentence) {
        let (mut first, mut rest) = (Sentence::default(), Sentence::default());
        let mut is_first = true;
        for part in self.parts {
            match part {
                Part::Text(text) if is_first => match [". ", "; "]
                    .iter()
                    .filter_map(|end| text.find(end))
                    .min()
                {
                    Some(at) => {
                        is_first = false;
                        first = first.text(&text[..at]).text(".");
                        let mut letters = text[at + 2..].chars();
                        let begun: String =
                            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
                        if !begun.is_empty() {
                            rest = rest.text(&begun);
                        }
                    }
                    None => first = first.text(&text),
                },
                part if is_first => first.parts.push(part),
                part => rest.parts.push(part),
            }
        }
        (first, rest)
    }

    /// Returns whether a search finds it: by its title and its words, or, where tags are searched for, by the endpoints
    /// and services that it names.
    pub fn is_found(&self, title: &str, finder: &Finder) -> bool {
        if !finder.has_tags() {
            return finder.fits(&[title, &self.to_text()]);
        }
        self.parts.iter().any(|part| match part {
            Part::Endpoint { service, operation } => finder.fits_endpoint((service, operation)),
            Part::Service(service) => finder.fits_endpoint((service, "")),
            Part::Text(_) | Part::Number(_) => false,
        })
    }

    /// Returns the sentence as plain text.
    pub fn to_text(&self) -> String {
        self.write(|part| match part {
            Part::Text(text) | Part::Number(text) => text.clone(),
            Part::Service(service) => format::printable(service),
            Part::Endpoint { service, operation } => format::endpoint(service, operation),
        })
    }

    /// Returns the sentence as Markdown: names as code, numbers in bold.
    pub fn to_markdown(&self) -> String {
        self.write(|part| match part {
            Part::Text(text) => text.replace('<', "&lt;"),
            Part::Number(number) => format!("**{number}**"),
            Part::Service(service) => format::code(service),
            Part::Endpoint { service, operation } => format::code(&format::endpoint(service, operation)),
        })
    }

    /// Returns the sentence as text in which names stand in backquotes, so that a program that reads it sees where a name
    /// begins and ends.
    pub fn to_quoted(&self) -> String {
        self.write(|part| match part {
            Part::Text(text) | Part::Number(text) => text.clone(),
            Part::Service(service) => format::code(service),
            Part::Endpoint { service, operation } => format::code(&format::endpoint(service, operation)),
        })
    }

    fn write(&self, part: impl Fn(&Part) -> String) -> String {
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::requests::search::{FoundEndpoint, SearchReport, SpanSearch};

    #[test]
    fn a_sentence_ends_at_its_first_stop() {
        let all =
            Sentence::default().number("3 of 4").text(" fail; in ").number("2").text(" first. Then no more.");
        let (first, rest) = all.split();
        assert_eq!(
            (first.to_text(), rest.to_text()),
            ("3 of 4 fail.".to_owned(), "In 2 first. Then no more.".to_owned())
        );
        let (first, rest) = Sentence::default().text("One.").split();
        assert_eq!((first.to_text().as_str(), rest.parts.len()), ("One.", 0));
    }

    #[test]
    fn a_search_finds_a_sentence_by_its_words_and_by_the_endpoints_it_names() {
        let endpoint = Endpoint::new("stock", "GET /item");
        let words = Sentence::default().name(&endpoint).text(" is repeated in ").number("3 of 4 requests");
        let is_found = |text: &str| words.is_found("Retries", &Finder::of_text(text));
        for text in ["", "item", "stock repeated", "retries", "-cart"] {
            assert!(is_found(text), "{text:?}");
        }
        for text in ["cart", "item cart", "-stock"] {
            assert!(!is_found(text), "{text:?}");
        }
        // A tag is no word: the workers tell the endpoints that have it.
        assert!(!is_found("stock=repeated"));
        let endpoints = vec![FoundEndpoint { endpoint, spans: 1 }];
        let report = SearchReport { endpoints, ..SearchReport::default() };
        assert!(words.is_found("", &Finder::new(SpanSearch::parse("a=b"), [&report])));
    }
}
