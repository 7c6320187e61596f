//! The page as one file that runs from `file://`, without any network.
//!
//! From `index.html` to the single file, element by element:
//!
//! | in `index.html` | in `pathlight.html` |
//! |---|---|
//! | `<link rel="stylesheet" href="X">` | `<style>` |
//! | `<script src="X">` | `<script>` with the text in it, other attributes kept, `defer` dropped |
//! | `<link rel="icon" href="X">`, `<img src="X">` | the same with a `data:` address |
//! | `<link href="X.wasm" id="I">` | `<script type="application/octet-stream;base64" id="I">`: gzip, base64; before the glue |
//! | `<link href="X.wasm.js">`, `<link href="pathlight.html">` | nothing |
//! | any other `<link href="X" id="I">` to a script | `<script type="text/plain" id="I">`: text for a Blob worker |
//! | `<meta http-equiv="Content-Security-Policy">` | the same with the hashes of scripts and styles |
//!
//! Scripts run where they stand: `www/boot.js` first, which looks for the modules once all of the file is there, and the
//! glue last, so that a file that is cut off can say so.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use sha2::{Digest, Sha256};

use crate::Outcome;
use crate::files::{Files, gzip};
use crate::html::{self, Element, elements};

/// What the single file is called; `index.html` names it too.
pub const NAME: &str = "pathlight.html";

/// Where the modules go.
const PLACE: &str = "<script id=\"asset-glue\">";

/// Returns the single file for this index page.
pub fn page(index: &str, files: &Files) -> Outcome<String> {
    let (mut out, mut modules) = (String::new(), String::new());
    let (mut scripts, mut styles) = (String::new(), String::new());
    let mut at = 0;
    for element in elements(index) {
        out.push_str(&index[at..element.range.start]);
        at = element.range.end;
        let reference = element.get(if element.name == "link" { "href" } else { "src" }).unwrap_or_default();
        let name = reference.strip_prefix("./").unwrap_or(reference);
        if name == NAME {
            continue;
        }
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
            ("link", _) if name.ends_with(".wasm.js") => {}
            ("link", _) if name.ends_with(".wasm") => modules.push_str(&format!(
                "<script type=\"application/octet-stream;base64\"{}>{}</script>\n",
                kept(&element, &["href", "rel", "as", "crossorigin", "fetchpriority"]),
                base64(&gzip(bytes)?)
            )),
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
    // In place of that of index.html, which knows no hashes. It stands before all that it holds for.
    let start = out.find("<meta http-equiv=\"Content-Security-Policy\"").ok_or("index.html has no policy")?;
    let length = out[start..].find('>').ok_or("the policy of index.html has no end")?;
    out.replace_range(start..=start + length, &policy);
    let place = out.find(PLACE).ok_or("index.html has no script of the id asset-glue")?;
    out.insert_str(place, &modules);
    Ok(out)
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

    #[test]
    fn base64_agrees_with_the_examples_of_rfc_4648() {
        let coded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(coded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn nothing_is_referred_to_any_more_and_each_inline_text_has_its_hash_in_the_policy() {
        let index = "<head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"own\"><link rel=\"stylesheet\" href=\"www/s.css\">\
                     <link rel=\"preload\" as=\"fetch\" crossorigin id=\"w\" href=\"pathlight.wasm\">\
                     <link rel=\"asset\" id=\"asset-single\" href=\"pathlight.html\"></head>\
                     <img src=\"www/p.webp\" alt=\"A flame graph\"><script defer id=\"asset-glue\" src=\"www/b.js\"></script>";
        let files: Files = [
            ("www/s.css", "a{}"),
            ("pathlight.wasm", "\0asm"),
            ("www/b.js", "f('</script>')"),
            ("www/p.webp", "foo"),
        ]
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_owned()))
        .collect();
        let page = page(index, &files).unwrap();
        assert_eq!(page.matches("Content-Security-Policy").count(), 1, "{page}");
        assert!(page.starts_with(
            "<head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src"
        ));
        let picture = "<img src=\"data:image/webp;base64,Zm9v\" alt=\"A flame graph\">";
        assert!(page.contains(picture) && page.contains("img-src data: blob:"), "{page}");
        assert!(!page.contains("href=") && page.matches("src=\"").count() == 1, "{page}");
        let module = base64(&gzip(b"\0asm").unwrap());
        let end = format!(
            "<script type=\"application/octet-stream;base64\" id=\"w\">{module}</script>\n\
             <script id=\"asset-glue\">f('<\\/script>')</script>"
        );
        assert!(page.contains("<style>a{}</style>") && page.ends_with(&end), "{page}");
        for text in ["a{}", "f('<\\/script>')"] {
            assert!(page.contains(&source(text)), "no hash of {text}");
        }
    }
}
