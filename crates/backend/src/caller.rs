//! Who asks a query service: what goes with every request to it, and with no other.

/// A tenant, and the header that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    header: String,
    name: String,
}

/// Headers that usually name a tenant: those of Jaeger and of Tempo.
pub const TENANT_HEADERS: [&str; 2] = ["x-tenant", "X-Scope-OrgID"];

/// Headers that say something else; browsers set most of them themselves.
const OTHER_HEADERS: [&str; 12] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "origin",
    "referer",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Returns whether a header may name a tenant: any that neither says who is logged in nor belongs to the connection.
pub fn is_tenant_header(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let lower = name.to_ascii_lowercase();
    let is_other =
        lower.starts_with("proxy-") || lower.starts_with("sec-") || OTHER_HEADERS.contains(&&*lower);
    !name.is_empty() && name.bytes().all(is_token) && !is_other
}

impl Tenant {
    /// Returns a tenant; `None` if the header may name none, or the name cannot stand in a header.
    pub fn new(header: &str, name: &str) -> Option<Tenant> {
        let (header, name) = (header.trim(), name.trim());
        let can_stand = !name.is_empty() && name.bytes().all(|byte| (0x20..0x7F).contains(&byte));
        (is_tenant_header(header) && can_stand)
            .then(|| Tenant { header: header.to_owned(), name: name.to_owned() })
    }

    /// Reads `header: name`.
    pub fn parse(text: &str) -> Option<Tenant> {
        let (header, name) = text.split_once(':')?;
        Tenant::new(header, name)
    }

    /// Returns the header.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns the name of the tenant.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Bearer token.
    pub token: Option<String>,
    /// Whose traces are asked for, where a service holds those of many.
    pub tenants: Vec<Tenant>,
}

impl Caller {
    /// Returns the headers that say so, as name and value.
    pub fn headers(&self) -> Vec<(String, String)> {
        let token = self.token.iter().map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
        token.chain(self.tenants.iter().map(|tenant| (tenant.header.clone(), tenant.name.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_named_by_a_header_that_says_nothing_else() {
        let tenant = Tenant::parse("X-Scope-OrgID:  team a ").expect("a tenant");
        assert_eq!((tenant.header(), tenant.name()), ("X-Scope-OrgID", "team a"));
        for bad in [
            "x-tenant",
            "x-tenant:",
            ": a",
            "Cookie: a",
            "AUTHORIZATION: b",
            "x y: a",
            "sec-x: a",
            "x: a\nb: c",
        ] {
            assert_eq!(Tenant::parse(bad), None, "{bad}");
        }
        let caller = Caller { token: Some("t".to_owned()), tenants: vec![tenant] };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(caller.headers(), [pair("Authorization", "Bearer t"), pair("X-Scope-OrgID", "team a")]);
        assert_eq!(Caller::default().headers(), []);
    }
}
