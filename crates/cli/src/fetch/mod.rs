//! `pathlight fetch`: traces of a Jaeger, Tempo or ClickHouse, or of Tempo's blocks, to a file, without a page. What is asked of
//! the first two is the plan of crate backend.

#[cfg(feature = "blocks")]
mod blocks;
mod clickhouse;
mod store;

use self::clickhouse::ClickHouse;
use self::store::{Job, Store, scan};
use super::{Failure, http};
use pathlight_backend::source::{TraceSearch, Wanted, jaeger_id};
use pathlight_backend::{
    Caller, Connection, Dialect, FetchPlan, FetchStep, Listing, Lost, Outcome, Reply, ServerAnswer,
    ServerListing, Tenant, Trouble, go_duration_ns, retry_after_s,
};
use pathlight_base::format::{agreeing, counted, harmless};
use pathlight_mcp::FetchFrom;
use pathlight_serve::redirects;
use pathlight_trace::hash_text;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::Agent;
use ureq::http::Request;

/// Sources that may stand in place of a Jaeger, and do without the name of a service.
#[cfg(not(feature = "blocks"))]
const SOURCES: [&str; 2] = ["tempo", "clickhouse"];
/// Sources that may stand in place of a Jaeger, and do without the name of a service.
#[cfg(feature = "blocks")]
const SOURCES: [&str; 3] = ["tempo", "clickhouse", "blocks"];

/// The options of `fetch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Base address of a Jaeger query service, such as http://localhost:16686
    #[arg(long, value_name = "URL", required_unless_present_any = SOURCES)]
    jaeger: Option<String>,
    /// Base address of a Tempo
    #[arg(long, value_name = "URL", conflicts_with = "jaeger")]
    tempo: Option<String>,
    /// Base address of ClickHouse's HTTP interface, such as http://NAME:PASSWORD@localhost:8123, with the table of the
    /// OpenTelemetry collector
    #[arg(long, value_name = "URL", conflicts_with_all = ["jaeger", "tempo", "linked", "tenant"])]
    clickhouse: Option<String>,
    /// Table of ClickHouse, with its database if it is not the default one
    #[arg(long, value_name = "TABLE", default_value = "otel_traces", requires = "clickhouse")]
    table: String,
    /// Blocks of a Tempo as files: a data.parquet, or a folder with many, at any depth. All traces, unless --since or --service
    /// says which
    #[cfg(feature = "blocks")]
    #[arg(long, value_name = "PATH", conflicts_with_all = ["jaeger", "tempo", "clickhouse", "linked", "tenant", "limit", "follow"])]
    blocks: Option<PathBuf>,
    /// Traces in which this service takes part; may be repeated
    #[arg(long, value_name = "SERVICE", required_unless_present = "all", required_unless_present_any = SOURCES)]
    service: Vec<String>,
    /// Traces of all services
    #[arg(long, conflicts_with = "service")]
    all: bool,
    /// Time to look back: 30m, 1h, 24h (default: 1h)
    #[arg(long, value_name = "DURATION", value_parser = since)]
    since: Option<u64>,
    /// At most this many traces of each service, the newest (default: all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Fetch the traces too that spans link to, and those that these link to: at most 1000, or this many
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1000", value_parser = clap::value_parser!(u32).range(1..))]
    linked: Option<u32>,
    /// Header that says whose traces are wanted, as `x-tenant: NAME` (Jaeger) or `X-Scope-OrgID: NAME` (Tempo); may be repeated
    #[arg(long, value_name = "HEADER: NAME", value_parser = tenant)]
    tenant: Vec<Tenant>,
    /// Host that may be asked too where the service redirects there, such as `traces.example`; may be repeated (default: none)
    #[arg(long, value_name = "HOST", value_parser = redirects::host)]
    follow: Vec<redirects::Host>,
    /// The file to write: gzip, one JSON document per line; `-` is standard output, not packed
    #[arg(long, short = 'o', required = true)]
    out: PathBuf,
}

/// The environment variable with the bearer token, which a command line would show to everybody.
const TOKEN: &str = "PATHLIGHT_TOKEN";
/// Time that is looked back, unless the command line says.
const DEFAULT_SINCE_US: u64 = 3_600_000_000;
/// A range is asked for hour by hour, so that an interrupted fetch goes on with the hour it was in.
const WINDOW_US: u64 = 3_600_000_000;
/// The longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Largest answer that is read: it is held in memory, and several come at once.
const LARGEST_ANSWER: u64 = 1 << 30;

fn tenant(text: &str) -> Result<Tenant, String> {
    Tenant::parse(text)
        .ok_or_else(|| "write `x-tenant: NAME`, with a header that says nothing else".to_owned())
}

fn since(text: &str) -> Result<u64, String> {
    let ns = go_duration_ns(text).filter(|ns| *ns >= 1_000_000);
    ns.map(|ns| ns / 1000).ok_or_else(|| format!("{text:?} is not a duration such as 30m, 1h or 24h"))
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] if the service cannot be asked or a part failed for good; [`Failure::NoTrace`]; [`Failure::Io`].
pub fn run(args: &Args) -> Result<(), Failure> {
    #[cfg(feature = "blocks")]
    if let Some(place) = &args.blocks {
        let since_us = args.since.map_or(0, |since_us| now_us().saturating_sub(since_us));
        return blocks::fetch(place, &blocks::Wanted { services: &args.service, since_us }, &args.out);
    }
    let given = args.jaeger.as_ref().or(args.tempo.as_ref()).or(args.clickhouse.as_ref());
    let given = given.map_or("", String::as_str);
    let base = given.trim_end_matches('/').to_owned();
    if !base.starts_with("http://") && !base.starts_with("https://") {
        return Err(Failure::Usage(format!("{given:?} is not an address such as http://localhost:16686")));
    }
    let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let agent = http::config(PATIENCE).http_status_as_error(false).build().new_agent();
    let known = args.tempo.is_some().then_some(Dialect::Tempo);
    let mut client = Client {
        agent,
        follow: args.follow.clone(),
        connection: Connection {
            base: without_login(&base),
            caller: Caller { token, tenants: args.tenant.clone() },
            ..Connection::default()
        },
        base,
        dialect: known,
        error: None,
    };
    let end_us = now_us();
    let mut job = Job {
        base: client.connection.base.clone(),
        all: args.all,
        services: args.service.clone(),
        start_us: end_us.saturating_sub(args.since.unwrap_or(DEFAULT_SINCE_US)),
        end_us,
        limit: args.limit,
        linked: args.linked,
        tenants: hash(&args.tenant),
        table: args.clickhouse.is_some().then(|| args.table.clone()),
    };
    if !job.all && job.services.is_empty() {
        job.services.push(String::new());
    }
    let mut store = Store::open(&args.out, &mut job)?;
    if job.all && job.services.is_empty() && job.table.is_none() {
        job.services = client.services().inspect_err(|_| store.give_up())?;
    }
    if job.services.is_empty() {
        job.services.push(String::new());
    }
    store.begin(&job)?;
    let clickhouse = job.table.as_ref().map(|table| {
        let (base, caller) = (client.base.clone(), client.connection.caller.clone());
        ClickHouse::new(base, table, caller, args.follow.clone())
    });
    for service in &job.services {
        by_windows(&job, service, &mut store, |range_us, most, store| match &clickhouse {
            Some(clickhouse) => clickhouse.fetch(service, range_us, most, store),
            None => client.fetch(service, range_us, most, store),
        })?;
    }
    if let Some(most) = job.linked {
        client.fetch_linked(most, &mut store)?;
    }
    let left = store.links.missing().len() as u64;
    let traces = store.finish()?;
    if traces == 0 {
        let asked = harmless(&client.connection.base);
        return Err(Failure::NoMatch(format!(
            "nothing was found at {asked}: a larger --since looks further back, --all in every service"
        )));
    }
    eprintln!("pathlight: {}", counted(traces, "trace"));
    if left > 0 {
        eprintln!("pathlight: {}", linked_left(left, args.linked.is_some()));
    }
    Ok(())
}

/// Fetches the traces of a service, the newest hour first. `fetch` puts those of a range of time, at most so many, and returns
/// how many these are.
fn by_windows(
    job: &Job,
    service: &str,
    store: &mut Store,
    mut fetch: impl FnMut((u64, u64), u64, &mut Store) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    let mut left = job.limit.map_or(u64::MAX, u64::from);
    let windows = (job.end_us - job.start_us).div_ceil(WINDOW_US);
    for window in 0..windows {
        if let Some(done) = store.done(service, window) {
            left = left.saturating_sub(done);
            continue;
        }
        if left == 0 {
            break;
        }
        let to = job.end_us - window * WINDOW_US;
        let from = job.start_us.max(to.saturating_sub(WINDOW_US - 1));
        let traces = fetch((from, to), left, store)?;
        left = left.saturating_sub(traces);
        store.note(service, window, traces)?;
        if io::stderr().is_terminal() {
            let name = if service.is_empty() { "all services" } else { service };
            let found = store.found();
            eprint!("\r\x1b[K{}: part {} of {windows}, {found} traces", harmless(name), window + 1);
        }
    }
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    Ok(())
}

/// Returns a hash of tenants that tells a fetch for some from one for others.
fn hash(tenants: &[Tenant]) -> u64 {
    let of =
        |tenant: &Tenant| hash_text(&format!("{}: {}", tenant.header().to_ascii_lowercase(), tenant.name()));
    tenants.iter().map(of).fold(0, |sum, hash| sum.rotate_left(1) ^ hash)
}

/// Returns what is said of linked traces that were not fetched.
fn linked_left(traces: u64, is_linked: bool) -> String {
    let next = if is_linked { "--linked=N fetches more" } else { "--linked fetches them too" };
    format!(
        "spans link to {} that {} not among them; {next}",
        counted(traces, "trace"),
        agreeing(traces, "is", "are")
    )
}

/// Fetches what a program asks for into a file, from nowhere but the address that it names.
///
/// # Errors
/// As [`run`], and [`Failure::Usage`] if the time to look back is none.
pub fn fetch_into(from: &FetchFrom, out: PathBuf) -> Result<(), Failure> {
    let address = |is_wanted: bool| is_wanted.then(|| from.address.clone());
    run(&Args {
        jaeger: address(!from.is_tempo),
        tempo: address(from.is_tempo),
        clickhouse: None,
        table: String::new(),
        #[cfg(feature = "blocks")]
        blocks: None,
        service: from.service.iter().cloned().collect(),
        all: from.service.is_none() && !from.is_tempo,
        since: Some(since(&from.since).map_err(Failure::Usage)?),
        limit: Some(from.limit),
        tenant: Vec::new(),
        follow: Vec::new(),
        linked: None,
        out,
    })
}

/// Returns an address without the name and password before its host, so that they are neither written down nor shown.
fn without_login(base: &str) -> String {
    let Some((scheme, rest)) = base.split_once("://") else { return base.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

/// The query service that is asked.
struct Client {
    agent: Agent,
    /// Other hosts that may be asked where an answer leads there.
    follow: Vec<redirects::Host>,
    /// The base address, perhaps with a name and password.
    base: String,
    connection: Connection,
    dialect: Option<Dialect>,
    /// Failure of the last request that got no answer.
    error: Option<String>,
}

/// The result of one GET.
struct GetResult {
    reply: Reply,
    body: Vec<u8>,
    /// Reason why there is no answer, in the words of the HTTP client.
    error: Option<String>,
}

/// Sends one GET and reads the answer.
fn get(agent: &Agent, follow: &[redirects::Host], url: &str, caller: &Caller) -> GetResult {
    let lost = |lost: Lost, error: String| GetResult {
        reply: Reply::Lost(lost),
        body: Vec::new(),
        error: Some(error),
    };
    let mut request = Request::get(url).header("Accept", "application/json");
    for (name, value) in caller.headers() {
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| redirects::AskError::Lost(error.into()));
    let response = match request.and_then(|request| redirects::ask(agent, &request, follow)) {
        Ok(response) => response,
        Err(redirects::AskError::Lost(error)) => return lost(Lost::Down, error.to_string()),
        Err(redirects::AskError::LeadsTo(place)) => {
            return lost(Lost::Elsewhere, format!("{place}; {} asks it too", redirects::option(&place)));
        }
    };
    let status = response.status().as_u16();
    let header = response.headers().get("Retry-After").and_then(|value| value.to_str().ok());
    let retry_after_s = header.and_then(|header| retry_after_s(header, now_us()));
    let mut body = Vec::new();
    let mut reader = response.into_body().into_reader().take(LARGEST_ANSWER + 1);
    if let Err(error) = reader.read_to_end(&mut body) {
        return lost(Lost::Broken, error.to_string());
    }
    if body.len() as u64 > LARGEST_ANSWER {
        return lost(Lost::Broken, format!("an answer is larger than {} GiB", LARGEST_ANSWER >> 30));
    }
    GetResult {
        reply: Reply::Answer(ServerAnswer { status, retry_after_s, body: scan(&body) }),
        body,
        error: None,
    }
}

impl Client {
    fn fail(&self, trouble: &Trouble) -> Failure {
        Failure::Usage(self.words(trouble))
    }

    /// Returns what went wrong, in words.
    fn words(&self, trouble: &Trouble) -> String {
        let explained = trouble.explain(&self.connection);
        // The cures are those of a page, but for the token.
        let hint = match trouble {
            Trouble::Unauthorized | Trouble::Forbidden(_) => {
                format!(" A bearer token is taken from the environment: {TOKEN}.")
            }
            Trouble::Tenant(_) => " Name it by --tenant: `--tenant 'x-tenant: NAME'`.".to_owned(),
            _ => String::new(),
        };
        let why = match (&self.error, trouble) {
            (Some(error), Trouble::Lost(_)) => format!(" ({error})"),
            _ => String::new(),
        };
        harmless(&(explained.message + &why + &hint))
    }

    /// Returns all services that are known there.
    fn services(&mut self) -> Result<Vec<String>, Failure> {
        let mut listing = Listing::services(&self.base, self.dialect);
        let mut url = listing.url();
        loop {
            let got = get(&self.agent, &self.follow, &url, &self.connection.caller);
            self.error = got.error.or(self.error.take());
            match listing.replied(&got.reply, &String::from_utf8_lossy(&got.body)) {
                ServerListing::Ask(next) => url = next,
                ServerListing::Names(names) => return Ok(names),
                ServerListing::Failed(trouble) => return Err(self.fail(&trouble)),
            }
        }
    }

    /// Puts the traces of a service in a range of time, both ends included; returns how many.
    fn fetch(
        &mut self,
        service: &str,
        (start_us, end_us): (u64, u64),
        most: u64,
        store: &mut Store,
    ) -> Result<u64, Failure> {
        let search = TraceSearch {
            service: if service.is_empty() { TraceSearch::ALL.to_owned() } else { service.to_owned() },
            start_us: Some(start_us),
            end_us: Some(end_us),
            limit: Some(u32::try_from(most).unwrap_or(u32::MAX)),
            ..TraceSearch::default()
        };
        Ok(self.run(&Wanted::Search(Box::new(search)), store)?.traces)
    }

    /// Fetches traces that spans link to, and those that these link to, up to so many.
    fn fetch_linked(&mut self, most: u32, store: &mut Store) -> Result<(), Failure> {
        let (mut left, mut absent) = (most as usize, 0);
        loop {
            let ids: BTreeSet<String> =
                store.links.missing().iter().take(left).map(|id| jaeger_id(id)).collect();
            if ids.is_empty() {
                break;
            }
            left -= ids.len();
            store.links.asked(&ids);
            if io::stderr().is_terminal() {
                eprint!("\r\x1b[Klinked traces: {}", ids.len());
            }
            absent += self.run(&Wanted::Traces(ids), store)?.missing.len() as u64;
        }
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        if absent > 0 {
            let are = agreeing(absent, "is", "are");
            eprintln!("pathlight: {} that spans link to {are} not there", counted(absent, "trace"));
        }
        Ok(())
    }

    /// Carries out one plan; returns what it found.
    fn run(&mut self, wanted: &Wanted, store: &mut Store) -> Result<Outcome, Failure> {
        let plan = FetchPlan::new(&self.base, wanted, now_us()).map_err(|trouble| self.fail(&trouble))?;
        let mut plan = plan.speaking(self.dialect);
        let (sender, replies) = mpsc::channel();
        let mut bodies: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        loop {
            let now_ms = now_us() / 1000;
            let wait = match plan.next(now_ms) {
                FetchStep::Ask { ticket, url } => {
                    let (agent, sender) = (self.agent.clone(), sender.clone());
                    let caller = self.connection.caller.clone();
                    let follow = self.follow.clone();
                    std::thread::spawn(move || {
                        // Nobody listens any more if the plan has ended.
                        let _ = sender.send((ticket, get(&agent, &follow, &url, &caller)));
                    });
                    continue;
                }
                FetchStep::Wait { until_ms } => {
                    until_ms.map_or(PATIENCE, |until| Duration::from_millis(until.saturating_sub(now_ms) + 1))
                }
                FetchStep::End => break,
            };
            let Ok((ticket, got)) = replies.recv_timeout(wait) else { continue };
            self.error = got.error.or(self.error.take());
            if plan.replied(ticket, &got.reply, now_us() / 1000) {
                bodies.insert(ticket, got.body);
            }
            while let Some((ticket, _)) = plan.delivery() {
                if let Some(body) = bodies.remove(&ticket) {
                    store.put(&body)?;
                }
            }
        }
        self.dialect = plan.dialect().or(self.dialect);
        let outcome = plan.outcome();
        if let Some(trouble) = &outcome.trouble {
            return Err(self.fail(trouble));
        }
        if let Some((part, trouble)) = outcome.failed.first() {
            let count = outcome.failed.len();
            let message = self.words(trouble);
            return Err(Failure::Usage(format!(
                "{} of {} could not be fetched ({part}: {message}); the same command goes on from here",
                counted(count as u64, "part"),
                if matches!(wanted, Wanted::Search(_)) { "the range" } else { "the linked traces" },
            )));
        }
        if outcome.crowded > 0 {
            eprintln!(
                "pathlight: in {} there are more traces than one answer holds; some are missing",
                counted(outcome.crowded.into(), "millisecond")
            );
        }
        Ok(plan.outcome().clone())
    }
}
