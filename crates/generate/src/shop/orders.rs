//! Carts and orders.

use super::{
    ADD_ITEM, CHARGE, CONVERT, FRAUD, GET_CART, GET_PRODUCTS, GET_PROFILE, LIST_ORDERS, PLACE_ORDER, PRICES,
    QUOTE, RESERVE, STOCK, TRACK, consumer, grpc, keys, sql,
};
use crate::topology::Fate::{Optional, Required, Retried};
use crate::topology::Step::{self, Call, Fork, Own, Publish, Sometimes, Spawn};
use crate::topology::{Definition, Leaf, Role};

pub(super) fn orders() -> Vec<Definition> {
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
