//! The services of a chart with their colours: one can be looked at alone, or be left out. Both are searches, so they stand
//! in the address and hold in every view.

use crate::dom::{El, Listeners, button, div, span};
use crate::page::Page;
use crate::widgets::export::LegendOf;
use crate::widgets::names;
use crate::widgets::popover::Popover;
use pathlight_base::format;
use pathlight_engine::requests::search::{ServiceChoice, service_choice, with_service};
use pathlight_view::draw::Shade;

/// Returns a button with the legend under it; `services` gives those with the most time and their shares.
pub fn legend(page: Page, keep: &Listeners, services: impl Fn() -> Vec<(String, f64)> + 'static) -> El {
    let opener = button("Services\u{2026}")
        .attr("title", "Colours of services; show one alone, or fade some")
        .test("service-legend");
    let panel = div("popover menu left service-legend").test("service-legend-panel");
    let (filled, held) = (panel.clone(), Listeners::default());
    let popover = Popover::new(keep, opener, panel, move || fill(page, &filled, &held, &services()));
    popover.element().clone()
}

/// Returns the same services as the legend of an exported chart.
pub fn exported(services: impl Fn() -> Vec<(String, f64)> + 'static) -> Option<LegendOf> {
    Some(Box::new(move |theme| {
        let colour = |(service, _): (String, f64)| {
            (Some(theme.fill(Shade::service(&service))), format::printable(&service))
        };
        services().into_iter().map(colour).collect()
    }))
}

fn fill(page: Page, panel: &El, keep: &Listeners, services: &[(String, f64)]) {
    keep.clear();
    let text = page.address().search.clone();
    let rows = services.iter().map(|(service, share)| {
        let now = service_choice(&text, service);
        let choice = |words: &str, hint: &str, test: &str, choice: ServiceChoice| {
            let (service, panel, keep, services) =
                (service.clone(), panel.clone(), keep.clone(), services.to_vec());
            let is_on = now == choice;
            button(words)
                .attr("aria-pressed", if is_on { "true" } else { "false" })
                .attr("title", hint)
                .test(test)
                .on_click(&keep.clone(), move || {
                    let to = if is_on { ServiceChoice::Plain } else { choice };
                    page.step(|address| address.search = with_service(&address.search, &service, to));
                    fill(page, &panel, &keep, &services);
                })
        };
        div("legend-row")
            .attr("data-service", service)
            .child(&names::service(service))
            .child(&span("number muted", &format::share(*share)))
            .child(&choice("Only", "Fade all other services", "only-service", ServiceChoice::Only))
            .child(&choice("Fade", "Fade this service", "hide-service", ServiceChoice::Hidden))
    });
    panel.fill(&rows.collect::<Vec<El>>());
}
