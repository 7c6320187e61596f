//! `pathlight report`: the page with the columns inside, one file; or one of each file, and a page that lists them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::common::{Common, RedactionOptions};
use super::page::{self, PAGE};
use super::report_index::{self, Entry};
use super::{Failure, input, output, parse, summary_files};
use pathlight_engine::queries;
use pathlight_ingest::formats::columns;
use pathlight_trace::{TraceRow, TraceSet};
use pathlight_view::address::Address;
use pathlight_view::export::redacted;
use pathlight_view::export::saved::{self, ExportRedaction};
use pathlight_view::findings;
use pathlight_view::views::View;

/// Options of `pathlight report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    redaction: RedactionOptions,
    /// First view of the report: a value of `view=` in the page's address
    #[arg(long, default_value = "findings", value_parser = parse::view)]
    view: View,
    /// Write a report of each file into this folder, and index.html that lists them; of several summaries also one of all, with
    /// their trend
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["out", "json"])]
    index: Option<PathBuf>,
    /// The page in one file (default: pathlight.html beside this program or in dist/)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// The page, cut where the data goes.
struct Template<'a> {
    head: &'a str,
    tail: &'a str,
}

/// Writes the report, or the reports and their index.
///
/// # Errors
/// No trace, no page, or a setting that makes no sense.
pub fn run(args: &mut Args) -> Result<(), Failure> {
    let path = args.page.clone().or_else(page::find_file).ok_or_else(|| {
        Failure::Usage(format!(
            "{PAGE} is neither beside this program nor in dist/: build it by `cargo xtask build`, or name it by --page"
        ))
    })?;
    let page = std::fs::read_to_string(&path)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
    let Some((head, tail)) = saved::split(&page) else {
        return Err(Failure::Usage(format!(
            "{} is not {PAGE}, or is a report that already has traces inside; name the page with --page",
            path.display()
        )));
    };
    let template = Template { head, tail };
    if let Some(out) = &args.common.out {
        output::refuse_inputs(out, std::slice::from_ref(&path))?;
    }
    // Which values are kept of a tag that has too many depends on how many threads share the files: with one, the same files
    // give the same report. Packing, which one thread does anyway, takes longer than reading.
    args.common.settings.threads = Some(1);
    if let Some(folder) = &args.index {
        return write_index(args, &template, folder);
    }
    let (report, _) = template.filled(args, &input::list(&args.common.files)?, args.view)?;
    output::print(args.common.out.as_deref(), &report)
}

/// Writes a report of each file into a folder, and the page that lists them.
fn write_index(args: &Args, template: &Template<'_>, folder: &Path) -> Result<(), Failure> {
    let files = input::list(&args.common.files)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::Usage(format!("cannot make the folder {}: {error}", folder.display())))?;
    let mut entries: Vec<Entry> = Vec::new();
    for file in &files {
        let (report, mut entry) = template.filled(args, std::slice::from_ref(file), args.view)?;
        entry.name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        entry.place = report_index::place(&entry.name, &entries);
        output::write(&folder.join(&entry.place), report.as_bytes())?;
        entries.push(entry);
    }
    let mut trend = None;
    if files.len() > 1 && files.iter().all(|file| summary_files::is_summary(file)) {
        let (report, entry) = template.filled(args, &files, View::Trend)?;
        let place = report_index::place("trend", &entries);
        output::write(&folder.join(&place), report.as_bytes())?;
        trend = Some(Entry { place, ..entry });
    }
    let index = folder.join("index.html");
    output::write(&index, report_index::page(trend.as_ref(), &entries).as_bytes())?;
    println!("{} and {} reports", index.display(), entries.len() + usize::from(trend.is_some()));
    Ok(())
}

impl Template<'_> {
    /// Returns the report of some files, which begins with a view, and its line of an index.
    fn filled(&self, args: &Args, files: &[PathBuf], view: View) -> Result<(String, Entry), Failure> {
        let address = Address { view, ..args.common.address() };
        if !files.is_empty() && files.iter().all(|file| summary_files::is_summary(file)) {
            return self.of_summaries(args, files, &address);
        }
        let mut pool = args.common.load_groups(&[files])?;
        let query = queries::Findings { selection: args.common.selection(), baseline: None };
        let report = pool.run(query)?;
        let redaction = args.redaction.export_redaction(&mut pool)?;
        let headline = findings::words::headline(&redacted::findings(&report, redaction.0, &redaction.1));
        let address = redacted::report_address(&address, redaction.0);
        let mut out = self.head.to_owned();
        out += &saved::facts(&address.to_fragment(), &headline, &[]);
        for session in pool.sessions() {
            let mut from = Some(0);
            while let Some(trace) = from {
                let (part, next) = pack(&session.set, trace, &redaction)?;
                add_part(&mut out, part);
                from = next;
            }
        }
        out += self.tail;
        let (requests, latency_us) = (report.facts.requests, report.facts.latency_us);
        Ok((out, Entry { requests, latency_us, headline, ..Entry::default() }))
    }

    /// Returns a report with summaries inside as they are; the page reads them as it reads files.
    fn of_summaries(
        &self,
        args: &Args,
        files: &[PathBuf],
        address: &Address,
    ) -> Result<(String, Entry), Failure> {
        if args.redaction.leaves_out() {
            return Err(Failure::Usage("a summary can only be saved as it is, with its names".to_owned()));
        }
        let sum = summary_files::load(files)?;
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names: Vec<String> = files.iter().map(name).collect();
        let mut out = self.head.to_owned();
        out += &saved::facts(&address.to_fragment(), "", &names);
        for path in files {
            let bytes = std::fs::read(path)
                .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(&bytes)?;
            add_part(&mut out, gzip.finish()?);
        }
        out += self.tail;
        let latency_us = sum.root(None).map(|root| root.percentiles()).unwrap_or_default();
        Ok((out, Entry { requests: sum.requests(), latency_us, ..Entry::default() }))
    }
}

fn add_part(out: &mut String, part: Vec<u8>) {
    out.push_str(saved::PART.0);
    BASE64_STANDARD.encode_string(part, out);
    out.push_str(saved::PART.1);
}

/// Spans of a part at least, unless it is the last: the workers of a page read parts side by side.
const PART_SPANS: usize = 1 << 18;

/// Returns columns of a set, beginning with trace number `from`, as a gzip file without a time stamp, and where the next part
/// begins: same input, same files.
fn pack(set: &TraceSet, from: u32, redaction: &ExportRedaction) -> Result<(Vec<u8>, Option<u32>), Failure> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    if from > 0 {
        // The first record of a set has it already.
        gzip.write_all(columns::MAGIC)?;
    }
    let (mut next, mut spans) = (Some(from), 0);
    while let Some(trace) = next.filter(|_| spans < PART_SPANS) {
        // Numbered from one, since an id of zero is none.
        let (bytes, after) = saved::columns(set, trace, redaction, 1)?;
        gzip.write_all(&bytes)?;
        let to = after.map_or(set.traces().len(), |after| after as usize);
        spans += set.traces()[trace as usize..to].iter().map(TraceRow::len).sum::<usize>();
        next = after;
    }
    Ok((gzip.finish()?, next))
}
