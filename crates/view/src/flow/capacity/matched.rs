//! Which services the names in a table of utilisation mean.

use super::utilisation::{UseRow, Utilisation};

/// How much a service uses of what it has, over the rows of the table that mean it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceUse {
    /// Rows, such as pods.
    pub rows: u64,
    /// Mean and greatest share of the processors.
    pub cpu: Option<(f64, f64)>,
    /// Mean and greatest share of the memory.
    pub memory: Option<(f64, f64)>,
}

impl ServiceUse {
    /// Returns the share that says how busy it is: of its processors, or of its memory if the table has no other.
    pub fn share(&self) -> Option<f64> {
        self.cpu.or(self.memory).map(|(mean, _)| mean)
    }

    fn of(rows: &[&UseRow]) -> ServiceUse {
        let stats = |of: fn(&UseRow) -> Option<f64>| {
            let values: Vec<f64> = rows.iter().filter_map(|row| of(row)).collect();
            let most = values.iter().copied().reduce(f64::max)?;
            Some((values.iter().sum::<f64>() / values.len() as f64, most))
        };
        ServiceUse { rows: rows.len() as u64, cpu: stats(|row| row.cpu), memory: stats(|row| row.memory) }
    }
}

/// A table of utilisation beside the services of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matched {
    /// By service, in their order.
    pub uses: Vec<Option<ServiceUse>>,
    /// Names in the table that no service has, in its order, each once.
    pub unknown: Vec<String>,
}

impl Matched {
    /// Returns what a table says of these services.
    pub fn new(table: &Utilisation, services: &[&str]) -> Matched {
        let mut rows: Vec<Vec<&UseRow>> = vec![Vec::new(); services.len()];
        let mut unknown: Vec<String> = Vec::new();
        for row in &table.rows {
            match meant(row, services) {
                Some(at) => rows[at].push(row),
                None => unknown.extend(row.names.first().filter(|name| !unknown.contains(name)).cloned()),
            }
        }
        let uses = rows.iter().map(|rows| (!rows.is_empty()).then(|| ServiceUse::of(rows))).collect();
        Matched { uses, unknown }
    }
}

/// Returns the place of the service that a row means: one whose name it has, then whatever the case of letters, then without its
/// namespace, then without what Kubernetes appends to the names of pods.
fn meant(row: &UseRow, services: &[&str]) -> Option<usize> {
    let named = |name: &str| {
        let exact = services.iter().position(|service| *service == name);
        exact.or_else(|| services.iter().position(|service| service.to_lowercase() == name.to_lowercase()))
    };
    let whole = row.names.iter().find_map(|name| named(name));
    whole.or_else(|| {
        row.names.iter().find_map(|name| {
            let bare = name.rsplit('/').next().unwrap_or(name);
            let of_pod = std::iter::successors(Some(bare), |name| without_suffix(name)).take(3);
            of_pod.filter(|name| !name.is_empty()).find_map(named)
        })
    })
}

/// Returns a name without its last part, if that may be one which Kubernetes has appended: the number of a pod, or characters of a
/// hash, which are neither vowels nor 0, 1 and 3.
fn without_suffix(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once('-')?;
    let is_number = !last.is_empty() && last.len() <= 4 && last.bytes().all(|byte| byte.is_ascii_digit());
    let is_hash = (5..=10).contains(&last.len())
        && last.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte));
    (is_number || is_hash).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::super::utilisation::read;
    use super::*;

    #[test]
    fn names_find_their_services() {
        let services = ["cart", "search", "Web", "shop/orders", "batch-2", "postgres"];
        let table = "name,cpu\ncart-7d9f6c5b8-x2x4z,90\ncart-7d9f6c5b8-k8w2p,70\nSEARCH,12\nshop/web,20\nshop/orders,30\n\
                     batch-2,40\nbatch-2-0,50\npostgres-0,60\nother-7d9f6c5b8-x2x4z,1\ncart-api,1\nother-7d9f6c5b8-x2x4z,2\n";
        let matched = Matched::new(&read(table).unwrap(), &services);
        let uses: Vec<_> = matched.uses.iter().flatten().map(|of| (of.rows, of.cpu.unwrap())).collect();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(uses[0].0 == 2 && near(uses[0].1.0, 0.8) && near(uses[0].1.1, 0.9), "{uses:?}");
        assert_eq!(uses.iter().map(|of| of.0).collect::<Vec<_>>(), [2, 1, 1, 1, 2, 1]);
        assert!(near(uses[4].1.0, 0.45) && near(uses[5].1.0, 0.6), "{uses:?}");
        assert_eq!(matched.unknown, ["other-7d9f6c5b8-x2x4z", "cart-api"]);
        // Of several names of a row the first that a service has counts.
        let series = "series,value\n\"{job=\"\"kubernetes-pods\"\", pod=\"\"search-0\"\"}\",0.5\n";
        let matched = Matched::new(&read(series).unwrap(), &services);
        assert!(matched.uses[1].is_some() && matched.unknown.is_empty());
    }
}
