//! Searching spans: the grammar of the search field, of filters and of `--where`; which spans and requests are meant.
//!
//! ```text
//! GET cart               both words in "operation @ service", whatever the case
//! "GET /cart"            these characters, blanks too
//! region=eu -retry=true  spans with one tag and without the other, of their process too
//! HTTP GET -> cart       a minus sign means "not" only before what it can be about
//! tokens > 1000          spans with a number under this tag, and one that is greater; also >=, <, <=
//! error=                 spans with the tag, whatever its value
//! service=cart           spans of this service, or with a tag of this name
//! region=eu OR zone="a b"
//! ```

pub(crate) mod find_spans;
mod found;
mod grammar;
mod matching;
pub(crate) mod query;

pub use found::{FoundEndpoint, SearchObserver, SearchPart, SearchReport};
pub use grammar::{
    Comparison, Condition, SERVICE, ServiceChoice, SpanSearch, Term, Token, quoted, service_choice, token_at,
    with_service,
};
pub use matching::found_spans;
pub(crate) use matching::{RequestSearch, SpanTests};
