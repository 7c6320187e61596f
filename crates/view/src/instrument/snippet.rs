//! Code that makes a span, by the API of OpenTelemetry in the language of a service.

use pathlight_engine::instrument::InstrumentRow;

/// Characters of a name that are taken into code.
const MOST_CHARACTERS: usize = 60;

/// Returns a name as it can stand in a string of every language: whatever traces are called, it ends no string and begins no
/// expression.
fn literal(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-/:".contains(c);
    name.chars().take(MOST_CHARACTERS).map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Returns what a span at a place may be called.
fn span_name(row: &InstrumentRow) -> String {
    match (&row.previous, &row.next) {
        (_, Some(next)) => format!("before {}", literal(&next.operation)),
        (Some(previous), None) => format!("after {}", literal(&previous.operation)),
        (None, None) => format!("work of {}", literal(&row.endpoint.operation)),
    }
}

/// Returns code that makes a span at a place; `None` where what is called would have to be instrumented.
pub fn snippet(row: &InstrumentRow) -> Option<String> {
    if row.callee.is_some() {
        return None;
    }
    let (service, name) = (literal(&row.endpoint.service), span_name(row));
    Some(match row.language.as_deref() {
        Some("java") => format!(
            "Span span = GlobalOpenTelemetry.getTracer(\"{service}\").spanBuilder(\"{name}\").startSpan();\n\
             try (Scope scope = span.makeCurrent()) {{\n    // what runs there\n}} finally {{\n    span.end();\n}}"
        ),
        Some("python") => format!(
            "from opentelemetry import trace\n\nwith trace.get_tracer(\"{service}\").start_as_current_span(\"{name}\"):\n    \
             ...  # what runs there"
        ),
        Some("nodejs" | "node" | "webjs") => format!(
            "const {{ trace }} = require(\"@opentelemetry/api\");\n\n\
             await trace.getTracer(\"{service}\").startActiveSpan(\"{name}\", async (span) => {{\n  try {{\n    \
             // what runs there\n  }} finally {{\n    span.end();\n  }}\n}});"
        ),
        Some("dotnet" | "csharp") => format!(
            "static readonly ActivitySource Source = new(\"{service}\");\n\n\
             using (var activity = Source.StartActivity(\"{name}\"))\n{{\n    // what runs there\n}}"
        ),
        Some("ruby") => format!(
            "OpenTelemetry.tracer_provider.tracer(\"{service}\").in_span(\"{name}\") do |span|\n  # what runs there\nend"
        ),
        Some("php") => format!(
            "$span = Globals::tracerProvider()->getTracer('{service}')->spanBuilder('{name}')->startSpan();\n\
             $scope = $span->activate();\ntry {{\n    // what runs there\n}} finally {{\n    $scope->detach();\n    \
             $span->end();\n}}"
        ),
        Some("rust") => format!(
            "opentelemetry::global::tracer(\"{service}\").in_span(\"{name}\", |cx| {{\n    // what runs there\n}});"
        ),
        Some("cpp" | "c++") => format!(
            "auto tracer = opentelemetry::trace::Provider::GetTracerProvider()->GetTracer(\"{service}\");\n\
             auto span = tracer->StartSpan(\"{name}\");\nauto scope = tracer->WithActiveSpan(span);\n// what runs there\n\
             span->End();"
        ),
        Some("swift") => format!(
            "let span = tracer.spanBuilder(spanName: \"{name}\").setActive(true).startSpan()\n\
             // what runs there\nspan.end()"
        ),
        Some("erlang") => {
            format!("?with_span(<<\"{name}\">>, #{{}}, fun(_Span) ->\n    what_runs_there()\nend).")
        }
        _ => format!(
            "ctx, span := otel.Tracer(\"{service}\").Start(ctx, \"{name}\")\n// what runs there\nspan.End()"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::Endpoint;

    fn row(language: &str, service: &str, next: &str) -> InstrumentRow {
        InstrumentRow {
            endpoint: Endpoint::new(service, "GET /cart"),
            previous: None,
            next: Some(Endpoint::new("db", next)),
            callee: None,
            language: Some(language.to_owned()),
            us: 1.0,
            share: 0.1,
            stretches: 1.0,
            stretch_us: 1.0,
            gain_us: 1.0,
        }
    }

    #[test]
    fn names_of_traces_end_no_string_and_begin_no_expression() {
        let languages = [
            "java", "python", "nodejs", "dotnet", "ruby", "php", "rust", "cpp", "swift", "erlang", "go", "x",
        ];
        for language in languages {
            let code = snippet(&row(language, "a\"'`#{x}${y}\n\\", "SELECT \"'\n#{z}")).unwrap();
            assert!(code.contains("before SELECT ___"), "{language}: {code}");
            assert!(
                !code.contains("{x}") && !code.contains("{z}") && !code.contains('`'),
                "{language}: {code}"
            );
            assert!(!code.contains('\\'), "{language}: {code}");
            assert_eq!(code.matches('"').count() % 2, 0, "{language}: {code}");
        }
    }

    #[test]
    fn what_has_no_spans_needs_more_than_a_line_of_code() {
        let of = InstrumentRow { callee: Some("mysql shop".to_owned()), ..row("go", "cart", "SELECT") };
        assert_eq!(snippet(&of), None);
    }
}
