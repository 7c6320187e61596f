//! Facts about every span that its tags give, whatever the format: kind, error, host.

use super::{Flags, SpanKind};

/// Collects kind and error while the tags of one span pass by (`docs/definitions/critical-path.md` section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanFacts {
    /// Kind, from `span.kind` or set by the format.
    pub kind: SpanKind,
    error: bool,
    is_ok: bool,
    http_status: u32,
    grpc_failed: bool,
}

impl SpanFacts {
    /// The facts of a span without tags.
    pub const NONE: SpanFacts = SpanFacts {
        kind: SpanKind::Unspecified,
        error: false,
        is_ok: false,
        http_status: 0,
        grpc_failed: false,
    };

    /// Says that the format itself marks the span as an error (OTLP status code 2).
    pub fn set_error(&mut self) {
        self.error = true;
    }

    /// Says that the format itself marks the span as successful (OTLP status code 1).
    pub fn set_ok(&mut self) {
        self.is_ok = true;
    }

    /// Returns whether a tag of this key can say anything here; a quick test by length and first byte for hot loops.
    pub fn wants(key: &str) -> bool {
        matches!(
            key,
            "error"
                | "span.kind"
                | "otel.status_code"
                | "http.status_code"
                | "http.response.status_code"
                | "rpc.grpc.status_code"
                | "grpc.status_code"
        )
    }

    /// Takes note of a tag, its value as text: booleans `true`/`false`, numbers in decimal.
    pub fn observe(&mut self, key: &str, value: &str) {
        match key {
            "error" => self.error |= value == "true",
            "otel.status_code" => {
                self.error |= value.eq_ignore_ascii_case("error");
                self.is_ok |= value.eq_ignore_ascii_case("ok");
            }
            "span.kind" => {
                if let Some(kind) = SpanKind::parse(value) {
                    self.kind = kind;
                }
            }
            "http.status_code" | "http.response.status_code" => {
                self.http_status = self.http_status.max(value.trim().parse().unwrap_or(0));
            }
            "rpc.grpc.status_code" | "grpc.status_code" => {
                let code = value.trim();
                self.grpc_failed |= match code.parse::<i64>() {
                    Ok(code) => code != 0,
                    Err(_) => !code.is_empty() && !code.eq_ignore_ascii_case("ok"),
                };
            }
            _ => {}
        }
    }

    /// Takes over what other tags, seen after the ones so far, have said; a kind only if they named one.
    pub fn merge(&mut self, later: &SpanFacts) {
        if later.kind != SpanKind::Unspecified {
            self.kind = later.kind;
        }
        self.error |= later.error;
        self.is_ok |= later.is_ok;
        self.http_status = self.http_status.max(later.http_status);
        self.grpc_failed |= later.grpc_failed;
    }

    /// Returns the kind and error as flags.
    pub fn flags(&self) -> Flags {
        let limit = if self.kind == SpanKind::Client { 400 } else { 500 };
        let mut flags = Flags::of_kind(self.kind);
        // What an application sets itself goes before codes.
        let has_failed = !self.is_ok && (self.grpc_failed || self.http_status >= limit);
        flags.set(Flags::ERROR, self.error || has_failed);
        flags
    }
}

/// The process tags that name a host, best first.
pub const HOST_KEYS: [&str; 5] = ["hostname", "host.name", "k8s.pod.name", "host", "ip"];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_error(tags: &[(&str, &str)]) -> bool {
        let mut facts = SpanFacts::default();
        for (key, value) in tags {
            facts.observe(key, value);
        }
        facts.flags().has(Flags::ERROR)
    }

    #[test]
    fn errors_are_recognised_by_tag_status_and_kind() {
        assert!(is_error(&[("error", "true")]));
        assert!(!is_error(&[("error", "false")]));
        assert!(is_error(&[("otel.status_code", "ERROR")]));
        assert!(is_error(&[("http.status_code", "503")]));
        assert!(!is_error(&[("http.status_code", "404"), ("span.kind", "server")]));
        assert!(is_error(&[("http.status_code", "404"), ("span.kind", "client")]));
        assert!(is_error(&[("rpc.grpc.status_code", "14")]));
        assert!(!is_error(&[("grpc.status_code", "0")]));
        assert!(!is_error(&[("http.status_code", "503"), ("otel.status_code", "OK")]));
        assert!(is_error(&[("error", "true"), ("otel.status_code", "OK")]));
    }
}
