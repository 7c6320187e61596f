//! The header: name, files in and out, search, help, colours. Absent inside another page.

use super::search::SearchBox;
use super::search_field::SearchField;
use super::{about, keys, offline, share};
use crate::dom::{El, Listeners, button, div, el, icon, span};
use crate::page::{Page, PagePart};
use crate::shell::file_input::Picker;
use crate::shell::jaeger_dialog;
use crate::shell::palette::Palette;
use crate::shell::saved_report::Origin;
use crate::widgets::popover::Popover;
use pathlight_view::address::{Address, ThemeChoice};
use pathlight_view::keys::KeyCommand;
use pathlight_view::reading::intake::Intake;

/// The header.
pub struct Header {
    element: El,
    search: SearchField,
    open: El,
    open_more: El,
    /// The entries of the menu of files.
    intakes: Vec<(Intake, El)>,
    compare: El,
    clear: El,
    save: El,
    theme: El,
    theme_shown: Option<ThemeChoice>,
    _keep: Listeners,
}

impl Header {
    /// Builds the elements and their listeners.
    pub fn new(
        page: Page,
        picker: &Picker,
        against: &Picker,
        found: &SearchBox,
        origin: &Origin,
        palette: &Palette,
    ) -> Header {
        let keep = Listeners::default();
        let files = picker.clone();
        let open = button("Open\u{2026}")
            .test("open")
            .attr("title", "Read trace files (Ctrl+O)")
            .on_click(&keep, move || files.open_files());
        let (more_button, intakes) = open_menu(&keep, picker);
        let jaeger = button("Jaeger\u{2026}")
            .test("jaeger")
            .attr("title", "Fetch traces from a Jaeger query service")
            .on_click(&keep, move || jaeger_dialog::open(page));
        let clear = button("Clear")
            .test("clear")
            .attr("title", "Remove everything that is loaded")
            .on_click(&keep, move || page.clear());
        let compare = compare_menu(page, against, &keep);

        let search = SearchField::new(page, found);
        let help = button("?")
            .class("quiet square")
            .label("Help (?)")
            .test("help")
            .on_click(&keep, move || keys::show_help(page, None));
        let theme = button("").class("quiet square").test("theme").on_click(&keep, move || {
            page.change(|address| {
                address.theme = match address.theme {
                    ThemeChoice::System => ThemeChoice::Light,
                    ThemeChoice::Light => ThemeChoice::Dark,
                    ThemeChoice::Dark => ThemeChoice::System,
                };
            });
        });
        let from = origin.clone();
        let save = button("Save report\u{2026}")
            .test("save-report")
            .attr(
                "title",
                "One file with these traces, to be opened by anybody, without Pathlight; it begins with the findings",
            )
            .on_click(&keep, move || from.open(page));
        let palette = palette.clone();
        let commands = button("Commands\u{2026}")
            .test("commands")
            .attr("title", "Every command, view, service and endpoint by its name (Ctrl+K)")
            .on_click(&keep, move || palette.open());
        let from = origin.clone();
        let link = button("Copy link\u{2026}")
            .test("share-open")
            .attr("title", "An address of this view, and what it needs elsewhere")
            .on_click(&keep, move || share::open(page, &from));
        let mut more = vec![commands, link, save.clone(), clear.clone()];
        more.extend(offline::toggle(page, &keep));
        more.push(
            button("About\u{2026}")
                .attr("title", "Version, and notices of what is built in")
                .test("about-open")
                .on_click(&keep, about::show),
        );
        let opener =
            button("").class("quiet square").label("More").test("more").node(&icon("M3 8h.1M8 8h.1M13 8h.1"));
        let more =
            Popover::menu(&keep, opener, div("popover menu").test("more-menu"), &more).element().clone();
        let brand =
            el("span").class("brand").node(&icon("M2 3.5h3.5V8H9v4.5h5M5.5 3.5H14M9 8h5")).text("Pathlight");
        let element = el("header")
            .class("top")
            .child(&brand)
            .child(&open)
            .child(&more_button)
            .child(&jaeger)
            .child(&compare)
            .child(&div("grow"))
            .child(search.element())
            .child(&div("grow"))
            .child(&help)
            .child(&theme)
            .child(&more);
        Header {
            element,
            search,
            open,
            open_more: more_button,
            intakes,
            compare,
            clear,
            save,
            theme,
            theme_shown: None,
            _keep: keep,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

/// Returns the button of files once others are loaded: a menu of what can be done with them. The entries follow
/// [`Page::intakes`].
fn open_menu(keep: &Listeners, picker: &Picker) -> (El, Vec<(Intake, El)>) {
    let intakes: Vec<(Intake, El)> = [false, true]
        .into_iter()
        .flat_map(Intake::choices)
        .scan(Vec::new(), |known, intake| {
            let is_new = !known.contains(&intake);
            known.push(intake);
            Some(Some(intake).filter(|_| is_new))
        })
        .flatten()
        .map(|intake| {
            let files = picker.clone();
            let entry = button(&format!("{}\u{2026}", intake.title()))
                .attr("title", intake.hint())
                .test(&format!("open-{}", intake.key()))
                .on_click(keep, move || files.open_files_to(intake));
            (intake, entry)
        })
        .collect();
    let folder = picker.clone();
    let folder =
        button("Folder\u{2026}").test("open-more-folder").on_click(keep, move || folder.open_folder());
    let items: Vec<El> = intakes.iter().map(|(_, entry)| entry.clone()).chain([folder]).collect();
    let open = button("Open\u{2026}").attr("title", "Read more traces (Ctrl+O)").test("open-more");
    (Popover::menu(keep, open, div("popover menu left"), &items).element().clone(), intakes)
}

/// Returns what the traces can be compared with.
fn compare_menu(page: Page, against: &Picker, keep: &Listeners) -> El {
    let (files, folder) = (against.clone(), against.clone());
    let items = [
        button("Files\u{2026}")
            .attr("title", "Traces of another time, version or place, as side B")
            .test("compare-files")
            .on_click(keep, move || files.open_files()),
        button("Folder\u{2026}").test("compare-folder").on_click(keep, move || folder.open_folder()),
        button("Another percentile range of these traces")
            .attr("title", "The faster half of the requests against the tail")
            .test("compare-ranges")
            .on_click(keep, move || page.change(Address::compare_ranges)),
    ];
    let open = button("Compare")
        .child(&span("wide-only", "with\u{2026}"))
        .attr("title", "Compare these traces with others, or the tail with the faster half")
        .test("compare");
    Popover::menu(keep, open, div("popover menu left"), &items).element().clone()
}

impl PagePart for Header {
    fn update(&mut self, page: Page) {
        let address = page.address();
        self.element.show(!address.embed);
        let has_data = page.has_data();
        let intakes = page.intakes();
        self.open.show(intakes.is_none());
        self.open_more.show(intakes.is_some());
        for (intake, entry) in &self.intakes {
            entry.show(intakes.is_some_and(|intakes| intakes.contains(intake)));
        }
        self.clear.show(has_data);
        self.compare.show(has_data);
        if has_data && !page.loading().running {
            self.save.unset("disabled");
        } else {
            self.save.set("disabled", "");
        }
        self.search.element().show(has_data);
        self.search.update(page);
        if self.theme_shown != Some(address.theme) {
            let (path, name) = match address.theme {
                ThemeChoice::System => ("M2 3h12v8H2zM6 14h4M8 11v3", "as the system"),
                ThemeChoice::Light => (
                    "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
                    "light",
                ),
                ThemeChoice::Dark => ("M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z", "dark"),
            };
            self.theme.clear();
            let _ = self.theme.html().append_child(&icon(path));
            self.theme.set("title", &format!("Colours: {name}"));
            self.theme.set("aria-label", &format!("Colours: {name}"));
            self.theme.set("data-value", address.theme.key());
            self.theme_shown = Some(address.theme);
        }
    }

    fn command(&mut self, _page: Page, command: KeyCommand) -> bool {
        if command == KeyCommand::Search && self.element.size().1 > 0.0 {
            self.search.focus();
            return true;
        }
        false
    }
}
