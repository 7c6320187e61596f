//! A table of how much services use of what they have: CSV, the text of `kubectl top`, or the JSON of Prometheus
//! (`docs/definitions/execution-flow.md` section 4).

use pathlight_base::format::{counted, printable};
use serde_json::Value;
use std::fmt;

/// Longest text that is looked at, in bytes.
pub const MOST_BYTES: usize = 4 << 20;
/// Lines listed that cannot be read.
const LISTED: usize = 3;
/// Heads of columns, and labels of Prometheus, that name a service; those before others say it better.
const NAMES: [&str; 14] = [
    "service",
    "service_name",
    "service.name",
    "app",
    "app_kubernetes_io_name",
    "application",
    "workload",
    "deployment",
    "name",
    "series",
    "job",
    "pod",
    "container",
    "node",
];
/// Heads of columns with a number of which nothing else is known.
const PLAIN: [&str; 7] = ["value", "use", "usage", "utilisation", "utilization", "load", "last"];

/// One line of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UseRow {
    /// What it may be called, the best name first.
    pub names: Vec<String>,
    /// Used share of the processors that it has; 1 is all of them.
    pub cpu: Option<f64>,
    /// Used share of its memory.
    pub memory: Option<f64>,
}

/// A table of utilisation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// Its lines, in order.
    pub rows: Vec<UseRow>,
    /// How its numbers are read, and which of its lines cannot be read; sentences.
    pub notes: Vec<String>,
}

/// Why a text is no table of utilisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoUtilisation {
    /// It is something else, such as traces.
    Other,
    /// It looks like one, and this is wrong with it: a sentence.
    Wrong(String),
}

impl fmt::Display for NoUtilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoUtilisation::Wrong(words) => f.write_str(words),
            NoUtilisation::Other => f.write_str(
                "this is no table of utilisation: write a line service,cpu and below it one such as cart,87 for each service, or \
                 give the text of kubectl top with CPU%, or what Prometheus answers to a query",
            ),
        }
    }
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Name,
    Namespace,
    Cpu,
    Memory,
    Other,
}

/// In which unit numbers are given, if their head says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    Percent,
    Share,
    Unknown,
}

/// The numbers of one kind: by row, and whether `%` stands behind.
struct Numbers {
    words: &'static str,
    scale: Scale,
    values: Vec<Option<(f64, bool)>>,
}

impl Numbers {
    fn new(words: &'static str) -> Numbers {
        Numbers { words, scale: Scale::Unknown, values: Vec::new() }
    }

    /// Returns the numbers as shares of 1, and how they were read if that had to be guessed.
    fn shares(self) -> (Vec<Option<f64>>, Option<String>) {
        let bare = self.values.iter().flatten().filter(|(_, has_sign)| !has_sign).map(|(value, _)| *value);
        let most = bare.fold(f64::NEG_INFINITY, f64::max);
        let (is_percent, note) = match self.scale {
            Scale::Percent => (true, None),
            Scale::Share => (false, None),
            Scale::Unknown if most == f64::NEG_INFINITY => (false, None),
            Scale::Unknown if most > 1.0 => (
                true,
                Some(format!("{} is read as percent, since the greatest number is {most}.", self.words)),
            ),
            Scale::Unknown => {
                (false, Some(format!("{} is read as shares of 1, since no number is above 1.", self.words)))
            }
        };
        let share =
            |(value, has_sign): (f64, bool)| if is_percent || has_sign { value / 100.0 } else { value };
        (self.values.into_iter().map(|value| value.map(share)).collect(), note)
    }
}

/// Reads a table.
///
/// # Errors
/// [`NoUtilisation`].
pub fn read(text: &str) -> Result<Utilisation, NoUtilisation> {
    let text = text.trim_start_matches('\u{feff}');
    if text.len() > MOST_BYTES {
        return Err(NoUtilisation::Other);
    }
    if text.trim_start().starts_with('{') || text.trim_start().starts_with('[') {
        return prometheus(text);
    }
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or(NoUtilisation::Other)?;
    let separator = [',', ';', '\t', '|'].into_iter().max_by_key(|&of| (head.matches(of).count(), of == ','));
    let separator = separator.filter(|&of| head.contains(of));
    let heads: Vec<String> = match separator {
        Some(separator) => cells(head, separator),
        None => head.split_whitespace().map(str::to_owned).collect(),
    };
    let kinds: Vec<(Kind, Scale)> = heads.iter().map(|head| kind(head)).collect();
    let has = |kind: Kind| kinds.iter().any(|of| of.0 == kind);
    // A table of spans may have any other column, too.
    let is_of_spans = heads
        .iter()
        .map(|head| head.to_lowercase())
        .any(|head| head.contains("trace") || head.contains("span"));
    if is_of_spans || !has(Kind::Name) {
        return Err(NoUtilisation::Other);
    }
    if !has(Kind::Cpu) && !has(Kind::Memory) {
        return Err(without_share(&heads));
    }
    let (mut names, mut bad): (Vec<Vec<String>>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut cpu, mut memory) = (Numbers::new("CPU"), Numbers::new("Memory"));
    for (kind, scale) in &kinds {
        match kind {
            Kind::Cpu if cpu.scale == Scale::Unknown => cpu.scale = *scale,
            Kind::Memory if memory.scale == Scale::Unknown => memory.scale = *scale,
            _ => {}
        }
    }
    for (number, line) in lines {
        let values: Vec<String> = match separator {
            Some(separator) => cells(line, separator),
            None => line.split_whitespace().map(str::to_owned).collect(),
        };
        match row(&kinds, &values) {
            Ok(Some((called, of_cpu, of_memory))) => {
                names.push(called);
                cpu.values.push(of_cpu);
                memory.values.push(of_memory);
            }
            Ok(None) => {}
            Err(words) => bad.push(format!("line {number}: {words}")),
        }
    }
    finish(names, cpu, memory, &bad)
}

type Cells = (Vec<String>, Option<(f64, bool)>, Option<(f64, bool)>);

/// Reads the values of one line; `None` if it says nothing of use.
fn row(kinds: &[(Kind, Scale)], values: &[String]) -> Result<Option<Cells>, String> {
    if values.len() < kinds.len() {
        return Err(format!("it has {} of {}", counted(values.len() as u64, "value"), kinds.len()));
    }
    let of_kind =
        |kind: Kind| kinds.iter().zip(values).filter(move |((of, _), _)| *of == kind).map(|(_, value)| value);
    let namespace = of_kind(Kind::Namespace).next();
    let mut names: Vec<String> = of_kind(Kind::Name).flat_map(|name| called(name)).collect();
    names.retain(|name| !name.is_empty());
    if names.is_empty() {
        return Err("it has no name".to_owned());
    }
    if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
        names = names.into_iter().flat_map(|name| [format!("{namespace}/{name}"), name]).collect();
    }
    let first = |kind| of_kind(kind).map(|value| number(value)).find(|value| !matches!(value, Ok(None)));
    let (cpu, memory) = (first(Kind::Cpu).transpose()?.flatten(), first(Kind::Memory).transpose()?.flatten());
    Ok((cpu.is_some() || memory.is_some()).then_some((names, cpu, memory)))
}

/// Returns a table of what was read, or why none of it could be.
fn finish(
    names: Vec<Vec<String>>,
    cpu: Numbers,
    memory: Numbers,
    bad: &[String],
) -> Result<Utilisation, NoUtilisation> {
    let unreadable = || {
        let listed: Vec<&str> = bad.iter().take(LISTED).map(String::as_str).collect();
        let more = if bad.len() > LISTED { ", and so on" } else { "" };
        format!("{} cannot be read: {}{more}.", counted(bad.len() as u64, "line"), listed.join("; "))
    };
    if names.is_empty() {
        let why = if bad.is_empty() { "no line has a number.".to_owned() } else { unreadable() };
        return Err(NoUtilisation::Wrong(format!("This is a table of utilisation, but {why}")));
    }
    let ((cpu, of_cpu), (memory, of_memory)) = (cpu.shares(), memory.shares());
    let rows = names.into_iter().zip(cpu).zip(memory);
    let rows = rows.map(|((names, cpu), memory)| UseRow { names, cpu, memory }).collect();
    let mut notes: Vec<String> = of_cpu.into_iter().chain(of_memory).collect();
    if !bad.is_empty() {
        notes.push(unreadable());
    }
    Ok(Utilisation { rows, notes })
}

/// Returns why a table with names has no share of anything.
fn without_share(heads: &[String]) -> NoUtilisation {
    let is_of_kubectl = heads
        .iter()
        .any(|head| head.eq_ignore_ascii_case("CPU(cores)") || head.eq_ignore_ascii_case("MEMORY(bytes)"));
    if is_of_kubectl {
        return NoUtilisation::Wrong(
            "This is the text of kubectl top pods: it says how much pods use, not how much they may use, so there is no share \
             of anything. Divide by their limits (in Prometheus container_cpu_usage_seconds_total and \
             kube_pod_container_resource_limits), or write a table with the columns service,cpu in percent."
                .to_owned(),
        );
    }
    NoUtilisation::Other
}

/// Returns what a column with this head holds.
fn kind(head: &str) -> (Kind, Scale) {
    let head = head.trim().to_lowercase();
    let scale = if head.contains('%') || head.contains("percent") || head.contains("pct") {
        Scale::Percent
    } else if head.contains("share") || head.contains("ratio") || head.contains("fraction") {
        Scale::Share
    } else {
        Scale::Unknown
    };
    let stem: String = head.chars().take_while(|c| c.is_alphabetic() || *c == '_' || *c == '.').collect();
    let stem = stem.trim_matches(['_', '.']);
    if stem == "namespace" {
        return (Kind::Namespace, scale);
    }
    if NAMES.contains(&stem) {
        return (Kind::Name, scale);
    }
    // Cores and bytes are no shares.
    let is_amount = ["cores", "bytes", "millicores", "request", "limit", "count", "seconds"]
        .iter()
        .any(|unit| head.contains(unit));
    let kind = match stem {
        _ if is_amount => Kind::Other,
        _ if stem.starts_with("cpu") || PLAIN.contains(&stem) => Kind::Cpu,
        _ if stem.starts_with("mem") => Kind::Memory,
        _ => Kind::Other,
    };
    (kind, scale)
}

/// Reads a number, perhaps with `%` behind it; `None` if there is none.
fn number(text: &str) -> Result<Option<(f64, bool)>, String> {
    let text = text.trim();
    if ["", "-", "<unknown>", "unknown", "n/a", "null", "nan"].contains(&text.to_lowercase().as_str()) {
        return Ok(None);
    }
    let (digits, has_sign) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
    let digits = digits.trim();
    // A comma for the point, as spreadsheets of many countries write it.
    let value: Option<f64> = digits.parse().ok().or_else(|| digits.replacen(',', ".", 1).parse().ok());
    match value.filter(|value| value.is_finite()) {
        Some(value) if value >= 0.0 => Ok(Some((value, has_sign))),
        Some(_) => Err(format!("{} is below 0", printable(text))),
        None => Err(format!("{} is no number", printable(text))),
    }
}

/// Returns the names that a name stands for: those among the labels of a series, `{service="cart"}`, or itself.
fn called(name: &str) -> Vec<String> {
    let name = name.trim();
    let Some((_, labels)) = name.split_once('{').filter(|_| name.ends_with('}')) else {
        return vec![name.to_owned()];
    };
    let labels = cells(labels.trim_end_matches('}'), ',');
    let labels = labels.iter().filter_map(|label| label.split_once('='));
    let labels: Vec<(&str, &str)> =
        labels.map(|(key, value)| (key.trim(), value.trim().trim_matches(['"', '\\']))).collect();
    let of = |key: &str| labels.iter().find(|label| label.0 == key).map(|label| label.1.to_owned());
    by_labels(of)
}

/// Returns the names among labels, the best first, each also with its namespace.
fn by_labels(of: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let namespace = of("namespace");
    let names = NAMES.iter().filter_map(|key| of(key));
    names
        .flat_map(|name| {
            let within = namespace.as_ref().map(|namespace| format!("{namespace}/{name}"));
            within.into_iter().chain([name])
        })
        .collect()
}

/// Returns the values of a line. A value in quotes may hold the separator, and a quote twice.
fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut out, mut value, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                value.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if value.trim().is_empty() => is_quoted = true,
            c if c == separator && !is_quoted => out.push(std::mem::take(&mut value).trim().to_owned()),
            c => value.push(c),
        }
    }
    out.push(value.trim().to_owned());
    out
}

/// Reads the answer of Prometheus to a query: of a range the mean of each series.
fn prometheus(text: &str) -> Result<Utilisation, NoUtilisation> {
    if !text.contains("\"resultType\"") && !text.contains("\"errorType\"") {
        return Err(NoUtilisation::Other);
    }
    let answer: Value = serde_json::from_str(text).map_err(|_| NoUtilisation::Other)?;
    if let Some(error) = answer["error"].as_str() {
        return Err(NoUtilisation::Wrong(format!("Prometheus has refused the query: {}.", printable(error))));
    }
    let series = answer["data"]["result"].as_array().ok_or(NoUtilisation::Other)?;
    let (mut names, mut bad) = (Vec::new(), Vec::new());
    let (mut cpu, mut memory) = (Numbers::new("CPU"), Numbers::new("Memory"));
    for (place, one) in (1..).zip(series) {
        let label = |key: &str| one["metric"][key].as_str().map(str::to_owned);
        let called = by_labels(label);
        let values =
            one["values"].as_array().map_or_else(|| vec![&one["value"]], |values| values.iter().collect());
        let read = values.into_iter().map(|of| number(of[1].as_str().unwrap_or_default()));
        let read: Result<Vec<_>, String> = read.collect();
        match read {
            Err(words) => bad.push(format!("series {place}: {words}")),
            Ok(_) if called.is_empty() => {
                bad.push(format!("series {place}: it has no label such as service or pod"))
            }
            Ok(values) => {
                let values: Vec<f64> = values.into_iter().flatten().map(|(value, _)| value).collect();
                if values.is_empty() {
                    continue;
                }
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let is_memory = label("__name__").is_some_and(|name| name.contains("mem"));
                names.push(called);
                cpu.values.push((!is_memory).then_some((mean, false)));
                memory.values.push(is_memory.then_some((mean, false)));
            }
        }
    }
    finish(names, cpu, memory, &bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(String, Option<f64>, Option<f64>)> {
        let rows = read(text).unwrap().rows;
        rows.into_iter().map(|row| (row.names[0].clone(), row.cpu, row.memory)).collect()
    }

    fn row(name: &str, cpu: f64) -> (String, Option<f64>, Option<f64>) {
        (name.to_owned(), Some(cpu), None)
    }

    #[test]
    fn tables_are_read_in_percent_and_in_shares() {
        let both = [row("cart", 0.875), row("search", 0.12)];
        for text in [
            "service,cpu\ncart,87.5\nsearch,12\n",
            "service,cpu\r\ncart,87.5%\r\n\r\nsearch,12%",
            "\u{feff}Service;CPU %\ncart;87,5\nsearch;12",
            "service_name\tcpu_percent\ncart\t87.5\nsearch\t12",
            "service,cpu_ratio\ncart,0.875\nsearch,0.12",
            "\"service\",\"cpu\"\n\"cart\",\"0.875\"\n\"search\",\"0.12\"",
            "\"Series\",\"Value\"\n\"{service=\"\"cart\"\"}\",0.875\n\"use{service=\"\"search\"\", zone=\"\"a\"\"}\",0.12",
            "name,requests,usage\ncart,4,87.5\nsearch,2,12",
        ] {
            assert_eq!(rows(text), both, "{text}");
        }
        assert_eq!(
            rows("service,cpu,memory\ncart,50,20\nsearch,,40"),
            [("cart".to_owned(), Some(0.5), Some(0.2)), ("search".to_owned(), None, Some(0.4))]
        );
        // In a column headed as percent, 0.5 is half a percent.
        assert_eq!(rows("service,cpu%\ncart,0.5"), [row("cart", 0.005)]);
        let note = |text: &str| read(text).unwrap().notes.join(" ");
        assert!(note("service,cpu\ncart,87").contains("as percent, since the greatest number is 87"));
        assert!(note("service,cpu\ncart,0.87").contains("as shares of 1"));
        assert_eq!(note("service,cpu\ncart,87%"), "");
    }

    #[test]
    fn the_text_of_kubectl_is_read_where_it_has_percent() {
        let nodes = "NAME    CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\ncart-0  250m  12%  2048Mi  40%\nweb  <unknown>  <unknown>  <unknown>  <unknown>\n";
        assert_eq!(rows(nodes), [("cart-0".to_owned(), Some(0.12), Some(0.4))]);
        let pods =
            "NAME                   CPU(cores)   MEMORY(bytes)\ncart-7d9f6c5b8-x2x4z   250m         512Mi\n";
        let Err(NoUtilisation::Wrong(words)) = read(pods) else { panic!() };
        assert!(words.contains("not how much they may use") && words.contains("limits"), "{words}");
        let all = "NAMESPACE   NAME   CPU(cores)   CPU%\nshop   cart-7d9f6c5b8-x2x4z   1m   9%";
        assert_eq!(read(all).unwrap().rows[0].names, ["shop/cart-7d9f6c5b8-x2x4z", "cart-7d9f6c5b8-x2x4z"]);
    }

    #[test]
    fn answers_of_prometheus_are_read() {
        let vector = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"service":"cart","pod":"cart-7d9f6c5b8-x2x4z"},"value":[1700000000.1,"0.91"]},
            {"metric":{"app":"search","namespace":"shop"},"value":[1700000000.1,"0.12"]},
            {"metric":{"app":"gone"},"value":[1700000000.1,"NaN"]},
            {"metric":{},"value":[1700000000.1,"0.5"]}]}}"#;
        let read_of = read(vector).unwrap();
        assert_eq!(read_of.rows[0].names, ["cart", "cart-7d9f6c5b8-x2x4z"]);
        assert_eq!((read_of.rows[1].names[0].as_str(), read_of.rows[1].cpu), ("shop/search", Some(0.12)));
        assert!(
            read_of.rows.len() == 2 && read_of.notes[1].contains("series 4: it has no label"),
            "{read_of:?}"
        );
        let matrix = r#"{"data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"memory_used_ratio","job":"cart"},"values":[[1,"0.2"],[2,"0.4"]]}]}}"#;
        let of = &read(matrix).unwrap().rows[0];
        assert!(of.cpu.is_none() && (of.memory.unwrap() - 0.3).abs() < 1e-12);
        let refused = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert_eq!(
            read(refused),
            Err(NoUtilisation::Wrong("Prometheus has refused the query: parse error.".to_owned()))
        );
    }

    #[test]
    fn lines_that_cannot_be_read_are_named_and_other_texts_are_none() {
        let Utilisation { rows, notes } =
            read("service,cpu\ncart,much\nweb\nsearch,12%\na,-3\n,5\n").unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            notes,
            [
                "4 lines cannot be read: line 2: much is no number; line 3: it has 1 value of 2; line 5: -3 is below 0, and so on."
            ]
        );
        let Err(NoUtilisation::Wrong(words)) = read("service,cpu\ncart,much") else { panic!() };
        assert!(words.contains("line 2: much is no number"), "{words}");
        assert!(matches!(read("service,cpu\n"), Err(NoUtilisation::Wrong(_))));
        for text in [
            "",
            "hello",
            "{}",
            "[]",
            "[{\"traceId\": 1}]",
            "{\"data\": [{\"traceID\": \"1\"}]}",
            "traceId,spanId,parentId,serviceName,name,startTime,duration\n1,2,3,a,b,4,5",
            "service,operation\ncart,get",
            "cart 5\nweb 7",
            "trace_id,service,value\n1,cart,5",
        ] {
            assert_eq!(read(text), Err(NoUtilisation::Other), "{text}");
        }
    }
}
