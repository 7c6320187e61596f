//! A file that holds no traces gets its sentence; the page goes on living and keeps what it has.

use std::path::PathBuf;

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::scratch;

use super::drop::{generated, summary};

/// Writes files that cannot be read; returns each with a word its sentence must hold.
fn cases() -> Outcome<Vec<(PathBuf, &'static str)>> {
    let whole = std::fs::read(generated("whole.json", "--traces 5 --spans 20 --seed 9")?)?;
    let error =
        br#"{"data":null,"total":0,"limit":0,"offset":0,"errors":[{"code":404,"msg":"trace not found"}]}"#;
    let list: [(&str, &[u8], &str); 6] = [
        (
            "photo.jpg",
            &[0xff, 0xd8, 0xff, 0xe0, 0, 16, b'J', b'F', b'I', b'F', 0, 1, 1, 0, 0, 1],
            "photo.jpg",
        ),
        ("empty.json", b"", "empty"),
        ("cut.json", &whole[..whole.len() / 2], "cut.json"),
        ("other.json", br#"{"name":"x","dependencies":{"left-pad":"1.0.0"}}"#, "other.json"),
        ("none.json", br#"{"data":[]}"#, "none.json"),
        ("error.json", error, "trace not found"),
    ];
    let folder = scratch()?.join("bad");
    std::fs::create_dir_all(&folder)?;
    list.into_iter()
        .map(|(name, bytes, word)| {
            std::fs::write(folder.join(name), bytes)?;
            Ok((folder.join(name), word))
        })
        .collect()
}

/// Drops a file and returns all that the error row says.
async fn complaint(page: &Page, file: &PathBuf) -> Outcome<String> {
    page.drop_files(std::slice::from_ref(file)).await?;
    page.visible("[data-test='message']").await?;
    let said = page.text("[data-test='message']").await?;
    page.click("[data-test='message-dismiss']").await?;
    page.hidden("[data-test='message']").await?;
    Ok(said)
}

pub async fn each_kind_has_its_sentence_on_an_empty_page(page: &Page) -> Outcome {
    page.open("").await?;
    let mut said = Vec::new();
    for (file, word) in cases()? {
        let sentence = complaint(page, &file).await?;
        ensure(sentence.contains(word), || {
            format!("{}: {sentence:?} does not say {word:?}", file.display())
        })?;
        said.push(sentence);
    }
    said.sort();
    said.dedup();
    ensure(said.len() >= 5, || format!("too few different sentences: {said:?}"))?;
    page.drop_files(&[cases()?[3].0.clone()]).await?;
    page.visible("[data-test='message']").await?;
    page.picture("error").await
}

pub async fn what_is_loaded_stays(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[generated("kept.json", "--traces 30 --spans 20 --seed 8")?]).await?;
    page.ready().await?;
    let before = summary(page).await?;
    for (file, _) in cases()?.into_iter().filter(|(file, _)| !file.ends_with("cut.json")) {
        complaint(page, &file).await?;
    }
    page.ready().await?;
    same("what is loaded", summary(page).await?, before)?;
    // A bad file among good ones hides none of them.
    let good = generated("good.json", "--traces 10 --spans 20 --seed 7")?;
    page.drop_files(&[cases()?[0].0.clone(), good]).await?;
    page.visible("[data-test='message']").await?;
    page.until("40 traces", "return document.querySelector(\"[data-test='traces']\")?.dataset.value", |n| {
        n == "40"
    })
    .await
    .map(drop)
}
