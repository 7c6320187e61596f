//! Paths of endpoints as values of the address: `["service","operation",..]`.

use pathlight_trace::Endpoint;

/// Returns a path of endpoints as the text of one value of the address.
pub(crate) fn focus_name(path: &[Endpoint]) -> String {
    let flat: Vec<&str> = path.iter().flat_map(|endpoint| <[&str; 2]>::from(endpoint.names())).collect();
    serde_json::to_string(&flat).unwrap_or_default()
}

/// Returns the path that [`focus_name`] wrote; `None` if the text is none.
pub(crate) fn parse_focus(text: &str) -> Option<Vec<Endpoint>> {
    let flat: Vec<String> = serde_json::from_str(text).ok()?;
    Some(flat.chunks_exact(2).map(|pair| Endpoint::new(&pair[0], &pair[1])).collect())
}
