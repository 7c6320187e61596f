//! The choices of the diagnosis, as keys of the address: `tail`, `top`, `list`.

use pathlight_engine::diagnosis::DiagnosisSettings;

/// The list of the diagnosis that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiagnosisList {
    /// The nested report.
    #[default]
    Report,
    /// The causes of the slow tail.
    Tail,
    /// Places by what changed from set A to set B.
    Places,
    /// Services by what changed.
    Services,
    /// Layers 1 and 2: the times of every endpoint, over all traces and by request type.
    Layers,
    /// Layers 3 and 4: the times of every position, by shape and by order.
    Positions,
    /// Places where one more span would tell most.
    Instrument,
}

impl DiagnosisList {
    /// Every list, in the order of the page.
    pub const ALL: [DiagnosisList; 7] = [
        DiagnosisList::Report,
        DiagnosisList::Tail,
        DiagnosisList::Places,
        DiagnosisList::Services,
        DiagnosisList::Layers,
        DiagnosisList::Positions,
        DiagnosisList::Instrument,
    ];

    /// Returns its value of `list=`.
    pub fn key(self) -> &'static str {
        match self {
            DiagnosisList::Report => "report",
            DiagnosisList::Tail => "tail",
            DiagnosisList::Places => "places",
            DiagnosisList::Services => "services",
            DiagnosisList::Layers => "layers",
            DiagnosisList::Positions => "positions",
            DiagnosisList::Instrument => "instrument",
        }
    }

    /// Returns whether it is about two sides.
    pub fn is_of_sides(self) -> bool {
        matches!(self, DiagnosisList::Places | DiagnosisList::Services)
    }
}

/// Choices of the diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiagnosisChoice {
    /// Start of the tail, and lengths of the lists.
    pub settings: DiagnosisSettings,
    /// The list in sight.
    pub list: DiagnosisList,
}

impl DiagnosisChoice {
    /// Returns how many more of a level are shown at once.
    pub fn more(level: u32) -> u32 {
        if level <= 1 { 10 } else { 2 }
    }

    /// Shows more lines of a level, from 1.
    pub fn show_more(&mut self, level: u32) {
        if let Some(shown) = self.settings.top.get_mut(level.saturating_sub(1) as usize) {
            *shown = shown.saturating_add(DiagnosisChoice::more(level)).min(MOST);
        }
    }

    /// Takes a key of the address; tells whether it was one of these. A value that makes no sense is as if it were not
    /// there.
    pub(crate) fn read(&mut self, key: &str, value: &str) -> bool {
        let defaults = DiagnosisSettings::default();
        match key {
            "tail" => {
                let percent = value.parse().ok().filter(|percent: &f64| (0.0..=100.0).contains(percent));
                self.settings.tail_permille =
                    percent.map_or(defaults.tail_permille, |percent| (percent * 10.0).round() as u32);
            }
            "top" => {
                let parts: Vec<u32> = value.split(',').map_while(|part| part.parse().ok()).collect();
                let top = <[u32; 4]>::try_from(parts).ok();
                self.settings.top = top.map_or(defaults.top, |top| top.map(|shown| shown.clamp(1, MOST)));
            }
            "list" => {
                self.list =
                    DiagnosisList::ALL.into_iter().find(|list| list.key() == value).unwrap_or_default();
            }
            _ => return false,
        }
        true
    }

    /// Returns keys and values of all that differs from the defaults.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let defaults = DiagnosisChoice::default();
        let DiagnosisSettings { tail_permille, top, .. } = &self.settings;
        let percent = || (f64::from(*tail_permille) / 10.0).to_string();
        let all = [
            ("tail", (*tail_permille != defaults.settings.tail_permille).then(percent)),
            ("top", (*top != defaults.settings.top).then(|| top.map(|shown| shown.to_string()).join(","))),
            ("list", (self.list != defaults.list).then(|| self.list.key().to_owned())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Most lines of a level below one parent.
const MOST: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_as_it_is_written_and_nonsense_is_the_usual() {
        let settings =
            DiagnosisSettings { tail_permille: 995, top: [20, 4, 2, 2], ..DiagnosisSettings::default() };
        let mut read = DiagnosisChoice::default();
        let choice = DiagnosisChoice { settings, list: DiagnosisList::Tail };
        for (key, value) in choice.pairs() {
            assert!(read.read(key, &value), "{key}");
        }
        assert_eq!(read, choice);
        for (key, value) in [("tail", "120"), ("top", "1,2"), ("list", "x")] {
            assert!(read.read(key, value));
        }
        assert_eq!(read, DiagnosisChoice::default());
        assert!(read.pairs().is_empty() && !read.read("other", "1"));
        read.show_more(1);
        read.show_more(4);
        assert_eq!(read.settings.top, [20, 2, 2, 4]);
    }
}
