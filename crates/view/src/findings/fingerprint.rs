//! What a finding is known by from run to run: its kind and its place, whatever its numbers are.

use pathlight_engine::findings::{Finding, FindingPlace};
use pathlight_trace::hash_text;

/// Returns the fingerprint of a finding: 16 hexadecimal digits of a hash of its kind, what it names and the part of a service
/// that it is about. It stays the same while the finding does, in every version.
pub fn fingerprint(finding: &Finding) -> String {
    let kind = serde_json::to_string(&finding.kind()).unwrap_or_default();
    let place = match &finding.place {
        FindingPlace::Endpoint(endpoint) => vec!["endpoint", &endpoint.service, &endpoint.operation],
        FindingPlace::Service(service) => vec!["service", service],
        FindingPlace::RequestType(kind) => {
            vec!["type", &kind.root.service, &kind.root.operation, &kind.part]
        }
        FindingPlace::Tag { key, value } => vec!["tag", key, value],
        FindingPlace::Data => vec!["data"],
    };
    let subject = finding.subject().map(|subject| subject.to_string()).unwrap_or_default();
    // With their lengths, so that no two lists of names make the same text.
    let parts = [&[kind.as_str()], place.as_slice(), &[subject.as_str()]].concat();
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    format!("{:016x}", hash_text(&text))
}

/// Returns the first eight digits of the fingerprint, which tell the findings of one report apart.
pub fn short(finding: &Finding) -> String {
    fingerprint(finding).chars().take(8).collect()
}
