//! The system of shape `mixed`: a web shop with one slow tail in a known place.
//!
//! Root endpoints are those of `edge-gateway`. Each page goes gateway → `storefront` → the services behind it. The
//! tail: in 2.5 % of `GET /product/{id}` the lookup of `catalog`'s details cache finds nothing, and the details are
//! put together from the database again; nothing else of that request type is slow.

use super::topology::{Definition, Fate, Leaf, RequestDefinition, Role, Step, Topology};
use Fate::{Optional, Required, Retried};
use Step::{Cache, Call, Fork, Own, Pages, Publish, SlowCache, Sometimes, Spawn, UnlessHit};

/// In how many of 1,000 product pages the details cache finds nothing.
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

fn http(service: &'static str, operation: &'static str, steps: Vec<Step>) -> Definition {
    Definition { service, operation, role: Role::HttpServer, steps }
}

fn grpc(service: &'static str, operation: &'static str, steps: Vec<Step>) -> Definition {
    Definition { service, operation, role: Role::GrpcServer, steps }
}

/// A page's root: who is it, may they, then the page itself.
fn route(operation: &'static str) -> Definition {
    let steps = vec![
        Own(700),
        Fork(2),
        Call("auth", VALIDATE, Required),
        Call("rate-limiter", LIMIT, Optional(1)),
        Own(500),
        Pages("storefront", operation),
        Own(800),
    ];
    http("edge-gateway", operation, steps)
}

/// What every page of the storefront starts with: who asks, and with which features.
fn page(operation: &'static str, body: Vec<Step>) -> Definition {
    let mut steps = vec![
        Own(900),
        Fork(3),
        Call("user-profile", GET_PROFILE, Required),
        Call("feature-flags", FLAGS, Optional(1)),
        Call("cart", BADGE, Optional(1)),
        Own(800),
    ];
    steps.extend(body);
    http("storefront", operation, steps)
}

fn consumer(service: &'static str, operation: &'static str, steps: Vec<Step>) -> Definition {
    Definition { service, operation, role: Role::Consumer, steps }
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

/// The shop; `lean` for traces much smaller than its natural ones, in which most services stay out of the way.
pub(super) fn topology(lean: bool) -> Topology {
    let mut all = definitions();
    if lean {
        all.iter_mut().for_each(make_lean);
    }
    Topology::new(&all, &requests())
}

fn definitions() -> Vec<Definition> {
    let mut all = routes();
    all.extend(pages());
    all.extend(catalog_and_prices());
    all.extend(around_the_page());
    all.extend(orders());
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

fn routes() -> Vec<Definition> {
    vec![
        http("edge-gateway", "GET /ping", vec![Own(180)]),
        http(
            "edge-gateway",
            "GET /session",
            vec![
                Own(600),
                Call("auth", VALIDATE, Required),
                Own(400),
                Call("user-profile", GET_PROFILE, Required),
                Own(500),
            ],
        ),
        route("GET /product/{id}"),
        route("GET /"),
        route("GET /search"),
        route("GET /cart"),
        route("POST /cart/items"),
        route("POST /checkout"),
        route("GET /account/orders"),
    ]
}

fn pages() -> Vec<Definition> {
    vec![
        page(
            "GET /product/{id}",
            vec![
                Fork(4),
                Call("catalog", DETAILS, Required),
                Call("reviews", REVIEWS, Optional(8)),
                Call("recommendation", RECOMMEND, Optional(6)),
                Call("ads", ADS, Optional(10)),
                Own(3600),
                Publish("page_views send", "analytics", "page_views process"),
                Own(600),
            ],
        ),
        page(
            "GET /",
            vec![
                Fork(4),
                Call("catalog", FEATURED, Required),
                Call("recommendation", FOR_YOU, Optional(6)),
                Call("reviews", REVIEWS, Optional(8)),
                Call("ads", ADS, Optional(10)),
                Own(5200),
            ],
        ),
        page(
            "GET /search",
            vec![
                Fork(3),
                Call("search", QUERY, Required),
                Call("search", SUGGEST, Optional(4)),
                Call("ads", ADS, Optional(10)),
                Own(4200),
            ],
        ),
        page(
            "GET /cart",
            vec![
                Fork(3),
                Call("cart", GET_CART, Required),
                Call("recommendation", RECOMMEND, Optional(6)),
                Call("ads", ADS, Optional(10)),
                Own(2800),
            ],
        ),
        page(
            "POST /cart/items",
            vec![
                Fork(2),
                Call("cart", ADD_ITEM, Required),
                Call("ads", ADS, Optional(10)),
                Own(900),
                Publish("cart_events send", "analytics", "cart_events process"),
                Own(500),
            ],
        ),
        page(
            "POST /checkout",
            vec![
                Fork(2),
                Call("checkout", PLACE_ORDER, Required),
                Call("recommendation", RECOMMEND, Optional(6)),
                Own(3000),
            ],
        ),
        page(
            "GET /account/orders",
            vec![Fork(2), Call("checkout", LIST_ORDERS, Required), Call("ads", ADS, Optional(10)), Own(2400)],
        ),
    ]
}

fn catalog_and_prices() -> Vec<Definition> {
    let product_get = redis("redis GET product_details", "GET product_details:{id}", 900);
    vec![
        grpc(
            "catalog",
            DETAILS,
            vec![
                Own(1500),
                SlowCache(product_get),
                UnlessHit(6),
                Own(1200),
                sql(
                    "SELECT product_details",
                    "postgres-catalog",
                    "SELECT d.* FROM product_details d JOIN variants v ON v.product_id = d.id WHERE d.id = $1",
                    78_000,
                ),
                Own(9000),
                Call("pricing", OFFERS, Required),
                Own(2200),
                keys("redis SET product_details", "SET product_details:{id} EX 3600", 1100),
                Own(3100),
                Fork(4),
                Call("pricing", PRICES, Required),
                Call("inventory", STOCK, Optional(3)),
                Call("currency", CONVERT, Optional(1)),
                Call("media", IMAGES, Optional(2)),
                Own(2300),
            ],
        ),
        grpc(
            "catalog",
            FEATURED,
            vec![
                Own(1900),
                keys("redis GET featured", "GET featured:{locale}", 1000),
                Own(4700),
                Fork(4),
                Call("pricing", PRICES, Required),
                Call("inventory", STOCK, Optional(3)),
                Call("currency", CONVERT, Optional(1)),
                Call("media", IMAGES, Optional(2)),
                Own(2600),
            ],
        ),
        grpc(
            "catalog",
            GET_PRODUCTS,
            vec![
                Own(500),
                Cache(redis("redis MGET product", "MGET product:{id} ...", 800), 15),
                UnlessHit(2),
                sql(
                    "SELECT products",
                    "postgres-catalog",
                    "SELECT id, name, price FROM products WHERE id = ANY($1)",
                    3600,
                ),
                Own(500),
                Own(600),
            ],
        ),
        grpc(
            "pricing",
            PRICES,
            vec![
                Own(900),
                Cache(redis("redis MGET price", "MGET price:{sku} ...", 800), 20),
                UnlessHit(2),
                sql(
                    "SELECT prices",
                    "postgres-pricing",
                    "SELECT sku, amount, currency FROM prices WHERE sku = ANY($1) AND valid_to > now()",
                    4200,
                ),
                Own(600),
                Own(1100),
                Call("promotions", PROMOTIONS, Optional(3)),
                Own(800),
            ],
        ),
        grpc(
            "pricing",
            OFFERS,
            vec![
                Own(4200),
                sql(
                    "SELECT offers",
                    "postgres-pricing",
                    "SELECT * FROM offers WHERE product_id = $1 ORDER BY rank LIMIT 50",
                    11_000,
                ),
                Own(6500),
            ],
        ),
        grpc(
            "promotions",
            PROMOTIONS,
            vec![Own(600), keys("redis SMEMBERS promotions", "SMEMBERS promotions:{segment}", 600), Own(500)],
        ),
        grpc(
            "inventory",
            STOCK,
            vec![Own(350), keys("redis MGET stock", "MGET stock:{sku} ...", 500), Own(250)],
        ),
        grpc("currency", CONVERT, vec![Own(220)]),
        grpc("media", IMAGES, vec![Own(500), keys("redis MGET image", "MGET image:{id} ...", 600), Own(400)]),
    ]
}

fn around_the_page() -> Vec<Definition> {
    vec![
        grpc(
            "auth",
            VALIDATE,
            vec![Own(600), keys("redis GET session", "GET session:{token}", 650), Own(550)],
        ),
        grpc(
            "rate-limiter",
            LIMIT,
            vec![Own(120), keys("redis INCR bucket", "INCR bucket:{client}", 350), Own(90)],
        ),
        grpc(
            "user-profile",
            GET_PROFILE,
            vec![
                Own(800),
                Cache(redis("redis GET profile", "GET profile:{user}", 700), 15),
                UnlessHit(2),
                sql("SELECT users", "postgres-users", "SELECT * FROM users WHERE id = $1", 3200),
                Own(300),
                Own(900),
            ],
        ),
        grpc(
            "user-profile",
            AUTHORS,
            vec![Own(250), keys("redis MGET author", "MGET author:{user} ...", 450), Own(200)],
        ),
        grpc(
            "feature-flags",
            FLAGS,
            vec![Own(180), keys("redis GET ruleset", "GET ruleset:{app}", 300), Own(120)],
        ),
        grpc("cart", BADGE, vec![Own(200), keys("redis HLEN cart", "HLEN cart:{user}", 400), Own(120)]),
        grpc(
            "reviews",
            REVIEWS,
            vec![
                Own(450),
                Cache(redis("redis GET reviews", "GET reviews:{id}", 500), 15),
                UnlessHit(1),
                sql(
                    "SELECT reviews",
                    "postgres-reviews",
                    "SELECT * FROM reviews WHERE product_id = $1 ORDER BY created_at DESC LIMIT 10",
                    2200,
                ),
                Own(350),
                Fork(2),
                Call("user-profile", AUTHORS, Optional(3)),
                Call("ratings", RATINGS, Optional(3)),
                Own(300),
            ],
        ),
        grpc(
            "ratings",
            RATINGS,
            vec![Own(200), keys("redis HGETALL ratings", "HGETALL ratings:{id}", 400), Own(150)],
        ),
        grpc(
            "recommendation",
            RECOMMEND,
            vec![
                Own(500),
                keys("redis HGETALL features", "HGETALL features:{user}", 500),
                Own(700),
                Call("catalog", GET_PRODUCTS, Optional(3)),
                Own(350),
            ],
        ),
        grpc(
            "recommendation",
            FOR_YOU,
            vec![
                Own(1800),
                keys("redis HGETALL features", "HGETALL features:{user}", 500),
                Own(7500),
                Call("catalog", GET_PRODUCTS, Optional(3)),
                Own(3000),
            ],
        ),
        grpc(
            "ads",
            ADS,
            vec![
                Own(300),
                Fork(2),
                Call("ads-targeting", SEGMENT, Optional(6)),
                Call("ads-auction", BID, Optional(9)),
                Own(250),
                keys("redis ZRANGE campaigns", "ZRANGE campaigns:{segment} 0 9", 450),
                Own(250),
            ],
        ),
        grpc(
            "ads-targeting",
            SEGMENT,
            vec![Own(220), keys("redis GET segment", "GET segment:{user}", 400), Own(160)],
        ),
        grpc(
            "ads-auction",
            BID,
            vec![Own(260), keys("redis ZREVRANGE bids", "ZREVRANGE bids:{slot} 0 4", 420), Own(200)],
        ),
        grpc(
            "search",
            QUERY,
            vec![
                Own(2400),
                Step::Leaf(Leaf {
                    operation: "POST products/_search",
                    role: Role::Search,
                    peer: "elasticsearch",
                    statement: "{\"query\":{\"multi_match\":{\"query\":\"?\",\"fields\":[\"name^3\",\"text\"]}}}",
                    median_us: 19_000,
                }),
                Own(4600),
                Call("catalog", GET_PRODUCTS, Required),
                Own(900),
                Fork(4),
                Call("pricing", PRICES, Required),
                Call("inventory", STOCK, Optional(3)),
                Call("currency", CONVERT, Optional(1)),
                Call("media", IMAGES, Optional(2)),
                Own(2500),
            ],
        ),
        grpc(
            "search",
            SUGGEST,
            vec![Own(500), keys("redis ZRANGE suggest", "ZRANGE suggest:{prefix} 0 7", 550), Own(350)],
        ),
        consumer(
            "analytics",
            "page_views process",
            vec![
                Own(1400),
                sql("INSERT page_views", "clickhouse", "INSERT INTO page_views VALUES (?)", 5200),
                Own(300),
            ],
        ),
        consumer(
            "analytics",
            "cart_events process",
            vec![
                Own(1100),
                sql("INSERT cart_events", "clickhouse", "INSERT INTO cart_events VALUES (?)", 4800),
                Own(300),
            ],
        ),
    ]
}

fn orders() -> Vec<Definition> {
    vec![
        grpc(
            "cart",
            GET_CART,
            vec![
                Own(1000),
                keys("redis HGETALL cart", "HGETALL cart:{user}", 900),
                Own(1100),
                Call("catalog", GET_PRODUCTS, Required),
                Own(800),
                Fork(4),
                Call("pricing", PRICES, Required),
                Call("inventory", STOCK, Optional(3)),
                Call("currency", CONVERT, Optional(1)),
                Call("shipping", QUOTE, Optional(4)),
                Own(1600),
            ],
        ),
        grpc(
            "cart",
            ADD_ITEM,
            vec![
                Own(1300),
                Call("inventory", STOCK, Required),
                Own(1100),
                keys("redis HSET cart", "HSET cart:{user}", 1000),
                Own(1200),
            ],
        ),
        grpc("shipping", QUOTE, vec![Own(400), keys("redis GET rates", "GET rates:{region}", 500), Own(450)]),
        grpc(
            "shipping",
            TRACK,
            vec![
                Own(500),
                sql(
                    "SELECT shipments",
                    "postgres-shipping",
                    "SELECT * FROM shipments WHERE order_id = $1",
                    2600,
                ),
                Own(400),
            ],
        ),
        grpc(
            "checkout",
            PLACE_ORDER,
            vec![
                Own(1800),
                Call("cart", GET_CART, Required),
                Own(1500),
                Fork(3),
                Call("fraud", FRAUD, Required),
                Call("inventory", RESERVE, Required),
                Call("shipping", QUOTE, Optional(4)),
                Own(1200),
                Call("payment", CHARGE, Retried(40)),
                Own(1400),
                sql(
                    "INSERT orders",
                    "postgres-orders",
                    "INSERT INTO orders (id, user_id, total) VALUES ($1, $2, $3)",
                    5200,
                ),
                Own(700),
                Publish("orders send", "shipping", "orders process"),
                Own(300),
                Spawn("notification", "SendReceipt"),
                Own(2000),
            ],
        ),
        grpc(
            "checkout",
            LIST_ORDERS,
            vec![
                Own(1200),
                sql(
                    "SELECT orders",
                    "postgres-orders",
                    "SELECT * FROM orders WHERE user_id = $1 ORDER BY created_at DESC LIMIT 20",
                    7800,
                ),
                Own(1300),
                Call("catalog", GET_PRODUCTS, Required),
                Own(700),
                Sometimes(600, 1),
                Call("shipping", TRACK, Optional(4)),
                Own(1100),
            ],
        ),
        grpc(
            "fraud",
            FRAUD,
            vec![Own(6500), keys("redis GET velocity", "GET velocity:{user}", 700), Own(8200)],
        ),
        grpc(
            "inventory",
            RESERVE,
            vec![
                Own(900),
                sql(
                    "UPDATE stock",
                    "postgres-inventory",
                    "UPDATE stock SET reserved = reserved + $2 WHERE sku = $1",
                    4600,
                ),
                Own(700),
            ],
        ),
        grpc(
            "payment",
            CHARGE,
            vec![
                Own(2200),
                Step::Leaf(Leaf {
                    operation: "POST /v1/charges",
                    role: Role::HttpClient,
                    peer: "bank-gateway",
                    statement: "https://bank.example/v1/charges",
                    median_us: 44_000,
                }),
                Own(1500),
                sql(
                    "INSERT charges",
                    "postgres-payment",
                    "INSERT INTO charges (id, order_id, amount) VALUES ($1, $2, $3)",
                    4200,
                ),
                Own(1000),
            ],
        ),
        consumer(
            "shipping",
            "orders process",
            vec![
                Own(1900),
                sql(
                    "INSERT shipments",
                    "postgres-shipping",
                    "INSERT INTO shipments (order_id) VALUES ($1)",
                    5600,
                ),
                Own(800),
            ],
        ),
        Definition {
            service: "notification",
            operation: "SendReceipt",
            role: Role::Internal,
            steps: vec![
                Own(2600),
                Call("user-profile", GET_PROFILE, Optional(2)),
                Own(14_000),
                Step::Leaf(Leaf {
                    operation: "POST /v3/mail/send",
                    role: Role::HttpClient,
                    peer: "mail-relay",
                    statement: "https://mail.example/v3/mail/send",
                    median_us: 48_000,
                }),
                Own(900),
            ],
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::topology::{Body, Op};
    use super::*;

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
