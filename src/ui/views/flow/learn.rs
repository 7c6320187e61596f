//! How flows are learned: the preset, and how often an edge must hold.

use crate::ui::dom::{El, Keep, el};
use crate::ui::page::{Page, Part};
use pathlight_view::flow_choice::{parse_tau, tau_text};
use web_sys::{HtmlInputElement, HtmlSelectElement};

/// Preset and tau.
pub struct Learn {
    element: El,
    preset: El,
    tau: El,
    _keep: Keep,
}

impl Learn {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> Learn {
        let keep = Keep::default();
        let preset = el("select")
            .attr("aria-label", "How flows are learned")
            .attr("title", "Robust: an edge may fail now and then. Paper: it must hold every time.")
            .test("flow-preset")
            .child(&el("option").attr("value", "robust").text("Robust"))
            .child(&el("option").attr("value", "paper").text("As the paper"));
        let chosen = preset.clone();
        let preset = preset.on(&keep, "change", move |_| {
            let value = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value);
            page.change(|address| {
                address.choices.flow.paper = value.as_deref() == Some("paper");
                address.choices.flow.tau_ppm = None;
            });
        });
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
        let tau = tau.on(&keep, "change", move |_| {
            let text = field.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default();
            page.change(|address| address.choices.flow.tau_ppm = parse_tau(&text));
            // What is no share goes back to what holds.
            page.refresh();
        });
        let element =
            el("span").class("flow-learn").child(&preset).child(&el("label").text("\u{3c4} ").child(&tau));
        Learn { element, preset, tau, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl Part for Learn {
    fn update(&mut self, page: Page) {
        let address = page.address();
        if let Some(select) = self.preset.as_kind::<HtmlSelectElement>() {
            select.set_value(if address.choices.flow.paper { "paper" } else { "robust" });
        }
        let tau = tau_text(address.choices.flow.settings().tau_ppm);
        if let Some(input) = self.tau.as_kind::<HtmlInputElement>().filter(|input| input.value() != tau) {
            input.set_value(&tau);
        }
    }
}
