//! What the fields are: scored by their names and by what is in them.

use super::columns::{Column, Columns, TimeForm, Value, share};
use std::collections::{BTreeMap, BTreeSet};

/// Which column is what; times with the power of ten that makes seconds of numbers.
#[derive(Debug)]
pub(super) struct Roles {
    pub trace: usize,
    pub span: usize,
    pub parent: Option<usize>,
    pub name: usize,
    pub service: Option<usize>,
    pub times: Times,
}

/// The fields that say when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub start: Option<(usize, TimeForm)>,
    pub end: Option<(usize, TimeForm)>,
    pub duration: Option<(usize, i32)>,
}

/// Words in names of fields, and how much they say for a role.
type Hints = &'static [(&'static str, f64)];

const TRACE: Hints = &[
    ("trace", 3.0),
    ("traceid", 3.0),
    ("correlation", 2.0),
    ("conversation", 2.0),
    ("transaction", 1.5),
    ("session", 1.5),
    ("request", 1.0),
    ("req", 1.0),
    ("flow", 1.0),
    ("run", 0.5),
    ("job", 0.5),
    ("root", 0.5),
    ("parent", -3.0),
    ("span", -1.0),
];
const SPAN: Hints =
    &[("span", 3.0), ("spanid", 3.0), ("id", 1.0), ("parent", -3.0), ("trace", -1.0), ("name", -2.0)];
const PARENT: Hints = &[
    ("parent", 3.0),
    ("parentid", 3.0),
    ("caller", 2.0),
    ("up", 1.0),
    ("depends", 1.0),
    ("pid", 0.5),
    ("name", -2.0),
];
const NAME: Hints = &[
    ("name", 2.0),
    ("operation", 3.0),
    ("op", 2.0),
    ("label", 1.5),
    ("endpoint", 2.0),
    ("method", 1.5),
    ("route", 1.5),
    ("function", 2.0),
    ("fn", 1.5),
    ("activity", 1.0),
    ("event", 1.0),
    ("step", 1.0),
    ("task", 1.0),
    ("tool", 1.0),
    ("action", 1.0),
    ("resource", 0.5),
    ("description", 0.5),
    ("service", -2.0),
    ("host", -2.0),
    ("status", -2.0),
    ("level", -2.0),
    ("id", -2.0),
];
const SERVICE: Hints = &[
    ("service", 3.0),
    ("svc", 3.0),
    ("application", 2.0),
    ("app", 2.0),
    ("component", 2.0),
    ("module", 1.5),
    ("logger", 1.0),
    ("process", 1.0),
    ("worker", 1.0),
    ("agent", 1.0),
    ("unit", 0.5),
    ("program", 1.0),
    ("host", -0.5),
    ("status", -2.0),
    ("level", -2.0),
    ("region", -1.0),
    ("zone", -1.0),
    ("id", -2.0),
];
const START: Hints = &[
    ("start", 3.0),
    ("started", 3.0),
    ("begin", 3.0),
    ("timestamp", 1.5),
    ("ts", 1.0),
    ("time", 0.5),
    ("end", -2.0),
    ("queued", -2.0),
    ("created", -0.5),
];
const END: Hints = &[
    ("end", 3.0),
    ("ended", 3.0),
    ("finish", 3.0),
    ("finished", 3.0),
    ("completed", 3.0),
    ("stop", 2.0),
    ("start", -2.0),
];
const DURATION: Hints = &[
    ("duration", 3.0),
    ("dur", 3.0),
    ("elapsed", 3.0),
    ("latency", 3.0),
    ("took", 3.0),
    ("length", 1.0),
    ("time", 0.5),
    ("bytes", -3.0),
    ("size", -3.0),
    ("count", -3.0),
    ("status", -3.0),
    ("code", -3.0),
    ("line", -2.0),
    ("cost", -3.0),
    ("tokens", -3.0),
    ("id", -3.0),
];
/// Words that say a unit, with the power of ten that makes seconds of it.
const UNITS: &[(&[&str], i32)] = &[
    (&["s", "sec", "secs", "second", "seconds"], 0),
    (&["ms", "milli", "millis", "millisecond", "milliseconds"], -3),
    (&["us", "micro", "micros", "microsecond", "microseconds"], -6),
    (&["ns", "nano", "nanos", "nanosecond", "nanoseconds"], -9),
];

fn hint(column: &Column, hints: Hints) -> f64 {
    let words = column.words();
    let of = |word: &String| hints.iter().find(|hint| hint.0 == word).map_or(0.0, |hint| hint.1);
    // The last words say most: `span.parent` is a parent.
    let count = words.len();
    words.iter().enumerate().map(|(place, word)| of(word) * if place + 2 >= count { 1.0 } else { 0.5 }).sum()
}

/// Returns the power of ten of the unit that a name says.
fn unit_said(column: &Column) -> Option<i32> {
    let words = column.words();
    words
        .iter()
        .rev()
        .find_map(|word| UNITS.iter().find(|unit| unit.0.contains(&word.as_str())).map(|unit| unit.1))
}

/// Returns what the fields are; `None` if nothing fits.
pub(super) fn roles(columns: &Columns) -> Option<Roles> {
    let (trace, span, parent) = ids(columns)?;
    let above = parents(columns, trace, span, parent);
    let taken = |place: usize| place == trace || place == span || Some(place) == parent;
    let times = times(columns, &above, &taken)?;
    let is_time = |place: usize| {
        let of = |time: Option<(usize, TimeForm)>| time.is_some_and(|time| time.0 == place);
        of(times.start) || of(times.end) || times.duration.is_some_and(|time| time.0 == place)
    };
    let (name, service) = names(columns, &|place| taken(place) || is_time(place))?;
    Some(Roles { trace, span, parent, name, service, times })
}

/// The columns of the ids of trace, span and parent.
type Ids = (usize, usize, Option<usize>);

/// Returns the columns of the ids of trace, span and parent: most parents are spans of the same trace.
fn ids(columns: &Columns) -> Option<Ids> {
    let list = &columns.list;
    let full: Vec<usize> = (0..list.len()).filter(|&place| list[place].fill() > 0.95).collect();
    let may_be_id = |place: &&usize| {
        let fractions = list[**place]
            .values
            .iter()
            .any(|value| value.text().contains('.') && matches!(value, Value::Number(..)));
        list[**place].time().is_none()
            && (!fractions || list[**place].path.to_ascii_lowercase().contains("id"))
    };
    let ids: Vec<usize> = full.iter().filter(may_be_id).copied().collect();
    let mut best: Option<(f64, Ids)> = None;
    for &span in &ids {
        let spans: BTreeSet<&str> = list[span].values.iter().map(Value::text).collect();
        if spans.len() < 2 {
            continue;
        }
        for parent in (0..list.len()).filter(|&parent| parent != span) {
            let given = given_parents(&list[parent]);
            let known = given.iter().filter(|text| spans.contains(*text)).count();
            if given.is_empty() || share(known, given.len()) < 0.7 {
                continue;
            }
            for &trace in ids.iter().filter(|&&trace| trace != span && trace != parent) {
                let score = score_ids(columns, trace, span, parent);
                offer(&mut best, score, (trace, span, Some(parent)));
            }
        }
    }
    if best.as_ref().is_some_and(|best| best.0 > 4.5) {
        return best.map(|best| best.1);
    }
    // Nothing hangs together: only names say what they are.
    for &span in &ids {
        for &trace in ids.iter().filter(|&&trace| trace != span) {
            let score = hint(&list[trace], TRACE) + hint(&list[span], SPAN);
            if hint(&list[trace], TRACE) >= 2.0 && hint(&list[span], SPAN) >= 2.0 {
                offer(&mut best, score, (trace, span, None));
            }
        }
    }
    best.filter(|best| best.0 > 4.5 || best.1.2.is_none()).map(|best| best.1)
}

/// Keeps what has the greater score; of equal ones the first.
fn offer<T>(best: &mut Option<(f64, T)>, score: f64, found: T) {
    if best.as_ref().is_none_or(|best| score > best.0) {
        *best = Some((score, found));
    }
}

/// Returns the parents that are given: of roots some write nothing, 0 or -1.
fn given_parents(column: &Column) -> Vec<&str> {
    let texts = column.values.iter().map(Value::text);
    texts.filter(|text| !text.is_empty() && !text.bytes().all(|byte| byte == b'0') && *text != "-1").collect()
}

fn score_ids(columns: &Columns, trace: usize, span: usize, parent: usize) -> f64 {
    let list = &columns.list;
    let texts = |place: usize| list[place].values.iter().map(Value::text);
    let rows: BTreeMap<(&str, &str), usize> =
        texts(trace).zip(texts(span)).enumerate().map(|(row, key)| (key, row)).collect();
    let unique = share(rows.len(), columns.rows);
    let (mut given, mut known, mut itself) = (0, 0, 0);
    for (row, (own, above)) in texts(trace).zip(texts(parent)).enumerate() {
        if above.is_empty() || above.bytes().all(|byte| byte == b'0') || above == "-1" {
            continue;
        }
        given += 1;
        let found = rows.get(&(own, above));
        known += usize::from(found.is_some());
        itself += usize::from(found == Some(&row));
    }
    let traces = list[trace].distinct();
    let is_group = traces > 1 && traces < columns.rows;
    // A column whose every value is a parent's own says nothing.
    let cycle = share(itself, given);
    let has_root = given < columns.rows;
    let hints = hint(&list[trace], TRACE) + hint(&list[span], SPAN) + hint(&list[parent], PARENT);
    3.0 * share(known, given) + 2.0 * unique - 4.0 * cycle
        + f64::from(u8::from(is_group))
        + share(traces, columns.rows)
        + f64::from(u8::from(has_root))
        + 0.4 * hints
}

/// Returns the row of the parent of each row.
fn parents(columns: &Columns, trace: usize, span: usize, parent: Option<usize>) -> Vec<Option<usize>> {
    let texts = |place: usize| columns.list[place].values.iter().map(Value::text);
    let rows: BTreeMap<(&str, &str), usize> =
        texts(trace).zip(texts(span)).enumerate().map(|(row, key)| (key, row)).collect();
    let Some(parent) = parent else { return vec![None; columns.rows] };
    let of = |(row, key): (usize, (&str, &str))| rows.get(&key).copied().filter(|&above| above != row);
    texts(trace).zip(texts(parent)).enumerate().map(of).collect()
}

/// Returns the fields that say when: children lie within their parents by them.
fn times(columns: &Columns, above: &[Option<usize>], taken: &dyn Fn(usize) -> bool) -> Option<Times> {
    let list = &columns.list;
    let points: Vec<(usize, TimeForm, Vec<f64>)> = (0..list.len())
        .filter(|&place| !taken(place) && list[place].fill() > 0.8)
        .filter_map(|place| list[place].time().map(|form| (place, form, list[place].seconds(form))))
        .collect();
    let mut best: Option<(f64, Times)> = None;
    for (start, form, from) in &points {
        for (end, form_of_end, to) in points.iter().filter(|(end, ..)| end != start) {
            let ordered = share(from.iter().zip(to).filter(|(from, to)| from <= to).count(), columns.rows);
            let score = 3.0 * ordered
                + 3.0 * nested(from, to, above)
                + 0.5 * (hint(&list[*start], START) + hint(&list[*end], END));
            if ordered > 0.95 {
                let (start, end) = (Some((*start, *form)), Some((*end, *form_of_end)));
                offer(&mut best, score, Times { start, end, duration: None });
            }
        }
        for (place, column) in list.iter().enumerate() {
            if taken(place) || points.iter().any(|point| point.0 == place) {
                continue;
            }
            let Some(numbers) = column.numbers().filter(|_| column.distinct() > 1) else { continue };
            let Some((unit, fits, is_end)) = unit_of(column, &numbers, from, above) else { continue };
            let hints = 0.5 * hint(column, DURATION);
            let said = f64::from(u8::from(unit_said(column).is_some())) * 0.5;
            let (word, time) =
                if is_end { (END, Some((*start, *form))) } else { (START, Some((*start, *form))) };
            let score = 3.0 + 3.0 * fits + hints + said + 0.5 * hint(&list[*start], word);
            let duration = Some((place, unit));
            match is_end {
                true => offer(&mut best, score, Times { start: None, end: time, duration }),
                false => offer(&mut best, score, Times { start: time, end: None, duration }),
            }
        }
    }
    best.map(|best| best.1)
}

/// Returns the share of children that lie within their parents.
fn nested(from: &[f64], to: &[f64], above: &[Option<usize>]) -> f64 {
    let pairs: Vec<(usize, usize)> =
        above.iter().enumerate().filter_map(|(row, above)| above.map(|above| (row, above))).collect();
    if pairs.is_empty() {
        return 0.5;
    }
    // Clocks that count milliseconds overrun.
    const SLACK_S: f64 = 0.002;
    let lies = |&&(row, above): &&(usize, usize)| {
        from[row] + SLACK_S >= from[above]
            && to[row] <= to[above] + SLACK_S
            && from[row] <= to[above] + SLACK_S
    };
    share(pairs.iter().filter(lies).count(), pairs.len())
}

/// Returns the unit of durations by which children begin and end within their parents, the share that do, and whether the
/// points in time are ends. Of several the smallest counts: in a large unit everything lies within.
fn unit_of(
    column: &Column,
    numbers: &[f64],
    points: &[f64],
    above: &[Option<usize>],
) -> Option<(i32, f64, bool)> {
    let fits = |unit: i32, is_end: bool| {
        let length = |row: usize| numbers[row] * 10f64.powi(unit);
        let from: Vec<f64> =
            points.iter().enumerate().map(|(row, at)| if is_end { at - length(row) } else { *at }).collect();
        let to: Vec<f64> = from.iter().enumerate().map(|(row, at)| at + length(row)).collect();
        nested(&from, &to, above)
    };
    let longest = numbers.iter().copied().filter(|number| !number.is_nan()).fold(0.0, f64::max);
    let is_sane = |unit: &i32| longest * 10f64.powi(*unit) <= 400.0 * 86_400.0;
    let said = unit_said(column).filter(is_sane);
    let units = said.map_or(vec![-9, -6, -3, 0], |unit| vec![unit]);
    let mut found: Option<(i32, f64, bool)> = None;
    for unit in units.into_iter().filter(is_sane) {
        for is_end in [false, true] {
            let share = fits(unit, is_end);
            if found.is_none_or(|(_, best, _)| share > best + 0.1) {
                found = Some((unit, share, is_end));
            }
        }
    }
    found
}

/// Returns the columns of the operation and of the service: a name belongs to one service, a service has several names.
fn names(columns: &Columns, taken: &dyn Fn(usize) -> bool) -> Option<(usize, Option<usize>)> {
    let list = &columns.list;
    let texts: Vec<usize> = (0..list.len())
        .filter(|&place| !taken(place) && list[place].is_text() && !looks_like_ids(&list[place]))
        .collect();
    let mut best: Option<(f64, (usize, Option<usize>))> = None;
    for &name in &texts {
        let alone = hint(&list[name], NAME)
            + looks_like_operation(&list[name])
            + f64::from(u8::from(list[name].distinct() > 1));
        for service in texts.iter().copied().filter(|&service| service != name).map(Some).chain([None]) {
            let more = service.map_or(0.0, |service| {
                let fewer = list[service].distinct() <= list[name].distinct();
                hint(&list[service], SERVICE)
                    + depends(&list[name], &list[service])
                    + if fewer { 0.5 } else { -1.0 }
                    - looks_like_operation(&list[service])
                    + if list[service].distinct() > 1 { 0.3 } else { 0.0 }
                    - 0.8
            });
            if best.as_ref().is_none_or(|best| alone + more > best.0) {
                best = Some((alone + more, (name, service)));
            }
        }
    }
    best.map(|best| best.1)
}

/// Returns whether nearly every value is another, as of ids.
fn looks_like_ids(column: &Column) -> bool {
    let rows = column.values.len();
    rows >= 20
        && share(column.distinct(), rows) > 0.9
        && column.values.iter().all(|value| !value.text().contains(' '))
}

/// Returns how much values look like operations: they hold spaces and slashes.
fn looks_like_operation(column: &Column) -> f64 {
    let is_like = |value: &&Value| value.text().contains([' ', '/']);
    share(column.values.iter().filter(is_like).count(), column.values.len())
}

/// Returns the share of names that belong to one service.
fn depends(names: &Column, services: &Column) -> f64 {
    let mut of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, service) in names.values.iter().zip(&services.values) {
        of.entry(name.text()).or_default().insert(service.text());
    }
    let one = of.values().filter(|services| services.len() == 1).count();
    share(one, of.len())
}
