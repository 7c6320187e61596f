//! The table of edges that messages take.

use crate::table::{Column, Number, Table};
use pathlight_base::format;
use pathlight_engine::queues::QueueEdge;

/// Returns the table, most time in queues first.
pub fn table() -> Table<QueueEdge> {
    let columns = vec![
        Column::text("queue", "Queue", "Name of the queue or topic, if one was recorded", |edge: &QueueEdge| {
            format::printable(&edge.destination).into()
        })
        .by(|a, b| a.destination.cmp(&b.destination))
        .csv_as(&["destination"], |edge| vec![edge.destination.clone()]),
        Column::count("messages", "Messages", "Pairs of a span that sends and one that receives", |edge: &QueueEdge| {
            edge.messages.into()
        })
        .csv(&["messages"]),
        Column::duration(
            "sum",
            "Waiting",
            "Time of all messages between the end of the span that sends and the start of the one that receives",
            |edge: &QueueEdge| edge.sum_us.into(),
        )
        .csv(&["sum_us"]),
        Column::duration("mean", "Mean", "Mean time in the queue", |edge: &QueueEdge| edge.wait_us.mean.into())
            .low(2)
            .csv(&["mean_us"]),
        Column::duration("p50", "p50", "Median time in the queue", |edge: &QueueEdge| edge.wait_us.p50.into())
            .csv(&["p50_us"]),
        Column::duration("p95", "p95", "95th percentile", |edge: &QueueEdge| edge.wait_us.p95.into())
            .csv(&["p95_us"]),
        Column::duration("p99", "p99", "99th percentile", |edge: &QueueEdge| edge.wait_us.p99.into())
            .low(2)
            .csv(&["p99_us"]),
        Column::duration("longest", "Longest", "Longest time in the queue", |edge: &QueueEdge| {
            edge.wait_us.max.into()
        })
        .low(2)
        .csv(&["max_us"]),
        Column::said(
            "fan_in",
            "Fan-in",
            "Messages that are received at once, in the mean",
            |edge: &QueueEdge| edge.fan_in.into(),
            |edge| format!("{:.1}", edge.fan_in),
        )
        .low(2)
        .tiny()
        .csv_as(&["fan_in"], |edge| vec![Number::from(edge.fan_in).digits()]),
        Column::count("most_fan_in", "Most", "Greatest number of messages that are received at once", |edge: &QueueEdge| {
            edge.most_fan_in.into()
        })
        .low(3)
        .tiny()
        .csv(&["most_fan_in"]),
        Column::count("early", "Early", "Messages received before they were sent; they count as 0", |edge: &QueueEdge| {
            edge.early.into()
        })
        .low(3)
        .tiny()
        .csv(&["early"]),
        Column::endpoint("From", "Endpoint that sends", |edge: &QueueEdge| {
            (&edge.sender.service, &edge.sender.operation)
        })
        .key("sender")
        .csv(&["sender_service", "sender_operation"]),
        Column::endpoint("To", "Endpoint that receives", |edge: &QueueEdge| {
            (&edge.receiver.service, &edge.receiver.operation)
        })
        .key("receiver")
        .csv(&["receiver_service", "receiver_operation"]),
        Column::text_field("longest_sender_trace_id", |edge| (&edge.longest.sender_trace_id).into()),
        Column::text_field("longest_sender_span_id", |edge| (&edge.longest.sender_span_id).into()),
        Column::text_field("longest_receiver_trace_id", |edge| (&edge.longest.receiver_trace_id).into()),
        Column::text_field("longest_receiver_span_id", |edge| (&edge.longest.receiver_span_id).into()),
    ];
    Table::new("queue-table", "Messages by edge", ("sum", true), columns)
        .with_attributes(|edge| {
            vec![
                ("data-test", "queue-edge".to_owned()),
                ("data-name", edge.destination.clone()),
                ("data-value", edge.sum_us.to_string()),
            ]
        })
        .search(|edge, finder| {
            let QueueEdge { sender, receiver, .. } = edge;
            finder.fits(&[
                &edge.destination,
                &sender.service,
                &sender.operation,
                &receiver.service,
                &receiver.operation,
            ])
        })
}
