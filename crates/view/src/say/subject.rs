//! Subjects in words: the own work of a service, waiting for it, calls out of it.

use crate::say::sentence::Sentence;
use pathlight_base::format::{count, counted, printable};
use pathlight_engine::verdict::{HitRequests, ServicePart, Subject};

/// Returns the name of a subject, such as `Waiting for payment`.
pub fn subject_words(Subject { service, part }: &Subject) -> String {
    let service = printable(service);
    match part {
        ServicePart::Own => format!("Own work of {service}"),
        ServicePart::In => format!("Waiting for {service}"),
        ServicePart::Out => format!("Calls out of {service}"),
    }
}

/// Returns the name of a subject within a sentence, such as `waiting for payment`.
pub(crate) fn subject_phrase(Subject { service, part }: &Subject) -> String {
    let service = printable(service);
    match part {
        ServicePart::Own => format!("the own work of {service}"),
        ServicePart::In => format!("waiting for {service}"),
        ServicePart::Out => format!("calls out of {service}"),
    }
}

/// Begins a sentence about the time that a part of a service takes.
pub(crate) fn takes(out: Sentence, service: &str, part: ServicePart) -> Sentence {
    match part {
        ServicePart::Own => out.text("The own work of ").service(service).text(" takes "),
        ServicePart::In => out.text("Waiting for ").service(service).text(" takes "),
        ServicePart::Out => out.text("Calls by ").service(service).text(" take "),
    }
}

/// Says in how many requests a subject takes longer than usual.
pub(crate) fn longer_than_usual(out: Sentence, hit: HitRequests, subject: &Subject) -> Sentence {
    let HitRequests { hit, judged, too_few } = hit;
    let out = match subject.part {
        ServicePart::Own => out.service(&subject.service).text(" works longer than usual in "),
        ServicePart::In => {
            out.text("Waiting for ").service(&subject.service).text(" takes longer than usual in ")
        }
        ServicePart::Out => {
            out.text("Calls by ").service(&subject.service).text(" take longer than usual in ")
        }
    };
    let out = out.number(count(hit)).text(" of ").number(counted(judged, "request"));
    match too_few {
        0 => out.text("."),
        _ => out.text("; of ").number(count(too_few)).text(" more it cannot be said."),
    }
}
