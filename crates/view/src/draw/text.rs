//! The width of text, and cutting it to fit.

/// Measures text of one font; a canvas with its real font, or [`Advances`].
pub trait MeasureText {
    /// Returns the advance of one character in pixels.
    fn char_px(&mut self, c: char) -> f64;

    /// Returns the width of a text in pixels: the sum of its characters, as kerning only ever takes a little away.
    fn text_px(&mut self, text: &str) -> f64 {
        text.chars().map(|c| self.char_px(c)).sum()
    }
}

/// The built-in table of advances, of Helvetica and of everything drawn to its measure (Arial, Liberation Sans). SVG
/// text is laid out by it, so that a file is the same wherever it is written.
#[derive(Clone, Copy, Debug)]
pub struct Advances {
    /// Size of the font in pixels.
    pub font_px: f64,
}

impl MeasureText for Advances {
    fn char_px(&mut self, c: char) -> f64 {
        f64::from(advance(c)) * self.font_px / 1000.0
    }
}

/// Returns the advance of a character in thousandths of the font size.
pub fn advance(c: char) -> u16 {
    const ASCII: [u16; 95] = [
        278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
        556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
        722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
        278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
        556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
    ];
    match c {
        ' '..='~' => ASCII[c as usize - ' ' as usize],
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{2009}' | '\u{202f}' => 200,
        '–' | 'µ' => 556,
        '−' => 584,
        '…' | '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{ffdc}' | '\u{10000}'.. => 1000,
        c if c.is_control() => 0,
        _ => 620,
    }
}

/// Returns the text if it fits into `room_px`, else its beginning with an ellipsis; `None` if not even two characters
/// and the ellipsis fit.
pub fn elide(text: &str, room_px: f64, measure: &mut dyn MeasureText) -> Option<String> {
    let ellipsis = measure.char_px('…');
    // What would still fit if an ellipsis followed: bytes and characters.
    let (mut cut, mut kept) = (0, 0);
    let mut width = 0.0;
    for (start, c) in text.char_indices() {
        let advance = measure.char_px(c);
        if width + ellipsis <= room_px && advance > 0.0 {
            (cut, kept) = (start, kept + 1);
        }
        width += advance;
        if width > room_px {
            // `cut` is the start of the last character that did not leave room any more.
            return (kept > 2).then(|| format!("{}…", text[..cut].trim_end()));
        }
    }
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the text if it fits into `room_px`, else its beginning and its end with an ellipsis between: for names that
/// begin alike, as those of packages do. Of a path or a method of a service (`shop.Cart/AddItem`) the last segments that
/// fit are kept whole. Where there is room for little it is [`elide`].
pub fn elide_middle(text: &str, room_px: f64, measure: &mut dyn MeasureText) -> Option<String> {
    if measure.text_px(text) <= room_px {
        return elide(text, room_px, measure);
    }
    let ellipsis_px = measure.char_px('…');
    for (start, _) in text.match_indices('/').filter(|(start, _)| *start > 0 && start + 1 < text.len()) {
        let (head, tail) = text.split_at(start);
        let left = room_px - measure.text_px(tail);
        if left >= ellipsis_px {
            let head = elide(head, left, measure);
            return Some(head.unwrap_or_else(|| "…".to_owned()) + tail);
        }
    }
    // The end says more: it is what differs.
    let most = (room_px - ellipsis_px) * 0.6;
    let (mut tail, mut tail_px, mut width) = ("", 0.0, 0.0);
    for (start, c) in text.char_indices().rev() {
        let advance = measure.char_px(c);
        width += advance;
        if width > most {
            break;
        }
        // What takes no room belongs to the character before it.
        if advance > 0.0 && c != ' ' {
            (tail, tail_px) = (&text[start..], width);
        }
    }
    let head = if tail.is_empty() { None } else { elide(text, room_px - tail_px, measure) };
    head.map(|head| head + tail).or_else(|| elide(text, room_px, measure))
}

/// Returns the text if it fits into `room_px`, else its end behind an ellipsis; `None` where not even two characters fit: for
/// names of which only the end tells them apart.
pub fn elide_start(text: &str, room_px: f64, measure: &mut dyn MeasureText) -> Option<String> {
    if measure.text_px(text) <= room_px {
        return elide(text, room_px, measure);
    }
    let mut width = measure.char_px('…');
    let (mut from, mut kept) = (text.len(), 0);
    for (start, c) in text.char_indices().rev() {
        let advance = measure.char_px(c);
        width += advance;
        if width > room_px {
            break;
        }
        if advance > 0.0 {
            (from, kept) = (start, kept + 1);
        }
    }
    (kept >= 2).then(|| format!("…{}", text[from..].trim_start()))
}

/// Returns the name of an endpoint, `operation @ service`, if it fits into `room_px`; else without the service, and
/// then as [`elide_middle`].
pub fn elide_name(name: &str, room_px: f64, measure: &mut dyn MeasureText) -> Option<String> {
    let operation = name.rsplit_once(" @ ").map_or(name, |(operation, _)| operation);
    let is_too_long = measure.text_px(name) > room_px;
    elide_middle(if is_too_long { operation } else { name }, room_px, measure)
}

/// Returns the name of an endpoint, `operation @ service`, if it fits into `room_px`; else with its operation as
/// [`elide_middle`] has it, or, where that would get less than half of the room, as [`elide_name`].
pub fn elide_operation(name: &str, room_px: f64, measure: &mut dyn MeasureText) -> Option<String> {
    let (operation, service) = name.split_at(name.rfind(" @ ").unwrap_or(name.len()));
    let left = room_px - measure.text_px(service);
    if left < room_px / 2.0 {
        return elide_name(name, room_px, measure);
    }
    elide_middle(operation, left, measure).map(|operation| operation + service)
}

/// What all names of a picture share at their beginning and at their end, in bytes: whole words only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedEnds {
    head: usize,
    tail: usize,
}

impl SharedEnds {
    /// Returns what names share; nothing of fewer than two different ones.
    pub fn of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> SharedEnds {
        let mut all = names.filter(|name| !name.is_empty());
        let Some(first) = all.next() else { return SharedEnds::default() };
        let (mut head, mut tail, mut is_one) = (first.len(), first.len(), true);
        let same = |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
        for name in all.filter(|name| *name != first) {
            is_one = false;
            head = head.min(same(&mut first.bytes().zip(name.bytes())));
            tail = tail.min(same(&mut first.bytes().rev().zip(name.bytes().rev())));
        }
        let is_border = |c: char| !c.is_alphanumeric();
        let begin = first.get(..head).and_then(|head| head.rfind(is_border));
        let end = first.get(first.len() - tail..).and_then(|tail| tail.find(is_border));
        match is_one {
            true => SharedEnds::default(),
            false => SharedEnds {
                head: begin.map_or(0, |at| at + first[at..].chars().next().map_or(0, char::len_utf8)),
                tail: end.map_or(0, |at| tail - at),
            },
        }
    }

    /// Returns what tells a name apart; the name itself if that is nothing.
    pub fn without<'a>(&self, name: &'a str) -> &'a str {
        let end = name.len().saturating_sub(self.tail);
        name.get(self.head..end).filter(|own| !own.trim().is_empty()).unwrap_or(name)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_all_names_share_goes_word_by_word() {
        let of = |names: &[&'static str]| {
            let shared = SharedEnds::of(names.iter().copied());
            names.iter().map(|name| shared.without(name)).collect::<Vec<_>>()
        };
        assert_eq!(of(&["SELECT ts.seats", "SELECT ts.trains"]), ["seats", "trains"]);
        assert_eq!(
            of(&["cart.Get/Items()", "cart.Get/Item()", "cart.Put/Item()"]),
            ["Get/Items", "Get/Item", "Put/Item"]
        );
        assert_eq!(of(&["/seats", "/seats/free"]), ["seats", "seats/free"], "whole words stay");
        assert_eq!(of(&["one", "one"]), ["one", "one"]);
        assert_eq!(of(&["Kauf", "Verkauf"]), ["Kauf", "Verkauf"], "no words are cut");
    }

    use super::*;

    /// Every character ten pixels.
    struct Ten;

    impl MeasureText for Ten {
        fn char_px(&mut self, c: char) -> f64 {
            if c == '\u{301}' { 0.0 } else { 10.0 }
        }
    }

    #[test]
    fn text_is_cut_only_when_it_must_be() {
        assert_eq!(elide("checkout", 80.0, &mut Ten).as_deref(), Some("checkout"));
        assert_eq!(elide("checkout", 79.0, &mut Ten).as_deref(), Some("checko…"));
        assert_eq!(elide("checkout", 40.0, &mut Ten).as_deref(), Some("che…"));
        assert_eq!(elide("checkout", 30.0, &mut Ten).as_deref(), Some("ch…"));
        assert_eq!(elide("checkout", 29.0, &mut Ten), None);
        assert_eq!(elide("ab", 20.0, &mut Ten).as_deref(), Some("ab"));
        assert_eq!(elide("", 20.0, &mut Ten), None);
    }

    #[test]
    fn the_end_is_kept_where_it_tells_names_apart() {
        assert_eq!(elide_start("get @ cart", 100.0, &mut Ten).as_deref(), Some("get @ cart"));
        assert_eq!(elide_start("GetProduct @ cart", 100.0, &mut Ten).as_deref(), Some("…ct @ cart"));
        assert_eq!(elide_start("GetProduct @ cart", 25.0, &mut Ten), None);
    }

    #[test]
    fn a_cut_never_splits_an_accent_from_its_letter_and_leaves_no_space_at_the_end() {
        assert_eq!(elide("caffe\u{301} latte", 60.0, &mut Ten).as_deref(), Some("caffe\u{301}…"));
        assert_eq!(elide("ab cdefgh", 40.0, &mut Ten).as_deref(), Some("ab…"));
    }

    #[test]
    fn a_cut_in_the_middle_keeps_both_ends() {
        let cut = |text, room| elide_middle(text, room, &mut Ten);
        assert_eq!(cut("shop.Cart/Add", 130.0).as_deref(), Some("shop.Cart/Add"));
        assert_eq!(cut("shop.Cart/Add", 90.0).as_deref(), Some("shop…/Add"));
        assert_eq!(cut("shop.Cart/Add", 100.0).as_deref(), Some("shop.…/Add"));
        assert_eq!(cut("shop.Cart/Add", 40.0).as_deref(), Some("sh…d"));
        assert_eq!(cut("shop.Cart/Add", 30.0).as_deref(), Some("sh…"));
        assert_eq!(cut("shop.Cart/Add", 20.0), None);
        assert_eq!(cut("abcdef gcafe\u{301}", 60.0).as_deref(), Some("ab…afe\u{301}"));
        assert_eq!(cut("abcdefgh xy", 70.0).as_deref(), Some("abcd…xy"));
    }

    #[test]
    fn the_service_of_a_name_goes_first() {
        let cut = |room| elide_name("GET /cart @ shop", room, &mut Ten);
        assert_eq!(cut(160.0).as_deref(), Some("GET /cart @ shop"));
        assert_eq!(cut(159.0).as_deref(), Some("GET /cart"));
        assert_eq!(cut(70.0).as_deref(), Some("…/cart"));
        assert_eq!(cut(50.0).as_deref(), Some("GE…rt"));
    }

    #[test]
    fn the_service_of_a_row_stays_where_its_operation_has_half_of_the_room() {
        let cut = |room| elide_operation("shop.Cart/Add @ web", room, &mut Ten);
        assert_eq!(cut(190.0).as_deref(), Some("shop.Cart/Add @ web"));
        assert_eq!(cut(150.0).as_deref(), Some("shop…/Add @ web"));
        assert_eq!(cut(110.0).as_deref(), Some("shop.C…/Add"));
        assert_eq!(elide_operation("shop.Cart/Add", 60.0, &mut Ten).as_deref(), Some("…/Add"));
    }

    #[test]
    fn elided_text_fits_for_every_width() {
        let mut advances = Advances { font_px: 12.0 };
        let text = "PlaceOrder @ checkoutservice – µservice";
        for room in 0..400 {
            for elide in [elide, elide_middle, elide_name, elide_operation] {
                if let Some(cut) = elide(text, f64::from(room), &mut advances) {
                    assert!(advances.text_px(&cut) <= f64::from(room), "{cut} in {room}");
                }
            }
        }
    }

    #[test]
    fn the_table_knows_common_widths() {
        assert_eq!(advance(' '), 278);
        assert_eq!(advance('0'), 556);
        assert_eq!(advance('@'), 1015);
        assert_eq!(advance('M'), 833);
        assert_eq!(advance('~'), 584);
        assert_eq!(advance('漢'), 1000);
        assert_eq!(advance('\n'), 0);
    }
}
