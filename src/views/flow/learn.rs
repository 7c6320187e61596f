//! The model behind a flow, for who asks: how it is learned, how often an edge must hold, and how well it predicts.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::widgets::controls;
use crate::widgets::popover::Popover;
use pathlight_view::flow;
use pathlight_view::flow::choice::{FlowPanel, parse_tau, tau_text};
use web_sys::HtmlInputElement;

/// Preset and tau.
pub struct Learn {
    element: El,
    preset: El,
    tau: El,
}

impl Learn {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> Learn {
        let preset = controls::select(keep, "flow-preset", move |value| {
            page.change(|address| {
                address.choices.flow.paper = value == "paper";
                address.choices.flow.tau_ppm = None;
            });
        });
        let preset = preset
            .attr("aria-label", "How flows are learned")
            .attr("title", "Robust: an edge may fail now and then. Paper: it must hold every time.")
            .child(&controls::option("robust", "Robust"))
            .child(&controls::option("paper", "As the paper"));
        let tau = el("input")
            .class("tau")
            .attr("type", "number")
            .attr("min", "0")
            .attr("max", "1")
            .attr("step", "0.01")
            .attr("aria-label", "Share of the invocations an edge must hold in")
            .attr("title", "Share of the invocations with both calls in which one must end before the other")
            .test("flow-tau");
        let field = tau.clone();
        let tau = tau.on(keep, "change", move |_| {
            let text = field.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default();
            page.change(|address| address.choices.flow.tau_ppm = parse_tau(&text));
            // What is no share goes back to what holds.
            page.refresh();
        });
        let (name, hint) = flow::panel_words(FlowPanel::Prediction);
        let tested = button(name).attr("title", hint).test("open-prediction").on_click(keep, move || {
            page.change(|address| address.choices.flow.panel = FlowPanel::Prediction);
        });
        let labelled =
            |words: &str, of: &El| el("label").class("labelled").child(&span("muted", words)).child(of);
        let panel = div("popover flow-learn")
            .test("flow-model-panel")
            .child(&labelled("Learned", &preset))
            .child(&labelled("An edge holds in at least \u{3c4} =", &tau))
            .child(&tested);
        let opener = button("Model\u{2026}")
            .attr("title", "How flows are learned from invocations, and how well that predicts")
            .test("flow-model");
        let element = Popover::new(keep, opener, panel, || ()).element().clone();
        Learn { element, preset, tau }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the address.
    pub fn update(&self, page: Page) {
        let address = page.address();
        controls::choose(&self.preset, if address.choices.flow.paper { "paper" } else { "robust" });
        let tau = tau_text(address.choices.flow.settings().tau_ppm);
        if let Some(input) = self.tau.as_kind::<HtmlInputElement>().filter(|input| input.value() != tau) {
            input.set_value(&tau);
        }
    }
}
