//! The options of questions, as JSON. A doc comment of a field is what whoever writes JavaScript reads.

use crate::trouble::Trouble;
use pathlight_engine::requests::{Selection, Until};
use pathlight_view::asked::AskedRequests;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads options.
pub fn read<T: DeserializeOwned>(options: &str) -> Result<T, Trouble> {
    serde_json::from_str(options).map_err(|error| {
        let words = error.to_string();
        // The place in the text says nothing to who gave an object.
        Trouble::option(words.split(" at line ").next().unwrap_or_default())
    })
}

/// Options of how inputs are read.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ReadSettings {
    /// Read only one of so many traces, chosen by id: the same ones every time
    pub sample: Option<u32>,
    /// Tag that says how many requests a trace stands for, before those that are known
    pub weight: Option<String>,
}

/// When requests end.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// With their answer.
    #[default]
    Answer,
    /// When everything is done that they lead to, asynchronous spans and messages included.
    Done,
}

impl From<End> for Until {
    fn from(end: End) -> Until {
        match end {
            End::Answer => Until::Answer,
            End::Done => Until::Done,
        }
    }
}

/// Declares the options of a question: which requests, and fields of its own. Unknown keys are found only where nothing that is
/// flattened flattens more.
macro_rules! options {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $field:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
        pub struct $name {
            #[serde(flatten)]
            pub asked: pathlight_view::asked::AskedRequests,
            /// When requests end: with their answer, unless set
            pub until: Option<crate::options::End>,
            $($(#[$meaning])* pub $field: $of,)*
        }

        impl $name {
            /// Returns which requests the question is about.
            pub fn requests(&self) -> crate::options::Which<'_> {
                crate::options::Which { asked: &self.asked, until: self.until.unwrap_or_default() }
            }
        }
    };
}
pub(crate) use options;

/// Which requests a question is about.
#[derive(Clone, Copy, Debug)]
pub struct Which<'a> {
    /// Those that are named.
    pub asked: &'a AskedRequests,
    /// When they end.
    pub until: End,
}

impl Which<'_> {
    /// Returns the requests of a group.
    pub fn of(self, group: u8) -> Result<Selection, Trouble> {
        let until = self.until.into();
        self.asked.of(Selection { group, until, ..Selection::default() }).map_err(Trouble::option)
    }
}

options! {
    /// Options of questions that need to know no more than which requests.
    RequestOptions {}
}
