//! Names of services and operations, to choose from.

use super::answer::{Requested, Verdict, judge};
use super::{Dialect, Reply, Trouble, request};
use serde_json::Value;
use std::collections::VecDeque;

/// Asks for a list of names in one dialect after the other.
#[derive(Clone, Debug)]
pub struct Listing {
    base: String,
    /// Operations of this service; `None`: services.
    service: Option<String>,
    dialect: Dialect,
    /// Dialects that may be tried next.
    untried: VecDeque<Dialect>,
    refused: Option<Trouble>,
}

/// The result of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerListing {
    /// Ask this address too.
    Ask(String),
    /// Names, sorted, each once.
    Names(Vec<String>),
    /// There is no list to be had.
    Failed(Trouble),
}

impl Listing {
    /// Returns the services known at this base address; first asked in the dialect that was understood there before.
    pub fn services(base: &str, known: Option<Dialect>) -> Listing {
        let mut untried = Dialect::in_order(known);
        // Both spellings of the third dialect have the same lists.
        let other = if known == Some(Dialect::V3Camel) { Dialect::V3 } else { Dialect::V3Camel };
        untried.retain(|dialect| *dialect != other);
        let dialect = untried.pop_front().unwrap_or_default();
        Listing { base: base.to_owned(), service: None, dialect, untried, refused: None }
    }

    /// Returns the operations of a service.
    pub fn operations(base: &str, service: &str, known: Option<Dialect>) -> Listing {
        Listing { service: Some(service.to_owned()), ..Listing::services(base, known) }
    }

    /// Returns the dialect it was asked in last.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the address to ask.
    pub fn url(&self) -> String {
        match &self.service {
            None => request::services(&self.base, self.dialect),
            Some(service) => request::operations(&self.base, self.dialect, service),
        }
    }

    /// Takes a reply; `body` is the whole text of its body.
    pub fn replied(&mut self, reply: &Reply, body: &str) -> ServerListing {
        match judge(self.dialect, Requested::Names, reply) {
            Verdict::Good => ServerListing::Names(names(body)),
            Verdict::Nothing => ServerListing::Names(Vec::new()),
            Verdict::OtherDialect(trouble) => {
                let first = self.refused.get_or_insert(trouble).clone();
                let Some(next) = self.untried.pop_front() else { return ServerListing::Failed(first) };
                self.dialect = next;
                ServerListing::Ask(self.url())
            }
            Verdict::Later(_) => ServerListing::Failed(Trouble::Busy),
            Verdict::Again(trouble) | Verdict::Over(trouble) => ServerListing::Failed(trouble),
        }
    }
}

fn names(body: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let lists = ["data", "services", "operations", "tagValues"].map(|key| json[key].as_array());
    let entries = lists.into_iter().flatten().flatten();
    // An operation is a name, or a name with a kind; in Tempo any name is a value with a type.
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.as_str().or(entry["name"].as_str()).or(entry["value"].as_str()))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scan, ServerAnswer};

    fn take(listing: &mut Listing, status: u16, body: &str) -> ServerListing {
        let mut scan = Scan::default();
        scan.feed(body.as_bytes());
        listing.replied(&Reply::Answer(ServerAnswer { status, retry_after_s: None, body: scan }), body)
    }

    #[test]
    fn a_list_is_asked_for_in_every_dialect() {
        let mut listing = Listing::operations("/j", "shop", None);
        assert_eq!(listing.url(), "/j/api/operations?service=shop");
        let next = take(&mut listing, 200, "<html>");
        assert_eq!(next, ServerListing::Ask("/j/api/v3/operations?service=shop".to_owned()));
        let body = r#"{"operations":[{"name":"b","spanKind":"server"},{"name":"a"},{"name":"b","spanKind":"client"}]}"#;
        assert_eq!(take(&mut listing, 200, body), ServerListing::Names(vec!["a".to_owned(), "b".to_owned()]));
        let mut listing = Listing::services("/j", None);
        let names = take(&mut listing, 200, r#"{"data":["z","y"],"total":2}"#);
        assert_eq!(names, ServerListing::Names(vec!["y".to_owned(), "z".to_owned()]));
        // What was understood before goes first.
        let mut listing = Listing::services("/t", Some(Dialect::Tempo));
        let names = take(&mut listing, 200, r#"{"tagValues":[{"type":"string","value":"shop"}]}"#);
        assert_eq!(
            (names, listing.dialect()),
            (ServerListing::Names(vec!["shop".to_owned()]), Dialect::Tempo)
        );
    }

    #[test]
    fn the_first_refusal_counts_when_no_dialect_is_spoken() {
        let mut listing = Listing::services("/j", None);
        assert!(matches!(take(&mut listing, 200, "<div id=jaeger-ui-root>"), ServerListing::Ask(_)));
        assert!(matches!(take(&mut listing, 404, "nothing here"), ServerListing::Ask(_)));
        assert_eq!(take(&mut listing, 404, "nothing here"), ServerListing::Failed(Trouble::Html));
    }
}
