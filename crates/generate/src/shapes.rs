//! The systems of the shapes `wide` and `deep`.

use super::topology::{Body, Endpoint, Op, Role, Topology};

const WORKERS: [&str; 8] = [
    "worker-blue",
    "worker-red",
    "worker-green",
    "worker-gold",
    "worker-grey",
    "worker-pink",
    "worker-teal",
    "worker-plum",
];
const TASKS: [&str; 3] = ["Tiles/Render", "Images/Resize", "Shards/Index"];
const LINKS: [&str; 8] = [
    "chain-alder",
    "chain-birch",
    "chain-cedar",
    "chain-dogwood",
    "chain-elm",
    "chain-fir",
    "chain-hazel",
    "chain-juniper",
];

/// Builds a wide system: endpoint 0 is the root, with places 0 (before the first wave), 1 (between waves) and 2 (at the end); all
/// others are leaves.
pub(super) fn wide() -> Topology {
    let mut topology = Topology::default();
    let service = topology.service("batch-coordinator");
    topology.endpoints.push(Endpoint {
        service,
        operation: "POST /batch",
        role: Role::HttpServer,
        peer: "",
        statement: "",
        body: Body::Steps(Vec::new()),
    });
    for step in 0..3 {
        let name = format!("{}:{step}", topology.name(0));
        topology.place(0, name, false);
    }
    for (i, worker) in WORKERS.into_iter().enumerate() {
        for (j, operation) in TASKS.into_iter().enumerate() {
            let service = topology.service(worker);
            let endpoint = topology.endpoints.len() as u16;
            let name = format!("{worker}:{operation}:0");
            let place = topology.place(endpoint, name, false);
            let median_us = 700 * (1 + j as u32) + 90 * i as u32;
            topology.endpoints.push(Endpoint {
                service,
                operation,
                role: Role::GrpcServer,
                peer: "",
                statement: "",
                body: Body::Leaf { place, median_us, sigma: 0.5 },
            });
        }
    }
    topology
}

/// Makes server and client endpoints in turn, round a ring of services; each server works before and after its call.
pub(super) fn deep() -> Topology {
    let mut topology = Topology::default();
    for (i, link) in LINKS.into_iter().enumerate() {
        let service = topology.service(link);
        let server = topology.endpoints.len() as u16;
        topology.endpoints.push(Endpoint {
            service,
            operation: "Relay/Forward",
            role: Role::GrpcServer,
            peer: "",
            statement: "",
            body: Body::Steps(Vec::new()),
        });
        let ops = (0..2)
            .map(|step| {
                let name = format!("{}:{step}", topology.name(server));
                Op::Own {
                    place: topology.place(server, name, false),
                    median_us: 90 + 15 * i as u32 - 30 * step,
                }
            })
            .collect();
        topology.endpoints[server as usize].body = Body::Steps(ops);
        let peer = LINKS[(i + 1) % LINKS.len()];
        let to = (2 * (i + 1) % (2 * LINKS.len())) as u16;
        topology.add_client(service, "RelayClient/Forward", Role::GrpcClient, peer, to);
    }
    topology
}
