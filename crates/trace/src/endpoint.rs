//! Endpoints by name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A service and one of its operations. In messages and JSON it is a pair of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
}

impl Endpoint {
    /// Returns the endpoint of these names.
    pub fn new(service: impl Into<String>, operation: impl Into<String>) -> Endpoint {
        Endpoint { service: service.into(), operation: operation.into() }
    }

    /// Returns service and operation.
    pub fn names(&self) -> (&str, &str) {
        (&self.service, &self.operation)
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.names().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Endpoint, D::Error> {
        let (service, operation) = Deserialize::deserialize(deserializer)?;
        Ok(Endpoint { service, operation })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Endpoint {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Endpoint".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        <(String, String)>::json_schema(generator)
    }
}
