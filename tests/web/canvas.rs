//! Painting on a real canvas.

use js_sys::{Array, Function, Promise, Uint8ClampedArray};
use pathlight::base::statistics::LogHistogram;
use pathlight::canvas::{PlotBackend, Surface, png_of, theme_of};
use pathlight::view::draw::color::SERVICE_STEPS;
use pathlight::view::draw::histogram::{Bars, HistogramAxis, HistogramView, draw};
use pathlight::view::draw::plot::ChartSize;
use pathlight::view::draw::svg::{SvgText, write};
use pathlight::view::draw::{MeasureText, Rgba, Shade, Theme};
use pathlight::view::flame::chart::{FlameSize, FlameTree, FlameView, Frame, NONE, layout, scene};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Blob, BlobPropertyBag, Document, HtmlCanvasElement};

fn document() -> Document {
    web_sys::window().unwrap().document().unwrap()
}

fn surface(css_width: f64, css_height: f64, scale: f64) -> Surface {
    let canvas: HtmlCanvasElement = document().create_element("canvas").unwrap().dyn_into().unwrap();
    canvas.set_attribute("id", "canvas").unwrap();
    let mut surface = Surface::new(canvas).unwrap();
    assert!(surface.resize(css_width, css_height, scale));
    surface
}

fn pixel(surface: &Surface, x: i32, y: i32) -> Rgba {
    let read = Function::new_with_args(
        "canvas, x, y",
        "return canvas.getContext('2d').getImageData(x, y, 1, 1).data",
    );
    let arguments = Array::of3(surface.canvas(), &JsValue::from(x), &JsValue::from(y));
    let data: Uint8ClampedArray = read.apply(&JsValue::NULL, &arguments).unwrap().unchecked_into();
    let mut bytes = [0; 4];
    data.copy_to(&mut bytes);
    Rgba(bytes)
}

/// Returns the greatest contrast of any pixel of an area (left, top, width, height) with a colour.
fn contrast_in(surface: &Surface, area: [i32; 4], with: Rgba) -> f64 {
    let read =
        Function::new_with_args("canvas, area", "return canvas.getContext('2d').getImageData(...area).data");
    let [x, y, w, h] = area.map(JsValue::from);
    let data = read.call2(&JsValue::NULL, surface.canvas(), &Array::of4(&x, &y, &w, &h)).unwrap();
    let bytes = data.unchecked_into::<Uint8ClampedArray>().to_vec();
    let pixels = bytes.chunks_exact(4).map(|p| Rgba([p[0], p[1], p[2], p[3]]));
    pixels.map(|pixel| pixel.contrast(with)).fold(0.0, f64::max)
}

/// Makes a root of 100 us with one child of 60.
fn tree() -> FlameTree {
    let frame = |label: &str, service: &str| Frame::new(label.into(), Shade::service(service));
    FlameTree::new(
        vec![NONE, 0],
        &[100, 60],
        vec![0, 1],
        vec![frame("root @ gateway", "gateway"), frame("child @ stock", "stock")],
    )
}

#[wasm_bindgen_test]
fn a_flame_graph_is_painted_pixel_by_pixel_as_laid_out() {
    let surface = surface(500.0, 100.0, 2.0);
    assert_eq!(surface.size(), (1000, 200));
    let (tree, theme, metrics) = (tree(), Theme::light(), surface.metrics());
    let size = FlameSize { width: 1000, height: 200, metrics };
    let view = FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
    let boxes = layout(&tree, &view, size, &mut surface.measure(metrics.font_px(), false));
    assert!(boxes.boxes.iter().all(|item| item.label.is_some()));
    surface.paint(&scene(&boxes, &theme, metrics));
    for item in &boxes.boxes {
        // Left of the label, and right at the end of the box.
        for x in [item.x + 1, item.x + item.w - 4] {
            assert_eq!(pixel(&surface, x, item.y + 2), theme.fill(item.shade));
        }
        assert_eq!(pixel(&surface, item.x + item.w - 1, item.y + 2), theme.background, "the gap");
        let contrast = contrast_in(&surface, [item.x + 8, item.y + 10, 92, 20], theme.fill(item.shade));
        assert!(contrast >= 4.5, "the text on the box has contrast {contrast}");
    }
    assert_eq!(pixel(&surface, 800, 60), theme.background);
}

#[wasm_bindgen_test]
fn text_on_boxes_of_every_colour_is_readable_to_the_pixel() {
    let surface = surface(200.0, 30.0, 2.0);
    let (metrics, size) =
        (surface.metrics(), FlameSize { width: 400, height: 60, metrics: surface.metrics() });
    let services = (0..u16::from(SERVICE_STEPS)).map(Shade::Service);
    let others = [-100, -50, 0, 50, 100].map(Shade::Change).into_iter().chain([Shade::Merged, Shade::Grey]);
    for shade in services.chain(others) {
        let tree = FlameTree::new(vec![NONE], &[100], vec![0], vec![Frame::new("HHHHHHHH".into(), shade)]);
        let view =
            FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
        let boxes = layout(&tree, &view, size, &mut surface.measure(metrics.font_px(), false));
        for theme in [Theme::light(), Theme::dark()] {
            surface.paint(&scene(&boxes, &theme, metrics));
            let item = &boxes.boxes[0];
            let contrast = contrast_in(&surface, [item.x + 4, item.y + 8, 100, 24], theme.fill(shade));
            assert!(contrast >= 4.5, "{shade:?}, dark: {}: contrast {contrast}", theme.dark);
        }
    }
}

#[wasm_bindgen_test]
fn text_is_as_wide_as_its_characters_at_most() {
    let surface = surface(100.0, 100.0, 1.0);
    let mut measure = surface.measure(24, false);
    let context = surface.canvas().get_context("2d").unwrap().unwrap();
    let whole = Function::new_with_args("context, text", "return context.measureText(text).width");
    for text in ["AVAVA To Ty", "PlaceOrder @ checkout", "…µ–", "漢字"] {
        let sum = measure.text_px(text);
        let real = whole.call2(&JsValue::NULL, &context, &JsValue::from_str(text)).unwrap().as_f64().unwrap();
        assert!(sum >= real - 0.5 && sum <= real * 1.2 + 2.0, "{text}: {sum} {real}");
        assert_eq!(sum, measure.text_px(text));
    }
    assert!(surface.measure(24, true).text_px("mmmm") > measure.text_px("iiii"));
}

#[wasm_bindgen_test]
fn a_surface_changes_size_only_when_it_must() {
    let mut surface = surface(100.4, 50.0, 1.5);
    assert_eq!(surface.size(), (151, 75));
    assert!(!surface.resize(100.4, 50.0, 1.5));
    assert!(surface.resize(100.4, 50.0, 1.0));
    assert!(surface.resize(0.0, 0.0, f64::NAN));
    assert_eq!(surface.size(), (1, 1));
    assert_eq!(surface.metrics().scale, 1.0);
}

#[wasm_bindgen_test]
fn a_theme_is_read_from_custom_properties() {
    let host = document().create_element("div").unwrap();
    document().body().unwrap().append_child(&host).unwrap();
    assert_eq!(*theme_of(&host), Theme::light());
    let set = Function::new_with_args("host, name, value", "host.style.setProperty(name, value)");
    let set = |name: &str, value: &str| {
        let arguments = Array::of3(&host, &JsValue::from_str(name), &JsValue::from_str(value));
        set.apply(&JsValue::NULL, &arguments).unwrap();
    };
    set("--background", " #101010");
    set("--accent", "rebeccapurple");
    set("--error", "no colour at all");
    let theme = theme_of(&host);
    assert!(theme.dark);
    assert_eq!(theme.background, Rgba::hex(0x101010));
    assert_eq!(theme.accent, Rgba::hex(0x663399));
    assert_eq!(theme.error, Theme::dark().error);
    host.remove();
}

#[wasm_bindgen_test]
fn plotters_draws_without_touching_the_document() {
    let values: Vec<u64> = (0..1000).map(|i| 1_000 + i * i).collect();
    let histogram = LogHistogram::of_sorted(&values, 40);
    let surface = surface(600.0, 150.0, 1.0);
    let size = ChartSize { width: 600, height: 150, metrics: surface.metrics() };
    let lines = [("p50", 250_000.0)];
    let view = HistogramView { bars: Bars::from(&histogram), range: None, lines: &lines };
    let theme = Theme::dark();
    let watch = Function::new_no_args(
        "const watch = new MutationObserver(() => {}); \
         watch.observe(document, { subtree: true, childList: true, attributes: true }); return watch",
    );
    let watch = watch.call0(&JsValue::NULL).unwrap();
    draw(PlotBackend::new(&surface).unwrap(), &view, size, &theme).unwrap();
    let seen = Function::new_with_args("watch", "return watch.takeRecords().length");
    assert_eq!(seen.call1(&JsValue::NULL, &watch).unwrap(), JsValue::from(0));
    let axis = HistogramAxis::new(&Bars::from(&histogram), size).unwrap();
    assert_eq!(pixel(&surface, axis.values.right - 4, axis.bottom - 3), theme.accent);
    assert_eq!(pixel(&surface, 2, 2), theme.background);
    let label =
        (0..axis.values.left).any(|x| pixel(&surface, x, axis.bottom).contrast(theme.background) > 2.0);
    assert!(label, "the axis of counts has text");
    // A scene after plotters is painted with its own colours and font.
    let tree = tree();
    let view = FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
    let size = FlameSize { width: 600, height: 150, metrics: surface.metrics() };
    let boxes = layout(&tree, &view, size, &mut surface.measure(12, false));
    surface.paint(&scene(&boxes, &theme, surface.metrics()));
    assert_eq!(pixel(&surface, 1, 1), theme.fill(Shade::service("gateway")));
}

#[wasm_bindgen_test]
async fn pictures_become_png() {
    let blob = |text: &str| {
        let options = BlobPropertyBag::new();
        options.set_type("image/svg+xml");
        let parts = Array::of1(&JsValue::from_str(text));
        Blob::new_with_str_sequence_and_options(&parts, &options).unwrap()
    };
    let read =
        Function::new_with_args("blob", "return createImageBitmap(blob).then((i) => [i.width, i.height])");
    for (height, scale, is_smaller, size) in
        [(20, 2.0, false, [60.0, 40.0]), (32_768, 1.0, true, [15.0, 16_384.0])]
    {
        let scene = pathlight::view::draw::Scene::new(30, height, Some(Rgba::hex(0xff0000)));
        let words = SvgText { title: "Red", description: "", tip: &|_| None };
        let (png, smaller) = png_of(&blob(&write(&scene, &words)), scale).await.unwrap();
        assert_eq!((png.type_().as_str(), smaller), ("image/png", is_smaller));
        let found: Promise = read.call1(&JsValue::NULL, &png).unwrap().unchecked_into();
        let found: Array = JsFuture::from(found).await.unwrap().unchecked_into();
        assert_eq!([0, 1].map(|at| found.get(at).as_f64()), size.map(Some));
    }
    assert!(png_of(&blob("no picture"), 1.0).await.is_err());
}
