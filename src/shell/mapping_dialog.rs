//! The dialog about rows nobody knows: it shows what their fields seem to be, and the first rows read by it; a person
//! corrects it by menus.

use crate::dom::{self, El, Listeners, button, div, el};
use crate::page::Page;
use crate::widgets::{controls, dialog, export};
use pathlight_ingest::{FileReport, Guess, Mapping};
use pathlight_view::guess::{self, COLUMNS, Choices, ROLES, UNITS};
use std::cell::RefCell;
use std::rc::Rc;

/// What the dialog is about, and its parts that change.
struct Dialog {
    guess: Guess,
    choices: RefCell<Choices>,
    rows: El,
    problem: El,
    read: El,
    save: El,
}

impl Dialog {
    fn mapping(&self) -> Result<Mapping, String> {
        self.choices.borrow().mapping(&self.guess)
    }

    /// Shows the first rows as they are read by what is chosen.
    fn show(&self) {
        let mapping = self.mapping();
        self.rows.clear();
        let head = COLUMNS.map(|title| el("th").attr("scope", "col").text(title));
        self.rows.add(&el("tr").children(&head));
        if let Ok(mapping) = &mapping {
            for row in guess::rows(&self.guess, mapping) {
                self.rows.add(&el("tr").children(&row.map(|cell| el("td").text(&cell).attr("title", &cell))));
            }
        }
        for button in [&self.read, &self.save] {
            controls::enable(button, mapping.is_ok());
        }
        self.problem.set_text(mapping.err().as_deref().unwrap_or_default());
    }
}

/// Opens the dialog about a file; once it is read again, the message of this number goes.
pub fn open(page: Page, file: &FileReport, message: u32) {
    let Some(guess) = file.guess.as_deref().cloned() else { return };
    let keep = Listeners::default();
    let close = button("Close").class("quiet").test("mapping-close");
    let head = div("dialog-head").child(&el("h2").text("What the fields are")).child(&close);
    let read = button("Read by this").class("primary").test("mapping-read");
    let save = button("Save as a file").test("mapping-save");
    let shown = Rc::new(Dialog {
        choices: RefCell::new(Choices::of(&guess)),
        rows: el("table").class("mapping-rows").test("mapping-rows"),
        problem: el("p").class("muted").attr("aria-live", "polite").test("mapping-problem"),
        read: read.clone(),
        save: save.clone(),
        guess,
    });
    let intro = format!(
        "{} has rows of a form that is not known. This is a guess of what their fields are.",
        file.name
    );
    let fields = div("mapping-fields");
    for place in 0..ROLES.len() {
        menus(&keep, &shown, place).iter().for_each(|part| fields.add(part));
    }
    let (name, dialog_of_read, closing) = (file.name.clone(), shown.clone(), close.clone());
    let read = read.on_click(&keep, move || {
        let Ok(mapping) = dialog_of_read.mapping() else { return };
        let (name, shape) = (name.clone(), dialog_of_read.guess.shape());
        closing.html().click();
        page.dismiss(message);
        page.read_by(&name, &shape, &mapping);
    });
    let (name, dialog_of_save) = (file.name.clone(), shown.clone());
    let save = save.on_click(&keep, move || {
        let text = dialog_of_save.mapping().map(|mapping| mapping.to_string());
        if let Some(blob) = text.ok().and_then(|text| dom::text_blob(&text, "text/plain")) {
            let stem = name.rsplit('/').next().unwrap_or_default();
            export::save(page, &blob, &format!("{stem}.map"));
        }
    });
    shown.show();
    let buttons = div("buttons").child(&read).child(&save);
    let words = el("p")
        .class("muted")
        .text("It is remembered for files with these fields, and --map reads by the saved file.");
    let body = div("share-body")
        .child(&el("p").text(&intro))
        .child(&fields)
        .child(
            &div("mapping-scroll")
                .attr("tabindex", "0")
                .attr("role", "region")
                .label("The first rows")
                .child(&shown.rows),
        )
        .child(&shown.problem)
        .child(&buttons)
        .child(&words);
    let dialog = el("dialog").class("mapping").test("mapping").attr("aria-label", "What the fields are");
    dialog::open(&dialog.child(&head).child(&body), &close, keep);
}

/// Returns the label of a role, and its menu of fields with that of units beside it.
fn menus(keep: &Listeners, dialog: &Rc<Dialog>, place: usize) -> [El; 2] {
    let role = ROLES[place];
    let of_units = dialog.clone();
    let units = controls::select(keep, &format!("mapping-{}-unit", role.word), move |unit| {
        of_units.choices.borrow_mut().units[place] = unit;
        of_units.show();
    })
    .label(&format!("Unit of {}", role.title));
    for (word, name) in UNITS {
        units.add(&controls::option(word, name));
    }
    let of_fields = dialog.clone();
    let units_of_field = units.clone();
    let fields = controls::select(keep, &format!("mapping-{}", role.word), move |field| {
        units_of_field.show(role.has_unit && !field.is_empty());
        of_fields.choices.borrow_mut().fields[place] = field;
        of_fields.show();
    })
    .label(role.title);
    fields.add(&controls::option("", "none"));
    for field in &dialog.guess.fields {
        let value = field.values.iter().find(|value| !value.is_empty()).map_or("", String::as_str);
        let value: String = value.chars().take(24).collect();
        fields.add(&controls::option(&field.path, &format!("{} ({value})", field.path)));
    }
    let choices = dialog.choices.borrow();
    let field = &choices.fields[place];
    controls::choose(&fields, field);
    controls::choose(&units, &choices.units[place]);
    units.show(role.has_unit && !field.is_empty());
    [el("span").text(role.title), div("mapping-field").child(&fields).child(&units)]
}
