//! Pages that the gateway and the storefront answer.

use super::{
    ADD_ITEM, ADS, BADGE, DETAILS, FEATURED, FLAGS, FOR_YOU, GET_CART, GET_PROFILE, LIMIT, LIST_ORDERS,
    PLACE_ORDER, QUERY, RECOMMEND, REVIEWS, SUGGEST, VALIDATE, http,
};
use crate::topology::Definition;
use crate::topology::Fate::{Optional, Required};
use crate::topology::Step::{self, Call, Fork, Own, Pages, Publish};

/// Returns a page's root: who is it, may they, then the page itself.
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

/// Returns what every page of the storefront starts with: who asks, and with which features.
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

pub(super) fn routes() -> Vec<Definition> {
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

pub(super) fn pages() -> Vec<Definition> {
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
