//! The page before anything is loaded.

use e2e::browser::Page;
use e2e::failure::Outcome;

pub async fn the_page_comes_up_empty(page: &Page) -> Outcome {
    page.open("").await?;
    page.state("empty").await?;
    page.picture("start").await
}
