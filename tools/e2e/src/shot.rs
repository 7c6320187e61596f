//! `cargo run -p e2e -- shot`: a picture of any state of the page.

use std::path::PathBuf;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use e2e::browser::{Look, Modifiers, Page, session};
use e2e::failure::{Failure, Outcome, fail};
use e2e::process::{Driver, Server, dist};

/// The help.
pub const USAGE: &str = "\
shot FRAGMENT OUT [STEP]...   a picture of the page, as PNG or, 320 px wide, as WebP; FRAGMENT may be '' or a whole URL. Steps, in the order given:
    --drop FILE...   drop files or folders and wait until they are loaded
    --against FILE...  drop them as side B of a comparison     --picture OUT  save the window now, too
    --click CSS      click an element          --at X,Y   click a point of the window
    --hover X,Y      move the mouse there      --key NAME press a key (Escape, ArrowLeft, a)
    --fill CSS TEXT  type into a field         --wait CSS wait until an element is visible
    --eval JS        run JavaScript and print what it returns
  and for all steps: --width W (1280), --height H (800), --dark, --single (dist/pathlight.html from file://),
    --dir DIR (another folder than dist)";

/// Reads the command line and takes the picture.
pub async fn run(arguments: &[String]) -> Outcome {
    let [fragment, out, rest @ ..] = arguments else { return fail(format!("usage: {USAGE}")) };
    let mut look = Look::DESKTOP;
    let mut dir = dist();
    let mut single = false;
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in rest {
        if word.starts_with("--") {
            steps.push((word, Vec::new()));
        } else if let Some((_, values)) = steps.last_mut() {
            values.push(word);
        }
    }
    let number = |text: &str| text.parse().map_err(|_| Failure(format!("{text} is no number of pixels")));
    steps.retain(|(name, values)| {
        !matches!((*name, values.len()), ("--dark" | "--single", 0)) || {
            look.dark |= *name == "--dark";
            single |= *name == "--single";
            false
        }
    });
    for (name, values) in &steps {
        match (*name, values.as_slice()) {
            ("--width", [value]) => look.width = number(value)?,
            ("--height", [value]) => look.height = number(value)?,
            ("--dir", [value]) => dir = PathBuf::from(value),
            _ => {}
        }
    }
    let server = Server::start(&dir)?;
    let driver = Driver::start()?;
    let page = Page::new(session(&driver).await?, &server.url, &dir);
    let done = async {
        page.look(look).await?;
        if single {
            let file = dir.join("pathlight.html").canonicalize()?;
            page.open(&format!("file://{}#{}", file.display(), fragment.trim_start_matches('#'))).await?;
        } else {
            page.open(fragment).await?;
        }
        for (name, values) in &steps {
            step(&page, name, values).await?;
        }
        match out.ends_with(".webp") {
            true => small(&page, out).await,
            false => page.picture_to(&PathBuf::from(out)).await,
        }
    };
    let done = done.await;
    if done.is_err() {
        let _ = page.picture_to(&PathBuf::from(out)).await;
    }
    for complaint in page.complaints().await.unwrap_or_default() {
        eprintln!("console: {complaint}");
    }
    page.close().await;
    done
}

/// Width of a picture as WebP.
const SMALL_PX: u32 = 320;

/// Saves the window as a small picture, as the start page has them.
async fn small(page: &Page, out: &str) -> Outcome {
    page.drawn().await?;
    let png = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(page.client().screenshot().await?));
    let script = format!(
        "const [png, done] = arguments; const image = new Image(); image.src = png; image.decode().then(() => {{ \
         const canvas = document.createElement('canvas'); canvas.width = {SMALL_PX}; \
         canvas.height = Math.round({SMALL_PX} * image.height / image.width); const pen = canvas.getContext('2d'); \
         pen.imageSmoothingQuality = 'high'; pen.drawImage(image, 0, 0, canvas.width, canvas.height); \
         done(canvas.toDataURL('image/webp', .36)) }}, (error) => done(`${{error}}`))"
    );
    let picture = page.client().execute_async(&script, vec![png.into()]).await?;
    let words = picture.as_str().unwrap_or_default();
    let file =
        words.strip_prefix("data:image/webp;base64,").and_then(|file| BASE64_STANDARD.decode(file).ok());
    Ok(std::fs::write(out, file.ok_or_else(|| Failure(format!("no picture: {words}")))?)?)
}

async fn step(page: &Page, name: &str, values: &[&str]) -> Outcome {
    let point = |text: &str| {
        let parts = text.split_once(',').and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
        parts.ok_or_else(|| Failure(format!("{text} is no point X,Y")))
    };
    match (name, values) {
        ("--width" | "--height" | "--dir", [_]) => Ok(()),
        ("--drop", [_, ..]) => {
            page.drop_files(&values.iter().map(PathBuf::from).collect::<Vec<_>>()).await?;
            page.state("ready").await
        }
        ("--against", [_, ..]) => {
            let files: Vec<PathBuf> = values.iter().map(PathBuf::from).collect();
            page.drop_files_on("[data-test='drop-compare']", &files).await?;
            page.visible("[data-test='sides']").await?;
            page.ready().await
        }
        ("--picture", [out]) => page.picture_to(&PathBuf::from(out)).await,
        ("--click", [selector]) => page.click(selector).await,
        ("--at", [text]) => {
            let (x, y): (f64, f64) = point(text)?;
            page.click_at(x, y, 1).await
        }
        ("--hover", [text]) => {
            let (x, y): (f64, f64) = point(text)?;
            page.move_to(x, y).await
        }
        ("--key", [key]) => page.key(key, Modifiers::None).await,
        ("--fill", [selector, text]) => page.fill(selector, text).await,
        ("--wait", [selector]) => page.visible(selector).await,
        ("--eval", [script]) => {
            println!("{}", page.run(script).await?);
            Ok(())
        }
        _ => fail(format!("{name} {}: not understood\n{USAGE}", values.join(" "))),
    }
}
