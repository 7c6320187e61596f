//! `pathlight listen`: takes spans from programs of this machine, keeps them in files, and serves the page that follows.
//!
//! An export becomes a line of OTLP JSON and a gzip member of its own, and it is in the file before the sender is answered.
//! So any part of the stream between two exports is a gzip file that every command reads, spans of one trace may lie in
//! several of them, and the readers join them.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use pathlight_ingest::bytes::otlp_json;
use pathlight_ingest::{Ended, ErrorKind, ProblemKind, ReadOptions, Reader};
use pathlight_serve::bind;
use pathlight_serve::listen::{
    AcceptedExport, Inbox, MOST_BYTES, OtlpEncoding, Refused, STREAM, StreamPiece, listen,
};
use pathlight_trace::TraceSet;

use super::{Failure, page};

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
    /// Pages of this origin may send too, such as `https://app.example`; `*` is any (default: pages of this machine only)
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Interval at which the page looks for new traces, in seconds
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
    let page = args.page.clone().or_else(page::find);
    if let Some(page) = page.as_ref().filter(|page| !page.exists()) {
        return Err(Failure::Usage(format!("{} does not exist; name the page with --page", page.display())));
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
    let inbox = Arc::new(Mutexed(Mutex::new(store)));
    listen(listener, inbox, &args.allow_origin, page.as_deref())?;
    Ok(())
}

/// A file of the stream.
#[derive(Clone)]
struct Piece {
    /// Offset of its first byte in the stream.
    start: u64,
    bytes: u64,
    path: PathBuf,
}

impl Piece {
    /// Returns the piece that a file of the folder is by its name.
    fn named(path: PathBuf, bytes: u64) -> Option<Piece> {
        let name = path.file_name()?.to_str()?;
        let digits = name.strip_prefix("traces-")?.strip_suffix(".ndjson.gz")?;
        let is_offset = digits.len() == 15 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let start = digits.parse().ok().filter(|_| is_offset)?;
        Some(Piece { start, bytes, path })
    }

    fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Cuts off what a process that ended in the middle of a gzip member left of it: nothing after it could be read.
    fn mend(&mut self) -> io::Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let whole = whole(&file)?;
        if whole < self.bytes {
            file.set_len(whole)?;
            self.bytes = whole;
        }
        Ok(())
    }
}

/// Returns the bytes of the whole gzip members that a file begins with.
fn whole(file: &File) -> io::Result<u64> {
    let (mut left, mut whole) = (BufReader::new(file), 0);
    while !left.fill_buf()?.is_empty() {
        let mut member = GzDecoder::new(left);
        match io::copy(&mut member, &mut io::sink()) {
            Ok(_) => {}
            Err(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    break;
                }
                _ => return Err(error),
            },
        }
        left = member.into_inner();
        whole = left.stream_position()?;
    }
    Ok(whole)
}

/// The files of the stream, oldest first. A file is named after its offset, so that a stream goes on after a restart.
struct Store {
    dir: PathBuf,
    limit: u64,
    pieces: VecDeque<Piece>,
    /// The newest piece.
    file: Option<File>,
    /// Keeps others out, where a folder can be locked.
    _lock: Option<File>,
}

impl Store {
    fn open(dir: &Path, limit: u64) -> io::Result<Store> {
        fs::create_dir_all(dir)?;
        let lock = File::open(dir).ok();
        if let Some(Err(TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
            return Err(io::Error::other("another pathlight listen is writing there"));
        }
        let mut found = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let data = entry.metadata()?;
            found.extend(Piece::named(entry.path(), data.len()).filter(|_| data.is_file()));
        }
        found.sort_by_key(|piece| piece.start);
        if let Some(newest) = found.last_mut() {
            newest.mend()?;
        }
        let mut pieces: VecDeque<Piece> = VecDeque::new();
        // What does not join is not ours: it is neither shown nor removed.
        while let Some(piece) = found.pop() {
            if pieces.front().is_none_or(|next| next.start == piece.end()) {
                pieces.push_front(piece);
            }
        }
        let mut store = Store { dir: dir.to_owned(), limit, pieces, file: None, _lock: lock };
        store.begin(store.room())?;
        Ok(store)
    }

    /// Returns the most that a piece has, unless one export is larger.
    fn room(&self) -> u64 {
        (self.limit / 8).min(MOST_BYTES as u64)
    }

    fn end(&self) -> u64 {
        self.pieces.back().map_or(0, Piece::end)
    }

    /// Begins a new piece, unless the newest is empty, and removes the oldest until there is so much room.
    fn begin(&mut self, room: u64) -> io::Result<()> {
        let start = self.end();
        // Somebody may have removed some.
        self.pieces.retain(|piece| piece.path.exists());
        let path = self.dir.join(format!("traces-{start:015}.ndjson.gz"));
        self.file = Some(OpenOptions::new().create(true).write(true).truncate(false).open(&path)?);
        if self.pieces.back().is_none_or(|piece| piece.path != path) {
            self.pieces.push_back(Piece { start, bytes: 0, path });
        }
        while self.pieces.len() > 1 && self.kept() + room > self.limit {
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
        let (bytes, room) = (member.len() as u64, self.room());
        if self.pieces.back().is_none_or(|piece| piece.bytes + bytes > room || !piece.path.exists()) {
            self.begin(bytes.max(room))?;
        }
        let (Some(file), Some(piece)) = (self.file.as_mut(), self.pieces.back_mut()) else { return Ok(()) };
        // Half a member would spoil all that follows, so the next is written over what is left of it.
        file.seek(SeekFrom::Start(piece.bytes))?;
        if let Err(error) = file.write_all(member) {
            file.set_len(piece.bytes)?;
            return Err(error);
        }
        piece.bytes += bytes;
        Ok(())
    }

    /// Returns the pieces that have something from an offset on, and the end of the stream.
    fn pieces(&self, from: u64) -> (Vec<Piece>, u64) {
        (self.pieces.iter().filter(|piece| piece.end() > from).cloned().collect(), self.end())
    }
}

/// Reads from an offset of the stream on: up to a gap, and up to `most` bytes or the end of one piece.
fn tail((pieces, total): (Vec<Piece>, u64), from: u64, most: u64) -> io::Result<StreamPiece> {
    let mut tail = StreamPiece { from, bytes: Vec::new(), total };
    for piece in pieces {
        let (at, before) = (from.max(piece.start), tail.bytes.len());
        let wanted = piece.end() - at;
        if before > 0 && (at != tail.end() || before as u64 + wanted > most) {
            break;
        }
        let read = File::open(&piece.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(at - piece.start))?;
            file.take(wanted).read_to_end(&mut tail.bytes)
        });
        match read {
            Ok(read) if read as u64 == wanted => tail.from = if before > 0 { tail.from } else { at },
            // Somebody cut or removed it.
            Ok(_) => tail.bytes.truncate(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tail)
}

struct Mutexed(Mutex<Store>);

impl Mutexed {
    fn lock(&self) -> io::Result<std::sync::MutexGuard<'_, Store>> {
        self.0.lock().map_err(|_| io::Error::other("an earlier export was lost"))
    }
}

impl Inbox for Mutexed {
    fn take(&self, body: &[u8], encoding: OtlpEncoding) -> Result<AcceptedExport, Refused> {
        let (line, taken) = read(body, encoding)?;
        if let Some(line) = line {
            let member = pack(&line).map_err(Refused::Full)?;
            let mut store = self.lock().map_err(Refused::Full)?;
            if member.len() as u64 > store.limit {
                return Err(Refused::Bad(
                    "The export is larger than --limit-size. Send smaller batches or raise --limit-size."
                        .to_owned(),
                ));
            }
            store.append(&member).map_err(Refused::Full)?;
        }
        Ok(taken)
    }

    fn tail(&self, from: u64, most: u64) -> io::Result<StreamPiece> {
        // Exports need not wait until it is read.
        let pieces = self.lock()?.pieces(from);
        tail(pieces, from, most)
    }
}

fn pack(line: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(line)?;
    gzip.write_all(b"\n")?;
    gzip.finish()
}

/// Returns a body as a line of JSON, `None` if it holds no span, and what the reader of files says of it.
fn read(body: &[u8], encoding: OtlpEncoding) -> Result<(Option<Vec<u8>>, AcceptedExport), Refused> {
    let mut unpacked = Vec::new();
    let body = if body.starts_with(b"\x1f\x8b") {
        let mut gzip = MultiGzDecoder::new(body).take(MOST_BYTES as u64 + 1);
        let read = gzip.read_to_end(&mut unpacked);
        read.map_err(|error| Refused::Bad(format!("The body is not a complete gzip stream: {error}.")))?;
        if unpacked.len() > MOST_BYTES {
            return Err(Refused::TooLarge);
        }
        &unpacked[..]
    } else {
        body
    };
    let line = match encoding {
        OtlpEncoding::Protobuf => otlp_json(body).ok_or_else(|| {
            Refused::Bad("The body is not an ExportTraceServiceRequest: it is not protobuf.".to_owned())
        })?,
        // A string has no line break in JSON, so all of them are space.
        OtlpEncoding::Json => {
            body.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect()
        }
    };
    if line.trim_ascii() == b"{}" {
        return Ok((None, AcceptedExport::default()));
    }
    let mut set = TraceSet::new();
    let mut reader = Reader::new("the body", ReadOptions::default());
    // What is wrong stands in the report.
    let _ = reader.feed(&line, &mut set);
    let report = reader.finish(&mut set);
    match &report.ended {
        Ended::Failed(error) if error.kind == ErrorKind::NoTraces => {
            return Ok((None, AcceptedExport::default()));
        }
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
        return Err(Refused::Bad(format!(
            "The body is not an ExportTraceServiceRequest but {}.",
            report.format
        )));
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
    let taken = AcceptedExport {
        rejected: lost.iter().map(|problem| problem.count).sum(),
        message: lost.first().map_or(String::new(), |problem| problem.example.text.clone()),
    };
    Ok((Some(line), taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(bytes: &[u8]) -> Result<(Option<Vec<u8>>, AcceptedExport), Refused> {
        read(bytes, OtlpEncoding::Json)
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
        assert_eq!((line.unwrap().contains(&b'\n'), taken), (false, AcceptedExport::default()));
        for empty in ["{}", " {} ", "{\"resourceSpans\":[]}"] {
            assert!(matches!(json(empty.as_bytes()), Ok((None, _))), "{empty}");
        }
        let without_trace = ",{\"traceId\":\"\",\"spanId\":\"b2\",\"name\":\"q\",\"startTimeUnixNano\":\"1000\",\"endTimeUnixNano\":\"3000\"}]}]}]}";
        let (line, taken) = json(span("a1").replace("]}]}]}", without_trace).as_bytes()).unwrap();
        assert_eq!((line.is_some(), taken.rejected), (true, 1));
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
        assert!(matches!(read(b"\x0a\xff\xff", OtlpEncoding::Protobuf), Err(Refused::Bad(_))));
        assert!(matches!(read(b"", OtlpEncoding::Protobuf), Ok((None, _))));
        let packed = pack(span("a1").as_bytes()).unwrap();
        assert!(matches!(json(&packed), Ok((Some(_), _))));
        let bomb = pack(&vec![b' '; MOST_BYTES + 1]).unwrap();
        assert!(matches!(json(&bomb), Err(Refused::TooLarge)));
        assert!(matches!(json(&packed[..packed.len() / 2]), Err(Refused::Bad(_))));
    }

    /// Returns a folder of its own.
    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("pathlight-listen-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    /// Returns a gzip member of about 1,500 bytes.
    fn member(byte: u8) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
        gzip.write_all(&[byte; 1477]).unwrap();
        gzip.finish().unwrap()
    }

    fn read_from(store: &Store, from: u64, most: u64) -> StreamPiece {
        tail(store.pieces(from), from, most).unwrap()
    }

    /// Returns paths and sizes of what a folder has.
    fn files(dir: &Path) -> Vec<(PathBuf, u64)> {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().len())).collect()
    }

    #[test]
    fn the_stream_goes_on_after_a_restart_and_forgets_its_oldest_files() {
        let dir = folder("restart");
        let mut store = Store::open(&dir, 16_000).unwrap();
        let size = member(1).len() as u64;
        assert!((1400..=1600).contains(&size), "{size}");
        store.append(&member(1)).unwrap();
        store.append(&member(2)).unwrap();
        let first = read_from(&store, 0, u64::MAX);
        assert_eq!((first.from, first.bytes.len() as u64, first.total), (0, 2 * size, 2 * size));
        assert_eq!(read_from(&store, size, u64::MAX).bytes, member(2));
        assert!(read_from(&store, 2 * size, u64::MAX).bytes.is_empty());
        assert!(Store::open(&dir, 16_000).is_err(), "another one writes there");
        drop(store);
        let mut store = Store::open(&dir, 16_000).unwrap();
        assert_eq!(store.end(), 2 * size);
        for _ in 0..12 {
            store.append(&member(3)).unwrap();
        }
        assert!(store.kept() <= 16_000 && store.end() == 14 * size, "{}", store.kept());
        let rest = read_from(&store, 0, u64::MAX);
        assert_eq!((rest.end(), rest.total), (14 * size, 14 * size));
        assert!(rest.from >= 2 * size);
        assert_eq!(files(&dir).iter().map(|file| file.1).sum::<u64>(), store.kept());
        // A part ends with a file, and is not larger than asked for if it has more than one.
        assert_eq!(read_from(&store, 0, 100).bytes.len() as u64, size);
        assert_eq!(read_from(&store, 0, 2 * size + 1).bytes.len() as u64, 2 * size);
        // One that is larger than a piece makes its own room.
        store.append(&[4; 9000]).unwrap();
        assert!(store.kept() <= 16_000, "{}", store.kept());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn half_a_member_is_cut_off_at_the_next_start() {
        let dir = folder("half");
        let mut store = Store::open(&dir, 80_000).unwrap();
        store.append(&member(1)).unwrap();
        store.append(&member(2)).unwrap();
        let (path, end) = (store.pieces[0].path.clone(), store.end());
        drop(store);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&member(3)[..700]).unwrap();
        let mut store = Store::open(&dir, 80_000).unwrap();
        assert_eq!(store.end(), end);
        store.append(&member(4)).unwrap();
        let all = read_from(&store, 0, u64::MAX).bytes;
        assert_eq!(all, [member(1), member(2), member(4)].concat());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_does_not_join_is_left_alone() {
        let dir = folder("foreign");
        fs::create_dir_all(&dir).unwrap();
        let names = ["20260101", "18446744073709551615", "000000000000007", "+00000000000007", "a"];
        let foreign = names.map(|name| dir.join(format!("traces-{name}.ndjson.gz")));
        let mut store = Store::open(&dir, 16_000).unwrap();
        store.append(&member(1)).unwrap();
        store.append(&member(2)).unwrap();
        drop(store);
        for path in &foreign {
            fs::write(path, [0; 40_000]).unwrap();
        }
        let mut store = Store::open(&dir, 16_000).unwrap();
        assert_eq!(store.end(), 2 * member(1).len() as u64);
        for _ in 0..20 {
            store.append(&member(3)).unwrap();
        }
        assert!(foreign.iter().all(|path| fs::metadata(path).unwrap().len() == 40_000));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_file_that_is_removed_is_a_gap_and_no_error() {
        let dir = folder("gap");
        let mut store = Store::open(&dir, 16_000).unwrap();
        for byte in 0..5 {
            store.append(&member(byte)).unwrap();
        }
        let size = member(0).len() as u64;
        fs::remove_file(&store.pieces[1].path).unwrap();
        assert_eq!(read_from(&store, 0, u64::MAX).end(), size);
        let after = read_from(&store, size, u64::MAX);
        assert_eq!((after.from, after.end()), (2 * size, 5 * size));
        // The newest.
        fs::remove_file(&store.pieces[4].path).unwrap();
        store.append(&member(5)).unwrap();
        let last = read_from(&store, 4 * size, u64::MAX);
        assert_eq!((last.from, last.bytes), (5 * size, member(5)));
        for byte in 6..30 {
            store.append(&member(byte)).unwrap();
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
