//! Colours: sRGB values, OKLCH, contrast, and the colour maps of all views.

use std::sync::LazyLock;

/// A colour in sRGB with alpha, eight bits each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Rgba(pub [u8; 4]);

impl Rgba {
    /// Nothing is painted.
    pub const CLEAR: Rgba = Rgba([0, 0, 0, 0]);

    /// Returns an opaque colour from `0xRRGGBB`.
    pub const fn hex(rgb: u32) -> Rgba {
        Rgba([(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8, 255])
    }

    /// Returns the same colour with another alpha, 0 to 1.
    pub fn with_alpha(self, alpha: f64) -> Rgba {
        let [r, g, b, _] = self.0;
        Rgba([r, g, b, unit_to_byte(alpha)])
    }

    /// Returns whether nothing shines through.
    pub const fn is_opaque(self) -> bool {
        self.0[3] == 255
    }

    /// Writes it as CSS and SVG do: `#rrggbb`, or `#rrggbbaa` if not opaque.
    pub fn css(self) -> String {
        let [r, g, b, a] = self.0;
        if a == 255 { format!("#{r:02x}{g:02x}{b:02x}") } else { format!("#{r:02x}{g:02x}{b:02x}{a:02x}") }
    }

    /// Reads `#rgb`, `#rrggbb`, `#rrggbbaa`, `rgb(r, g, b)` and `rgba(r, g, b, a)` (commas or spaces), which is what
    /// browsers give for a computed colour.
    pub fn parse(css: &str) -> Option<Rgba> {
        let css = css.trim();
        if let Some(digits) = css.strip_prefix('#') {
            if !digits.is_ascii() {
                return None;
            }
            let value = u32::from_str_radix(digits, 16).ok()?;
            return match digits.len() {
                3 => {
                    let double = |shift: u32| (((value >> shift) & 15) * 17) as u8;
                    Some(Rgba([double(8), double(4), double(0), 255]))
                }
                6 => Some(Rgba::hex(value)),
                8 => Some(Rgba(value.to_be_bytes())),
                _ => None,
            };
        }
        let inside = css.strip_prefix("rgba(").or_else(|| css.strip_prefix("rgb("))?.strip_suffix(')')?;
        let mut parts = inside.split([',', ' ', '/']).filter(|part| !part.is_empty());
        let mut channel = || parts.next()?.parse::<f64>().ok();
        let [r, g, b] = [channel()?, channel()?, channel()?];
        let alpha = match parts.next() {
            None => 1.0,
            Some(part) => match part.strip_suffix('%') {
                Some(percent) => percent.parse::<f64>().ok()? / 100.0,
                None => part.parse().ok()?,
            },
        };
        let byte = |value: f64| value.round().clamp(0.0, 255.0) as u8;
        Some(Rgba([byte(r), byte(g), byte(b), unit_to_byte(alpha)]))
    }

    /// Returns this colour painted over an opaque one.
    pub fn over(self, below: Rgba) -> Rgba {
        let alpha = f64::from(self.0[3]) / 255.0;
        let blend = |i: usize| {
            let (top, bottom) = (f64::from(self.0[i]), f64::from(below.0[i]));
            (top * alpha + bottom * (1.0 - alpha)).round() as u8
        };
        Rgba([blend(0), blend(1), blend(2), 255])
    }

    /// Returns the colour at `t` (0 is this one, 1 the other) on the way through OKLab; alpha is dropped.
    pub fn mix(self, other: Rgba, t: f64) -> Rgba {
        let (a, b) = (to_oklab(self), to_oklab(other));
        let at = |i: usize| a[i] + (b[i] - a[i]) * t;
        from_oklab([at(0), at(1), at(2)])
    }

    /// Returns the relative luminance of WCAG 2, 0 to 1.
    pub fn luminance(self) -> f64 {
        let [r, g, b] = linear(self);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Returns the contrast ratio of WCAG 2 between two opaque colours, 1 to 21.
    pub fn contrast(self, other: Rgba) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        if a > b { a / b } else { b / a }
    }
}

/// Returns the colour of text on an opaque fill: dark or light, whichever is read better; contrast at least 4.5.
pub fn ink_on(fill: Rgba) -> Rgba {
    const SOFT: [Rgba; 2] = [Rgba::hex(0x141414), Rgba::hex(0xfafafa)];
    const HARD: [Rgba; 2] = [Rgba::hex(0x000000), Rgba::hex(0xffffff)];
    let better = |[dark, light]: [Rgba; 2]| {
        if dark.contrast(fill) >= light.contrast(fill) { dark } else { light }
    };
    let soft = better(SOFT);
    if soft.contrast(fill) >= 4.5 { soft } else { better(HARD) }
}

/// Returns the sRGB colour of OKLCH coordinates: lightness 0 to 1, chroma, hue in degrees. Chroma is reduced as far as
/// needed to stay inside sRGB.
pub fn oklch(lightness: f64, chroma: f64, hue: f64) -> Rgba {
    let (sin, cos) = hue.to_radians().sin_cos();
    let inside = |c: f64| {
        let rgb = oklab_to_linear([lightness, c * cos, c * sin]);
        rgb.iter().all(|v| (-0.0005..=1.0005).contains(v))
    };
    let mut chroma = chroma;
    if !inside(chroma) {
        let (mut low, mut high) = (0.0, chroma);
        for _ in 0..20 {
            let middle = (low + high) / 2.0;
            if inside(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        chroma = low;
    }
    from_oklab([lightness, chroma * cos, chroma * sin])
}

/// Number of service colours.
pub const SERVICE_STEPS: u8 = 36;

/// The colour of a service follows from a number below this, a multiple of [`SERVICE_STEPS`].
const SERVICE_NUMBERS: u64 = 65_520;

/// Returns the number of a service, a pure function of its name: its colour in every view. [`SERVICE_STEPS`] of them
/// have colours of their own, by the remainder; those that lead have others ([`leading`]).
pub fn service_number(service: &str) -> u16 {
    // FNV-1a, then a finisher, so that names with a common beginning spread.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in service.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) % SERVICE_NUMBERS) as u16
}

/// Returns the colour step of a service without a leading colour, below [`SERVICE_STEPS`].
pub fn service_step(number: u16) -> u8 {
    (number % u16::from(SERVICE_STEPS)) as u8
}

/// Number of services, those with the most time, whose colours nobody takes for each other.
pub const LEADING: usize = 12;

/// Gives each of at most [`LEADING`] services a place among the leading colours; by number of the service. The order of
/// the names does not matter, and most keep the hue that they have without it, also when another one joins them.
pub fn leading(services: &[String]) -> Vec<(u16, u8)> {
    let mut names: Vec<&str> = services.iter().take(LEADING).map(String::as_str).collect();
    names.sort();
    names.dedup();
    let mut taken = [false; LEADING];
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let number = service_number(name);
        let wanted = usize::from(service_step(number)) * LEADING / usize::from(SERVICE_STEPS);
        // The next hue on either side: there are as many places as names.
        let around = (0..LEADING).map(|away| if away % 2 == 1 { LEADING - away / 2 - 1 } else { away / 2 });
        let free = around.map(|away| (wanted + away) % LEADING).find(|place| !taken[*place]);
        let place = free.unwrap_or(wanted);
        taken[place] = true;
        places.push((number, place as u8));
    }
    places
}

/// Returns the leading colour of a place below [`LEADING`], by hue. Any two are at least 0.12 apart in OKLab, and 0.07
/// for eyes without green or without red (a search over lightness, chroma and hue found them; the tests measure it).
pub fn leading_fill(place: u8, dark: bool) -> Rgba {
    const LIGHT: [u32; LEADING] = [
        0xd4645f, 0xd5902c, 0x8f7908, 0x8fb77d, 0xb4e399, 0x2f9787, 0x82e4fb, 0x2ea5e5, 0x6a72cf, 0xb9b4ff,
        0xd477be, 0xfaa3b5,
    ];
    const DARK: [u32; LEADING] = [
        0xda6a6f, 0x8b3a00, 0xba8403, 0x6e761b, 0x00623f, 0x319e9d, 0x17748f, 0x348df0, 0x3545ac, 0x946fbe,
        0x73287f, 0xb53c71,
    ];
    Rgba::hex(if dark { DARK } else { LIGHT }[usize::from(place) % LEADING])
}

/// Returns the fill of a colour step. Neighbouring hues differ in lightness, so that they stay apart for eyes that
/// confuse red and green.
pub fn service_fill(step: u8, dark: bool) -> Rgba {
    let step = step % SERVICE_STEPS;
    let hue = 20.0 + f64::from(step) * 360.0 / f64::from(SERVICE_STEPS);
    let level = f64::from(step % 3);
    if dark { oklch(0.48 + 0.075 * level, 0.1, hue) } else { oklch(0.7 + 0.075 * level, 0.1, hue) }
}

/// Returns the sequential map, viridis: dark violet at 0, yellow at 1; lightness grows with `t`.
pub fn sequential(t: f64) -> Rgba {
    const STOPS: [u32; 11] = [
        0x440154, 0x482576, 0x414487, 0x35608d, 0x2a788e, 0x21918d, 0x22a884, 0x43bf71, 0x7ad251, 0xbcdf27,
        0xfde725,
    ];
    let position = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) } * (STOPS.len() - 1) as f64;
    let below = (position.floor() as usize).min(STOPS.len() - 2);
    Rgba::hex(STOPS[below]).mix(Rgba::hex(STOPS[below + 1]), position - below as f64)
}

/// Returns the diverging map: blue at -1, grey at 0, orange at 1. The ends differ in lightness from the grey by as much
/// on both sides, and blue and orange are distinct in every kind of colour vision.
pub fn diverging(t: f64, dark: bool) -> Rgba {
    let t = if t.is_nan() { 0.0 } else { t.clamp(-1.0, 1.0) };
    let (grey, blue, orange) = if dark {
        (oklch(0.38, 0.005, 250.0), oklch(0.68, 0.14, 250.0), oklch(0.74, 0.15, 60.0))
    } else {
        (oklch(0.9, 0.005, 250.0), oklch(0.56, 0.16, 250.0), oklch(0.66, 0.16, 52.0))
    };
    grey.mix(if t < 0.0 { blue } else { orange }, t.abs())
}

fn unit_to_byte(value: f64) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

fn to_linear(byte: u8) -> f64 {
    let c = f64::from(byte) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }
}

fn from_linear(value: f64) -> u8 {
    let c = value.clamp(0.0, 1.0);
    unit_to_byte(if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * libm::pow(c, 1.0 / 2.4) - 0.055 })
}

fn linear(color: Rgba) -> [f64; 3] {
    // A theme asks some ten thousand times, of 256 values.
    static LINEAR: LazyLock<[f64; 256]> = LazyLock::new(|| std::array::from_fn(|byte| to_linear(byte as u8)));
    let [r, g, b, _] = color.0;
    [r, g, b].map(|byte| LINEAR[usize::from(byte)])
}

/// Returns the OKLab coordinates (lightness, a, b) of an opaque colour: distances in them are about as large as they
/// look.
pub fn to_oklab(color: Rgba) -> [f64; 3] {
    let [r, g, b] = linear(color);
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

fn from_oklab(lab: [f64; 3]) -> Rgba {
    let [r, g, b] = oklab_to_linear(lab);
    Rgba([from_linear(r), from_linear(g), from_linear(b), 255])
}

fn oklab_to_linear([l, a, b]: [f64; 3]) -> [f64; 3] {
    let cube = |v: f64| v * v * v;
    let (l, m, s) = (
        cube(l + 0.396_337_777_4 * a + 0.215_803_757_3 * b),
        cube(l - 0.105_561_345_8 * a - 0.063_854_172_8 * b),
        cube(l - 0.089_484_177_5 * a - 1.291_485_548_0 * b),
    );
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: Rgba, b: Rgba) -> f64 {
        let (a, b) = (to_oklab(a), to_oklab(b));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    /// Colours as eyes without green and without red see them (Machado, Oliveira and Fernandes 2009, severity 1).
    const DEUTERANOPIA: [[f64; 3]; 3] = [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ];
    const PROTANOPIA: [[f64; 3]; 3] = [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ];

    fn seen(color: Rgba, [r, g, b]: [[f64; 3]; 3]) -> Rgba {
        let [red, green, blue] = linear(color);
        let row = |m: [f64; 3]| from_linear(m[0] * red + m[1] * green + m[2] * blue);
        Rgba([row(r), row(g), row(b), 255])
    }

    fn all_fills() -> Vec<Rgba> {
        let mut fills = Vec::new();
        for dark in [false, true] {
            fills.extend((0..SERVICE_STEPS).map(|step| service_fill(step, dark)));
            fills.extend((0..LEADING as u8).map(|place| leading_fill(place, dark)));
            fills.extend((-20..=20).map(|i| diverging(f64::from(i) / 20.0, dark)));
        }
        fills.extend((0..=40).map(|i| sequential(f64::from(i) / 40.0)));
        fills
    }

    #[test]
    fn text_on_every_fill_is_readable() {
        for fill in all_fills() {
            assert!(ink_on(fill).contrast(fill) >= 4.5, "{} on {}", ink_on(fill).css(), fill.css());
        }
        for grey in 0..=255 {
            let fill = Rgba([grey, grey, grey, 255]);
            assert!(ink_on(fill).contrast(fill) >= 4.5, "grey {grey}");
        }
    }

    #[test]
    fn neighbouring_service_hues_differ_also_without_red_and_green() {
        for dark in [false, true] {
            for step in 0..SERVICE_STEPS {
                let (a, b) = (service_fill(step, dark), service_fill((step + 1) % SERVICE_STEPS, dark));
                assert!(distance(a, b) > 0.05, "{step} {dark}: {}", distance(a, b));
                let (a, b) = (seen(a, DEUTERANOPIA), seen(b, DEUTERANOPIA));
                assert!(distance(a, b) > 0.05, "{step} {dark}: {} without green", distance(a, b));
            }
        }
    }

    #[test]
    fn service_colours_keep_their_lightness_and_are_distinct() {
        for dark in [false, true] {
            let mut seen = std::collections::BTreeSet::new();
            for step in 0..SERVICE_STEPS {
                let fill = service_fill(step, dark);
                assert!(seen.insert(fill), "step {step} repeats {}", fill.css());
                let want = if dark { 0.48 } else { 0.7 } + 0.075 * f64::from(step % 3);
                assert!((to_oklab(fill)[0] - want).abs() < 0.006);
            }
        }
    }

    #[test]
    fn leading_colours_are_not_taken_for_each_other() {
        for dark in [false, true] {
            let fills: Vec<Rgba> = (0..LEADING as u8).map(|place| leading_fill(place, dark)).collect();
            for (at, &a) in fills.iter().enumerate() {
                for &b in &fills[..at] {
                    assert!(distance(a, b) > 0.12, "{} {} {}", a.css(), b.css(), distance(a, b));
                    for eyes in [DEUTERANOPIA, PROTANOPIA] {
                        let apart = distance(seen(a, eyes), seen(b, eyes));
                        assert!(apart > 0.07, "{} {} {apart} {eyes:?}", a.css(), b.css());
                    }
                }
                // Nor for what has no colour.
                let [_, x, y] = to_oklab(a);
                assert!(x.hypot(y) > 0.08, "{} is nearly grey", a.css());
            }
        }
    }

    #[test]
    fn leading_services_have_each_their_own_colour_whatever_their_order() {
        let mut colliding = 0;
        for set in 0..200 {
            let names: Vec<String> = (0..LEADING).map(|i| format!("service-{}", set * 7 + i * i)).collect();
            let steps: std::collections::BTreeSet<u8> =
                names.iter().map(|name| service_step(service_number(name))).collect();
            colliding += usize::from(steps.len() < names.len());
            let places = leading(&names);
            let used: std::collections::BTreeSet<u8> = places.iter().map(|(_, place)| *place).collect();
            assert_eq!((places.len(), used.len()), (LEADING, LEADING), "{names:?}");
            let backwards: Vec<String> = names.iter().rev().cloned().collect();
            assert_eq!(leading(&backwards), places);
            // One alone keeps its hue.
            let step = service_step(service_number(&names[0]));
            assert_eq!(leading(&names[..1])[0].1, step / 3);
        }
        // By the name alone, two of twelve mostly have one colour.
        assert!(colliding > 150, "{colliding}");
        assert!(leading(&[]).is_empty());
        assert_eq!(leading(&vec!["one".to_owned(); 3]).len(), 1);
    }

    #[test]
    fn a_service_keeps_its_colour_and_services_spread_over_the_steps() {
        assert_eq!(service_number("gateway"), service_number("gateway"));
        let mut used = [0u32; SERVICE_STEPS as usize];
        for i in 0..720 {
            used[usize::from(service_step(service_number(&format!("service-{i}"))))] += 1;
        }
        assert!(used.iter().all(|&n| (5..=45).contains(&n)), "{used:?}");
    }

    #[test]
    fn the_sequential_map_grows_lighter() {
        let lightness: Vec<f64> = (0..=50).map(|i| to_oklab(sequential(f64::from(i) / 50.0))[0]).collect();
        assert!(lightness.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(sequential(0.0), Rgba::hex(0x440154));
        assert_eq!(sequential(7.0), Rgba::hex(0xfde725));
        assert_eq!(sequential(f64::NAN), Rgba::hex(0x440154));
    }

    #[test]
    fn the_diverging_map_is_grey_in_the_middle_and_leaves_it_on_both_sides() {
        for dark in [false, true] {
            let grey = diverging(0.0, dark);
            let [r, g, b, _] = grey.0;
            assert!(r.abs_diff(g) < 8 && g.abs_diff(b) < 8);
            for sign in [-1.0, 1.0] {
                let steps: Vec<f64> =
                    (0..=10).map(|i| distance(diverging(sign * f64::from(i) / 10.0, dark), grey)).collect();
                assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
            }
            let [r, _, b, _] = diverging(-1.0, dark).0;
            assert!(b > r, "faster is blue");
            let [r, _, b, _] = diverging(1.0, dark).0;
            assert!(r > b, "slower is orange");
        }
    }

    #[test]
    fn colours_survive_css_and_oklab() {
        for color in all_fills() {
            assert_eq!(Rgba::parse(&color.css()), Some(color));
            let back = from_oklab(to_oklab(color));
            assert!((0..3).all(|i| back.0[i].abs_diff(color.0[i]) <= 1));
        }
        assert_eq!(Rgba::parse("#fa0"), Some(Rgba::hex(0xffaa00)));
        assert_eq!(Rgba::parse(" rgb(1, 2, 3) "), Some(Rgba([1, 2, 3, 255])));
        assert_eq!(Rgba::parse("rgba(1,2,3,0.5)"), Some(Rgba([1, 2, 3, 128])));
        assert_eq!(Rgba::parse("rgb(1 2 3 / 50%)"), Some(Rgba([1, 2, 3, 128])));
        for bad in ["", "#", "#12", "red", "rgb(1,2)", "#ééé"] {
            assert_eq!(Rgba::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn painting_over_blends_by_alpha() {
        let white = Rgba::hex(0xffffff);
        assert_eq!(Rgba::hex(0).with_alpha(0.0).over(white), white);
        assert_eq!(Rgba::hex(0).over(white), Rgba::hex(0));
        assert_eq!(Rgba([0, 0, 0, 51]).over(white), Rgba([204, 204, 204, 255]));
    }

    #[test]
    fn contrast_of_black_and_white_is_21() {
        assert!((Rgba::hex(0).contrast(Rgba::hex(0xffffff)) - 21.0).abs() < 1e-9);
    }
}
