//! The browser's side: workers, page, canvas.
