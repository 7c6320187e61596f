//! Light and dark: what every view takes its colours from.

use super::Rgba;
use super::color::{self, SERVICE_STEPS};

/// Colour of a box, by what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Shade {
    /// A service, by its number ([`color::service_number`]).
    Service(u16),
    /// A place on the diverging map in hundredths, -100 to 100.
    Change(i8),
    /// A place on the sequential map in thousandths, 0 to 1000.
    Heat(u16),
    /// Many boxes too narrow to be drawn one by one.
    Merged,
    /// Left out, or without meaning in this view.
    Grey,
}

impl Shade {
    /// Returns the shade of a service.
    pub fn service(name: &str) -> Shade {
        Shade::Service(color::service_number(name))
    }
}

/// The tokens of a theme as colours. The page's style sheet holds the same values as custom properties; see
/// [`TOKENS`](Theme::TOKENS).
#[derive(Clone, PartialEq, Debug)]
pub struct Theme {
    /// Whether the background is dark.
    pub dark: bool,
    /// Behind everything.
    pub background: Rgba,
    /// Behind bars, headers, every other row.
    pub surface: Rgba,
    /// Text on `background` and `surface`.
    pub text: Rgba,
    /// Less important text.
    pub muted: Rgba,
    /// Rules, grids, borders.
    pub line: Rgba,
    /// The one accent: selection, the brush, links.
    pub accent: Rgba,
    /// Errors.
    pub error: Rgba,
    /// The critical path: an edge, which [`PATH_GAP_PX`](Theme::PATH_GAP_PX) of the background part from its bar.
    pub path: Rgba,
    /// Fill and ink of each shade, since mixing colours takes longer than painting with them.
    services: Vec<(Rgba, Rgba)>,
    /// Those of services with the most time, by number.
    leading: Vec<(u16, (Rgba, Rgba))>,
    changes: Vec<(Rgba, Rgba)>,
    heats: Vec<(Rgba, Rgba)>,
    merged: (Rgba, Rgba),
    grey: (Rgba, Rgba),
}

impl Theme {
    /// Gap between a bar and the edge that says how much of it is on the critical path, in CSS pixels: no one colour stands out
    /// from the fills of all services, but this one does from the background.
    pub const PATH_GAP_PX: f64 = 1.0;

    /// The custom properties that a page may override a theme's colours with, in the order of
    /// [`with_tokens`](Theme::with_tokens).
    pub const TOKENS: [&'static str; 8] =
        ["--background", "--surface", "--text", "--muted", "--line", "--accent", "--error", "--path"];

    /// Returns the light theme: dark text on white.
    pub fn light() -> Theme {
        Theme::with_tokens(false, Theme::built_in(false))
    }

    /// Returns the dark theme: light text on near black.
    pub fn dark() -> Theme {
        Theme::with_tokens(true, Theme::built_in(true))
    }

    /// Returns the values of [`TOKENS`](Theme::TOKENS) where nothing else is said.
    pub fn built_in(dark: bool) -> [Rgba; 8] {
        let tokens = if dark {
            [0x14171a, 0x1d2126, 0xe6e9ec, 0x9aa4ae, 0x353c44, 0x6cb0ff, 0xff7b72, 0xffb627]
        } else {
            [0xffffff, 0xf4f5f7, 0x1b1f24, 0x59636e, 0xd5dae0, 0x0b62d6, 0xc4231c, 0xb87d00]
        };
        tokens.map(Rgba::hex)
    }

    /// Returns a theme of the values of [`TOKENS`](Theme::TOKENS).
    pub fn with_tokens(dark: bool, tokens: [Rgba; 8]) -> Theme {
        let [background, surface, text, muted, line, accent, error, path] = tokens;
        let with_ink = |fill: Rgba| (fill, color::ink_on(fill));
        Theme {
            dark,
            background,
            surface,
            text,
            muted,
            line,
            accent,
            error,
            path,
            services: (0..SERVICE_STEPS).map(|step| with_ink(color::service_fill(step, dark))).collect(),
            leading: Vec::new(),
            changes: (-100..=100).map(|i| with_ink(color::diverging(f64::from(i) / 100.0, dark))).collect(),
            heats: (0..=1000).map(|i| with_ink(color::sequential(f64::from(i) / 1000.0))).collect(),
            merged: with_ink(background.mix(muted, 0.45)),
            grey: with_ink(background.mix(muted, 0.25)),
        }
    }

    /// Returns the same, with leading colours for some services ([`color::leading`]).
    #[must_use]
    pub fn with_leading(mut self, leading: &[(u16, u8)]) -> Theme {
        let of = |place| {
            let fill = color::leading_fill(place, self.dark);
            (fill, color::ink_on(fill))
        };
        self.leading = leading.iter().map(|&(number, place)| (number, of(place))).collect();
        self
    }

    /// Returns the values of [`TOKENS`](Theme::TOKENS).
    pub fn tokens(&self) -> [Rgba; 8] {
        let Theme { background, surface, text, muted, line, accent, error, path, .. } = *self;
        [background, surface, text, muted, line, accent, error, path]
    }

    /// Returns the fill of a shade.
    pub fn fill(&self, shade: Shade) -> Rgba {
        self.fill_and_ink(shade).0
    }

    /// Returns the colour of text on the fill of a shade.
    pub fn ink(&self, shade: Shade) -> Rgba {
        self.fill_and_ink(shade).1
    }

    fn fill_and_ink(&self, shade: Shade) -> (Rgba, Rgba) {
        match shade {
            Shade::Service(number) => match self.leading.iter().find(|(of, _)| *of == number) {
                Some((_, both)) => *both,
                None => self.services[usize::from(color::service_step(number))],
            },
            Shade::Change(hundredths) => {
                self.changes[(i32::from(hundredths).clamp(-100, 100) + 100) as usize]
            }
            Shade::Heat(thousandths) => self.heats[usize::from(thousandths.min(1000))],
            Shade::Merged => self.merged,
            Shade::Grey => self.grey,
        }
    }

    /// Returns a fill that stands back, for what a search does not match.
    pub fn dimmed(&self, fill: Rgba) -> Rgba {
        fill.with_alpha(0.22).over(self.background)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of services that between them have every colour in [`all_services`].
    fn services() -> impl Iterator<Item = u16> {
        0..u16::from(SERVICE_STEPS) + color::LEADING as u16
    }

    fn all_services() -> [Theme; 2] {
        let leading: Vec<(u16, u8)> =
            (0..color::LEADING as u8).map(|place| (u16::from(SERVICE_STEPS + place), place)).collect();
        [Theme::light(), Theme::dark()].map(|theme| theme.with_leading(&leading))
    }

    #[test]
    fn text_of_both_themes_is_readable() {
        for theme in [Theme::light(), Theme::dark()] {
            for behind in [theme.background, theme.surface] {
                for ink in [theme.text, theme.muted, theme.accent, theme.error] {
                    assert!(ink.contrast(behind) >= 4.5, "{} on {}", ink.css(), behind.css());
                }
            }
        }
    }

    #[test]
    fn text_on_every_shade_is_readable_dimmed_or_not() {
        for theme in all_services() {
            let services = services().map(Shade::Service);
            let others =
                [Shade::Merged, Shade::Grey, Shade::Change(-100), Shade::Change(0), Shade::Heat(500)];
            for shade in services.chain(others) {
                let fill = theme.fill(shade);
                assert!(theme.ink(shade).contrast(fill) >= 4.5, "{shade:?}");
                let dimmed = theme.dimmed(fill);
                assert!(color::ink_on(dimmed).contrast(dimmed) >= 4.5, "{shade:?} dimmed");
            }
        }
    }

    #[test]
    fn the_critical_path_stands_out_from_what_is_around_it() {
        for theme in [Theme::light(), Theme::dark()] {
            for behind in [theme.background, theme.surface] {
                assert!(theme.path.contrast(behind) >= 3.0, "{}", behind.css());
            }
        }
    }

    #[test]
    fn a_service_that_leads_has_its_place_and_the_others_what_they_had() {
        let names = ["cart", "checkout", "payment"].map(str::to_owned);
        let leading = color::leading(&names);
        for plain in [Theme::light(), Theme::dark()] {
            let theme = plain.clone().with_leading(&leading);
            for name in &names {
                let number = color::service_number(name);
                let place = leading.iter().find(|(of, _)| *of == number).unwrap().1;
                assert_eq!(theme.fill(Shade::service(name)), color::leading_fill(place, theme.dark));
            }
            assert_eq!(theme.fill(Shade::service("ad")), plain.fill(Shade::service("ad")));
            assert_eq!(theme.with_leading(&[]), plain);
        }
    }
}
