//! Answers within a budget: whole records only, and what was left out with the way to it.

use serde_json::{Map, Value};

/// Tokens of an answer unless another budget is asked for.
pub const BUDGET: usize = 1500;
/// The largest budget.
pub const MOST: usize = 8000;
/// The least: what an answer without records needs.
pub const LEAST: usize = 300;
/// Bytes that count as a token. A tokenizer makes more of them of any text but one of digits.
const TOKEN: usize = 3;
/// Records that the largest answer could hold, if each had a few words only.
const MOST_RECORDS: usize = 600;
/// Bytes that are kept free for what is said of the records that are left out.
const FOOT: usize = 260;

/// One entry of a list: whole, or not in the answer.
#[derive(Clone, Debug)]
pub struct Record {
    /// Key of the list in the structured answer.
    pub key: &'static str,
    /// The record as text: a line, or several.
    pub text: String,
    /// The record as JSON.
    pub value: Value,
}

/// All there is to say, before it is cut to a budget.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer in a sentence.
    pub lead: String,
    /// Other keys of the structured answer.
    pub fields: Map<String, Value>,
    /// The records that an answer may hold, most important first: those from `from` on.
    records: Vec<Record>,
    /// Number of all records.
    all: usize,
    /// Records that were given before.
    from: usize,
    /// Suggested next calls, in words; left out where there is no room.
    pub next: String,
}

impl Answer {
    /// Returns an answer that is a sentence, with records from a place on.
    pub fn of(lead: impl Into<String>, from: usize) -> Answer {
        Answer { lead: lead.into(), from, ..Answer::default() }
    }

    /// Adds a key to the structured answer.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.fields.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a list of records that are soon made.
    #[must_use]
    pub fn each(self, key: &'static str, records: impl IntoIterator<Item = (String, Value)>) -> Answer {
        let mut records: Vec<(String, Value)> = records.into_iter().collect();
        self.list(key, records.len(), |at| std::mem::take(&mut records[at]))
    }

    /// Adds a list of so many records; those that no answer from here on can hold are not made.
    #[must_use]
    pub fn list(
        mut self,
        key: &'static str,
        count: usize,
        mut make: impl FnMut(usize) -> (String, Value),
    ) -> Answer {
        let end = self.from + MOST_RECORDS;
        for at in 0..count {
            if (self.from..end).contains(&(self.all + at)) {
                let (text, value) = make(at);
                self.records.push(Record { key, text, value });
            }
        }
        self.all += count;
        self
    }
}

/// What of an answer is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Tokens for text and structured answer together.
    pub budget: usize,
    /// Records that were given before.
    pub from: usize,
    /// Tells the question, with the state of the data, from others: a cursor is of one question.
    pub question: u64,
    /// The tool, for the words about what is left out.
    pub tool: &'static str,
}

impl Bounds {
    /// Returns the bounds that arguments ask for.
    ///
    /// # Errors
    /// The cursor is not of this question.
    pub fn of(
        tool: &'static str,
        question: u64,
        budget: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<Bounds, String> {
        let budget = budget.map_or(BUDGET, |budget| (budget as usize).clamp(LEAST, MOST));
        let from = match cursor {
            None | Some("") => 0,
            Some(cursor) => {
                let parsed = cursor
                    .split_once('-')
                    .and_then(|(from, of)| Some((from.parse().ok()?, u64::from_str_radix(of, 16).ok()?)));
                let known = parsed.filter(|(_, of)| *of == question & CURSOR_BITS);
                let (from, _) = known.ok_or(
                    "this cursor is of other arguments or other traces: leave it out to begin with the first record",
                )?;
                from
            }
        };
        Ok(Bounds { budget, from, question, tool })
    }

    fn cursor(&self, from: usize) -> String {
        format!("{from}-{:x}", self.question & CURSOR_BITS)
    }
}

/// Bits of a question that a cursor holds.
const CURSOR_BITS: u64 = 0xffff_ffff;

/// An answer that keeps to its budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// As text.
    pub text: String,
    /// As JSON.
    pub structured: Value,
}

#[cfg(test)]
impl Bounded {
    /// Returns how many tokens it counts as.
    pub fn tokens(&self) -> usize {
        tokens(self.text.len() + self.structured.to_string().len())
    }
}

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(TOKEN)
}

fn json_len(value: &Value) -> usize {
    value.to_string().len()
}

impl Answer {
    /// Returns as much of the answer as its budget holds.
    pub fn within(self, bounds: &Bounds) -> Bounded {
        let room = bounds.budget * TOKEN;
        let head = |lead: &str, fields: &Map<String, Value>| {
            let mut fields = fields.clone();
            fields.insert("answer".to_owned(), lead.into());
            fields
        };
        let all = self.all;
        let mut fields = head(&self.lead, &self.fields);
        let mut text = self.lead.clone();
        let mut used = text.len() + json_len(&Value::Object(fields.clone())) + FOOT;
        if used > room {
            // Names may be long; a sentence is not cut, so it is not said.
            let words = format!(
                "The answer begins with {} tokens, and the budget is {}: ask for a larger budget, {MOST} at most.",
                tokens(used),
                bounds.budget
            );
            let (fields, text) = (head(&words, &Map::new()), words);
            return Bounded { text, structured: Value::Object(fields) };
        }
        let mut lists: Vec<(&'static str, Vec<Value>)> = Vec::new();
        let (mut at, mut skipped) = (self.from.min(all), Vec::new());
        let mut given = 0;
        for record in self.records {
            let is_new = lists.iter().all(|(key, _)| *key != record.key);
            let around = 2 + if is_new { record.key.len() + 6 } else { 0 };
            let needs = record.text.len() + json_len(&record.value) + around;
            if used + needs > room {
                // What fits into no answer must not stand in the way of what comes after it.
                let least = tokens(used + needs);
                if given > 0 || least <= MOST {
                    if given == 0 {
                        skipped.push(format!("The next record alone takes {least} tokens of budget."));
                    }
                    break;
                }
                skipped.push(format!(
                    "A record of {} tokens fits into no answer and is left out.",
                    tokens(needs)
                ));
                at += 1;
                continue;
            }
            used += needs;
            (at, given) = (at + 1, given + 1);
            text.push('\n');
            text.push_str(&record.text);
            match lists.iter_mut().find(|(key, _)| *key == record.key) {
                Some((_, list)) => list.push(record.value),
                None => lists.push((record.key, vec![record.value])),
            }
        }
        for (key, list) in lists {
            fields.insert(key.to_owned(), list.into());
        }
        let left = all - at;
        if left > 0 {
            let cursor = bounds.cursor(at);
            fields.insert("left_out".to_owned(), left.into());
            fields.insert("cursor".to_owned(), cursor.clone().into());
            text.push_str(&format!(
                "\n{left} more of {all}: call {} with the same arguments and cursor {cursor:?}, or a larger budget.",
                bounds.tool
            ));
        }
        for words in skipped.iter().take(1) {
            text.push('\n');
            text.push_str(words);
        }
        if !self.next.is_empty() && left == 0 && used + self.next.len() < room {
            text.push('\n');
            text.push_str(&self.next);
        }
        Bounded { text, structured: Value::Object(fields) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(budget: usize, from: usize) -> Bounds {
        Bounds { budget, from, question: 7, tool: "findings" }
    }

    /// Returns records of these many bytes of text.
    fn answer(sizes: &[usize], from: usize) -> Answer {
        let record = |at: usize| (format!("{at}:{}", "x".repeat(sizes[at])), Value::from(at));
        Answer::of("All.", from).list("rows", sizes.len(), record)
    }

    #[test]
    fn every_budget_is_kept_and_no_record_is_cut_or_lost() {
        // Sizes from a fixed sequence; some fit into no small answer.
        let mut state = 12_345_u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        for _ in 0..200 {
            let sizes: Vec<usize> = (0..next(40)).map(|_| next(900) as usize).collect();
            let budget = LEAST + next(2000) as usize;
            let (mut from, mut seen, mut calls) = (0, Vec::new(), 0);
            loop {
                let given = answer(&sizes, from).within(&bounds(budget, from));
                assert!(given.tokens() <= budget, "{} of {budget}", given.tokens());
                let rows = given.structured["rows"].as_array().cloned().unwrap_or_default();
                for row in rows {
                    let at = row.as_u64().unwrap() as usize;
                    assert!(given.text.contains(&format!("{at}:{}", "x".repeat(sizes[at]))));
                    seen.push(at);
                }
                let Some(cursor) = given.structured["cursor"].as_str() else { break };
                let next = Bounds::of("findings", 7, Some(budget as u32), Some(cursor)).unwrap().from;
                // A record that needs a larger budget says so and does not let the reader run in circles.
                if next == from {
                    assert!(given.text.contains("tokens of budget"), "{}", given.text);
                    from = next;
                    let all = answer(&sizes, from).within(&bounds(MOST, from));
                    assert!(all.structured["rows"][0].as_u64() == Some(from as u64));
                    seen.push(from);
                    from += 1;
                } else {
                    from = next;
                }
                calls += 1;
                assert!(calls <= 2 * sizes.len(), "it never ends");
                if from >= sizes.len() {
                    break;
                }
            }
            assert_eq!(seen, (0..sizes.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_fits_into_no_answer_is_said_and_passed_over() {
        let given = answer(&[30_000, 10], 0).within(&bounds(1500, 0));
        assert_eq!(given.structured["rows"], serde_json::json!([1]));
        assert!(given.text.contains("fits into no answer"), "{}", given.text);
        let given = Answer::of("x".repeat(50_000), 0).within(&bounds(1500, 0));
        assert!(given.tokens() < 300 && given.text.contains("larger budget"));
    }

    #[test]
    fn a_cursor_is_of_one_question() {
        let cursor = bounds(1500, 0).cursor(3);
        assert_eq!(Bounds::of("findings", 7, None, Some(&cursor)).map(|bounds| bounds.from), Ok(3));
        for (question, cursor) in [(8, cursor.as_str()), (7, "3"), (7, "x-7"), (7, "3-")] {
            assert!(Bounds::of("findings", question, None, Some(cursor)).is_err(), "{cursor}");
        }
        assert_eq!(Bounds::of("findings", 7, Some(1), None).map(|bounds| bounds.budget), Ok(LEAST));
        assert_eq!(Bounds::of("findings", 7, Some(90_000), None).map(|bounds| bounds.budget), Ok(MOST));
    }
}
