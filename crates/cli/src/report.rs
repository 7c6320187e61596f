//! `pathlight report`: the page with the columns inside, one file.

use std::io::Write as _;
use std::path::PathBuf;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::common::{Common, RedactionOptions};
use super::page::{self, PAGE};
use super::{Failure, output, parse};
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
    /// The page in one file (default: pathlight.html beside this program or in dist/)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Writes the report.
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
    if let Some(out) = &args.common.out {
        output::refuse_inputs(out, std::slice::from_ref(&path))?;
    }
    let address = Address { view: args.view, ..args.common.address() };
    // Which values are kept of a tag that has too many depends on how many threads share the files: with one, the same files
    // give the same report. Packing, which one thread does anyway, takes longer than reading.
    args.common.settings.threads = Some(1);
    let mut pool = args.common.load()?;
    let query = queries::Findings { selection: args.common.selection(), baseline: None };
    let report = pool.run(query)?;
    let redaction = args.redaction.export_redaction(&mut pool)?;
    let headline = findings::words::headline(&redacted::findings(&report, redaction.0, &redaction.1));
    let address = redacted::report_address(&address, redaction.0);
    let mut out = head.to_owned();
    out += &saved::facts(&address.to_fragment(), &headline);
    for session in pool.sessions() {
        let mut from = Some(0);
        while let Some(trace) = from {
            let (part, next) = pack(&session.set, trace, &redaction)?;
            out += saved::PART.0;
            BASE64_STANDARD.encode_string(part, &mut out);
            out += saved::PART.1;
            from = next;
        }
    }
    out += tail;
    output::print(args.common.out.as_deref(), &out)
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
