//! `pathlight listen`: takes spans from programs of this machine, keeps them in files, and serves the page that follows.
//!
//! An export becomes a line of OTLP JSON and a gzip member of its own, and it is in the file before the sender is answered.
//! So any part of the stream between two exports is a gzip file that every command reads, spans of one trace may lie in
//! several of them, and the readers join them.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use pathlight_ingest::{Ended, ErrorKind, Options, ProblemKind, Reader, otlp_json};
use pathlight_model::trace::TraceSet;
use pathlight_serve::listen::{
    Encoding, Inbox, MOST_BYTES, Refused, STREAM, Tail, Taken, bind, find_page, listen,
};

use super::Failure;

/// The options of `listen`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The port to listen on, on this machine only; 0 takes a free one
    #[arg(long, default_value_t = 4318)]
    port: u16,
    /// The folder that the spans are written to
    #[arg(long, short = 'o', value_name = "DIR", default_value = "pathlight-traces")]
    out: PathBuf,
    /// The most that all files together may have, packed, as 200MB or 2GB: the oldest are removed
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size)]
    limit_size: u64,
    /// The page: a folder or the page in one file (default: pathlight.html beside this program, or dist/)
    #[arg(long, value_name = "PATH")]
    page: Option<PathBuf>,
    /// How often the page looks for new traces, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    every: u32,
}

/// Reads a size in bytes: a number with `kB`, `MB` or `GB`.
fn size(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[at..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        _ => 0,
    };
    let bytes = text[..at].parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes
        .filter(|bytes| *bytes >= 10_000)
        .ok_or_else(|| "write a size such as 200MB, 10 kB at least".to_owned())
}

/// Listens until the process ends.
///
/// # Errors
/// The folder cannot be written, or the port is taken.
pub fn run(args: &Args) -> Result<(), Failure> {
    let page = args.page.clone().or_else(find_page);
    if let Some(page) = page.as_ref().filter(|page| !page.exists()) {
        return Err(Failure::Usage(format!("{} is not there", page.display())));
    }
    let store = Store::open(&args.out, args.limit_size)
        .map_err(|error| Failure::Usage(format!("cannot write to {}: {error}", args.out.display())))?;
    let listener = bind(args.port)?;
    let base = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
    let mut said = format!("OTLP: {base}/v1/traces (protobuf or JSON), written to {}\n", args.out.display());
    said += &match page {
        Some(_) => format!("page: {base}/#src={STREAM}&every={}s\n", args.every),
        None => "page: none; put pathlight.html beside this program, or name it by --page\n".to_owned(),
    };
    // At once, so that a reader who leaves after the first line ends nothing.
    let mut out = io::stdout();
    out.write_all(said.as_bytes())?;
    out.flush()?;
    listen(listener, Arc::new(Mutexed(Mutex::new(store))), page.as_deref())?;
    Ok(())
}

/// A file of the stream.
struct Piece {
    /// Offset of its first byte in the stream.
    start: u64,
    bytes: u64,
    path: PathBuf,
}

/// The files of the stream, oldest first. A file is named after its offset, so that a stream goes on after a restart.
struct Store {
    dir: PathBuf,
    limit: u64,
    pieces: VecDeque<Piece>,
    /// The newest piece.
    file: Option<File>,
}

impl Store {
    fn open(dir: &Path, limit: u64) -> io::Result<Store> {
        fs::create_dir_all(dir)?;
        let mut pieces = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let start = name.strip_prefix("traces-").and_then(|name| name.strip_suffix(".ndjson.gz"));
            if let Some(start) = start.and_then(|start| start.parse().ok()) {
                pieces.push(Piece { start, bytes: entry.metadata()?.len(), path: entry.path() });
            }
        }
        pieces.sort_by_key(|piece| piece.start);
        let mut store = Store { dir: dir.to_owned(), limit, pieces: pieces.into(), file: None };
        store.begin()?;
        Ok(store)
    }

    fn end(&self) -> u64 {
        self.pieces.back().map_or(0, |piece| piece.start + piece.bytes)
    }

    /// Begins a new piece and removes the oldest until there is room for it.
    fn begin(&mut self) -> io::Result<()> {
        let start = self.end();
        let path = self.dir.join(format!("traces-{start:015}.ndjson.gz"));
        self.file = Some(OpenOptions::new().create(true).append(true).open(&path)?);
        if self.pieces.back().is_none_or(|piece| piece.path != path) {
            self.pieces.push_back(Piece { start, bytes: 0, path });
        }
        while self.pieces.len() > 1 && self.kept() > self.limit - self.limit / 8 {
            if let Some(oldest) = self.pieces.pop_front() {
                fs::remove_file(&oldest.path)?;
            }
        }
        Ok(())
    }

    fn kept(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    fn append(&mut self, member: &[u8]) -> io::Result<()> {
        if self
            .pieces
            .back()
            .is_some_and(|piece| piece.bytes + member.len() as u64 > self.limit / 8 && piece.bytes > 0)
        {
            self.begin()?;
        }
        let (Some(file), Some(piece)) = (self.file.as_mut(), self.pieces.back_mut()) else { return Ok(()) };
        if let Err(error) = file.write_all(member) {
            // Half a member would spoil all that follows.
            file.set_len(piece.bytes)?;
            return Err(error);
        }
        piece.bytes += member.len() as u64;
        Ok(())
    }

    fn tail(&self, from: u64, most: u64) -> io::Result<Tail> {
        let mut tail = Tail { from, bytes: Vec::new(), total: self.end() };
        for piece in self.pieces.iter().filter(|piece| piece.start + piece.bytes > from) {
            let mut file = File::open(&piece.path)?;
            if tail.bytes.is_empty() {
                tail.from = from.max(piece.start);
                file.seek(SeekFrom::Start(tail.from - piece.start))?;
            }
            let left = piece.start + piece.bytes - tail.from - tail.bytes.len() as u64;
            file.take(left).read_to_end(&mut tail.bytes)?;
            if tail.bytes.len() as u64 >= most {
                break;
            }
        }
        Ok(tail)
    }
}

struct Mutexed(Mutex<Store>);

impl Mutexed {
    fn lock(&self) -> io::Result<std::sync::MutexGuard<'_, Store>> {
        self.0.lock().map_err(|_| io::Error::other("an earlier export was lost"))
    }
}

impl Inbox for Mutexed {
    fn take(&self, body: &[u8], encoding: Encoding) -> Result<Taken, Refused> {
        let (line, taken) = read(body, encoding)?;
        if let Some(line) = line {
            let member = pack(&line).map_err(Refused::Full)?;
            self.lock().and_then(|mut store| store.append(&member)).map_err(Refused::Full)?;
        }
        Ok(taken)
    }

    fn tail(&self, from: u64, most: u64) -> io::Result<Tail> {
        self.lock()?.tail(from, most)
    }
}

fn pack(line: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(line)?;
    gzip.write_all(b"\n")?;
    gzip.finish()
}

/// Returns a body as a line of JSON, `None` if it holds no span, and what the reader of files says of it.
fn read(body: &[u8], encoding: Encoding) -> Result<(Option<Vec<u8>>, Taken), Refused> {
    let mut unpacked = Vec::new();
    let body = if body.starts_with(b"\x1f\x8b") {
        let mut gzip = MultiGzDecoder::new(body).take(MOST_BYTES as u64 + 1);
        let read = gzip.read_to_end(&mut unpacked);
        read.map_err(|error| Refused::Bad(format!("The body is no whole gzip: {error}.")))?;
        if unpacked.len() > MOST_BYTES {
            return Err(Refused::TooLarge);
        }
        &unpacked[..]
    } else {
        body
    };
    let line = match encoding {
        Encoding::Protobuf => otlp_json(body).ok_or_else(|| {
            Refused::Bad("The body is no ExportTraceServiceRequest: it is no protobuf.".to_owned())
        })?,
        // A string has no line break in JSON, so all of them are space.
        Encoding::Json => {
            body.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect()
        }
    };
    if line.trim_ascii() == b"{}" {
        return Ok((None, Taken::default()));
    }
    let mut set = TraceSet::new();
    let mut reader = Reader::new("the body", Options::default());
    // What is wrong stands in the report.
    let _ = reader.feed(&line, &mut set);
    let report = reader.finish(&mut set);
    match &report.ended {
        Ended::Failed(error) if error.kind == ErrorKind::NoTraces => return Ok((None, Taken::default())),
        Ended::Failed(error) => {
            return Err(Refused::Bad(format!("The body cannot be read: {}.", error.reason)));
        }
        Ended::Cut { offset } => {
            let why = report.problems.last().map_or("", |problem| problem.example.text.as_str());
            return Err(Refused::Bad(format!("The body cannot be read: {why} (byte {offset}).")));
        }
        Ended::Whole | Ended::Stopped => {}
    }
    if report.format != "otlp" {
        return Err(Refused::Bad(format!("The body is no ExportTraceServiceRequest but {}.", report.format)));
    }
    let lost = |kind| {
        matches!(
            kind,
            ProblemKind::MissingTraceId
                | ProblemKind::WrongType
                | ProblemKind::TimeOutOfRange
                | ProblemKind::TooDeep
        )
    };
    let lost: Vec<_> = report.problems.iter().filter(|problem| lost(problem.kind)).collect();
    let taken = Taken {
        rejected: lost.iter().map(|problem| problem.count).sum(),
        message: lost.first().map_or(String::new(), |problem| problem.example.text.clone()),
    };
    Ok((Some(line), taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(bytes: &[u8]) -> Result<(Option<Vec<u8>>, Taken), Refused> {
        read(bytes, Encoding::Json)
    }

    fn span(trace: &str) -> String {
        format!(
            "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[\n{{\"traceId\":\"{trace}\",\"spanId\":\"b1\",\"name\":\"q\",\
             \"startTimeUnixNano\":\"1000\",\"endTimeUnixNano\":\"3000\"}}]}}]}}]}}"
        )
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("200MB"), Ok(200_000_000));
        assert_eq!(size("2 GB"), Ok(2_000_000_000));
        assert_eq!(size("10000"), Ok(10_000));
        for bad in ["", "1", "MB", "5TB", "-1MB", "99999999999999999999GB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bodies_are_judged_by_the_readers_of_files() {
        let (line, taken) = json(span("a1").as_bytes()).unwrap();
        assert_eq!((line.unwrap().contains(&b'\n'), taken), (false, Taken::default()));
        for empty in ["{}", " {} ", "{\"resourceSpans\":[]}"] {
            assert!(matches!(json(empty.as_bytes()), Ok((None, _))), "{empty}");
        }
        let (_, taken) = json(span("").as_bytes()).unwrap_or((None, Taken::default()));
        assert!(taken.rejected <= 1);
        for bad in [
            "",
            "[",
            "{\"resourceSpans\":[",
            "hello",
            "{\"a\":1}",
            "{\"data\":[{\"traceID\":\"a\",\"spans\":[{\"spanID\":\"b\",\"startTime\":1,\"duration\":1}]}]}",
        ] {
            assert!(matches!(json(bad.as_bytes()), Err(Refused::Bad(_))), "{bad}");
        }
        assert!(matches!(read(b"\x0a\xff\xff", Encoding::Protobuf), Err(Refused::Bad(_))));
        assert!(matches!(read(b"", Encoding::Protobuf), Ok((None, _))));
        let packed = pack(span("a1").as_bytes()).unwrap();
        assert!(matches!(json(&packed), Ok((Some(_), _))));
        let bomb = pack(&vec![b' '; MOST_BYTES + 1]).unwrap();
        assert!(matches!(json(&bomb), Err(Refused::TooLarge)));
        assert!(matches!(json(&packed[..packed.len() / 2]), Err(Refused::Bad(_))));
    }

    #[test]
    fn the_stream_goes_on_after_a_restart_and_forgets_its_oldest_files() {
        let dir = std::env::temp_dir().join(format!("pathlight-listen-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let mut store = Store::open(&dir, 16_000).unwrap();
        store.append(&[1; 1500]).unwrap();
        store.append(&[2; 1500]).unwrap();
        let first = store.tail(0, u64::MAX).unwrap();
        assert_eq!((first.from, first.bytes.len(), first.total), (0, 3000, 3000));
        assert_eq!(store.tail(1500, u64::MAX).unwrap().bytes, [2; 1500]);
        assert!(store.tail(3000, u64::MAX).unwrap().bytes.is_empty());
        drop(store);
        let mut store = Store::open(&dir, 16_000).unwrap();
        assert_eq!(store.end(), 3000);
        for _ in 0..12 {
            store.append(&[3; 1500]).unwrap();
        }
        assert!(store.kept() <= 16_000 && store.end() == 21_000, "{}", store.kept());
        let rest = store.tail(0, u64::MAX).unwrap();
        assert_eq!((rest.from + rest.bytes.len() as u64, rest.total), (21_000, 21_000));
        assert!(rest.from > 3000);
        let on_disk: u64 =
            fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert_eq!(on_disk, store.kept());
        // A part ends with a file.
        assert!(store.tail(0, 100).unwrap().bytes.len() <= 2000);
        fs::remove_dir_all(&dir).unwrap();
    }
}
