//! Tags that say where something runs.

/// What a tag of processes is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeploymentKind {
    /// The version of what runs.
    Version,
    /// A feature that is on or off.
    Flag,
    /// One of several environments.
    Environment,
    /// A place in the network: calls may cross from one to another.
    Place,
    /// What it runs on.
    Hardware,
}

impl DeploymentKind {
    /// Returns whether its values change with a release.
    pub fn is_released(self) -> bool {
        matches!(self, DeploymentKind::Version | DeploymentKind::Flag | DeploymentKind::Environment)
    }
}

/// Known keys: those of OpenTelemetry's conventions, and what older tracers write. Of keys that divide the requests alike the first
/// is shown.
const KNOWN: [(&str, DeploymentKind); 30] = [
    ("service.version", DeploymentKind::Version),
    ("version", DeploymentKind::Version),
    ("app.version", DeploymentKind::Version),
    ("container.image.tag", DeploymentKind::Version),
    ("container.image.tags", DeploymentKind::Version),
    ("git.commit.sha", DeploymentKind::Version),
    ("vcs.ref.head.revision", DeploymentKind::Version),
    ("deployment.environment.name", DeploymentKind::Environment),
    ("deployment.environment", DeploymentKind::Environment),
    ("environment", DeploymentKind::Environment),
    ("env", DeploymentKind::Environment),
    ("service.namespace", DeploymentKind::Environment),
    ("cloud.availability_zone", DeploymentKind::Place),
    ("availability_zone", DeploymentKind::Place),
    ("topology.kubernetes.io/zone", DeploymentKind::Place),
    ("zone", DeploymentKind::Place),
    ("cloud.region", DeploymentKind::Place),
    ("region", DeploymentKind::Place),
    ("datacenter", DeploymentKind::Place),
    ("k8s.cluster.name", DeploymentKind::Place),
    ("k8s.node.name", DeploymentKind::Place),
    ("host.name", DeploymentKind::Place),
    ("hostname", DeploymentKind::Place),
    ("host.type", DeploymentKind::Hardware),
    ("host.arch", DeploymentKind::Hardware),
    ("node_pool", DeploymentKind::Hardware),
    ("nodepool", DeploymentKind::Hardware),
    ("instance_type", DeploymentKind::Hardware),
    ("sku", DeploymentKind::Hardware),
    ("cloud.platform", DeploymentKind::Hardware),
];
/// Keys of feature flags begin so; the names of flags alone say nothing.
const FLAGS: [&str; 2] = ["feature_flag.", "feature."];
const FLAG_NAME: &str = "feature_flag.key";

/// Returns what a key is about, and its place among those that are known; `None` if it is not.
fn known(key: &str) -> Option<(usize, DeploymentKind)> {
    let is_flag = FLAGS.iter().any(|start| key.starts_with(start)) && key != FLAG_NAME;
    let at = KNOWN.iter().position(|(known, _)| *known == key);
    at.map(|at| (at, KNOWN[at].1)).or(is_flag.then_some((KNOWN.len(), DeploymentKind::Flag)))
}

/// Returns what a tag is about; `None` if it says not, as far as is known, where something runs.
pub fn kind_of(key: &str) -> Option<DeploymentKind> {
    known(key).map(|(_, kind)| kind)
}

/// Returns a number by which keys are preferred: lower ones first.
pub(super) fn rank(key: &str) -> usize {
    known(key).map_or(usize::MAX, |(at, _)| at)
}
