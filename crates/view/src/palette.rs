//! The command palette: everything that can be done or shown by its name, and which of it fits what was typed.

/// Entries shown at once.
pub const SHOWN: usize = 50;

/// Kind of an entry; of entries that fit equally well the earlier kind stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PaletteKind {
    /// Something the page does.
    Command,
    /// A view of the sidebar.
    View,
    /// A button in sight, or an entry of its menu.
    Button,
    /// A service: it becomes what is searched for.
    Service,
    /// An endpoint: it becomes the focus.
    Endpoint,
    /// A tag: requests are split by its values.
    Tag,
}

impl PaletteKind {
    /// Returns the word beside the entry.
    pub fn name(self) -> &'static str {
        match self {
            PaletteKind::Command => "Command",
            PaletteKind::View => "View",
            PaletteKind::Button => "Button",
            PaletteKind::Service => "Service",
            PaletteKind::Endpoint => "Endpoint",
            PaletteKind::Tag => "Tag",
        }
    }
}

/// An entry of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its kind.
    pub kind: PaletteKind,
    /// Its name: a verb and its object, a view, a service, an operation.
    pub name: String,
    /// More about it, searched too: what a view answers, the service of an operation, keys.
    pub detail: String,
}

impl Item {
    /// Returns an entry.
    pub fn new(kind: PaletteKind, name: &str, detail: &str) -> Item {
        Item { kind, name: name.to_owned(), detail: detail.to_owned() }
    }

    /// Returns how well the words (in lower case) fit: 0 best; `None` if one of them stands nowhere.
    fn fit(&self, words: &[String]) -> Option<usize> {
        let (name, detail) = (self.name.to_lowercase(), self.detail.to_lowercase());
        words.iter().try_fold(0, |worst, word| {
            let starts_a_word = || {
                let mut places = name.match_indices(word.as_str());
                places.any(|(at, _)| !name[..at].ends_with(char::is_alphanumeric))
            };
            let fit = if name.starts_with(word.as_str()) {
                0
            } else if starts_a_word() {
                1
            } else if name.contains(word.as_str()) {
                2
            } else if detail.contains(word.as_str()) {
                3
            } else {
                return None;
            };
            Some(worst.max(fit))
        })
    }
}

/// Returns the places of the entries that fit, best first, at most [`SHOWN`]. Without text those are the commands, views
/// and buttons in their order.
pub fn found(items: &[Item], text: &str) -> Vec<usize> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut places: Vec<(usize, usize)> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| !words.is_empty() || item.kind <= PaletteKind::Button)
        .filter_map(|(at, item)| Some((item.fit(&words)?, at)))
        .collect();
    places.sort_by_key(|(fit, at)| (*fit, items[*at].kind, *at));
    places.into_iter().take(SHOWN).map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(items: &[Item], text: &str) -> Vec<String> {
        found(items, text).into_iter().map(|at| items[at].name.clone()).collect()
    }

    #[test]
    fn every_word_must_stand_somewhere_and_the_start_of_a_name_goes_first() {
        let items = [
            Item::new(PaletteKind::Command, "Save report", "One file with these traces"),
            Item::new(PaletteKind::View, "Flow", "What waits for what"),
            Item::new(PaletteKind::View, "Flame graph", "The critical path"),
            Item::new(PaletteKind::Button, "Export: PNG image", ""),
            Item::new(PaletteKind::Service, "workflow", ""),
            Item::new(PaletteKind::Endpoint, "GET /flow", "workflow"),
            Item::new(PaletteKind::Endpoint, "GET /cart", "workflow"),
        ];
        assert_eq!(names(&items, "flow"), ["Flow", "GET /flow", "workflow", "GET /cart"]);
        assert_eq!(names(&items, "workflow cart"), ["GET /cart"]);
        assert_eq!(names(&items, "FL"), ["Flow", "Flame graph", "GET /flow", "workflow", "GET /cart"]);
        assert_eq!(names(&items, "nothing"), Vec::<String>::new());
        let first = ["Save report", "Flow", "Flame graph", "Export: PNG image"];
        assert_eq!(names(&items, " "), first, "what the page can do and show at first");
        assert_eq!(names(&items, "png"), ["Export: PNG image"]);
    }

    #[test]
    fn a_large_set_shows_a_bounded_list() {
        let items: Vec<Item> =
            (0..1000).map(|at| Item::new(PaletteKind::Endpoint, &format!("call {at}"), "service")).collect();
        assert_eq!(found(&items, "call").len(), SHOWN);
        assert_eq!(found(&items, "call")[..3], [0, 1, 2]);
    }
}
