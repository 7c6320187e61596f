//! The system of shape `mixed`: a web shop with one slow tail in a known place.
//!
//! Root endpoints are those of `edge-gateway`. Each page goes gateway → `storefront` → the services behind it. The
//! tail: in 2.5 % of `GET /product/{id}` the lookup of `catalog`'s details cache finds nothing, and the details are
//! put together from the database again; nothing else of that request type is slow.

mod orders;
mod pages;
mod services;

use super::topology::{Definition, Fate, Leaf, RequestDefinition, Role, Step, Topology};
use Fate::Optional;
use Step::{Call, Fork, Publish, Sometimes, UnlessHit};

/// Share of product pages for which the details cache finds nothing, in thousandths.
const SLOW_PER_MILLE: u32 = 25;

fn redis(operation: &'static str, statement: &'static str, median_us: u32) -> Leaf {
    Leaf { operation, role: Role::Redis, peer: "redis", statement, median_us }
}

fn sql(operation: &'static str, peer: &'static str, statement: &'static str, median_us: u32) -> Step {
    Step::Leaf(Leaf { operation, role: Role::Postgres, peer, statement, median_us })
}

fn keys(operation: &'static str, statement: &'static str, median_us: u32) -> Step {
    Step::Leaf(redis(operation, statement, median_us))
}

fn consumer(service: &'static str, operation: &'static str, steps: Vec<Step>) -> Definition {
    Definition { service, operation, role: Role::Consumer, steps }
}

fn http(service: &'static str, operation: &'static str, steps: Vec<Step>) -> Definition {
    Definition { service, operation, role: Role::HttpServer, steps }
}

fn grpc(service: &'static str, operation: &'static str, steps: Vec<Step>) -> Definition {
    Definition { service, operation, role: Role::GrpcServer, steps }
}

const VALIDATE: &str = "Auth/ValidateToken";
const LIMIT: &str = "RateLimiter/Check";
const GET_PROFILE: &str = "Users/GetProfile";
const FLAGS: &str = "Flags/Evaluate";
const BADGE: &str = "Cart/GetBadge";
const GET_CART: &str = "Cart/GetCart";
const ADD_ITEM: &str = "Cart/AddItem";
const GET_PRODUCTS: &str = "Catalog/GetProducts";
const DETAILS: &str = "Catalog/GetProductDetails";
const FEATURED: &str = "Catalog/ListFeatured";
const PRICES: &str = "Pricing/GetPrices";
const OFFERS: &str = "Pricing/RecomputeOffers";
const PROMOTIONS: &str = "Promotions/ListActive";
const STOCK: &str = "Inventory/GetStock";
const RESERVE: &str = "Inventory/Reserve";
const CONVERT: &str = "Currency/Convert";
const IMAGES: &str = "Media/ResolveImages";
const REVIEWS: &str = "Reviews/ListReviews";
const AUTHORS: &str = "Users/GetAuthors";
const RECOMMEND: &str = "Recommender/SimilarItems";
const FOR_YOU: &str = "Recommender/ForYou";
const ADS: &str = "Ads/GetAds";
const SEGMENT: &str = "Targeting/Segment";
const BID: &str = "Auction/Bid";
const RATINGS: &str = "Ratings/GetSummary";
const QUERY: &str = "Search/Query";
const SUGGEST: &str = "Search/Suggest";
const QUOTE: &str = "Shipping/Quote";
const TRACK: &str = "Shipping/Track";
const PLACE_ORDER: &str = "Checkout/PlaceOrder";
const LIST_ORDERS: &str = "Checkout/ListOrders";
const CHARGE: &str = "Payment/Charge";
const FRAUD: &str = "Fraud/Score";

/// Returns the shop; `lean` for traces much smaller than its natural ones, in which most services stay out of the way.
pub(super) fn topology(lean: bool) -> Topology {
    let mut all = definitions();
    if lean {
        all.iter_mut().for_each(make_lean);
    }
    Topology::new(&all, &requests())
}

fn definitions() -> Vec<Definition> {
    let mut all = pages::routes();
    all.extend(pages::pages());
    all.extend(services::catalog_and_prices());
    all.extend(services::around_the_page());
    all.extend(orders::orders());
    all
}

/// Leaves out the calls that a page can do without, and those of every page; the own work, and so the names of the
/// places, stay.
fn make_lean(definition: &mut Definition) {
    if definition.operation == "GET /session" {
        return;
    }
    let is_left_out = |step: &Step| match *step {
        Call(_, operation, Optional(_)) => operation != FOR_YOU,
        Call(_, operation, _) => [VALIDATE, GET_PROFILE, GET_PRODUCTS, PRICES, STOCK].contains(&operation),
        Publish(operation, ..) => operation != "orders send",
        _ => false,
    };
    let steps = std::mem::take(&mut definition.steps);
    for (i, step) in steps.iter().enumerate() {
        let left = |n: u16| steps[i + 1..].iter().take(n as usize).filter(|s| !is_left_out(s)).count() as u16;
        match *step {
            Fork(n) if left(n) < 2 => {}
            Fork(n) => definition.steps.push(Fork(left(n))),
            UnlessHit(n) => definition.steps.push(UnlessHit(left(n))),
            Sometimes(per_mille, n) => definition.steps.push(Sometimes(per_mille, left(n))),
            _ if is_left_out(step) => {}
            _ => definition.steps.push(step.clone()),
        }
    }
}

fn requests() -> [RequestDefinition; 9] {
    let request = |operation, weight, fail_per_mille| RequestDefinition {
        service: "edge-gateway",
        operation,
        weight,
        fail_per_mille,
        slow_per_mille: if operation == "GET /product/{id}" { SLOW_PER_MILLE } else { 0 },
    };
    [
        request("GET /product/{id}", 36, 3),
        request("GET /", 20, 2),
        request("GET /search", 15, 5),
        request("GET /cart", 9, 2),
        request("POST /cart/items", 7, 6),
        request("POST /checkout", 4, 15),
        request("GET /account/orders", 4, 4),
        request("GET /session", 4, 3),
        request("GET /ping", 1, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Body, Op};

    #[test]
    fn every_name_resolves_and_every_skip_stays_inside() {
        for lean in [false, true] {
            let mut definitions = definitions();
            if lean {
                definitions.iter_mut().for_each(make_lean);
            }
            let topology = topology(lean);
            assert_eq!(topology.requests.len(), requests().len());
            for (i, definition) in definitions.iter().enumerate() {
                let Body::Steps(ops) = &topology.endpoints[i].body else { panic!("not a server") };
                assert_eq!(ops.len(), definition.steps.len(), "{}", definition.operation);
                for (at, op) in ops.iter().enumerate() {
                    let rest = ops.len() - at - 1;
                    match *op {
                        Op::UnlessHit { skip } | Op::Sometimes { skip, .. } => assert!(skip as usize <= rest),
                        Op::Fork { count } => {
                            let forked = &ops[at + 1..=at + count as usize];
                            assert!(forked.iter().all(|op| matches!(op, Op::Call { .. })), "{op:?}");
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn the_shop_has_the_size_of_a_small_company() {
        let topology = topology(false);
        assert!((12..=28).contains(&topology.services.len()), "{}", topology.services.len());
        let called = topology.endpoints.iter().filter(|e| matches!(e.body, Body::Steps(_))).count();
        assert!((20..=60).contains(&called), "{called}");
    }
}
