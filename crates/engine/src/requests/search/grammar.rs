//! The grammar of a search.

use pathlight_trace::number;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// Separator of alternatives.
const OR: &str = "OR";

/// Pieces of a text that are read, from the front: each is looked up in the tables of every worker.
const MOST_TOKENS: usize = 64;

/// The key that means the service of a span, and a tag of this name.
pub const SERVICE: &str = "service";

/// Treatment of the spans of a service in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceChoice {
    /// As with all others.
    Plain,
    /// They alone are meant.
    Only,
    /// They are not meant.
    Hidden,
}

/// Returns how a search text deals with the spans of a service.
pub fn service_choice(text: &str, service: &str) -> ServiceChoice {
    let tokens = tokens(text);
    if tokens.iter().any(Token::is_or) {
        return ServiceChoice::Plain;
    }
    let of_services: Vec<Token> = tokens.into_iter().filter(Token::is_service).collect();
    let is_it = |token: &Token| token.value.as_deref() == Some(service);
    match of_services.as_slice() {
        [token] if is_it(token) && !token.negated => ServiceChoice::Only,
        tokens if tokens.iter().any(|token| is_it(token) && token.negated) => ServiceChoice::Hidden,
        _ => ServiceChoice::Plain,
    }
}

/// Returns a search text that deals so with the spans of a service; what it says of other things stays, unless there are
/// alternatives, which a condition behind them would not reach.
pub fn with_service(text: &str, service: &str, choice: ServiceChoice) -> String {
    let tokens = tokens(text);
    let has_alternatives = tokens.iter().any(Token::is_or);
    if has_alternatives && choice == ServiceChoice::Plain {
        return text.to_owned();
    }
    let stays = |token: &&Token| {
        let is_it = token.value.as_deref() == Some(service);
        let is_hidden = choice != ServiceChoice::Only && token.negated && !is_it;
        !has_alternatives && (!token.is_service() || is_hidden)
    };
    let mut pieces: Vec<String> =
        tokens.iter().filter(stays).map(|token| text[token.start..token.end].to_owned()).collect();
    let sign = match choice {
        ServiceChoice::Plain => return pieces.join(" "),
        ServiceChoice::Only => "",
        ServiceChoice::Hidden => "-",
    };
    pieces.push(format!("{sign}{SERVICE}={}", quoted(service)));
    pieces.join(" ")
}

/// One condition on a span.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Condition {
    /// The name of its endpoint, `operation @ service`, holds this text, whatever the case.
    Word(String),
    /// It or its process has this tag.
    Tag {
        /// Tag key.
        key: String,
        /// Tag value; `None`: any.
        value: Option<String>,
    },
    /// It or its process has this tag with a number that is greater or less than another.
    Compare {
        /// Tag key.
        key: String,
        /// The comparison.
        is: Comparison,
        /// The other number, as it was written.
        number: String,
    },
}

/// How a number lies to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// It is less.
    Less,
    /// It is not greater.
    AtMost,
    /// It is greater.
    Greater,
    /// It is not less.
    AtLeast,
}

impl Comparison {
    fn of(sign: &str, or_equal: bool) -> Option<Comparison> {
        Some(match (sign, or_equal) {
            ("<", false) => Comparison::Less,
            ("<", true) => Comparison::AtMost,
            (">", false) => Comparison::Greater,
            (">", true) => Comparison::AtLeast,
            _ => return None,
        })
    }

    /// Returns how it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::Greater => ">",
            Comparison::AtLeast => ">=",
        }
    }

    /// Returns whether a number lies so to another.
    pub fn holds(self, number: f64, other: f64) -> bool {
        match self {
            Comparison::Less => number < other,
            Comparison::AtMost => number <= other,
            Comparison::Greater => number > other,
            Comparison::AtLeast => number >= other,
        }
    }
}

/// A condition, or that it does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Term {
    /// The condition must not hold.
    pub negated: bool,
    /// The condition.
    pub condition: Condition,
}

/// A search: alternatives, each of terms that must all hold. Without any, nothing is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpanSearch {
    /// The alternatives; none is empty.
    pub alternatives: Vec<Vec<Term>>,
}

/// A piece of a search text, between blanks that are not quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Offset of its start in the text, in bytes.
    pub start: usize,
    /// One past its end.
    pub end: usize,
    /// It begins with a minus sign that means "not".
    pub negated: bool,
    /// The text before the first `=`, without quotes; all of it if there is none.
    pub name: String,
    /// The text after that, without quotes; `None` without a `=`.
    pub value: Option<String>,
    /// Something in it is quoted; where it has a sign of comparison, something behind that.
    quoted: bool,
    /// Place of a sign of comparison in `name`.
    sign_at: Option<usize>,
}

impl Token {
    /// Returns the term it stands for; `None` for a separator of alternatives and for what says nothing yet.
    fn term(self) -> Option<Term> {
        let condition = match self.value {
            _ if self.name.is_empty() => return None,
            Some(value) if value.is_empty() && !self.quoted => Condition::Tag { key: self.name, value: None },
            Some(value) => Condition::Tag { key: self.name, value: Some(value) },
            None => Condition::Word(self.name),
        };
        Some(Term { negated: self.negated, condition })
    }

    /// Returns the comparison with a number that it is, such as `tokens>=1000`.
    fn comparison(&self) -> Option<Term> {
        let at = self.sign_at.filter(|_| !self.quoted)?;
        let (key, (sign, behind)) = (&self.name[..at], self.name[at..].split_at(1));
        let (text, or_equal) = match &self.value {
            Some(value) if behind.is_empty() => (value.as_str(), true),
            None => (behind, false),
            Some(_) => return None,
        };
        compare(self, key, Comparison::of(sign, or_equal)?, text)
    }

    /// Returns the comparison that it is together with the two behind it, such as `tokens >= 1000`.
    fn spaced_comparison(&self, sign: &Token, number: &Token) -> Option<Term> {
        let or_equal = sign.value.as_deref().map(str::is_empty);
        let is_sign = !sign.negated && !sign.quoted && or_equal != Some(false);
        let is_number = !number.quoted && number.value.is_none();
        let is = Comparison::of(&sign.name, or_equal.is_some()).filter(|_| is_sign && is_number)?;
        let is_key = self.value.is_none() && !self.is_or() && !self.name.is_empty();
        let minus = if number.negated { "-" } else { "" };
        compare(self, &self.name, is, &format!("{minus}{}", number.name)).filter(|_| is_key)
    }

    /// Returns whether it says something of services.
    fn is_service(&self) -> bool {
        self.name == SERVICE && self.value.is_some()
    }

    fn is_or(&self) -> bool {
        !self.negated && !self.quoted && self.value.is_none() && self.name == OR
    }
}

/// Returns the comparison of a tag with a number in a text, if it is one.
fn compare(token: &Token, key: &str, is: Comparison, text: &str) -> Option<Term> {
    number(text)?;
    let condition = Condition::Compare { key: key.to_owned(), is, number: text.to_owned() };
    Some(Term { negated: token.negated, condition })
}

/// Cuts a text into pieces. A minus sign before a blank, `-`, `>` or `=` is a character like others, as in names with an
/// arrow. Between double quotes blanks, `=` and `-` are characters like others, and a backslash keeps the
/// one after it; a quote that is not closed reaches to the end.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut open: Option<Token> = None;
    let mut is_quoting = false;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if c.is_whitespace() && !is_quoting {
            tokens.extend(open.take().map(|token| Token { end: at, ..token }));
            continue;
        }
        let is_first = open.is_none();
        let before = text[..at].chars().next_back().unwrap_or(' ');
        let token = open.get_or_insert_with(|| Token {
            start: at,
            end: text.len(),
            negated: false,
            name: String::new(),
            value: None,
            quoted: false,
            sign_at: None,
        });
        let negates = |next: char| !next.is_whitespace() && !matches!(next, '-' | '>' | '=');
        let is_sign = is_first && characters.peek().is_some_and(|(_, next)| negates(*next));
        match c {
            '"' => {
                is_quoting ^= true;
                token.quoted = true;
            }
            '-' if is_sign => token.negated = true,
            '=' if !is_quoting && token.value.is_none() && !token.name.is_empty() => {
                token.value = Some(String::new());
                // Whether the value is quoted is what matters from here.
                token.quoted = false;
            }
            // An arrow is no sign.
            '<' | '>'
                if !is_quoting && token.sign_at.is_none() && !token.name.is_empty() && before != '-' =>
            {
                token.quoted &= token.value.is_some();
                token.sign_at = token.value.is_none().then_some(token.name.len());
                token.value.as_mut().unwrap_or(&mut token.name).push(c);
            }
            c => {
                let escaped = if c == '\\' && is_quoting { characters.next() } else { None };
                token.value.as_mut().unwrap_or(&mut token.name).push(escaped.map_or(c, |(_, c)| c));
            }
        }
    }
    tokens.extend(open);
    tokens
}

/// Returns the piece of a search text that ends at or holds this place, in bytes; `None` if there is a blank.
pub fn token_at(text: &str, at: usize) -> Option<Token> {
    tokens(text).into_iter().find(|token| token.start <= at && at <= token.end && !token.is_or())
}

/// Returns a name or value as it is written in a search: quoted where it has to be.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '=' | '<' | '>');
    let is_signed = text.starts_with('-') || text.ends_with('-');
    if !text.is_empty() && text != OR && !is_signed && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

impl SpanSearch {
    /// Reads what was typed. Every text means something: what is unfinished is taken as far as it goes, and what
    /// [is too long](Self::is_too_long) is cut.
    pub fn parse(text: &str) -> SpanSearch {
        let mut alternatives = vec![Vec::new()];
        let mut tokens: VecDeque<Token> = tokens(text).into_iter().take(MOST_TOKENS).collect();
        while let Some(token) = tokens.pop_front() {
            let spaced = tokens
                .front()
                .zip(tokens.get(1))
                .and_then(|(sign, number)| token.spaced_comparison(sign, number));
            if token.is_or() {
                alternatives.push(Vec::new());
                continue;
            }
            if spaced.is_some() {
                tokens.drain(..2);
            }
            let term = spaced.or_else(|| token.comparison()).or_else(|| token.term());
            alternatives.last_mut().into_iter().for_each(|last| last.extend(term.clone()));
        }
        alternatives.retain(|terms| !terms.is_empty());
        SpanSearch { alternatives }
    }

    /// Returns whether a text has more words, tags and `OR` than are read.
    pub fn is_too_long(text: &str) -> bool {
        tokens(text).len() > MOST_TOKENS
    }

    /// Returns whether nothing is searched for.
    pub fn is_empty(&self) -> bool {
        self.alternatives.is_empty()
    }

    /// Returns all terms, in the order they were written.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.alternatives.iter().flatten()
    }

    /// Returns whether tags are asked for: what a name alone cannot tell.
    pub fn has_tags(&self) -> bool {
        self.terms().any(|term| !matches!(term.condition, Condition::Word(_)))
    }

    /// Returns whether one of the alternatives holds; `holds` says whether a condition does.
    pub fn is_met(&self, mut holds: impl FnMut(&Condition) -> bool) -> bool {
        let mut all = |terms: &Vec<Term>| terms.iter().all(|term| holds(&term.condition) != term.negated);
        self.alternatives.iter().any(&mut all)
    }

    /// Returns whether names alone meet it; a tag is met where it is written out in one of them.
    pub fn fits(&self, names: &[&str]) -> bool {
        let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let holds = |text: &str| {
            let text = text.to_lowercase();
            lower.iter().any(|name| name.contains(&text))
        };
        self.is_met(|condition| match condition {
            Condition::Word(word) => holds(word),
            Condition::Tag { key, value } => {
                let value = value.as_deref().unwrap_or_default();
                holds(&format!("{key}={value}")) || holds(&format!("{key} = {value}"))
            }
            Condition::Compare { key, is, number } => holds(&format!("{key} {} {number}", is.sign())),
        })
    }

    /// Returns one search for each term, if they must all hold: about a request, that is the same.
    pub fn apart(self) -> Vec<SpanSearch> {
        match <[Vec<Term>; 1]>::try_from(self.alternatives) {
            Ok([terms]) => {
                terms.into_iter().map(|term| SpanSearch { alternatives: vec![vec![term]] }).collect()
            }
            Err(alternatives) if alternatives.is_empty() => Vec::new(),
            Err(alternatives) => vec![SpanSearch { alternatives }],
        }
    }
}

/// Writes it so that it is read as the same.
impl fmt::Display for SpanSearch {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (at, terms) in self.alternatives.iter().enumerate() {
            if at > 0 {
                write!(out, " {OR} ")?;
            }
            for (at, Term { negated, condition }) in terms.iter().enumerate() {
                let before = if at > 0 { " " } else { "" };
                let sign = if *negated { "-" } else { "" };
                write!(out, "{before}{sign}")?;
                match condition {
                    Condition::Word(word) => out.write_str(&quoted(word))?,
                    Condition::Tag { key, value } => {
                        write!(out, "{}=", quoted(key))?;
                        value.iter().try_for_each(|value| out.write_str(&quoted(value)))?;
                    }
                    Condition::Compare { key, is, number } => {
                        write!(out, "{}{}{number}", quoted(key), is.sign())?
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        SpanSearch::parse(text).to_string()
    }

    fn tag(key: &str, value: Option<&str>) -> Condition {
        Condition::Tag { key: key.to_owned(), value: value.map(str::to_owned) }
    }

    #[test]
    fn words_and_tags_must_all_hold_and_alternatives_need_not() {
        let search = SpanSearch::parse("get region=eu OR -error=true");
        let term = |negated, condition| Term { negated, condition };
        assert_eq!(
            search.alternatives,
            [
                vec![term(false, Condition::Word("get".to_owned())), term(false, tag("region", Some("eu")))],
                vec![term(true, tag("error", Some("true")))],
            ]
        );
        assert!(search.has_tags() && !SpanSearch::parse("a -b").has_tags());
    }

    #[test]
    fn quotes_keep_blanks_signs_and_quotes() {
        let condition = |text: &str| SpanSearch::parse(text).terms().next().cloned().unwrap().condition;
        assert_eq!(condition(r#"zone="a b""#), tag("zone", Some("a b")));
        assert_eq!(condition(r#""my key"=1"#), tag("my key", Some("1")));
        assert_eq!(condition(r#"q="say \"hi\" \\""#), tag("q", Some("say \"hi\" \\")));
        assert_eq!(condition(r#""a=b""#), Condition::Word("a=b".to_owned()));
        assert_eq!(condition(r#""-a""#), Condition::Word("-a".to_owned()));
        assert_eq!(condition("a=b=c"), tag("a", Some("b=c")));
        assert_eq!(condition("=b"), Condition::Word("=b".to_owned()));
        assert_eq!(condition("\"OR\""), Condition::Word("OR".to_owned()));
        assert_eq!(condition("or"), Condition::Word("or".to_owned()));
    }

    #[test]
    fn what_is_not_finished_means_what_it_says_so_far() {
        assert_eq!(SpanSearch::parse("region=").terms().next().unwrap().condition, tag("region", None));
        assert_eq!(
            SpanSearch::parse("region=\"\"").terms().next().unwrap().condition,
            tag("region", Some(""))
        );
        assert_eq!(read("a OR"), "a");
        assert_eq!(read("OR a OR OR b OR"), "a OR b");
        assert_eq!(read("zone=\"a b"), "zone=\"a b\"");
        assert_eq!(read("a -"), "a \"-\"");
        assert_eq!(read("-\"\" a"), "a");
        assert!(SpanSearch::parse("  ").is_empty());
    }

    #[test]
    fn a_name_with_an_arrow_is_searched_as_it_is_shown() {
        let name = ["HTTP GET -> ts-contacts @ shop"];
        let fits = |text: &str| SpanSearch::parse(text).fits(&name);
        assert!(fits("HTTP GET -> ts-contacts") && fits("->") && !fits("-->") && !fits("-\"->\""));
        assert!(!fits("-get") && !fits("-\"ts-contacts @\"") && fits("-/cart"));
        assert_eq!(read("-\">a\" -> --x -=1"), "-\">a\" \"->\" \"--x\" \"-\"=1");
    }

    #[test]
    fn a_number_behind_a_sign_is_compared_with() {
        let compared = |text: &str| match SpanSearch::parse(text).terms().next().cloned() {
            Some(Term { negated, condition: Condition::Compare { key, is, number } }) => {
                format!("{}{key} {} {number}", if negated { "not " } else { "" }, is.sign())
            }
            _ => String::new(),
        };
        for text in ["tokens>1000", "tokens > 1000"] {
            assert_eq!(compared(text), "tokens > 1000");
        }
        assert_eq!(["cost<=1e-3", "cost <= 1e-3"].map(compared), ["cost <= 1e-3"; 2].map(str::to_owned));
        assert_eq!(["-cost>=-2", "-cost >= -2"].map(compared), ["not cost >= -2"; 2].map(str::to_owned));
        assert_eq!(compared("\"my cost\"<5"), "my cost < 5");
        for text in
            ["a->5", "a>b", "\"a>5\"", "a>\"5\"", "a > b", "a \">\" 5", "> 5", "OR > 5", "a>", "a>=", "a>=b"]
        {
            assert_eq!(compared(text), "", "{text}");
        }
        let search = SpanSearch::parse("llm tokens > 1000 OR cost>1 error=true");
        assert_eq!(search.to_string(), "llm tokens>1000 OR cost>1 error=true");
        assert!(search.has_tags());
    }

    #[test]
    fn an_endless_text_is_cut() {
        let text = "a OR ".repeat(1000);
        assert!(SpanSearch::is_too_long(&text) && !SpanSearch::is_too_long("a OR b"));
        assert_eq!(SpanSearch::parse(&text).terms().count(), MOST_TOKENS / 2);
    }

    #[test]
    fn names_are_searched_whatever_the_case() {
        let fits = |text: &str, names: &[&str]| SpanSearch::parse(text).fits(names);
        assert!(fits("get shop", &["Shop", "GET /cart"]) && !fits("get shop", &["GET /cart"]));
        assert!(fits("cart -get", &["PUT /cart"]) && !fits("cart -get", &["GET /cart"]));
        assert!(fits("cart OR mail", &["send mail"]) && !fits("\"t /\"", &["GET cart"]));
        assert!(fits("region=eu", &["region = EU-west"]) && !fits("region=eu", &["eu"]));
        assert!(!SpanSearch::default().fits(&["a"]));
    }

    #[test]
    fn a_filter_is_made_of_each_term_unless_there_are_alternatives() {
        let apart = |text: &str| -> Vec<String> {
            SpanSearch::parse(text).apart().iter().map(ToString::to_string).collect()
        };
        assert_eq!(apart("a b=c -d"), ["a", "b=c", "-d"]);
        assert_eq!(apart("a b OR c"), ["a b OR c"]);
        assert_eq!(apart(""), [""; 0]);
    }

    #[test]
    fn the_piece_that_is_being_typed_is_known() {
        let text = "get -zone=\"a b\" OR x";
        let token = token_at(text, 9).unwrap();
        assert_eq!((token.start, token.end, token.negated), (4, 15, true));
        assert_eq!((token.name.as_str(), token.value.as_deref()), ("zone", Some("a b")));
        assert_eq!(token_at(text, 3).unwrap().name, "get");
        assert_eq!(token_at("a  b", 2), None);
        assert_eq!(token_at(text, 17), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(text in "[a-b15<> \"\\\\=ORx\u{e4}-]{0,24}") {
            let search = SpanSearch::parse(&text);
            prop_assert_eq!(SpanSearch::parse(&search.to_string()), search);
        }
    }

    #[test]
    fn a_service_is_isolated_hidden_and_let_go() {
        use ServiceChoice::{Hidden, Only, Plain};
        let only = with_service("GET error=true", "cart db", Only);
        assert_eq!(only, "GET error=true service=\"cart db\"");
        assert_eq!(service_choice(&only, "cart db"), Only);
        assert_eq!(service_choice(&only, "cart"), Plain);
        assert_eq!(with_service(&only, "cart db", Plain), "GET error=true");
        assert_eq!(with_service(&only, "auth", Only), "GET error=true service=auth", "one alone at a time");
        let hidden = with_service(&with_service(&only, "auth", Hidden), "ads", Hidden);
        assert_eq!(hidden, "GET error=true -service=auth -service=ads");
        assert_eq!(["auth", "ads", "cart"].map(|of| service_choice(&hidden, of)), [Hidden, Hidden, Plain]);
        assert_eq!(with_service(&hidden, "auth", Plain), "GET error=true -service=ads");
        assert_eq!(with_service("a=1 OR b=2", "auth", Hidden), "-service=auth");
        let either = "service=auth OR error=true";
        assert_eq!(service_choice(either, "auth"), Plain, "other spans match too");
        assert_eq!(with_service(either, "auth", Plain), either);
    }
}
