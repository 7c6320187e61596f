use super::*;
use pathlight_ingest::GuessField;

fn guess() -> Guess {
    let field = |path: &str, values: [&str; 2]| GuessField {
        path: path.to_owned(),
        values: values.map(str::to_owned).to_vec(),
    };
    Guess {
        mapping: "within items\ntrace t\nspan s\nparent p\nname \"the op\"\nstart at ms\nduration took us\ntags *\n"
            .to_owned(),
        fields: vec![
            field("t", ["a", "a"]),
            field("s", ["1", "2"]),
            field("p", ["", "1"]),
            field("the op", ["GET /", "load"]),
            field("at", ["1767607200000", "1767607200010"]),
            field("took", ["90000", "700"]),
            field("until", ["2026-01-05T10:00:00.5Z", ""]),
        ],
        within: vec!["items".to_owned()],
    }
}

#[test]
fn choices_are_a_mapping_and_the_other_way_round() {
    let guess = guess();
    let mut choices = Choices::of(&guess);
    assert_eq!(choices.fields, ["t", "s", "p", "", "the op", "at", "", "took"]);
    assert_eq!((choices.units[5].as_str(), choices.units[7].as_str()), ("ms", "us"));
    let mapping = choices.mapping(&guess).unwrap();
    assert_eq!(Ok(mapping.clone()), guess.mapping.parse::<Mapping>());
    let found = rows(&guess, &mapping);
    assert_eq!(found[1][..5], ["a", "2", "1", "", "load"].map(str::to_owned));
    assert_eq!(found[1][6], "700\u{202f}µs");
    // Another field says when it ends, and the unit of the start was wrong.
    choices.fields[7].clear();
    choices.fields[6] = "until".to_owned();
    let found = rows(&guess, &choices.mapping(&guess).unwrap());
    assert_eq!(found.iter().map(|row| row[6].as_str()).collect::<Vec<_>>(), ["500\u{202f}ms", "no time"]);
    choices.fields[6].clear();
    assert!(choices.mapping(&guess).unwrap_err().ends_with("the duration or the end."));
}

#[test]
fn a_mapping_is_remembered_for_each_shape() {
    let first: Mapping = "trace a\nspan b\nname c\nstart d\n".parse().unwrap();
    let second: Mapping = "trace x\nspan b\nname c\nstart d ms\n".parse().unwrap();
    let text = remember("", "one", &first);
    let text = remember(&text, "two", &second);
    assert_eq!(remembered(&text), [second.clone(), first.clone()]);
    // Another one for the same shape takes its place.
    let text = remember(&text, "one", &second);
    assert_eq!(remembered(&text), [second.clone(), second.clone()]);
    let many = (0..50).fold(text, |text, n| remember(&text, &n.to_string(), &first));
    assert_eq!(remembered(&many).len(), REMEMBERED);
    assert_eq!(remembered("no mapping\n\n# x\nspam"), []);
}
