//! Shared by most commands: input files, the root endpoint, settings, output.

use super::{Failure, input, output, parse, summary_files, terminal};
use pathlight_base::format::{counted, duration};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::queries;
use pathlight_engine::requests::search::Condition;
use pathlight_engine::requests::{Filter, GroupBy, PercentileRange, RootEndpoint, Selection, Until};
use pathlight_engine::run::native::NativePool;
use pathlight_engine::summaries::LoadedSummary;
use pathlight_ingest::KeptTraces;
use pathlight_trace::{Endpoint, Overlap, PathSettings, Pseudonyms, Reading, Redaction};
use pathlight_view::address::Address;
use pathlight_view::export::saved::ExportRedaction;
use pathlight_view::{reading, search};
use std::cell::OnceCell;
use std::path::PathBuf;

/// Files and options of most analyses.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Files, folders (recursive) or `-`
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: AnalysisOptions,
}

impl std::ops::Deref for Common {
    type Target = AnalysisOptions;

    fn deref(&self) -> &AnalysisOptions {
        &self.settings
    }
}

/// The rules by which spans are read.
#[derive(Debug, clap::Args)]
pub struct ReadingOption {
    /// `real` (default) discounts what instrumentation adds or distorts, `plain` takes spans as they were written; `real,-overlay`
    /// leaves a rule out (overlay, callees, waiting, templates, nobody-waits, consumers, clocks, roots)
    #[arg(long, value_name = "READING", value_parser = parse::reading)]
    reading: Option<Reading>,
}

impl ReadingOption {
    /// Returns what was chosen, else what goes with the overlaps.
    pub fn over(&self, overlap: Overlap) -> Reading {
        self.reading.unwrap_or(overlap.implied_reading())
    }
}

/// Parts left out of what is written.
#[derive(Debug, clap::Args)]
pub struct RedactionOptions {
    /// Leave out tags, and findings about them; hosts get pseudonyms
    #[arg(long)]
    no_tags: bool,
    /// Replace names of services and operations by pseudonyms, the same in all that is made of the same input (service-1,
    /// operation-1), and leave out ids, names of files, and searches
    #[arg(long)]
    pseudonyms: bool,
}

impl RedactionOptions {
    /// Returns whether anything is left out.
    pub fn leaves_out(&self) -> bool {
        self.no_tags || self.pseudonyms
    }

    /// Returns what was chosen, with the pseudonyms of what is loaded.
    ///
    /// # Errors
    /// [`Failure`] of the query.
    pub fn export_redaction(&self, pool: &mut NativePool) -> Result<ExportRedaction, Failure> {
        let redaction = Redaction { tags: self.no_tags, names: self.pseudonyms };
        let pseudonyms = if redaction.is_nothing() {
            Pseudonyms::default()
        } else {
            pool.run(queries::NamePseudonyms {})?
        };
        Ok((redaction, pseudonyms))
    }
}

/// Grouping of requests into types.
#[derive(Debug, clap::Args)]
pub struct ByOption {
    /// Grouping of requests into types: `root` (endpoint), `route`, `shape` (what they call), `tag=KEY`, or
    /// `through=SERVICE` (whether they pass through it); by default the first of route, shape and root endpoint that tells
    /// enough
    #[arg(long, value_name = "BY", value_parser = parse::group_by)]
    by: Option<GroupBy>,
}

impl ByOption {
    /// Returns the chosen grouping, else the automatic one.
    pub fn chosen(&self) -> GroupBy {
        self.by.clone().unwrap_or_default()
    }
}

/// The options that choose a root endpoint.
#[derive(Debug, clap::Args)]
pub struct RootOption {
    /// Service of the root endpoint (default: the roots of the traces)
    #[arg(long, requires = "operation")]
    service: Option<String>,
    /// Operation of the root endpoint
    #[arg(long, requires = "service")]
    operation: Option<String>,
}

impl RootOption {
    /// Returns the endpoint, if one was named.
    pub fn named(&self) -> Option<Endpoint> {
        let names = self.service.as_ref().zip(self.operation.as_ref());
        names.map(|(service, operation)| Endpoint::new(service, operation))
    }

    /// Returns whose latency it is.
    pub fn root(&self) -> RootEndpoint {
        self.named().map_or(RootEndpoint::TraceRoots, RootEndpoint::Endpoint)
    }
}

/// Definition of a place.
#[derive(Debug, clap::Args)]
pub struct PlacesOption {
    /// Take all operations of a service as one place
    #[arg(long)]
    by_service: bool,
}

impl PlacesOption {
    /// Returns a selection with the places that were chosen.
    pub fn of(&self, selection: Selection) -> Selection {
        Selection { by_service: self.by_service, ..selection }
    }
}

/// The rules by which spans are read and paths are found.
#[derive(Debug, clap::Args)]
pub struct PathOptions {
    /// default, paper, upstream or strict; all but default read spans as they were written
    #[arg(long, default_value = "default", value_parser = Overlap::PRESETS)]
    pub preset: String,
    /// Longest overlap of siblings that counts as clock skew, in microseconds
    #[arg(long)]
    pub overlap_us: Option<u64>,
    /// Greatest such overlap as a share of the parent's duration, 0.01 for 1 %
    #[arg(long, value_parser = parse::share)]
    pub overlap_share: Option<f64>,
    #[command(flatten)]
    pub reading: ReadingOption,
}

impl PathOptions {
    /// Returns the settings of critical paths that the options give.
    pub fn settings(&self) -> PathSettings {
        let mut overlap = Overlap::preset(&self.preset).unwrap_or_default();
        if let Some(overlap_us) = self.overlap_us {
            overlap.overlap_us = overlap_us;
        }
        if let Some(share) = self.overlap_share {
            overlap.share_ppm = (share * 1e6).round() as u64;
        }
        PathSettings { overlap, reading: self.reading.over(overlap), by_service: false }
    }
}

/// Subject of a summary, and the rules by which traces are read for it.
#[derive(Debug, clap::Args)]
pub struct SummaryOptions {
    #[command(flatten)]
    root: RootOption,
    #[command(flatten)]
    path: PathOptions,
    /// Threads that read traces (default: one per core)
    #[arg(long, value_parser = parse::threads)]
    pub threads: Option<usize>,
}

impl SummaryOptions {
    /// Returns the settings that a summary is made with.
    pub fn settings(&self) -> pathlight_engine::summaries::SummarySettings {
        pathlight_engine::summaries::SummarySettings::new(self.root.root(), self.path.settings())
    }
}

/// One set of files, or two to compare.
#[derive(Debug, clap::Args)]
pub struct Sets {
    /// Files, folders (recursive) or `-`
    #[arg(conflicts_with_all = ["a", "b"])]
    files: Vec<PathBuf>,
    /// Files or folders of side A, to compare two sets: before, or normal
    #[arg(short, num_args = 1.., value_name = "FILE", requires = "b")]
    a: Vec<PathBuf>,
    /// Files or folders of side B: after, or faulty
    #[arg(short, num_args = 1.., value_name = "FILE", requires = "a")]
    b: Vec<PathBuf>,
}

impl Sets {
    /// Returns whether there are two inputs.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is none; `command` is what was called.
    pub fn are_two(&self, command: &str) -> Result<bool, Failure> {
        if self.a.is_empty() && self.files.is_empty() {
            return Err(Failure::Usage(format!("name files, or two sets: {command} -a FILE... -b FILE...")));
        }
        Ok(!self.a.is_empty())
    }

    /// Loads the only one; files that are all summaries stand for their traces.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_or_summaries(&self, settings: &AnalysisOptions) -> Result<NativePool, Failure> {
        settings.load_groups_or_summaries(&[&self.files])
    }

    /// Loads them: the only one as group 0, or A as group 0 and B as group 1.
    ///
    /// # Errors
    /// [`Failure::NoTrace`] if there is no trace in one of them.
    pub fn load(&self, settings: &AnalysisOptions) -> Result<NativePool, Failure> {
        if self.a.is_empty() {
            settings.load_groups(&[&self.files])
        } else {
            settings.load_groups(&[&self.a, &self.b])
        }
    }
}

/// Form of the printed result, and its destination.
#[derive(Debug, clap::Args)]
pub struct OutputOptions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List every row as text, not only the first 15 of each list
    #[arg(long)]
    pub all: bool,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o')]
    pub out: Option<PathBuf>,
    /// The first line of text: over what all numbers are
    #[arg(skip)]
    over: OnceCell<String>,
}

impl OutputOptions {
    /// Returns the form of the result: the one asked for, else that of `--json`, or text.
    pub fn format<'a>(&self, asked: Option<&'a str>) -> &'a str {
        asked.unwrap_or(if self.json { "json" } else { "text" })
    }

    /// Returns how many rows a list has as text.
    pub fn rows(&self) -> usize {
        if self.all { usize::MAX } else { terminal::ROWS }
    }

    /// Prints text for a person, or writes it to the file asked for.
    ///
    /// # Errors
    /// [`Failure::Io`].
    pub fn print_text(&self, text: &str) -> Result<(), Failure> {
        let text = reading::words::under_scope(self.over.get().map_or("", String::as_str), text);
        match self.out {
            Some(_) => self.print(&text),
            None => self.print(&terminal::styled(&text)),
        }
    }

    /// Prints a report as JSON, or as text for a person with so many rows in each list.
    ///
    /// # Errors
    /// [`Failure::Io`].
    pub fn print_report(
        &self,
        json: impl FnOnce() -> serde_json::Result<String>,
        text: impl FnOnce(usize) -> String,
    ) -> Result<(), Failure> {
        if self.json { self.print(&(json()? + "\n")) } else { self.print_text(&text(self.rows())) }
    }

    /// Prints a result, or writes it to the file asked for.
    ///
    /// # Errors
    /// [`Failure::Io`].
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        output::print(self.out.as_deref(), text)
    }
}

impl std::ops::Deref for AnalysisOptions {
    type Target = OutputOptions;

    fn deref(&self) -> &OutputOptions {
        &self.output
    }
}

/// Options of every analysis.
#[derive(Debug, clap::Args)]
pub struct AnalysisOptions {
    #[command(flatten)]
    root: RootOption,
    #[command(flatten)]
    output: OutputOptions,
    /// Percentiles of latency: `95-99` for a range of them, `P95` for everything up to it
    #[arg(long, visible_alias = "band", value_parser = parse::range)]
    pub range: Option<PercentileRange>,
    /// Cut the percentile range out of all requests together, not out of each request type by itself
    #[arg(long)]
    pub over_all: bool,
    /// Count requests whose caller is not recorded among all requests, although 5 % of the traces have their root
    #[arg(long)]
    pub incomplete: bool,
    /// When requests end: with their answer, or when everything is done that they lead to, asynchronous spans and messages
    /// included (not in flow, diagnosis, anomaly and errors)
    #[arg(long, value_name = "END", default_value = "answer", value_parser = ["answer", "done"])]
    until: String,
    /// Count each trace once, even if it says that it stands for several requests
    #[arg(long)]
    pub unweighted: bool,
    #[command(flatten)]
    pub by: ByOption,
    #[command(flatten)]
    pub path: PathOptions,
    /// Threads (default: one per core)
    #[arg(long, value_parser = parse::threads)]
    pub threads: Option<usize>,
    /// Read only one of N traces, chosen by id: the same ones every time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: Option<u32>,
    /// Read only traces with a span of this service
    #[arg(long, value_name = "SERVICE")]
    pub keep_service: Option<String>,
    /// Only requests of which some span or its process has this tag; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse::tag)]
    pub with_tag: Vec<Filter>,
    /// Only requests that a search finds, written as in the page: `region=eu -retry=true`, `error= OR "GET /cart"`; may be
    /// repeated
    #[arg(long = "where", value_name = "SEARCH", value_parser = parse::search, allow_hyphen_values = true)]
    pub search: Vec<Filter>,
    /// Only requests in which some span is of this endpoint; may be repeated
    #[arg(long, value_name = "SERVICE:OPERATION", value_parser = parse::contains)]
    pub contains: Vec<Filter>,
    /// Only requests in which own work of a service (own:SERVICE), waiting for it (in:SERVICE) or its calls of others
    /// (out:SERVICE) take longer than usual: than in the baseline, or without one in the faster half of each request type; may be
    /// repeated
    #[arg(long, value_name = "PART:SERVICE", value_parser = parse::hit)]
    pub hit: Vec<Filter>,
    /// Only requests in which some span is an error
    #[arg(long)]
    pub with_error: bool,
    /// Only requests that start at this time or later, in microseconds since the epoch
    #[arg(long, value_name = "US")]
    pub from_us: Option<u64>,
    /// Only requests that start before this time, in microseconds since the epoch
    #[arg(long, value_name = "US")]
    pub to_us: Option<u64>,
}

impl Common {
    /// Loads the input.
    ///
    /// # Errors
    /// [`Failure::NoTrace`] if there is none, [`Failure::NoMatch`] if no request is selected.
    pub fn load(&self) -> Result<NativePool, Failure> {
        self.settings.load_groups(&[&self.files])
    }
}

impl AnalysisOptions {
    /// Loads sets of files into a pool, the first as group 0 (A), the second as group 1 (B); of their traces those that
    /// are to be kept.
    ///
    /// # Errors
    /// [`Failure::NoTrace`] if there is no trace in one of them, [`Failure::NoMatch`] if no request of one is selected.
    pub fn load_groups(&self, groups: &[&[PathBuf]]) -> Result<NativePool, Failure> {
        self.load_into(groups, Vec::new())
    }

    /// Loads groups like [`load_groups`](Self::load_groups). Files that are all summaries stand for the traces of their
    /// group, for queries that summaries answer.
    ///
    /// # Errors
    /// As [`load_groups`](Self::load_groups) and [`summary_files::load`].
    pub fn load_groups_or_summaries(&self, groups: &[&[PathBuf]]) -> Result<NativePool, Failure> {
        let (mut traces, mut summaries) = (groups.to_vec(), Vec::new());
        for (group, files) in (0u8..).zip(&mut traces) {
            let paths = input::list(files)?;
            if !paths.is_empty() && paths.iter().all(|path| summary_files::is_summary(path)) {
                let summary = summary_files::load(files)?;
                summaries.push(LoadedSummary { name: String::new(), group, summary });
                self.out.iter().try_for_each(|out| output::refuse_inputs(out, &paths))?;
                *files = &[];
            }
        }
        self.load_into(&traces, summaries)
    }

    fn load_into(&self, groups: &[&[PathBuf]], summaries: Vec<LoadedSummary>) -> Result<NativePool, Failure> {
        let keep = self.sample.map_or(KeptTraces::All, KeptTraces::Sample);
        let mut pool = input::load(groups, self.threads, &keep, self.out.as_deref())?.pool;
        pool.add_summaries(summaries);
        let holds = |pool: &NativePool, group: u8| {
            let mut traces = pool.sessions().iter().flat_map(|session| session.set.traces());
            let mut summaries = pool.sessions().iter().flat_map(|session| session.summaries.iter());
            traces.any(|trace| trace.id.group == group) || summaries.any(|summary| summary.group == group)
        };
        let groups = 0..groups.len() as u8;
        if !groups.clone().all(|group| holds(&pool, group)) {
            return Err(Failure::NoTrace);
        }
        if let Some(service) = &self.keep_service {
            pool.keep_service(service);
            if !groups.clone().all(|group| holds(&pool, group)) {
                return Err(Failure::NoMatch(format!("No trace has a span of the service {service:?}.")));
            }
        }
        if let Some(key) = self.search.iter().find_map(|filter| unknown_tag(&pool, filter)) {
            return Err(Failure::NoMatch(search::help::too_many_values(key)));
        }
        let address = self.address();
        let mut over = String::new();
        for group in groups.clone() {
            let selection = Selection { group, ..self.selection() };
            let facts = pool.run(queries::Range { selection })?.facts;
            let side = if groups.len() == 1 { "" } else { ["Set A: ", "Set B: "][usize::from(group > 0)] };
            if facts.requests == 0 {
                return Err(Failure::NoMatch(format!("{side}{}", address.why_empty(&facts))));
            }
            let lines = reading::words::scope_lines(&facts);
            if !lines.is_empty() {
                over += side;
                over += &lines;
            }
        }
        // A command loads once.
        let _ = self.output.over.set(over);
        Ok(pool)
    }

    /// Returns the address of the page that shows these requests.
    pub fn address(&self) -> Address {
        let Selection {
            root,
            filters,
            overlap,
            reading,
            range,
            by,
            over_all,
            incomplete,
            until,
            unweighted,
            ..
        } = self.selection();
        let requests = Address { root, filters, range, by, over_all, ..Address::default() };
        let weight_key = input::rules().weight_key;
        Address { overlap, reading, incomplete, until, unweighted, weight_key, ..requests }
    }

    fn until(&self) -> Until {
        Until::parse(&self.until).unwrap_or_default()
    }

    /// Refuses requests that do not end with their answer, of which a command knows nothing.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub fn needs_answers(&self) -> Result<(), Failure> {
        match self.until() {
            Until::Answer => Ok(()),
            Until::Done => Err(Failure::Usage(
                "this command looks at requests until their answer: leave out --until done, or see findings, critical-path, compare, heatmap, endpoints, split and flow --what-if".to_owned(),
            )),
        }
    }

    fn filters(&self) -> Vec<Filter> {
        let mut filters = [self.with_tag.as_slice(), &self.search, &self.contains, &self.hit].concat();
        if self.with_error {
            filters.push(Filter::HasError);
        }
        if self.from_us.is_some() || self.to_us.is_some() {
            let (from_us, to_us) = (self.from_us.unwrap_or(0), self.to_us.unwrap_or(u64::MAX));
            filters.push(Filter::Time { from_us, to_us });
        }
        filters
    }

    /// Returns which requests, and how their paths are found.
    pub fn selection(&self) -> Selection {
        let PathSettings { overlap, reading, by_service } = self.path.settings();
        Selection {
            root: self.root.root(),
            filters: self.filters(),
            overlap,
            reading,
            by_service,
            range: self.range.unwrap_or(PercentileRange::ALL),
            by: self.by.chosen(),
            over_all: self.over_all,
            incomplete: self.incomplete,
            until: self.until(),
            unweighted: self.unweighted,
            group: 0,
        }
    }
}

/// Returns the key of a search that has too many values for it to be answered.
fn unknown_tag<'a>(pool: &NativePool, filter: &'a Filter) -> Option<&'a str> {
    let Filter::Search(search) = filter else { return None };
    search.terms().find_map(|term| {
        let mut tags = pool.sessions().iter().map(|session| &session.set.tags);
        let (key, is_unknown) = match &term.condition {
            Condition::Word(_) => return None,
            Condition::Tag { key, .. } => (key, tags.any(|tags| tags.has_too_many_values(key))),
            Condition::Compare { key, .. } => (key, tags.any(|tags| tags.numbers(key).is_none())),
        };
        is_unknown.then_some(key.as_str())
    })
}

/// Returns how many requests there are and how long they take, for the head of a table.
pub fn latency(requests: u64, latency_us: &Percentiles) -> String {
    let [p50, p95, p99] = [latency_us.p50, latency_us.p95, latency_us.p99].map(duration);
    format!("{}, latency p50 {p50}, p95 {p95}, p99 {p99}", counted(requests, "request"))
}
