#![allow(clippy::unwrap_used, reason = "tests")]

use crate::load::*;
use pathlight_trace::{TraceSet, dump};
use std::fmt::Write as _;
use std::io::Write as _;

/// Returns Jaeger traces of three spans each; every span has a tag of this value.
pub fn jaeger(ids: Range<u32>, value: &str) -> String {
    let mut text = String::from("{\"data\":[");
    for id in ids.clone() {
        let comma = if id == ids.start { "" } else { "," };
        write!(text, "{comma}{{\"traceID\":\"{id:x}\",\"spans\":[").unwrap();
        for span in 1..4 {
            let comma = if span == 1 { "" } else { "," };
            write!(
                text,
                "{comma}{{\"traceID\":\"{id:x}\",\"spanID\":\"{span:x}\",\"operationName\":\"op{span}\",\"references\":\
                 [{{\"refType\":\"CHILD_OF\",\"traceID\":\"{id:x}\",\"spanID\":\"{:x}\"}}],\"startTime\":{},\
                 \"duration\":{},\"tags\":[{{\"key\":\"k\",\"value\":\"{value}\"}}],\"logs\":[],\"processID\":\"p\"}}",
                span - 1,
                1000 + span,
                100 * id - span
            )
            .unwrap();
        }
        write!(text, "],\"processes\":{{\"p\":{{\"serviceName\":\"s{}\",\"tags\":[]}}}}}}", id % 3).unwrap();
    }
    text + "]}"
}

/// Returns small traces with one of so many spans among them.
pub fn huge(spans: u32) -> String {
    let small = jaeger(1..5, "v");
    let mut text = small[..small.len() - 2].to_owned();
    text.push_str(r#",{"traceID":"99","spans":["#);
    for span in 1..=spans {
        let comma = if span == 1 { "" } else { "," };
        write!(
            text,
            r#"{comma}{{"traceID":"99","spanID":"{span:x}","operationName":"op{}","references":[{{"refType":"CHILD_OF","traceID":"99","spanID":"{:x}"}}],"startTime":{},"duration":{},"tags":[],"logs":[],"processID":"p{}"}}"#,
            span % 7,
            span / 3,
            1000 + span,
            2 * spans - span,
            span % 5
        )
        .unwrap();
    }
    let processes: Vec<String> = (0..5).map(|n| format!(r#""p{n}":{{"serviceName":"s{n}"}}"#)).collect();
    let after = jaeger(5..45, "v");
    write!(text, "],\"processes\":{{{}}}}},{}", processes.join(","), &after[9..]).unwrap();
    text
}

/// Returns traces in which, as a value that is of no use, other traces stand: split points in there are none.
pub fn tricky() -> String {
    let whole = jaeger(1..200, "v");
    let inner = &whole[whole.find("[{").unwrap()..=whole.rfind(']').unwrap()];
    format!(r#"{{"data":[{},"x":{inner}}}]}}"#, &inner[1..inner.len() - 2])
}

/// Runs a planner over texts, with one set a reader; takes readers in turn.
struct Load {
    planner: LoadPlanner,
    files: Vec<Vec<u8>>,
    sets: Vec<TraceSet>,
    splits: usize,
    restarts: usize,
}

impl Load {
    fn new(readers: usize, files: &[impl AsRef<[u8]>]) -> Load {
        let mut planner = LoadPlanner::new(readers);
        planner.large_file = 8 << 10;
        planner.large_packed = 64 << 10;
        let files: Vec<Vec<u8>> = files.iter().map(|file| file.as_ref().to_vec()).collect();
        for (number, file) in files.iter().enumerate() {
            let end = if file.starts_with(b"\x1f\x8b") { ".gz" } else { "" };
            planner.add(format!("file {number}{end}"), file.len() as u64, 0);
        }
        let sets = (0..readers).map(|_| TraceSet::new()).collect();
        Load { planner, files, sets, splits: 0, restarts: 0 }
    }

    fn read(&mut self, reader: usize, file: usize) {
        let input = self.planner.files()[file].clone();
        let range = input.range();
        let text = &self.files[input.source][range.start as usize..range.end as usize];
        let mut open = Chunk::reader(input.chunk.as_ref(), &input.name, ReadOptions::default());
        let set = &mut self.sets[reader];
        let _ = open.feed(text, set);
        let report = if input.read_limit.is_some() { open.stop(set) } else { open.finish(set) };
        self.planner.complete(reader, file, ReadResult::Read { report, bytes: text.len() as u64 });
    }

    /// Does one step; returns false when the load is done.
    fn step(&mut self) -> bool {
        match self.planner.next_step() {
            LoadStep::Split { file, places, packed } => {
                let mut search = SplitSearch::new(places, packed);
                while let Some(wanted) = search.wanted() {
                    let text = &self.files[file];
                    search.show(&text[wanted.start as usize..text.len().min(wanted.end as usize)]);
                }
                let points = search.finish();
                self.splits += points.len();
                self.planner.split(file, points);
            }
            LoadStep::Read { .. } => {
                let mut reader = 0;
                while let Some(batch) = self.planner.take(reader) {
                    batch.into_iter().for_each(|file| self.read(reader, file));
                    reader = (reader + 1) % self.sets.len();
                }
            }
            LoadStep::Restart => {
                self.restarts += 1;
                self.sets.iter_mut().for_each(|set| *set = TraceSet::new());
            }
            LoadStep::Done => return false,
        }
        true
    }

    fn run(&mut self) {
        for _ in 0..1000 {
            if !self.step() {
                return;
            }
        }
        panic!("the load never ends");
    }

    /// Returns traces of all readers, which share none here, and the reports of the files.
    fn end(self) -> (Vec<String>, Vec<Option<FileReport>>) {
        let mut traces: Vec<String> = Vec::new();
        for mut set in self.sets {
            set.seal().unwrap();
            let dump = dump(&set);
            let (of_traces, _) = dump.split_at(dump.find("\nkey ").unwrap_or(0));
            traces.extend(of_traces.split("trace ").skip(1).map(|trace| trace.trim_end().to_owned()));
        }
        traces.sort();
        let files = 0..self.files.len();
        (traces, files.map(|file| self.planner.report(file)).collect())
    }
}

fn loaded(readers: usize, files: &[impl AsRef<[u8]>]) -> Load {
    let mut load = Load::new(readers, files);
    load.run();
    load
}

#[test]
fn a_large_file_in_chunks_gives_what_one_reader_gives() {
    let texts = [jaeger(1..200, "v"), jaeger(300..310, "v")];
    let one = loaded(1, &texts);
    assert_eq!((one.splits, one.restarts), (0, 0));
    let expected = one.end();
    assert_eq!(expected.0.len(), 209);
    for readers in [2, 3] {
        let many = loaded(readers, &texts);
        assert!(many.splits > 4, "{} split points", many.splits);
        assert_eq!(many.restarts, 0);
        assert!(many.end() == expected, "{readers} readers");
    }
}

#[test]
fn a_huge_trace_is_read_by_one_reader_and_what_follows_it_by_others() {
    let texts = [huge(600)];
    let expected = loaded(1, &texts).end();
    assert_eq!(expected.0.len(), 45);
    for readers in [2, 3] {
        let many = loaded(readers, &texts);
        assert_eq!(many.restarts, 0);
        let chunks = many.planner.parts_of_load().map(InputFile::range);
        let longest = chunks.map(|range| range.end - range.start).max().unwrap();
        assert!(many.splits > 1 && longest > 80_000, "{} split points, {longest} bytes", many.splits);
        assert!(many.end() == expected, "{readers} readers");
    }
}

#[test]
fn a_file_split_at_a_wrong_place_is_read_again_in_one_piece() {
    let texts = [tricky(), jaeger(300..310, "v")];
    let expected = loaded(1, &texts).end();
    let many = loaded(3, &texts);
    assert!(many.splits > 0, "nothing was split");
    assert_eq!(many.restarts, 1);
    let bytes: usize = many.planner.parts_of_load().map(|part| part.bytes as usize).sum();
    assert_eq!(bytes, texts.iter().map(String::len).sum::<usize>(), "every byte counts once");
    assert!(many.end() == expected);
}

#[test]
fn chunks_without_any_trace_are_read_again_in_one_piece_which_says_why() {
    // Traces for the finder to learn from, but every one of them is damaged.
    let texts = [jaeger(1..100, "v").replace("\"startTime\":", "\"startTime\":{},\"x\":")];
    let expected = loaded(1, &texts).end();
    let many = loaded(2, &texts);
    let restarts = many.restarts;
    assert!(many.end() == expected);
    assert!(restarts <= 1);
}

/// Packs a text.
fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn shares_of_a_packed_file_give_what_one_reader_gives() {
    let files = [gzip(&jaeger(1..16_000, "v")), jaeger(20_000..20_010, "v").into_bytes()];
    let expected = loaded(1, &files).end();
    assert_eq!(expected.0.len(), 16_009);
    for readers in [2, 3] {
        let many = loaded(readers, &files);
        assert_eq!((many.splits, many.restarts), (readers - 1, 0));
        let bytes: usize = many.planner.parts_of_load().map(|part| part.bytes as usize).sum();
        assert_eq!(bytes, files.iter().map(Vec::len).sum::<usize>(), "every byte counts once");
        let held: Vec<usize> = many.sets.iter().map(|set| set.traces().len()).collect();
        assert!(held.iter().all(|traces| *traces > 1_000), "{held:?}");
        let end = many.end();
        assert_eq!(end.1, expected.1, "{readers} readers");
        assert!(end.0 == expected.0, "{readers} readers");
    }
}

#[test]
fn what_comes_before_a_share_counts_for_others() {
    let texts = [gzip(&jaeger(1..16_000, "v"))];
    let many = loaded(2, &texts);
    let shares = many.planner.parts_of_load().map(|part| {
        let mut own = OwnBytes::of(part.chunk.as_ref());
        let counted: u64 = (0..texts[0].len()).map(|_| own.count(1)).sum();
        (part.start(), counted)
    });
    let size = texts[0].len() as u64;
    let shares: Vec<(u64, u64)> = shares.collect();
    assert!(shares.len() == 2 && shares[1].0 > 0, "{shares:?}");
    assert!(shares.iter().all(|(start, counted)| start + counted == size), "{shares:?}");
}

#[test]
fn a_packed_file_that_cannot_be_shared_is_read_by_one_reader() {
    let mut cut = gzip(&jaeger(1..16_000, "v"));
    cut.truncate(cut.len() / 2);
    let members = [gzip(&jaeger(1..14_000, "v")), gzip(&jaeger(14_000..16_000, "v"))].concat();
    let mut damaged = gzip(&jaeger(1..16_000, "v"));
    let at = damaged.len() / 3;
    damaged[at..at + 50].fill(0);
    for (name, file) in [
        ("a trace as long as a share", gzip(&huge(40_000))),
        ("no traces", gzip(&"no traces\n".repeat(1_000_000))),
        ("cut", cut),
        ("members", members),
        ("damaged", damaged),
    ] {
        assert!(file.len() > 20_000, "{name}: {} bytes", file.len());
        let expected = loaded(1, &[&file]).end();
        let mut many = Load::new(2, &[&file]);
        many.planner.large_packed = 20_000;
        many.run();
        let end = many.end();
        assert_eq!(end.1, expected.1, "{name}");
        assert!(end.0 == expected.0, "{name}");
    }
}

#[test]
fn a_file_without_split_points_is_asked_about_once() {
    let mut planner = LoadPlanner::new(2);
    planner.large_file = 10;
    let file = planner.add("archive".to_owned(), 100, 0);
    assert!(matches!(planner.next_step(), LoadStep::Split { file: 0, places, .. } if !places.is_empty()));
    planner.split(file, Vec::new());
    assert_eq!(planner.next_step(), LoadStep::Read { batches: 1 });
    assert_eq!(planner.take(0), Some(vec![0]));
    assert_eq!(planner.take(1), None);
}

#[test]
fn a_large_file_among_many_is_not_split() {
    // There is work enough for everybody.
    let mut planner = LoadPlanner::new(2);
    planner.large_file = 10;
    for file in 0..9 {
        planner.add(file.to_string(), 1 << 20, 0);
    }
    assert_eq!(planner.next_step(), LoadStep::Read { batches: 9 });
}

#[test]
fn what_a_lost_reader_held_waits_again_and_a_deadly_file_is_left_out() {
    let texts = [jaeger(1..5, "v"), jaeger(5..9, "v"), jaeger(9..12, "v")];
    let mut load = Load::new(2, &texts);
    let planner = &mut load.planner;
    planner.large_file = u64::MAX;
    assert_eq!(planner.next_step(), LoadStep::Read { batches: 3 });
    let batch = planner.take(0).unwrap();
    let ahead = planner.take(0).unwrap();
    let loss = planner.lose(0, &batch, 0);
    assert_eq!(loss, Loss { had_files: true, ..Loss::default() });
    assert_eq!(planner.files()[ahead[0]].state, FileState::Waiting);
    let other = planner.take(1).unwrap();
    other.iter().for_each(|&file| load.read(1, file));
    let planner = &mut load.planner;
    // A reader that had nothing leaves nothing behind, and one that has read something only that.
    assert_eq!(planner.lose(0, &[], 0), Loss::default());
    assert_eq!(planner.next_step(), LoadStep::Read { batches: 2 });
    assert_eq!(planner.take(0), Some(ahead), "the file over which a reader was lost comes last");
    assert_eq!(planner.take(0), Some(batch.clone()), "and alone");
    let loss = planner.lose(0, &batch, 0);
    assert_eq!(loss.left_out, [batch[0]]);
    load.run();
    assert_eq!(load.planner.files()[batch[0]].state, FileState::Dropped);
    assert_eq!(load.planner.report(batch[0]), None);
    let loss = load.planner.lose(1, &[], 0);
    assert!(loss.had_files && loss.had_read);
}

#[test]
fn of_a_file_that_ends_every_reader_what_comes_before_is_kept() {
    let text = jaeger(1..50, "v");
    let mut load = Load::new(1, std::slice::from_ref(&text));
    load.planner.large_file = u64::MAX;
    for crash in 0..MOST_CRASHES {
        load.planner.next_step();
        let batch = load.planner.take(0).unwrap();
        let loss = load.planner.lose(0, &batch, 8_000);
        assert_eq!(loss.cut_short.len(), (crash + 1) as usize / 2);
        assert!(loss.left_out.is_empty());
    }
    load.run();
    assert_eq!(load.planner.files()[0].range(), 0..6_000);
    assert_eq!(load.planner.report(0).unwrap().ended, Ended::Stopped);
    assert!(load.sets[0].traces().len() > 5);
    // A third time it is left out.
    load.planner.lose(0, &[], 0);
    load.planner.next_step();
    let batch = load.planner.take(0).unwrap();
    assert_eq!(load.planner.lose(0, &batch, 4_000).left_out, [0]);
}

#[test]
fn results_that_come_too_late_are_void() {
    let mut planner = LoadPlanner::new(1);
    planner.add("a".to_owned(), 5, 0);
    planner.next_step();
    planner.take(0);
    planner.lose(0, &[], 0);
    planner.complete(0, 0, ReadResult::Unreadable("gone".to_owned()));
    assert_eq!(planner.files()[0].state, FileState::Waiting);
}

#[test]
fn reading_that_was_stopped_ends_at_the_same_place_again() {
    let text = jaeger(1..50, "v");
    let mut load = Load::new(1, std::slice::from_ref(&text));
    load.planner.large_file = u64::MAX;
    load.planner.next_step();
    load.planner.take(0);
    let report = Reader::new("file 0", ReadOptions::default()).stop(&mut TraceSet::new());
    load.planner.complete(0, 0, ReadResult::Read { report, bytes: 1000 });
    assert_eq!(load.planner.next_step(), LoadStep::Done);
    load.planner.lose(0, &[], 0);
    assert_eq!(load.planner.next_step(), LoadStep::Read { batches: 1 });
    assert_eq!(load.planner.files()[0].range(), 0..1000);
    load.planner.take(0);
    load.read(0, 0);
    // The file does not end in the middle, whatever its reader saw.
    assert_eq!(load.planner.report(0).unwrap().ended, Ended::Stopped);
    assert_eq!(load.planner.next_step(), LoadStep::Done);
    // A sample is read from the whole file.
    load.planner.keep_only(&KeptTraces::Sample(2));
    assert_eq!(load.planner.files()[0].range(), 0..text.len() as u64);
}

#[test]
fn a_group_is_taken_away_and_what_comes_into_it_meanwhile_is_read_again() {
    let mut planner = LoadPlanner::new(1);
    let report = || Reader::new("", ReadOptions::default()).stop(&mut TraceSet::new());
    planner.begin_load();
    let old = planner.add("old".to_owned(), 5, 1);
    planner.next_step();
    planner.take(0);
    planner.complete(0, old, ReadResult::Read { report: report(), bytes: 5 });
    planner.begin_load();
    let waiting = planner.add("waiting".to_owned(), 5, 1);
    planner.begin_unload(1);
    assert_eq!(planner.files()[waiting].state, FileState::Dropped);
    let new = planner.add("new".to_owned(), 5, 1);
    planner.next_step();
    planner.take(0);
    planner.complete(0, new, ReadResult::Read { report: report(), bytes: 5 });
    planner.end_unload(1);
    let states: Vec<FileState> = planner.files().iter().map(|file| file.state).collect();
    assert_eq!(states, [FileState::Dropped, FileState::Dropped, FileState::Waiting]);
    assert!(planner.report(old).is_none());
}

#[test]
fn a_load_that_is_dropped_leaves_what_was_there_before() {
    let mut planner = LoadPlanner::new(1);
    planner.begin_load();
    planner.add("before".to_owned(), 5, 0);
    planner.begin_load();
    planner.add("now".to_owned(), 5, 0);
    assert_eq!(planner.files_of_load().collect::<Vec<_>>(), [1]);
    planner.drop_load();
    assert!(planner.restart());
    assert_eq!(planner.next_step(), LoadStep::Read { batches: 1 });
    assert_eq!(planner.take(0), Some(vec![0]));
    assert_eq!(planner.files_of_load().collect::<Vec<_>>(), [0, 1], "what is read again belongs to the load");
}
