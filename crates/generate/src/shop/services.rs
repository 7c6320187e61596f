//! The services behind every page: catalog, prices, and what stands around them.

use super::{
    ADS, AUTHORS, BADGE, BID, CONVERT, DETAILS, FEATURED, FLAGS, FOR_YOU, GET_PRODUCTS, GET_PROFILE, IMAGES,
    LIMIT, OFFERS, PRICES, PROMOTIONS, QUERY, RATINGS, RECOMMEND, REVIEWS, SEGMENT, STOCK, SUGGEST, VALIDATE,
    consumer, grpc, keys, redis, sql,
};
use crate::topology::Fate::{Optional, Required};
use crate::topology::Step::{self, Cache, Call, Fork, Own, SlowCache, UnlessHit};
use crate::topology::{Definition, Leaf, Role};

pub(super) fn catalog_and_prices() -> Vec<Definition> {
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

pub(super) fn around_the_page() -> Vec<Definition> {
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
