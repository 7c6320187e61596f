//! Every view with the demo in three widths and two themes, compared with how it looked before.
//!
//! `looks.png` has a pixel, their mean, for each square of [`CELL`] pixels of a window: a row of pictures for each view, a
//! column for each window. `PATHLIGHT_BLESS=1 cargo run -p e2e looks` accepts how the page looks now. What a machine draws
//! a little differently, as another version of a font does, is let pass: a cell may differ by [`CELL_TOLERANCE`], and
//! [`SHARE_TOLERANCE`] of the cells of a picture by more. With other fonts it is skipped, aloud.

use std::path::PathBuf;

use e2e::browser::{Look, Page};
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::png::Picture;
use e2e::process::{root, scratch};

use super::access::VIEWS;
use super::drop::generated;
use super::summaries::summarised;

/// What is not seen with the demo alone: two sets, and summaries over time.
const OTHERS: [&str; 2] = ["compare", "trend"];

/// Returns the views of the demo, then the others.
fn rows() -> Vec<&'static str> {
    VIEWS.into_iter().filter(|view| *view != "trend").chain(OTHERS).collect()
}

/// Widths of a text in the fonts of the page: where they are others than those of the golden picture, so are the machine's
/// fonts, and every line of text would count as different.
const FONTS: &str = "
    const canvas = document.createElement('canvas').getContext('2d');
    return ['13px system-ui', '600 20px system-ui', '13px monospace'].map((font) => {
        canvas.font = font;
        return canvas.measureText('Where the latency comes from: 0123456789').width;
    }).join(' ');";

/// Side of a cell in pixels.
const CELL: usize = 16;

/// By how much each channel of a cell may differ.
const CELL_TOLERANCE: u8 = 12;

/// How many cells of a thousand may differ by more.
const SHARE_TOLERANCE: usize = 20;

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
    page.open("").await?;
    let fonts = page.run(FONTS).await?.as_str().unwrap_or_default().to_owned() + "\n";
    let accepts = std::env::var_os("PATHLIGHT_BLESS").is_some();
    if accepts {
        std::fs::write(golden("looks.fonts"), &fonts)?;
    } else if std::fs::read_to_string(golden("looks.fonts"))? != fonts {
        return page.skip("the fonts are others than those of tools/e2e/looks.png");
    }
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    let columns = columns();
    let row_height = columns.iter().map(|(_, [.., height])| *height).max().unwrap_or_default();
    let width = columns.iter().map(|(_, [left, width, _])| left + width).max().unwrap_or_default();
    let rows = rows();
    let alone = rows.len() - OTHERS.len();
    let mut now = Picture::new(width, row_height * rows.len(), [0; 3]);
    let mut whole = Vec::new();
    for (row, view) in rows.iter().copied().enumerate() {
        if row >= alone {
            page.look(Look::DESKTOP).await?;
            open_others(page, view).await?;
        }
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        if view == "findings" {
            // Some come later.
            page.hidden("[data-test='findings-coming']").await?;
        }
        for (look, [left, ..]) in &columns {
            page.look(*look).await?;
            page.ready().await?;
            let picture = page.pixels().await?;
            same("size", (picture.width, picture.height), (look.width as usize, look.height as usize))?;
            now.put(&picture.coarse(CELL), *left, row * row_height);
            whole.push(picture);
        }
    }
    if accepts {
        return Ok(std::fs::write(golden("looks.png"), now.encode()?)?);
    }
    let file = golden("looks.png");
    let before = std::fs::read(&file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    let before = Picture::decode(&before)?;
    let mut different = Vec::new();
    let mut most = 0.0_f64;
    for (row, view) in rows.iter().copied().enumerate() {
        for (at, (look, [left, width, height])) in columns.iter().enumerate() {
            let of = |all: &Picture| all.part(*left, row * row_height, *width, *height);
            let found = Difference::between(&of(&before), &of(&now));
            most = most.max(found.share());
            if found.share() * 1000.0 > SHARE_TOLERANCE as f64 {
                let sets = if row == alone { "-sets" } else { "" };
                let name = format!("{view}{sets}-{}{}", look.width, if look.dark { "-dark" } else { "" });
                let file = scratch()?.join(format!("look-{name}.png"));
                std::fs::write(&file, whole[row * columns.len() + at].encode()?)?;
                different.push(format!("{name}: {}", found.words()));
            }
        }
    }
    println!("most different: {:.2} % of the cells of a picture", most * 100.0);
    ensure(different.is_empty(), || {
        format!(
            "{} of {} pictures look different (they are in target/e2e/look-*.png; if they should look so: \
             PATHLIGHT_BLESS=1 cargo run -p e2e looks)\n{}",
            different.len(),
            whole.len(),
            different.join("\n")
        )
    })
}

/// Opens what one of [`OTHERS`] shows, besides the demo or in its place.
async fn open_others(page: &Page, view: &str) -> Outcome {
    if view == "compare" {
        let slower = "--traces 300 --spans 30 --seed 6 --speed pricing:Pricing/GetPrices=+200%";
        page.drop_files_on("[data-test='drop-compare']", &[generated("look-b.json", slower)?]).await?;
        return page.ready().await;
    }
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
    cells: usize,
    of: usize,
    /// Left, top, right and bottom of what differs, in cells.
    place: Option<[usize; 4]>,
}

impl Difference {
    fn between(before: &Picture, now: &Picture) -> Difference {
        let mut found = Difference { of: now.pixels.len(), ..Difference::default() };
        for (at, (a, b)) in before.pixels.iter().zip(&now.pixels).enumerate() {
            if a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= CELL_TOLERANCE) {
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

    fn share(&self) -> f64 {
        self.cells as f64 / self.of.max(1) as f64
    }

    fn words(&self) -> String {
        let [left, top, right, bottom] = self.place.unwrap_or_default().map(|cells| cells * CELL);
        format!(
            "{:.1} % of its cells, between ({left}, {top}) and ({}, {})",
            self.share() * 100.0,
            right + CELL,
            bottom + CELL
        )
    }
}
