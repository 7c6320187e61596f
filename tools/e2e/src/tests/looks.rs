//! Every view with the demo in three widths and two themes, compared with how it looked before.
//!
//! `looks.png` has a pixel, their mean, for each square of [`CELL`] pixels of a window: a row of pictures for each view, a
//! column for each window. `PATHLIGHT_BLESS=1 cargo run -p e2e looks` accepts how the page looks now.
//!
//! The pictures do not depend on the machine's fonts, nor on how it smooths them: the test gives the page a font of its own
//! (`looks/`) and has it drawn without hints. What another version of Chromium draws a little differently is let pass: a
//! cell may differ by [`CELL_TOLERANCE`], and one of [`CELLS_FOR_ONE`] by more. The first row of pictures shows
//! `looks/control.html`, in which nothing is Pathlight's. A browser that draws that page otherwise draws ours otherwise too,
//! so what differs then is skipped, by name.

use std::path::PathBuf;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use e2e::browser::{Look, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::png::Picture;
use e2e::process::{root, scratch};
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::generated;
use super::summaries::summarised;

/// The page that shows how a browser draws.
const CONTROL: &str = "control";

/// What is not seen with the demo alone: two sets, and summaries over time.
const OTHERS: [&str; 2] = ["compare", "trend"];

/// Returns the control page, the views of the demo, then the others.
fn rows() -> Vec<&'static str> {
    let views = VIEWS.into_iter().filter(|view| *view != "trend");
    [CONTROL].into_iter().chain(views).chain(OTHERS).collect()
}

/// The faces of the font, by weight.
const FACES: [(&str, &str); 2] = [("400", "DejaVuSans.woff2"), ("700", "DejaVuSans-Bold.woff2")];

/// Has all text of a page drawn in these faces, and without hints: whether a machine uses them is its own affair. A sheet of
/// a script and a font of bytes are nothing that the policy of the page speaks of. `Twice` serves [`LACKING`].
const DRAW_IN_FACES: &str = "
    const [faces, done] = arguments;
    window.drawn = new Set();
    for (const name of ['fillText', 'measureText']) {
        const draw = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function (text, ...place) {
            drawn.add(text);
            this.textRendering = 'geometricPrecision';
            return draw.call(this, text, ...place);
        };
    }
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(':root { --font: Looks !important; --mono: Looks !important; } ' +
        '* { text-rendering: geometricPrecision !important; }');
    document.adoptedStyleSheets = [sheet];
    Promise.all(faces.flatMap(([weight, base64]) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        return [['Looks', '100%'], ['Twice', '200%']].map(async ([name, sizeAdjust]) =>
            document.fonts.add(await new FontFace(name, bytes, { weight, sizeAdjust }).load()));
    })).then(() => done(null), (error) => done(`${error}`));";

/// Returns the characters of the page that its font lacks: another font does not know that this one is to be twice as large.
const LACKING: &str = "
    const pen = document.createElement('canvas').getContext('2d');
    const width = (family, c) => { pen.font = `20px ${family}`; return pen.measureText(c).width; };
    const all = new Set(document.body.innerText + [...drawn].join(''));
    return [...all].filter((c) => Math.abs(width('Twice', c) - 2 * width('Looks', c)) > 1).join(' ');";

/// As many workers as the page of the golden picture says it has.
const PROCESSORS: u64 = 2;

/// Side of a cell in pixels.
const CELL: usize = 16;

/// By how much each channel of a cell may differ.
const CELL_TOLERANCE: u8 = 4;

/// Of so many cells of a picture, one may differ by more.
const CELLS_FOR_ONE: usize = 1000;

/// By how much each channel of any cell of the control page may differ before the browser counts as one that draws otherwise.
const CONTROL_TOLERANCE: u8 = 1;

/// The windows, each in both themes.
const WINDOWS: [(u32, u32); 3] = [(1440, 900), (1280, 800), (390, 844)];

fn golden(name: &str) -> PathBuf {
    root().join("tools/e2e").join(name)
}

/// Returns the left edge in the golden picture, width and height in cells of each look.
fn columns() -> Vec<(Look, [usize; 3])> {
    let mut left = 0;
    let mut columns = Vec::new();
    for dark in [false, true] {
        for (width, height) in WINDOWS {
            let of = [width, height].map(|side| (side as usize).div_ceil(CELL));
            columns.push((Look { width, height, dark }, [left, of[0], of[1]]));
            left += of[0];
        }
    }
    columns
}

pub async fn every_view_looks_as_it_did(page: &Page) -> Outcome {
    let before = match std::env::var_os("PATHLIGHT_BLESS") {
        Some(_) => None,
        None => Some(Picture::decode(&std::fs::read(golden("looks.png"))?)?),
    };
    let columns = columns();
    let row_height = columns.iter().map(|(_, [.., height])| *height).max().unwrap_or_default();
    let width = columns.iter().map(|(_, [left, width, _])| left + width).max().unwrap_or_default();
    let rows = rows();
    let alone = rows.len() - OTHERS.len();
    let mut now = Picture::new(width, row_height * rows.len(), [0; 3]);
    // For each column, whether the browser draws otherwise there.
    let mut otherwise = vec![false; columns.len()];
    let (mut different, mut skipped) = (Vec::new(), Vec::new());
    let mut most = 0;
    let processors = page.run("return navigator.hardwareConcurrency").await?;
    for (row, view) in rows.iter().copied().enumerate() {
        page.look(Look::DESKTOP).await?;
        match view {
            CONTROL => open_control(page).await?,
            _ => open_view(page, view, row == 1, row >= alone).await?,
        }
        // What the pointer is over has another colour, and where it was left depends on what was pressed before.
        page.move_to(1.0, 1.0).await?;
        for (column, (look, [left, width, height])) in columns.iter().enumerate() {
            page.look(*look).await?;
            if view != CONTROL {
                page.ready().await?;
            }
            let picture = page.pixels().await?;
            same("size", (picture.width, picture.height), (look.width as usize, look.height as usize))?;
            let coarse = picture.coarse(CELL);
            now.put(&coarse, *left, row * row_height);
            let Some(before) = &before else { continue };
            let found = Difference::between(&before.part(*left, row * row_height, *width, *height), &coarse);
            if view == CONTROL {
                otherwise[column] = found.most > CONTROL_TOLERANCE;
                continue;
            }
            most = most.max(found.most);
            if found.cells * CELLS_FOR_ONE <= found.of {
                continue;
            }
            let sets = if row >= alone { "-sets" } else { "" };
            let name = format!("{view}{sets}-{}{}", look.width, if look.dark { "-dark" } else { "" });
            if otherwise[column] {
                skipped.push(name);
                continue;
            }
            std::fs::write(scratch()?.join(format!("look-{name}.png")), picture.encode()?)?;
            different.push(format!("{name}: {}", found.words()));
        }
        let lacking = page.run(LACKING).await?;
        same("characters of the page that the fonts of tools/e2e/looks lack", lacking, json!(""))?;
    }
    set_processors(page, processors).await?;
    if before.is_none() {
        return Ok(std::fs::write(golden("looks.png"), now.encode()?)?);
    }
    println!("the cell that differs most: by {most} of 255");
    let of = (rows.len() - 1) * columns.len();
    ensure(different.is_empty(), || {
        format!(
            "{} of {of} pictures look different (they are in target/e2e/look-*.png; if they should look so: \
             PATHLIGHT_BLESS=1 cargo run -p e2e looks)\n{}",
            different.len(),
            different.join("\n")
        )
    })?;
    if skipped.is_empty() {
        return Ok(());
    }
    page.skip(format!(
        "{} of {of} pictures: this browser draws tools/e2e/looks/control.html otherwise than the one that made \
         tools/e2e/looks.png, so it is not the page that differs in {}",
        skipped.len(),
        skipped.join(", ")
    ))
}

/// Has the page that is opened next believe in so many processors.
async fn set_processors(page: &Page, count: impl Into<Value>) -> Outcome {
    let count = json!({ "hardwareConcurrency": count.into() });
    page.devtools("Emulation.setHardwareConcurrencyOverride", count).await.map(drop)
}

async fn draw_in_faces(page: &Page) -> Outcome {
    let mut faces = Vec::new();
    for (weight, name) in FACES {
        faces.push([weight.to_owned(), BASE64_STANDARD.encode(std::fs::read(golden("looks").join(name))?)]);
    }
    same("font", page.client().execute_async(DRAW_IN_FACES, vec![json!(faces)]).await?, Value::Null)
}

async fn open_control(page: &Page) -> Outcome {
    page.client().goto(&format!("file://{}", golden("looks/control.html").display())).await?;
    draw_in_faces(page).await?;
    page.run("paint()").await.map(drop)
}

/// Goes to a view: of the demo, which the first of them opens, or of one of [`OTHERS`].
async fn open_view(page: &Page, view: &str, is_first: bool, is_other: bool) -> Outcome {
    if is_first {
        set_processors(page, PROCESSORS).await?;
        page.open("").await?;
        draw_in_faces(page).await?;
        page.click("[data-test='demo']").await?;
        page.ready().await?;
    }
    if is_other {
        open_others(page, view).await?;
        // It goes after some time.
        page.hidden("[data-test='undo']").await?;
    }
    page.go(&format!("view={view}")).await?;
    page.ready().await?;
    // Some findings come later, and the line above a view after what the view shows.
    page.hidden("[data-test='findings-coming']").await?;
    page.hidden("[data-test='verdict-strip'].stale").await
}

/// Opens what one of [`OTHERS`] shows, besides the demo or in its place.
async fn open_others(page: &Page, view: &str) -> Outcome {
    if view == "compare" {
        let slower = "--traces 300 --spans 30 --seed 6 --speed pricing:Pricing/GetPrices=+200%";
        page.drop_files_on("[data-test='drop-compare']", &[generated("look-b.json", slower)?]).await?;
        return page.ready().await;
    }
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    let day = |day: u32| {
        let slower = if day > 3 { " --speed catalog:Catalog/GetProducts=+300%" } else { "" };
        let options = format!("--traces 400 --spans 30 --shape mixed --seed {}{slower}", 60 + day);
        summarised(&format!("look-day-{day}"), &options)
    };
    page.drop_files(&[day(1)?, day(2)?, day(3)?, day(4)?, day(5)?]).await?;
    page.ready().await
}

/// What differs between two coarse pictures.
#[derive(Debug, Default)]
struct Difference {
    /// Cells that differ by more than [`CELL_TOLERANCE`].
    cells: usize,
    of: usize,
    /// What the cell differs by that differs most.
    most: u8,
    /// Left, top, right and bottom of what differs, in cells.
    place: Option<[usize; 4]>,
}

impl Difference {
    fn between(before: &Picture, now: &Picture) -> Difference {
        let mut found = Difference { of: now.pixels.len(), ..Difference::default() };
        for (at, (a, b)) in before.pixels.iter().zip(&now.pixels).enumerate() {
            let by = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or_default();
            found.most = found.most.max(by);
            if by <= CELL_TOLERANCE {
                continue;
            }
            let (x, y) = (at % now.width, at / now.width);
            found.cells += 1;
            let [left, top, right, bottom] = found.place.unwrap_or([x, y, x, y]);
            found.place = Some([left.min(x), top.min(y), right.max(x), bottom.max(y)]);
        }
        // A view more or less: all of it differs.
        if before.pixels.len() != now.pixels.len() {
            found.cells = found.of;
        }
        found
    }

    fn words(&self) -> String {
        let [left, top, right, bottom] = self.place.unwrap_or_default().map(|cells| cells * CELL);
        format!(
            "{} of {} cells, one by {} of 255, between ({left}, {top}) and ({}, {})",
            self.cells,
            self.of,
            self.most,
            right + CELL,
            bottom + CELL
        )
    }
}
