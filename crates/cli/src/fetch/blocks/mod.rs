//! Traces of Tempo's blocks: Parquet files with one trace a row, read where they lie, without a Tempo.
//!
//! Rows are read one by one and written as they come, so that a block may be larger than memory.

mod otlp;

use self::otlp::{Columns as _, Names};
use super::super::output::{self, OutputFile};
use super::super::{Failure, input};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Row;
use parquet::record::reader::RowIter;
use parquet::schema::types::{Type, TypePtr};
use pathlight_base::format::{counted, harmless};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of a block's file with the traces, and of the one with what is said of the block.
const DATA: &str = "data.parquet";
const META: &str = "meta.json";

/// What a file must have to be a block that is read: its columns, without the groups that only lists need.
const NEEDED: [&str; 5] = [
    "TraceID",
    "rs.ss.Spans.SpanID",
    "rs.ss.Spans.Name",
    "rs.ss.Spans.StartTimeUnixNano",
    "rs.ss.Spans.DurationNano",
];

/// Columns of a trace that are read: the others repeat what the spans say.
const OF_TRACE: [&str; 3] = ["TraceID", "StartTimeUnixNano", "rs"];

/// How the columns below a trace begin that are not read: what Tempo has computed for its own searches, and counts.
const LEFT_OUT: [&str; 6] =
    ["ParentID", "NestedSet", "ChildCount", "SpanCount", "Dropped", "StartTimeRounded"];

/// Traces that are wanted.
pub(super) struct Wanted<'a> {
    /// Names of services, of which one takes part; any if there are none.
    pub services: &'a [String],
    /// The moment from which they begin.
    pub since_us: u64,
}

/// Writes the traces of a block, or of all blocks below a folder.
///
/// # Errors
/// [`Failure::Usage`] if there is no block, or one that cannot be read; [`Failure::NoMatch`] if no trace is wanted;
/// [`Failure::Io`].
pub(super) fn fetch(place: &Path, wanted: &Wanted, out: &Path) -> Result<(), Failure> {
    let files = files(place)?;
    output::refuse_inputs(out, &files)?;
    // Before anything is written: what comes through a pipe is not taken back.
    let blocks = files.iter().map(|file| Block::open(file)).collect::<Result<Vec<_>, _>>()?;
    let traces = if out.as_os_str() == "-" {
        write(&blocks, wanted, BufWriter::new(io::stdout().lock()))?.0
    } else {
        let packer = GzEncoder::new(OutputFile::create(out)?, Compression::default());
        let (traces, packer) = write(&blocks, wanted, packer)?;
        let file = packer.finish()?;
        // What an earlier fetch has left stays if nothing is found.
        if traces > 0 {
            file.finish()?;
        }
        traces
    };
    if traces == 0 {
        return Err(Failure::NoMatch(harmless(&format!(
            "no trace of {} is wanted: a larger --since looks further back, without --service in every service",
            place.display()
        ))));
    }
    let of = counted(blocks.len() as u64, "block");
    eprintln!("pathlight: {} of {of}", counted(traces, "trace"));
    Ok(())
}

/// Returns the files with traces of a place.
fn files(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = input::list(&[place.to_owned()])?;
    if place.is_dir() {
        files.retain(|file| file.file_name().is_some_and(|name| name == DATA));
    }
    if files.is_empty() {
        let place = place.display();
        return Err(Failure::Usage(format!(
            "no block of Tempo is in {place}: no file there is called {DATA}"
        )));
    }
    Ok(files)
}

/// Writes the traces of blocks, a line each; returns how many, and what it has written to.
fn write<W: Write>(blocks: &[Block], wanted: &Wanted, mut out: W) -> Result<(u64, W), Failure> {
    let mut traces = 0;
    for (number, block) in blocks.iter().enumerate() {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[Kblock {} of {}, {traces} traces", number + 1, blocks.len());
        }
        traces += block.write(wanted, &mut out)?;
    }
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    out.flush()?;
    Ok((traces, out))
}

/// A file with traces that can be read.
struct Block {
    path: PathBuf,
    /// Its schema, without the columns that are not read.
    schema: Type,
    names: Names,
}

impl Block {
    /// Looks whether a file is a block. It stays closed: there may be more blocks than files that can be open.
    fn open(path: &Path) -> Result<Block, Failure> {
        let reader = whole(path, || open(path))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let has = |column: &&str| {
            schema.columns().iter().any(|found| {
                let parts = found.path().parts().iter().map(String::as_str);
                parts.filter(|part| !["list", "element"].contains(part)).eq(column.split('.'))
            })
        };
        if !NEEDED.iter().all(has) {
            let reason = "is no block of Tempo that this program reads (vParquet2 to 5)";
            return Err(Failure::Usage(format!("{} {reason}", path.display())));
        }
        let schema = whole(path, || read_columns(schema.root_schema()))?;
        Ok(Block { path: path.to_owned(), schema, names: names(path)? })
    }

    /// Writes the traces that are wanted; returns how many.
    fn write(&self, wanted: &Wanted, out: &mut impl Write) -> Result<u64, Failure> {
        Ok(whole(&self.path, || self.write_rows(wanted, out))??)
    }

    fn write_rows(&self, wanted: &Wanted, out: &mut impl Write) -> Result<io::Result<u64>, ParquetError> {
        let mut traces = 0;
        let reader = open(&self.path)?;
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group)?;
            for row in RowIter::from_row_group(Some(self.schema.clone()), group.as_ref())? {
                let row = row?;
                if !is_wanted(&row, wanted) {
                    continue;
                }
                let id = row.id("TraceID");
                let written = serde_json::to_writer(&mut *out, &otlp::Trace::of(&row, &id, &self.names));
                if let Err(error) = written.map_err(io::Error::from).and_then(|()| out.write_all(b"\n")) {
                    return Ok(Err(error));
                }
                traces += 1;
            }
        }
        Ok(Ok(traces))
    }
}

fn open(path: &Path) -> Result<SerializedFileReader<File>, ParquetError> {
    SerializedFileReader::new(File::open(path)?)
}

/// Does a step of reading. The library panics at some damaged files; that is said as other damage is.
fn whole<T>(path: &Path, step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Failure> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(step));
    panic::set_hook(hook);
    let reason = match done {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its columns contradict each other".to_owned(),
    };
    Err(Failure::Usage(harmless(&format!("cannot read {}: {reason}", path.display()))))
}

fn is_wanted(trace: &Row, wanted: &Wanted) -> bool {
    let is_of = |resource: &Row| wanted.services.iter().any(|name| name == resource.text("ServiceName"));
    trace.whole("StartTimeUnixNano") / 1000 >= wanted.since_us
        && (wanted.services.is_empty()
            || trace.rows("rs").filter_map(|spans| spans.row("Resource")).any(is_of))
}

/// Returns a schema with the columns that are read.
fn read_columns(schema: &Type) -> Result<Type, ParquetError> {
    let kept = schema.get_fields().iter().filter(|field| OF_TRACE.contains(&field.name()));
    let fields = kept.map(read_below).collect::<Result<_, _>>()?;
    Type::group_type_builder(schema.name()).with_fields(fields).build()
}

fn read_below(field: &TypePtr) -> Result<TypePtr, ParquetError> {
    if field.is_primitive() {
        return Ok(field.clone());
    }
    let is_read = |field: &&TypePtr| !LEFT_OUT.iter().any(|start| field.name().starts_with(start));
    let kept = field.get_fields().iter().filter(is_read);
    let fields = kept.map(read_below).collect::<Result<_, _>>()?;
    let info = field.get_basic_info();
    let group = Type::group_type_builder(field.name())
        .with_repetition(info.repetition())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields);
    Ok(Arc::new(group.build()?))
}

/// Reads the names of a block's attributes that have columns of their own. Without the file that says them these are left out.
fn names(data: &Path) -> Result<Names, Failure> {
    let path = data.with_file_name(META);
    let fail = |reason: &dyn std::fmt::Display| {
        Failure::Usage(harmless(&format!("cannot read {}: {reason}", path.display())))
    };
    match std::fs::read(&path) {
        Ok(bytes) => Names::read(&bytes).map_err(|error| fail(&error)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let data = data.display();
            let lost = "attributes that Tempo keeps in columns without a name are left out";
            eprintln!("pathlight: {}", harmless(&format!("no {META} is beside {data}: {lost}")));
            Ok(Names::default())
        }
        Err(error) => Err(fail(&error)),
    }
}
