//! The page as one file that runs from `file://`, without any network.
//!
//! From `index.html` to the single file, element by element:
//!
//! | in `index.html` | in `pathlight.html` |
//! |---|---|
//! | `<link rel="stylesheet" href="X">` | `<style>` |
//! | `<script src="X">` | `<script>` with the text in it, other attributes kept, `defer` dropped |
//! | `<link rel="icon" href="X">`, `<img src="X">` | the same with a `data:` address |
//! | `<link href="X.wasm">`, `<link href="X.wasm.js">`, `<link href="X.rest.wasm">` | nothing |
//! | any other `<link href="X" id="I">` to a script | `<script type="text/plain" id="I">`: text for a Blob worker |
//! | `<meta http-equiv="Content-Security-Policy">` | nothing |
//!
//! This page and the module as a whole behind it are packed by LZMA, which takes a fifth less than gzip, and stand as text
//! ([`mod@dense`]) in another page. That one has the policy, with the hashes of the scripts and styles of both, and the
//! script that puts the page in its place (`unpack.js`).

use std::io::{self, Write as _};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use lzma_rust2::{EncodeMode, LzmaOptions, LzmaWriter, MfType};
use pathlight_text::dense::{self, utf16};
use sha2::{Digest, Sha256};

use crate::files::Files;
use crate::html::{self, Element};
use crate::{Outcome, html::elements};

/// What the other page says while it is on its way, or if its end never comes.
const WAITING: &str =
    "<p role=\"status\">Starting&hellip; If it stays so, the end of this file is missing.</p>";

/// How it looks. Most pages are there before it is to be seen.
const WAITING_STYLE: &str = "p { margin: 45vh 16px; font: 13px system-ui, sans-serif; text-align: center; \
    visibility: hidden; animation: seen 0s 1s forwards } @keyframes seen { to { visibility: visible } }";

/// The module as a whole.
const MODULE: &str = "pathlight.whole.wasm";

/// Returns the single file for this index page.
pub fn page(index: &str, files: &Files) -> Outcome<Vec<u8>> {
    let (page, policy) = plain(index, files)?;
    let module = files.get(MODULE).ok_or_else(|| format!("there is no {MODULE}"))?;
    let mut data = page.into_bytes();
    let text = data.len();
    data.extend(module);
    let packed = lzma(&data).map_err(|error| format!("packing the page in one file: {error}"))?;
    let head = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n{policy}\n<title>Pathlight</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<style>{WAITING_STYLE}</style>\n\
         </head>\n<body>\n{WAITING}\n\
         <noscript><p>Pathlight runs in the browser: please allow JavaScript for this page.</p></noscript>\n\
         <script type=\"application/octet-stream;dense\" id=\"packed\" data-text=\"{text}\" data-all=\"{}\">",
        data.len()
    );
    let tail = format!("</script>\n<script id=\"unpack\">{}</script>\n</body>\n</html>\n", unpack());
    Ok([&dense::BOM[..], &utf16(&head), &dense::dense(&packed), &utf16(&tail)].concat())
}

/// Returns the script that unpacks the page, without its comments.
fn unpack() -> String {
    let lines = include_str!("unpack.js").lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.fold(String::from("\n"), |script, line| script + line + "\n")
}

/// Packs by LZMA as `unpack.js` reads it.
fn lzma(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let options = LzmaOptions {
        dict_size: 8 << 20,
        lc: 4,
        lp: 0,
        pb: 0,
        mode: EncodeMode::Normal,
        nice_len: 273,
        mf: MfType::Bt4,
        depth_limit: 1000,
        preset_dict: None,
    };
    let mut writer = LzmaWriter::new_no_header(Vec::new(), &options, false)?;
    writer.write_all(bytes)?;
    writer.finish()
}

/// Returns the page with everything in it but the module, and the element with the policy of both pages.
fn plain(index: &str, files: &Files) -> Outcome<(String, String)> {
    let mut out = String::new();
    let (mut scripts, mut styles) = (source(&unpack()), source(WAITING_STYLE));
    let mut at = 0;
    for element in elements(index) {
        out.push_str(&index[at..element.range.start]);
        at = element.range.end;
        let reference = element.get(if element.name == "link" { "href" } else { "src" }).unwrap_or_default();
        let name = reference.strip_prefix("./").unwrap_or(reference);
        let Some(bytes) = files.get(name) else {
            return Err(format!("index.html names {reference}, and there is no such file"));
        };
        match (element.name, element.get("rel")) {
            ("link", Some("stylesheet")) => {
                let text = text(name, bytes)?;
                styles.push_str(&source(&text));
                out.push_str(&format!("<style>{text}</style>"));
            }
            ("link", Some("icon")) | ("img", _) => {
                let kind = match name.rsplit_once('.') {
                    Some((_, "svg")) => "image/svg+xml",
                    Some((_, "webp")) => "image/webp",
                    _ => "image/png",
                };
                let data = format!("data:{kind};base64,{}", base64(bytes));
                out.push_str(&html::refer(&index[element.range.clone()], reference, &data));
            }
            ("link", _) if name.ends_with(".wasm.js") || name.ends_with(".wasm") => {}
            ("link", _) => {
                let text = text(name, bytes)?;
                out.push_str(&format!(
                    "<script type=\"text/plain\"{}>{text}</script>",
                    kept(&element, &["href", "rel"])
                ));
            }
            _ => {
                let text = text(name, bytes)?;
                scripts.push_str(&source(&text));
                out.push_str(&format!("<script{}>{text}</script>", kept(&element, &["src", "defer"])));
            }
        }
    }
    out.push_str(&index[at..]);
    // The worker is a Blob, and a Jaeger the user asks for may be anywhere.
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src{scripts} \
         'wasm-unsafe-eval'; style-src{styles}; worker-src blob:; img-src data: blob:; \
         connect-src http: https: blob: data:; form-action 'none'; base-uri 'none'\">"
    );
    // It stays in force when the page takes the place of the other; that of index.html knows no hashes.
    let start = out.find("<meta http-equiv=\"Content-Security-Policy\"").ok_or("index.html has no policy")?;
    let length = out[start..].find('>').ok_or("the policy of index.html has no end")?;
    out.replace_range(start..=start + length, "");
    Ok((out, policy))
}

/// Returns a script or style as it may stand inside its element, with the line ends a browser will see.
fn text(name: &str, bytes: &[u8]) -> Outcome<String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))?;
    // Only a string or comment can hold these; both forms mean the same in a string.
    Ok(text.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "\\x3c!--"))
}

/// Returns the source expression that allows exactly this text.
fn source(text: &str) -> String {
    format!(" 'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// Returns the attributes of an element but for some, ready to follow its name.
fn kept(element: &Element<'_>, dropped: &[&str]) -> String {
    let mut out = String::new();
    for (name, value) in &element.attributes {
        if !dropped.contains(name) {
            out.push_str(&if value.is_empty() { format!(" {name}") } else { format!(" {name}=\"{value}\"") });
        }
    }
    out
}

/// Encodes bytes as Base64 with padding, as a `data:` address has it.
pub fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lzma_rust2::LzmaReader;
    use std::io::Read as _;

    #[test]
    fn base64_agrees_with_the_examples_of_rfc_4648() {
        let coded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(coded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn nothing_is_referred_to_any_more_and_each_inline_text_has_its_hash_in_the_policy() {
        let index = "<head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"own\"><link rel=\"stylesheet\" href=\"www/s.css\">\
                     <link rel=\"preload\" as=\"fetch\" id=\"w\" href=\"pathlight.wasm\"></head>\
                     <img src=\"www/p.webp\" alt=\"A flame graph\"><script defer id=\"b\" src=\"www/b.js\"></script>";
        let files: Files = [
            ("www/s.css", "a{}"),
            ("pathlight.wasm", "first"),
            (MODULE, "\0asm"),
            ("www/b.js", "f('</script>')"),
            ("www/p.webp", "foo"),
        ]
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_owned()))
        .collect();
        let file = page(index, &files).unwrap();
        assert!(file.starts_with(&dense::BOM));
        let units: Vec<u16> =
            file[2..].chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        let other = String::from_utf16(&units).unwrap();
        let (head, tail) = other.split_once("id=\"packed\"").unwrap();
        assert!(head.starts_with(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta http-equiv=\"Content-Security-Policy\""
        ));
        assert!(head.contains("img-src data: blob:"), "{head}");
        let (facts, tail) = tail.split_once('>').unwrap();
        let (packed, tail) = tail.split_once('<').unwrap();
        assert!(tail.ends_with("</script>\n</body>\n</html>\n"));

        let packed = dense::loose(&utf16(packed)).unwrap();
        let mut data = Vec::new();
        let all: u64 = facts.split_once("data-all=\"").unwrap().1.strip_suffix('"').unwrap().parse().unwrap();
        LzmaReader::new(&packed[..], all, 4, 0, 0, 8 << 20, None).unwrap().read_to_end(&mut data).unwrap();
        let (page, module) = data.split_at(data.len() - 4);
        assert_eq!(module, b"\0asm");
        assert!(facts.contains(&format!("data-text=\"{}\"", page.len())));
        let page = std::str::from_utf8(page).unwrap();
        assert!(page.starts_with("<head><meta charset=\"utf-8\"><style>a{}</style></head><img "), "{page}");
        assert!(page.contains("<img src=\"data:image/webp;base64,Zm9v\" alt=\"A flame graph\">"), "{page}");
        assert!(!page.contains("href=") && page.matches("src=\"").count() == 1, "{page}");
        assert!(page.ends_with("<script id=\"b\">f('<\\/script>')</script>"), "{page}");
        for text in ["a{}", WAITING_STYLE, "f('<\\/script>')", &unpack()] {
            assert!(head.contains(&source(text)), "no hash of {text}");
        }
    }
}
