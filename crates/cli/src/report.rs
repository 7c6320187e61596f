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
use pathlight_trace::TraceSet;
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
pub fn run(args: &Args) -> Result<(), Failure> {
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
    let mut pool = args.common.load()?;
    let query = queries::Findings { selection: args.common.selection(), baseline: None };
    let report = pool.run(query)?;
    let redaction = args.redaction.export_redaction(&mut pool)?;
    let headline = findings::words::headline(&redacted::findings(&report, redaction.0, &redaction.1));
    let address = redacted::report_address(&address, redaction.0);
    let mut out = head.to_owned();
    out += &saved::facts(&address.to_fragment(), &headline);
    for (number, session) in
        (1..).zip(pool.sessions()).filter(|(_, session)| !session.set.traces().is_empty())
    {
        out += saved::PART.0;
        BASE64_STANDARD.encode_string(pack(&session.set, &redaction, number << u32::BITS)?, &mut out);
        out += saved::PART.1;
    }
    out += tail;
    output::print(args.common.out.as_deref(), &out)
}

/// Returns a set's columns as a gzip file without a time stamp: same input, same file.
fn pack(set: &TraceSet, redaction: &ExportRedaction, first: u64) -> Result<Vec<u8>, Failure> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let mut from = Some(0);
    while let Some(trace) = from {
        let (bytes, next) = saved::columns(set, trace, redaction, first)?;
        gzip.write_all(&bytes)?;
        from = next;
    }
    Ok(gzip.finish()?)
}
