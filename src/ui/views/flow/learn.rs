//! How flows are learned: the preset, and how often an edge must hold.

use crate::ui::dom::{El, Keep, el};
use crate::ui::page::Page;
use crate::ui::widgets::controls;
use pathlight_view::flow_choice::{parse_tau, tau_text};
use web_sys::HtmlInputElement;

/// Preset and tau.
pub struct Learn {
    element: El,
    preset: El,
    tau: El,
}

impl Learn {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Keep) -> Learn {
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
        let element =
            el("span").class("flow-learn").child(&preset).child(&el("label").text("\u{3c4} ").child(&tau));
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
