//! What must hold in a browser as it does natively: run in Chromium by `cargo xtask test wasm`.
#![cfg(target_arch = "wasm32")]

use pathlight::trace::{Interner, SpanId, TraceId};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn ids_wider_than_a_pointer_keep_all_their_bits() {
    let mut texts = Interner::default();
    let span = SpanId::parse("fedcba9876543210", &mut texts);
    assert_eq!(span, SpanId::hex(0xfedc_ba98_7654_3210));
    assert_eq!(span.to_text(&texts), "fedcba9876543210");
    let trace = TraceId::parse("FEDCBA98765432100123456789abcdef", &mut texts);
    assert_eq!(trace.to_text(&texts), "fedcba98765432100123456789abcdef");
    assert!(texts.is_empty(), "a hexadecimal id was kept as text");
}

#[wasm_bindgen_test]
fn strings_keep_their_symbols_however_the_platform_hashes_them() {
    let mut names = Interner::default();
    let words: Vec<String> = (0..10_000).map(|n| format!("service-{n}")).collect();
    let symbols: Vec<_> = words.iter().map(|word| names.intern(word)).collect();
    assert_eq!(names.len(), words.len());
    for (word, symbol) in words.iter().zip(symbols) {
        assert_eq!((names.find(word), names.get(symbol)), (Some(symbol), word.as_str()));
    }
}
