// Options and answers of the library, written from the structs that read and write them by the test
// `the_types_are_those_of_the_structs`; PATHLIGHT_BLESS=1 writes it again. docs/report-schema.md says the same of answers.

import type { TraceSet } from "./pathlight.js";

/** What a set answers. */
export interface Questions {
  /** Says what is slow, where, why and for whom. */
  findings(options?: RequestOptions & Against): Promise<Findings>;

  /** Lists endpoints by percentiles of their time, with call chains. */
  summary(options?: RequestOptions): Promise<Summary>;

  /** Sums the critical paths of all requests, by calling context. */
  criticalPath(options?: RequestOptions): Promise<CriticalPath>;

  /** Gives the critical path of every single request. */
  perRequest(options?: RequestOptions): Promise<PerRequest>;

  /** Compares this set (side B) with another (side A: before, or normal), or without one its slowest requests with the faster half: which services explain the difference, and what each frame takes. */
  compare(other?: TraceSet | null, options?: CompareOptions): Promise<Comparison>;

  /** Shows where each request spends its time: endpoints against requests. */
  heatmap(options?: HeatmapOptions): Promise<Heatmap>;

  /** Ranks interior endpoints by what they cost all root endpoints together. */
  endpoints(options?: EndpointsOptions): Promise<Endpoints>;

  /** Shows how large, deep and parallel requests are. */
  histograms(options?: RequestOptions): Promise<Histograms>;

  /** Splits latency by the values of a tag; see proposals for tags. */
  split(options?: SplitOptions): Promise<Split>;

  /** Lists the tags whose values tell fast requests from slow ones. */
  proposals(options?: RequestOptions): Promise<Proposals>;

  /** Finds versions, zones, hosts and other places that are slower than the others in the same minutes. */
  deployments(options?: DeploymentsOptions): Promise<Deployments>;

  /** Says where one more span would tell most about what requests wait for, with code for it. */
  instrument(options?: RequestOptions): Promise<Instrument>;

  /** Shows which service calls which, how long requests wait for it, and what fails; with a baseline also what changed. */
  serviceMap(options?: RequestOptions & Against): Promise<ServiceMap>;

  /** Ranks what every endpoint would save if its own work were 10 %, 50 %, 100 % faster. */
  savings(options?: RequestOptions): Promise<Savings>;

  /** Says how much earlier requests would end without the own work of each service, and how much longer that may take; with a table of utilisation also where to add capacity and where to take it. */
  capacity(options?: CapacityOptions): Promise<Capacity>;

  /** Says what the latency would be after changes, such as `in:cart=-50%`. */
  whatIf(options?: WhatIfOptions & Against): Promise<WhatIf>;

  /** Says what would have to be how much faster so that a percentile comes down to a time, such as `p99=300ms`. */
  target(options?: TargetOptions & Against): Promise<Target>;

  /** Says which of some changes with prices bring a percentile down to a time for the least. */
  cheapest(options?: CheapestOptions & Against): Promise<Cheapest>;

  /** Says which calls the invocations of an endpoint make, how many make the same ones, and what decides which. */
  variants(options?: VariantsOptions): Promise<Variants>;

  /** Diagnoses what is slow, in all requests and in the tail. */
  diagnosis(options?: RequestOptions): Promise<Diagnosis>;

  /** Says which requests are unlike those of a baseline, and why; without one each is held against the others. */
  anomaly(options?: RequestOptions & Against): Promise<Anomaly>;

  /** Shows where errors start and stop, and what requests would take without them. */
  errors(options?: RequestOptions): Promise<Errors>;

  /** Shows how long messages wait between whoever sends them and whoever receives them. */
  queues(options?: RequestOptions): Promise<Queues>;

  /** Says what the inputs hold, their formats, and what is wrong with them. */
  inspect(options?: NoOptions): Promise<Inspect>;
}

/** A set to compare with. */
export interface Against {
  /** Traces of before, or normal ones, read in the same place */
  baseline?: TraceSet | null | undefined;
}

/**
 * Charts:
 * - `flame`: flame graph of the critical paths
 * - `callers`: the same upside down: endpoints with who calls them
 * - `difference`: flame graph of what differs from another set (option `baseline`), or between two percentile ranges
 * - `heatmap`: endpoints against requests
 * - `histograms`: sizes of requests
 * - `services`: map of services
 * - `timeline`: one trace (option `traceId`)
 */
export type Chart = "flame" | "callers" | "difference" | "heatmap" | "histograms" | "services" | "timeline";

/** The cost of an endpoint to one root endpoint. */
export interface AffectedRoot {
  /** `id` of the root endpoint in `roots`. */
  root: number;
  /** Exclusive time on the critical paths of its requests. */
  exclusive_us: number;
  /** Share of the root endpoint's latency. */
  share: number;
  /** Its requests that have the endpoint on their critical path. */
  traces: number;
  /** `faster_percent` of `share`. */
  saving_at_most_share: number;
}

/**
 * Judged requests, and why they are abnormal.
 *
 * With the auto-encoder (`--vae`) `score` is minus the log-likelihood, and `p` the share of the density of training
 * log-likelihoods at or below that of the request; 0 where a call path was never seen in training.
 */
export interface Anomaly {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of `traces` that are abnormal. */
  abnormal: number;
  /** Number of `traces` that are abnormal by both verdicts as one test, by `p`: `--fail-on` counts these. */
  abnormal_by_one_test: number;
  /**
   * The accepted rate of false alarms that requests are judged by, 0 to 1. It is greater than `asked_alpha` where so
   * few training requests could raise no alarm at that. With the auto-encoder 0.001, the p-value of the paper.
   */
  alpha: number;
  /** The accepted rate of false alarms asked for. */
  asked_alpha: number;
  /** Number of `traces` that are both delayed and different. */
  both: number;
  /**
   * Share of the training requests that may be abnormal, 0 to 1: so many of the most anomalous were left out
   * (`--contaminated`). Up to `alpha` + `contaminated` of normal requests may be called abnormal.
   */
  contaminated: number;
  /**
   * Number of `traces` that are delayed: some self time is longer than any that training has seen; `null` where no
   * delay is tested (`--vae`, baselines of earlier versions).
   */
  delayed: number | null;
  /** `whole tree` or `VAE`. */
  detector: string;
  /** Number of `traces` that are different: in structure, errors, or times as ratios. */
  different: number;
  /** Whether more requests are abnormal than chance explains: then the load or the release has changed. */
  drifted: boolean;
  /** Call paths that the training requests have. */
  features: number;
  /** The abnormal requests by their first reason, the largest group first. Without verdicts all that have a reason. */
  groups: Group[];
  /**
   * What the verdict on both sides is about, and how many of `traces` it hits, which `delayed` does not count: hit is about
   * one part of one service, beyond what is usual; delayed about any place, beyond all that was seen. `null` where the
   * verdict names no service, and without `--train` and `--test` of traces.
   */
  hits: Hits | null;
  /** What labels have taught the baseline (`--normal`, `--incident`); `null` without any. */
  taught: TaughtCounts | null;
  /** The least score that is abnormal, as far as the training requests tell. */
  threshold: number;
  /** Of the auto-encoder: its two thresholds; of a sliding window those of the last network. Else `null`. */
  thresholds: Densities | null;
  /** The judged requests, the most anomalous first. */
  traces: AnomalyRow[];
  /** Training requests. */
  trained: number;
  /**
   * Number of `traces` that are abnormal (without verdicts: lead the list) and are not explained, see
   * `--explain`.
   */
  unexplained: number;
  /** Whether there are verdicts. Each request against all others (no `--test`) has none, only a rank. */
  verdicts: boolean;
}

/** One judged request. */
export interface AnomalyRow {
  /**
   * Whether it is abnormal, delayed or different; `null` without a verdict: no baseline, or a root that training has
   * never seen.
   */
  abnormal: boolean | null;
  /** Whether it is delayed; `null` without a verdict, and where no delay is tested. */
  delayed: boolean | null;
  /** Whether it is different; `null` without a verdict. */
  different: boolean | null;
  /**
   * Whether the subject of `hits` takes longer in it than is usual; `null` where it does not use the subject, or that is
   * not known.
   */
  hit: boolean | null;
  /** Whether it is hit and delayed, and why if only one of them, in words; `null` if it is neither, or that is not known. */
  hit_text: string | null;
  /** What was said of it: `normal` or `incident`; `null` if nothing. */
  label: string | null;
  /** Its latency. */
  latency_us: number;
  /** The normal request most like it; `null` if none was looked for. */
  nearest_trace_id: string | null;
  /**
   * The p-value of both verdicts as one test: twice the smaller one, at most 1. Where no delay is tested that of the
   * only verdict.
   */
  p: number;
  /** Share of training requests at least as delayed, 0 to 1; `null` where no delay is tested. */
  p_delayed: number | null;
  /** Share of training requests at least as different, 0 to 1. */
  p_different: number;
  /** The part of the request that leads: `structure`, `on_path` or `off_path`. */
  part: string;
  /** Reasons of the verdict, those of a delay first; of the most anomalous requests only. */
  reasons: Reason[];
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /**
   * Score of anomaly, the higher the more anomalous; without a bound. It is the surprise of the stronger verdict: -ln of
   * its p-value, and more beyond all training requests.
   */
  score: number;
  /** Start, microseconds since the epoch. */
  start_us: number;
  /** Canonical trace id. */
  trace_id: string;
  /** Whether it may have reasons that were not looked for, as it is not among the first that `--explain` asks for. */
  unexplained: boolean;
}

/** The requests near one percentile of their latency. */
export interface AtLatency {
  /** The percentile. */
  percentile: number;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Latencies of the requests. */
  latency_us: Percentiles;
  /** Sum of their latencies. */
  latency_sum_us: number;
  /**
   * Endpoints, the one with the most exclusive time first; in `heatmap` as `--sort-rows` and `--inclusive` say. The sums
   * of exclusive time add up to `latency_sum_us`.
   */
  rows: EndpointOnPath[];
  /** Requests of any latency that lead to more than was followed; missing if they end with their answer. */
  cut?: number | null;
  /** `done` if requests end when everything is done that they lead to; missing if they end with their answer. */
  until?: string | null;
  /** The requests that they stand for, where traces were sampled and say so; else left out. */
  weighted?: WeightedOf | null;
}

/** A stretch of time in which slow requests start. */
export interface Burst {
  /** Its first microsecond since the epoch. */
  from_us: number;
  /** End in microseconds since the epoch, exclusive. */
  to_us: number;
  /** Slow requests that start in it. */
  slow: number;
  /** All requests that start in it. */
  requests: number;
}

/** Time that the calls of an endpoint may take at the percentile once the target is reached. */
export interface CallBudget {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Its calls in the requests, but those that nothing waits for; a request is a call of its root endpoint. */
  calls: number;
  /** The percentile of their latency as it is, in microseconds. */
  before_us: number;
  /** The same once the target is reached, in microseconds. */
  budget_us: number;
}

/** With `--capacity`: drag and slack of services; with `--utilisation FILE` also where to add capacity and where to take it. */
export interface Capacity {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Selected requests. */
  requests: number;
  /** Their latencies, summed, in microseconds. */
  latency_us: number;
  /** Services with own work, the greatest drag first. */
  services: CapacityOf[];
  /** The service to add to first, which has most drag times use; `null` without a table, or if there is none. */
  first_to_add: string | null;
  /** The service to take from first, which of the others has most slack times what is unused. */
  first_to_take: string | null;
  /** Names in the table that no service has. */
  unknown: string[];
  /** How the table was read, in sentences. */
  notes: string[];
  /** The requests before and after the own work of the first becomes 20 % faster and that of the second 20 % slower. */
  what_if: WhatIfReport | null;
  /** Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none. */
  model_error: ErrorQuantiles | null;
}

/** Drag, slack and use of a service. */
export interface CapacityOf {
  /** Service name. */
  service: string;
  /** Requests in which it works. */
  requests: number;
  /** Those of them in which it cannot take longer without delaying the request: it is on the path that decides. */
  on_path: number;
  /** How much earlier requests would end if its own work took no time, summed over all requests, in microseconds. */
  drag_us: number;
  /**
   * How much longer its own work may take in a request, however that is spread over its spans, before the request ends later;
   * summed over the requests in which it works, in microseconds.
   */
  slack_us: number;
  /** Used share of its processors, the mean of its rows in the table; 1 is all of them. */
  cpu: number | null;
  /** The greatest of its rows. */
  cpu_max: number | null;
  /** Used share of its memory, the mean of its rows. */
  memory: number | null;
  /** The greatest of its rows. */
  memory_max: number | null;
  /** Drag per request times use, in microseconds. */
  add_us: number | null;
  /** Slack per request in which it works, times what is unused, in microseconds. */
  take_us: number | null;
}

/** Options of drag and slack of services. */
export interface CapacityOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /**
   * How much services use of what they have, as text: lines with the columns service,cpu in percent or as shares of 1, the text of
   * `kubectl top` with CPU%, or what Prometheus answers to a query
   */
  utilisation?: string | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** One call chain of an endpoint. */
export interface Chain {
  /** Endpoints as `[service, operation]`, from the root to the endpoint itself. */
  path: Array<[string, string]>;
  /** Time that the endpoint spends in this chain, summed over the requests. */
  exclusive_us: number;
  /** Requests that have it. */
  traces: number;
}

/** Options of a chart. */
export interface ChartOptions {
  /** `heatmap`: columns at most, 400 unless set */
  columns?: number | null;
  /** `difference`: the self time of frames in place of their total time */
  exclusive?: boolean;
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** `difference`: percentiles of latency of side A */
  rangeA?: string | null;
  /** `difference`: percentiles of latency of side B */
  rangeB?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** `difference`: shares of each side's latency in place of microseconds per request */
  share?: boolean;
  /** Colours, light unless set */
  theme?: Colours | null;
  /** Title, read by screen readers and shown as a tip */
  title?: string | null;
  /** `timeline`: the trace */
  traceId?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
  /** Width in pixels, 1200 unless set, 200 to 10,000; a map of services has its own */
  width?: number | null;
}

/**
 * With `--target p99=300ms` and `--option 'in:cart=-50% costs 3'`, which may be repeated: the cheapest set of these changes that
 * brings the percentile down to the target.
 */
export interface Cheapest {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Selected requests. */
  requests: number;
  /** The percentile of the target. */
  quantile: Quantile;
  /** The percentile as it is, in microseconds. */
  before_us: number;
  /** The target value, in microseconds. */
  target_us: number;
  /** Number of changes to choose from. */
  options: number;
  /** The percentile if all of them were made, in microseconds. */
  all_us: number;
  /**
   * The changes that are chosen, in the order in which they were given; empty if the target is reached as it is; `null` if no set
   * that was tried reaches it.
   */
  chosen: ChosenChange[] | null;
  /** What they cost together; 0 without any. */
  cost: number;
  /** The percentile with them, in microseconds; without any as it is. */
  after_us: number;
  /**
   * Whether no cheaper set reaches it: up to 12 changes. Of more, the best by effect per price is added one by one, and what is not
   * needed is taken out again: a cheaper set may exist.
   */
  is_exact: boolean;
  /** Sets of changes that were tried, of `2^options` that there are. */
  tried: number;
  /** Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none. */
  model_error: ErrorQuantiles | null;
}

/** Options of the cheapest changes. */
export interface CheapestOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Changes to choose from, 1 to 40, each with its price: `in:SERVICE=-50% costs 3` */
  options?: string[];
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** A percentile and its time: `p99=300ms` */
  target?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** A change that was chosen. */
export interface ChosenChange {
  /** The change as it was written. */
  change: string;
  /** Its price. */
  cost: number;
}

/** The clocks of two processes. */
export interface ClockOf {
  /** The calling process, `service` or `service@host`. */
  caller: string;
  /** The process it calls. */
  callee: string;
  /** Traces with such calls. */
  traces: number;
  /** Traces in which the callee was moved. */
  moved_traces: number;
  /** Lower median of how far the callee was moved, over all of these traces; positive is later. */
  median_shift_us: number;
  /** Whether nearly all traces show the same clock ahead or behind by more than 1 ms. */
  is_fault: boolean;
}

/** Colours of a chart. */
export type Colours = "light" | "dark";

/** One column of the heat map. */
export interface Column {
  /** Number of requests. */
  requests: number;
  /** Canonical trace id. */
  trace_id: string;
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /** Latency in microseconds. */
  latency_us: number;
  /** Sum of the latencies of its requests. */
  latency_sum_us: number;
  /** Earliest start among them, microseconds since the epoch. */
  start_us: number;
  /**
   * `[row id, exclusive_us, share]`: time on the critical path, summed over the requests of the column; share of the
   * request's latency (0 to 1), mean over them. Rows without time on these critical paths have no cell.
   */
  cells: Array<[number, number, number]>;
}

/** Options of a comparison. */
export interface CompareOptions {
  /** Whether it compares the self time of frames in place of their total time */
  exclusive?: boolean;
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Percentiles of latency of side A: those of `range` unless set; without another set the faster half */
  rangeA?: string | null;
  /** Percentiles of latency of side B: those of `range` unless set; without another set the slowest tenth */
  rangeB?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** Whether the JSON compares shares of each side's latency in place of microseconds per request */
  share?: boolean;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/**
 * Two sets of traces (`-a FILE... -b FILE...`), or two percentile ranges of one set (`--range-a P0-50 --range-b P95-100`).
 * The same trace id in both sets is two traces.
 *
 * With `--folded` instead: one line per frame with self time on either side, `[service] operation;[service] operation A
 * B` in microseconds, as `difffolded.pl` writes and `flamegraph.pl` reads it.
 */
export interface Comparison {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** The side before, or the normal one. */
  a: Side;
  /** The side after, or the slow one. */
  b: Side;
  /** Divisor of numbers: `mean` (microseconds per request) or `share` (of the side's total latency, 0 to 1). */
  by: string;
  /** The time of a frame that is compared: `subtree` (it and all below it) or `exclusive` (with `--exclusive`). */
  measure: string;
  /**
   * Whether a side was chosen by its latency (a percentile range): the sides then differ by choice, and intervals
   * describe these requests and are no test.
   */
  descriptive: boolean;
  /** The union of both critical calling context trees in pre-order, siblings by (service, operation). */
  nodes: ComparisonNode[];
  /**
   * The table of changes: first what is more than noise, then by size. With the measure `subtree` a frame that
   * appeared or vanished stands for itself and all below it, every other frame for its self time: each
   * microsecond of the whole change is counted once, by the frame where it happens.
   */
  changes: RankedRow[];
  /** The service that explains that side B is slower, in words; see docs/definitions/verdict.md. */
  verdict: string;
  /**
   * The part of the service that explains it; `null` if none surely does. Hit requests, since when, and what the latency
   * would be, only `findings --baseline` finds out.
   */
  blamed: ComparisonBlamed | null;
  /** The leading statement of the verdict. */
  headline: Leading;
  /** The rise that nearly all services share, so that no single one explains it; `null` if they do not. */
  in_proportion: InProportion | null;
  /** Visits that end before calls they made on side A, those that concern most requests first. */
  stops: Stopped[];
  /**
   * The part of the change of the mean latency that no service took longer for, in microseconds per request:
   * side B makes other calls, or other numbers of them.
   */
  mix_us: number;
  /** Services that side B uses, the best explanation first. */
  services: ComparisonService[];
  /** Services in which errors begin, those that fail more often than on side A first. */
  failing: FailingService[];
  /** Queues in which messages of both sides wait, those that explain most first. */
  queues: Queue[];
}

/**
 * The part of a service that is to blame. `findings` and `compare` have the same object; what `compare` does not find out is
 * `null` there.
 */
export interface ComparisonBlamed {
  /** Service name. */
  service: string;
  /** Its own work (`own`), waiting for it (`in`), or its calls of others (`out`). */
  part: string;
  /** How sure it is: `certain`, `likely`, or `weak` (small, or maybe chance). */
  certainty: string | null;
  /** Mean time per request, in microseconds; of two sets what it takes longer. */
  time_us: number;
  /** What chance, and of two sets drift, leave of that, as `[low, high]`. */
  interval: [number, number] | null;
  /** What verdicts are ordered by, microseconds per request: what is surely at stake. */
  score_us: number;
  /** Share of the mean latency; of two sets of what that grew, `null` if it did not. */
  share: number | null;
  /** Requests that use the service. */
  n: number;
  /** Requests in all. */
  of: number;
  /** Requests in which it takes longer than usual. */
  hit: HitRequests | null;
  /** Of waiting: the services that wait, the one with most first. */
  callers: string[];
  /** Since when the service takes longer, in whichever part, where requests of a type are slower since then for this reason. */
  since: Since | null;
  /** With which tag the service takes longer, in whichever part, where requests with that tag are slower for this reason. */
  with_tag: WithTag | null;
  /** The latency of the requests if it took what is usual, by the flows of all traces. */
  mended_us: Percentiles | null;
  /** Of two sets: where in it, what explains most first; at most 10. */
  places: ComparisonPlace[];
  /** The slowest request that it is about. */
  evidence: RequestRef | null;
}

/** An example of a frame. */
export interface ComparisonExample {
  /** Canonical trace id. */
  trace_id: string;
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /** Latency in microseconds. */
  latency_us: number;
  /** Time of the frame and all below it in this request. */
  subtree_us: number;
}

/** A frame on one side. */
export interface ComparisonFrame {
  /** Requests that have it. */
  requests: number;
  /** Its self time on the critical path. */
  exclusive_us: FrameTime;
  /** Time on the critical path of it and all below it. */
  subtree_us: FrameTime;
  /** The request with the greatest subtree time. */
  example: ComparisonExample | null;
}

/** One frame of the flame graph. */
export interface ComparisonNode {
  /** Number of the node. */
  id: number;
  /** Number of its parent; `null` for a root. */
  parent: number | null;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** The frame on side A. */
  a: ComparisonFrame;
  /** The frame on side B. */
  b: ComparisonFrame;
  /** B minus A, in the unit of `by`. */
  change: number;
  /**
   * Welch's 95 % interval of the change as `[low, high]`; `null` where there is nothing to test: fewer than two requests
   * on a side, or no variance. With `by` = `share` the times of each request are divided by the side's mean latency.
   */
  interval: [number, number] | null;
  /**
   * Whether the change is no clearer than chance among all frames: false discoveries are kept at 5 % (Benjamini and
   * Hochberg).
   */
  noise: boolean;
  /** Whether the frame stands on side B only. */
  new: boolean;
  /** Whether the frame stands on side A only. */
  gone: boolean;
}

/** A kind of call or of visit. */
export interface ComparisonPlace {
  /** The part of the service it belongs to: `own`, `in` or `out`. */
  part: string;
  /** The service on the other side of a call; `null` for own work. */
  other: string | null;
  /** The operation that answers, or where the service was entered. */
  operation: string;
  /** Calls or visits of side B. */
  calls: number;
  /** The service's part of the excess, as `[excess, uncertainty]`; `null` if side A has nothing to compare with. */
  excess_us: [number, number] | null;
  /** The request of side B in which it took longest; `null` if it took no time on any critical path. */
  exemplar: Longest | null;
}

/** The share of one service in the difference. Times are microseconds per request of side B. */
export interface ComparisonService {
  /** Service name. */
  service: string;
  /** Place in the list, from 1; `null` if side A has nothing to compare the service with. */
  rank: number | null;
  /** Time beyond drift and chance; negative if the service got faster, 0 if nothing of it is significant. */
  score_us: number;
  /** Of the mean latency of side B. */
  share: number;
  /**
   * Its own work on critical paths, as `[excess, uncertainty]`: B minus A at the numbers of calls of side B. Not the own time
   * of `diagnosis`.
   */
  own_us: [number, number];
  /** Calls into it, outside its own spans, as `[excess, uncertainty]`. */
  in_us: [number, number];
  /** Calls it makes, outside the spans of the services that answer, as `[excess, uncertainty]`. */
  out_us: [number, number];
  /** Requests of side B that use it. */
  requests: number;
  /**
   * Whether the score is positive and below 5 % of the latency of these requests; below 1 % if what leads moved as a
   * whole.
   */
  weak: boolean;
  /** Whether the score is positive and rests on so few calls that it may be chance. */
  may_be_chance: boolean;
  /**
   * How sure it is that the service got slower: `certain`, `likely`, or `weak` (small, or maybe chance); `null` if it did
   * not.
   */
  certainty: string | null;
  /** The sentence of the service. */
  text: string;
  /** Number of places in all, of which `places` lists at most 10. */
  places_in_all: number;
  /** Places in the service, what explains most first; at most 10. */
  places: ComparisonPlace[];
}

/** What a part of a service takes of each request. */
export interface Cost {
  /** Its own work (`own`), waiting for it (`in`), or its calls of others (`out`). */
  part: string;
  /** Mean time per request in microseconds. */
  mean_us: number;
  /** The 95 % interval of the mean as `[low, high]`. */
  interval: [number, number];
  /**
   * What it would surely save, microseconds per request: own work halved, or the service's share of waits gone. Findings
   * are ordered by this.
   */
  cost_us: number;
}

/**
 * Span time of some traces, and what of it no request waits for; sums, so parts add up with `merge`(Self::merge). Times
 * are durations of spans before anything is cut, in microseconds.
 */
export interface Coverage {
  /** Traces in which there are requests. */
  traces: number;
  /** All their spans. */
  span_us: number;
  /** Time of the spans that nobody waits for, and of all below them. */
  async_us: number;
  /** Spans that nobody waits for, and all below them. */
  async_spans: number;
  /** Time of the spans below a span that is missing, in traces that have a root. */
  unattached_us: number;
  /** Such spans. */
  unattached_spans: number;
  /** Time of the spans that lie wholly outside their parent, and of all below them. */
  dropped_us: number;
  /** Requests whose caller is not recorded. */
  incomplete: number;
  /** Requests whose caller is not recorded and that are left out; their traces are not counted. */
  left_out: number;
}

/**
 * The aggregate critical calling context tree of the requests.
 *
 * With `--format folded` instead: one line per node with self time, `[service] operation;[service] operation us`, as
 * flame graph tools read it.
 */
export interface CriticalPath {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Latencies of the requests. */
  latency_us: Percentiles;
  /** Sum of their latencies. */
  latency_sum_us: number;
  /** The tree in pre-order, siblings by (service, operation). */
  nodes: CriticalPathNode[];
  /** Requests of any latency that lead to more than was followed; missing if they end with their answer. */
  cut?: number | null;
  /** `done` if requests end when everything is done that they lead to; missing if they end with their answer. */
  until?: string | null;
  /** The requests that they stand for, where traces were sampled and say so; else left out. */
  weighted?: WeightedOf | null;
}

/** One calling context. */
export interface CriticalPathNode {
  /** Number of the node. */
  id: number;
  /** Number of its parent; `null` for a root. */
  parent: number | null;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Time on the critical path in the node's own spans. */
  exclusive_us: Weight;
  /** Sanitised duration of its spans. */
  inclusive_us: Weight;
  /**
   * Sum of `exclusive_us.sum` of the node and all nodes below it: its width in the flame graph. Those of the roots add
   * up to `latency_sum_us`.
   */
  subtree_us: number;
  /** Requests that have the node. */
  traces: number;
  /** Its spans on the critical path. */
  spans: number;
  /** Spans in error among them. */
  errors: number;
  /**
   * Waiting for services: part of `exclusive_us` that calls take before their callee starts and after it ends,
   * by service.
   */
  waiting: WaitingFor[];
  /**
   * The requests with the greatest, the lower median, and the closest to the mean exclusive time in this node (ties:
   * smaller ids); fewer where they coincide.
   */
  exemplars: NodeExample[];
}

/** Something that goes with a variant: a tag of the span or of a call, or a call in error. */
export interface Decider {
  /**
   * The call that has it, as `[service, operation]`: the first one of its endpoint, or what answers it; `null`: the span itself, or
   * its process.
   */
  call: [string, string] | null;
  /** Key and value of the tag; `null`: the call is in error. */
  tag: [string, string] | null;
  /** Invocations of the variant that have it. */
  here: number;
  /** Invocations of the variant that could have it: all, or those that make the call. */
  of_here: number;
  /** Other invocations that have it. */
  elsewhere: number;
  /** Other invocations that could have it. */
  of_elsewhere: number;
}

/** The thresholds of the auto-encoder. */
export interface Densities {
  /** Judged requests that are abnormal by `held_out`; `abnormal` of each request goes by `learned`. */
  abnormal_held_out: number;
  /** The score above which a request is abnormal by training requests that were held out; `null` if none were. */
  held_out: number | null;
  /** Training requests that were held out. */
  held_out_requests: number | null;
  /** The score above which a request is abnormal by the requests learned from, as in the paper. */
  learned: number;
}

/** The first request with a value that others came before. */
export interface DeploymentFirst {
  /** The tag of processes: a version, a flag or an environment. */
  key: string;
  /** The service. */
  service: string;
  /** Its new value. */
  value: string;
  /** Start of the first request with it, microseconds since the epoch. */
  first_us: number;
}

/** A tag by which something was compared. */
export interface DeploymentKey {
  /** The tag of processes. */
  key: string;
  /** Other tags that divide the requests in the same way. */
  alike: string[];
  /** Services that run with several of its values. */
  services: number;
}

/** What is compared. */
export type DeploymentOf = {
  service: string;
} | {
  endpoint: [string, string];
} | {
  calls: [string, string];
};

/**
 * Which versions, zones, hosts and the like of a service are slower than its others, and which calls between services from
 * one place to another. Like requests are compared in the same slots of time.
 */
export interface Deployments {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** The tag that was asked for; `null`: all that are known to say where something runs. */
  key: string | null;
  /** Tags by which something was compared. */
  keys: DeploymentKey[];
  /** Tags with too many values to compare. */
  left_out: string[];
  /**
   * Places that are slower: first the sure ones; of these services and calls between services, then endpoints; the greatest
   * cost first.
   */
  slower: Slower[];
  /** Versions, flags and environments that begin after others, by time. */
  firsts: DeploymentFirst[];
}

/** Options of a comparison of places. */
export interface DeploymentsOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Tag of processes to compare by; all that are known to say where something runs, unless set */
  key?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** Step 1: an endpoint, with its request types. */
export interface DiagnosedEndpoint {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Number of spans. */
  count: number;
  /**
   * Mean own time of its spans: all their subspans, also those while a child runs (docs/definitions/tprof.md section 2). It is
   * neither self time nor the `own_us` of a service in `compare` or `show`, which are about the critical path.
   */
  own_us: number;
  /** Mean times count: own time of all its spans. */
  total_us: number;
  /** Number of request types that have it, of which `types` lists the first. */
  types_in_all: number;
  /** Request types that have it, most time first. */
  types: DiagnosedType[];
}

/** Step 4: the group that shows it best. */
export interface DiagnosedGroup {
  /** Traces in it. */
  traces: number;
  /** Whether it is a local group: whole-trace groups shattered. */
  is_local: boolean;
  /** Mean of the subspan. */
  subspan_us: number;
  /** Mean of its span. */
  span_us: number;
  /** Mean x count x share of the span. */
  score: number;
  /** Number of its aggregate trace, which is built when it is asked for. */
  aggregate_trace: number;
  /** The trace whose starts and ends are nearest to the means (ties by id), then the slowest. */
  exemplars: RequestRef[];
  /** The subspans of the span, at most 10 on each side of the one that the part points at. */
  subspans: GroupSubspan[];
}

/** Step 3: a part of a span position. */
export interface DiagnosedSpan {
  /** Name of the position; over all shapes, the operation. */
  name: string;
  /** `child_diff[i]`, `end_diff`, or `span` for a leaf; over all shapes `subspan`. */
  metric: string;
  /** Whether it is the part of all spans of the endpoint, of whatever shape, as no shape has half of the time. */
  is_over_shapes: boolean;
  /** The child that begins or ends last before the part, in most of these traces; `null` where it begins with the span. */
  previous: [string, string] | null;
  /** The child that begins after the part; `null` where it ends with the span. */
  next: [string, string] | null;
  /** Number of the subspan it points at, in most of these traces; `null` of a summary, as the next. */
  subspan: number | null;
  /** Number of children of the span. */
  children: number | null;
  /** Number of values. */
  count: number;
  /** Mean of these values. */
  mean_us: number;
  /** Mean times count. */
  total_us: number;
  /** Number of groups of traces, of which `groups` lists the first. */
  groups_in_all: number;
  /** Groups of traces of the same structure. */
  groups: DiagnosedGroup[];
}

/** Step 2: the endpoint in one request type. */
export interface DiagnosedType {
  /** Service of the root. */
  service: string;
  /** Operation of the root, and which of its requests. */
  operation: string;
  /** Traces of this type. */
  traces: number;
  /** Traces of this type that have the endpoint. */
  affected: number;
  /** Spans of the endpoint in them. */
  count: number;
  /** Mean own time of these spans. */
  own_us: number;
  /** Mean times count. */
  total_us: number;
  /** Mean own time in the tail over that in normal traces; `null` if there is none in normal traces, or no split. */
  tail_ratio: number | null;
  /** Verdict on its slowness. */
  verdict: TailVerdict;
  /** Number of parts of spans, of which `spans` lists the first. */
  spans_in_all: number;
  /** Parts of spans that the time is in, most time first. */
  spans: DiagnosedSpan[];
}

/**
 * The diagnosis: groups of traces in four layers, what is slow and where, aggregate traces, and what makes the tail
 * slow. Request types are those of `--by`; with `--tag KEY` the values of that tag.
 *
 * With `--format jaeger` the aggregate traces are printed as a Jaeger API response instead.
 */
export interface Diagnosis {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /**
   * `report` as sentences, parents before what stands below them; then what makes the tail slow, the first places of
   * each request type below its heading.
   */
  text: string[];
  /** Requests analysed. */
  traces: number;
  /** Requests kept out because their trace has an orphan root. */
  has_orphans: number;
  /** The groups of layers 1 to 4; of layers 3 and 4 the 20 with the most time. */
  layers: GroupingLayer[];
  /** Number of endpoints, of which `report` lists the first. */
  endpoints_in_all: number;
  /** The diagnosis, the endpoint with the most self time first. */
  report: DiagnosedEndpoint[];
  /** Causes of the slow tail, by request type. */
  tail: PlacesReport;
  /** Facts about a diagnosis of a summary; `null` of traces. */
  summary: OfSummary | null;
}

/** Some values in numbers and bins. */
export interface Distribution {
  /** Number of values. */
  n: number;
  /** Arithmetic mean; 0 without values. */
  mean: number;
  /** Median. */
  median: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
  /** Smallest. */
  min: number;
  /** Greatest. */
  max: number;
  /** Whether the bins are of equal width on a logarithmic axis; else they are on a linear one. */
  is_log: boolean;
  /** Lower edges of the bins and the upper edge of the last one; empty without values. */
  edges: number[];
  /** Values per bin; one less than edges. */
  counts: number[];
}

/** When requests end. */
export type End = "answer" | "done";

/** How an input ended. */
export type Ended = "whole" | {
  cut: {
    /** Byte offset in the text. */
    offset: number;
  };
} | "stopped" | {
  failed: IngestError;
};

/** One endpoint. */
export interface Endpoint {
  /** Operation name. */
  operation: string;
  /** Service name. */
  service: string;
}

/** One endpoint. */
export interface EndpointOnPath {
  /** Its place among the endpoints by (service, operation), from 0. */
  id: number;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Time per request on the critical path in its own spans. */
  exclusive_us: Weight;
  /** Sanitised duration of its spans on the critical path; where an endpoint calls itself, all of its spans count. */
  inclusive_us: Weight;
  /** `exclusive_us.sum` of `latency_sum_us`. */
  share: number;
  /**
   * The 95 % bootstrap interval of `share` over the requests, as `[low, high]`; `null` from 1,000 requests on, where it
   * is narrow, and of a summary.
   */
  share_interval: [number, number] | null;
  /** Requests that have it on their critical path. */
  traces: number;
  /** Spans on critical paths. */
  spans: number;
  /** Spans in error among them. */
  errors: number;
  /**
   * Waiting for services: part of `exclusive_us` that calls take before their callee starts and after it ends,
   * by service.
   */
  waiting: WaitingFor[];
  /** Its call chains with the most exclusive time, at most 5. */
  chains: Chain[];
}

/** Savings of one endpoint. */
export interface EndpointSaving {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Its spans in the requests, but those that nothing waits for. */
  spans: number;
  /** Those of them that are calls which another service answers: their own work is waiting for it. */
  waiting_spans: number;
  /** Requests that have such a span. */
  requests: number;
  /** Requests that become faster if its own work takes no time. */
  affected: number;
  /** Reduction of the requests' latency. */
  saved_us: SavedAt;
}

/** Times of an endpoint in a group. */
export interface EndpointTimes {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Duration of the endpoint's spans. */
  duration_us: SplitStatistic;
  /** Self time of these spans. */
  self_us: SplitStatistic;
  /**
   * Own time of these spans: all their subspans, also those while a child runs; `null` of a summary. The diagnosis is
   * ranked by its sum, mean times count.
   */
  own_us: SplitStatistic | null;
}

/**
 * Endpoints over all root endpoints at once: first those that occur below some root, by impact; then those that are only
 * roots.
 */
export interface Endpoints {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Sum of their latencies. */
  latency_sum_us: number;
  /** Assumed speedup of an endpoint (`--faster`), in percent. */
  faster_percent: number;
  /** Root endpoints, the one with the greatest sum of latencies first. */
  roots: Root[];
  /** Endpoints. */
  rows: EndpointsRow[];
}

/** Options of the ranking of endpoints. */
export interface EndpointsOptions {
  /** Assumed speedup of an endpoint in percent, 10 unless set */
  faster?: number | null;
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** One endpoint. */
export interface EndpointsRow {
  /** Place in the list, from 1. */
  rank: number;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Whether it occurs below the root of any request. */
  interior: boolean;
  /**
   * Exclusive time on the critical paths of all requests; of a service `own_us` and `waiting_us`. The impacts add up to
   * `latency_sum_us`.
   */
  impact_us: number;
  /** Of a service: its own work on the critical paths of all requests; else `null`. */
  own_us: number | null;
  /** Of a service: what calls into it take outside its own spans, over all callers; else `null`. */
  waiting_us: number | null;
  /** The part of it below the roots of requests; the rest is time of requests of this endpoint itself. */
  interior_us: number;
  /** `impact_us` of `latency_sum_us`. */
  share: number;
  /**
   * The 95 % bootstrap interval of `share` over the requests, as `[low, high]`; `null` from 1,000 requests on, where it
   * is narrow.
   */
  share_interval: [number, number] | null;
  /** Requests that have it on their critical path. */
  traces: number;
  /** Number of root endpoints it takes time of. */
  root_endpoints: number;
  /**
   * `faster_percent` of `impact_us`: the upper bound of what that would save. What is really saved is less wherever
   * other work then becomes the last to finish.
   */
  saving_at_most_us: number;
  /** By root endpoint, most time first. */
  affected: AffectedRoot[];
  /** All other spans of the endpoint, likewise. */
  calls_off_path?: number | null;
  /** Spans of the endpoint on critical paths; left out of a service, of a summary, and where they are not counted. */
  calls_on_path?: number | null;
}

/** Why an input gives nothing, or nothing more. */
export type ErrorKind = "empty" | "no_traces" | "nothing_readable" | "server_error" | "other_json" | "foreign" | "not_recognised" | "bad_archive" | "memory";

/**
 * Quantiles of the errors of one predictor. An error is max / min - 1 of estimate and actual latency, infinite if one
 * is 0; JSON writes infinity as `null`.
 */
export interface ErrorQuantiles {
  /** Median. */
  p50: number;
  /** 90th percentile. */
  p90: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
}

/**
 * Start and stop of errors, and the requests as they would be without them. A span in error is *own* if no child
 * is in error, else *propagated*; a span that is not in error, but has a child in error, has *stopped* it. Without
 * spans in error: each takes no time, with all below it; what happened after it moves earlier, every call keeping
 * its gap to the latest of those it waited for.
 *
 * `--format folded` prints the error paths as folded stacks weighed by `error_us` instead.
 */
export interface Errors {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Requests with a span in error. */
  requests_with_errors: number;
  /** Requests with one on their critical path. */
  requests_with_errors_on_path: number;
  /** Requests whose root is in error. */
  failed_requests: number;
  /** Spans. */
  spans: number;
  /** Spans in error without a child in error: errors start here. */
  own: number;
  /** Spans in error with a child in error: errors are passed on. */
  propagated: number;
  /** Spans that are not in error, but have a child that is. */
  stopped: number;
  /** Sum of the durations of all spans that are waited for. */
  work_us: number;
  /** The part of it in spans in error. */
  work_saved_us: number;
  /** Sum of the latencies. */
  latency_sum_us: number;
  /** Time on critical paths in spans in error and all below them. */
  inside_us: number;
  /** Reduction of all latencies without the spans in error. */
  latency_saved_us: number;
  /** The part of it that is the whole latency of failed requests. */
  failed_us: number;
  /** Latency of the requests. */
  latency_us: Percentiles;
  /** The latency that remains without the spans in error. */
  latency_without_us: Percentiles;
  /** Most own errors first, then most propagated, most stopped (ties by name). */
  endpoints: ErrorsRow[];
  /** The most frequent messages of errors that start, at most 20, most first; of a summary none. */
  messages: Message[];
  /** Number of different messages. */
  messages_in_all: number;
  /** Errors that start without a message, or with one of a tag that has too many values to be kept. */
  own_without_message: number;
  /** Requests with errors of more than 64 endpoints on the critical path. 0 of a summary, which does not count them. */
  untried_requests: number;
  /** The calling contexts of critical paths that lead to spans in error, in pre-order. */
  nodes: ErrorsNode[];
}

/** One calling context. */
export interface ErrorsNode {
  /** Number of the node. */
  id: number;
  /** Number of its parent; `null` for a root. */
  parent: number | null;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Its spans on critical paths with an own error. */
  own: number;
  /** Spans that propagate an error. */
  propagated: number;
  /** Spans that stop an error. */
  stopped: number;
  /** Requests in which a span in error is here or below. */
  requests: number;
  /** Exclusive time on critical paths of its spans in error. */
  error_us: number;
  /** The same of it and all below. */
  subtree_us: number;
  /** Spans in error of it and all below. */
  subtree_errors: number;
}

/** One endpoint. */
export interface ErrorsRow {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Number of spans. */
  spans: number;
  /** Errors that start in it. */
  own: number;
  /** Errors that it propagates. */
  propagated: number;
  /** Errors that it stops. */
  stopped: number;
  /** Requests in which it is in error. */
  requests: number;
  /** Spans on critical paths. */
  path_spans: number;
  /** Spans in error among them. */
  path_errors: number;
  /** Their share, 0 to 1; `null` without spans on critical paths. */
  path_error_share: number | null;
  /** Exclusive time on critical paths. */
  path_us: number;
  /** The part of it in spans in error. */
  path_error_us: number;
  /** Exclusive time on the critical paths that remain without any span in error. */
  path_without_us: number;
  /**
   * Reduction of all latencies without its spans in error alone; in each request for the 64
   * endpoints whose errors take the most time on the critical path.
   */
  latency_saved_us: number;
  /** Requests in which it was not tried, as it is none of the 64: it would save at least `latency_saved_us`. */
  untried_requests: number;
  /** The slowest request in which an error starts here. */
  example: RequestRef | null;
}

/** How often the calls of a service fail. */
export interface FailingService {
  /** Name of the service. */
  service: string;
  /** How often requests of A entered it. */
  a_calls: number;
  /** How often an error began in it then: a span in error without a child in error. */
  a_failed: number;
  /** How often requests of B entered it. */
  b_calls: number;
  /** How often an error began in it then. */
  b_failed: number;
  /**
   * At least so much the share of failing calls grew, from 0 to 1: B's share less what A's share can be expected to
   * give, which is the mean and twice the standard deviation of a beta-binomial distribution. Above 0: it changed.
   */
  growth: number;
  /**
   * The growth times the share of B's requests that use the service; 0 if it did not grow, or if chance may make one
   * of so many services grow as much.
   */
  impact: number;
}

/** What a finding is about. */
export type FindingKind = "changed" | "slow_tail" | "one_after_the_other" | "timeout" | "retries" | "redundant_calls" | "pool_waits" | "errors" | "slower_place" | "who" | "since_when" | "hot_spot" | "waiting" | "worth_making_faster" | "abnormal" | "bursts" | "not_instrumented" | "work_after" | "outside_requests" | "read_with_care" | "queue";

/** A tag with a value. */
export interface FindingTag {
  /** Tag key. */
  key: string;
  /** Tag value. */
  value: string;
}

/** Findings about slow requests: where, why and for whom they are slow, best first. */
export interface Findings {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Latencies of the requests. */
  latency_us: Percentiles;
  /** At most ten findings; empty if nothing stands out. */
  findings: FindingsFinding[];
  /** The time of each service on critical paths, by name; over all services it sums to the mean latency. */
  services: ServiceTime[];
  /** Differences that were tested. */
  tested: number;
  /** Findings that hold too, but are not among the ten that are listed. */
  left_out: number;
  /** Latency over time, in at most 60 bins of equal length. */
  over_time: TimeBin[];
  /** The same of the baseline; empty without one. */
  over_time_before: TimeBin[];
  /** The tags that tell slow requests from the others. */
  tags: TagsReport;
}

/**
 * The part of a service that is to blame. `findings` and `compare` have the same object; what `compare` does not find out is
 * `null` there.
 */
export interface FindingsBlamed {
  /** Service name. */
  service: string;
  /** Its own work (`own`), waiting for it (`in`), or its calls of others (`out`). */
  part: string;
  /** How sure it is: `certain`, `likely`, or `weak` (small, or maybe chance). */
  certainty: string | null;
  /** Mean time per request, in microseconds; of two sets what it takes longer. */
  time_us: number;
  /** What chance, and of two sets drift, leave of that, as `[low, high]`. */
  interval: [number, number] | null;
  /** What verdicts are ordered by, microseconds per request: what is surely at stake. */
  score_us: number;
  /** Share of the mean latency; of two sets of what that grew, `null` if it did not. */
  share: number | null;
  /** Requests that use the service. */
  n: number;
  /** Requests in all. */
  of: number;
  /** Requests in which it takes longer than usual. */
  hit: HitRequests | null;
  /** Of waiting: the services that wait, the one with most first. */
  callers: string[];
  /** Since when the service takes longer, in whichever part, where requests of a type are slower since then for this reason. */
  since: Since | null;
  /** With which tag the service takes longer, in whichever part, where requests with that tag are slower for this reason. */
  with_tag: WithTag | null;
  /** The latency of the requests if it took what is usual, by the flows of all traces. */
  mended_us: Percentiles | null;
  /** Of two sets: where in it, what explains most first; at most 10. */
  places: Place2[];
  /** The slowest request that it is about. */
  evidence: RequestRef | null;
}

/** One finding. */
export interface FindingsFinding {
  /** The kind of finding. */
  kind: FindingKind;
  /** The finding in words. */
  text: string;
  /** The same, with names and numbers apart. */
  parts: Part[];
  /** Cost per request, in microseconds on average; 0 where time is not what it is about. */
  stake_us: number;
  /** The 95 % interval of the stake as `[low, high]`. */
  interval: [number, number] | null;
  /** Number of requests, calls or spans it is about. */
  n: number;
  /** Number of them in all. */
  of: number;
  /** The place that the finding names. */
  place: FindingsPlace;
  /**
   * Of a hot spot, of waiting, and of what changed: the part of a service that it blames; `null` for other kinds, and if no
   * service is certain.
   */
  blamed: FindingsBlamed | null;
  /** Of what is so since some time: since when; `null` for other kinds. */
  since: Since | null;
  /** Of bursts: the stretches of time, by time; else empty. */
  bursts: Burst[];
  /** Of a hot spot and of waiting: the parts of the service that it is about, the one that costs most first; else empty. */
  costs: Cost[];
  /** Of a hot spot, of waiting and of what changed: the requests in which it takes longer than usual; `null` for other kinds. */
  hit: HitRequests | null;
  /** Of the same kinds: the latency of the requests if it took what is usual, by the flows of all traces; `null` for other kinds. */
  mended_us: Percentiles | null;
  /** Probability that it is chance; `null` for what is only described. */
  p: number | null;
  /** The slowest request that it is about. */
  evidence: RequestRef | null;
  /** Of a queue, the message that waited longest; `null` for other kinds. */
  message: QueueExample | null;
  /** Of waiting before a call: whom is called, how many calls run at once, and how many wait; `null` for other kinds. */
  pool: PoolWait | null;
  /** Other kinds of findings that name the same place. */
  also: FindingKind[];
  /** Whether it is as much so in the baseline. */
  as_before: boolean;
}

/** The names in a finding; those that it has not are `null`. */
export interface FindingsPlace {
  /** Service name. */
  service: string | null;
  /** Operation name. */
  operation: string | null;
  /** Of a request type that is a part of a root endpoint's requests: which. */
  part: string | null;
  /** Tag as `[key, value]`. */
  tag: [string, string] | null;
}

/** Findings of one rule. */
export interface FoundOf {
  /** Spans it was found in. */
  spans: number;
  /** Their share of all spans, 0 to 1. */
  share: number;
  /** Id of one trace with such a span: the smallest. */
  example: string;
}

/** Time of a frame on one side. */
export interface FrameTime {
  /** Over all requests of the side. */
  sum: number;
  /** Per request of the side; requests without the frame count as 0. */
  mean: number;
  /** Share of the side's total latency. */
  share: number;
}

/** Requests with one leading reason. */
export interface Group {
  /** Number of requests. */
  requests: number;
  /** The reason in words. */
  text: string;
}

/** A subspan of a group's span, of those next to the problematic one, and what it lies between. */
export interface GroupSubspan {
  /** Number of the subspan. */
  subspan: number;
  /** Name of its span with that number. */
  name: string;
  /** Name of the child that begins or ends last before it; `null` where it begins with the span. */
  after: string | null;
  /** Name of the child whose start ends it; `null` where it ends with the span. */
  before: string | null;
  /** Whether it is the problematic one. */
  is_problem: boolean;
  /** Duration of the subspan. */
  duration_us: TimeStatistics;
}

/** One layer. */
export interface GroupingLayer {
  /** Number of the layer, 1 to 4. */
  layer: number;
  /** Number of groups. */
  groups_in_all: number;
  /** The groups listed, those with the most time first. */
  groups: TraceGroup[];
}

/** A guess of what the fields of rows are. */
export interface Guess {
  /** The guess as the text of a `Mapping`; empty if nothing fits. */
  mapping: string;
  /** The fields, in the order in which they stand in the first records. */
  fields: GuessField[];
  /** Keys under which the records stand. */
  within: string[];
}

/** A field of rows that nobody knows. */
export interface GuessField {
  /** Its key, with those of the objects around it. */
  path: string;
  /** Its values in the first five records; empty where it is missing. */
  values: string[];
}

/** The keys of `summary`, and columns: endpoints against requests. */
export interface Heatmap {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Latencies of the requests. */
  latency_us: Percentiles;
  /** Sum of their latencies. */
  latency_sum_us: number;
  /**
   * Endpoints, the one with the most exclusive time first; in `heatmap` as `--sort-rows` and `--inclusive` say. The sums
   * of exclusive time add up to `latency_sum_us`.
   */
  rows: EndpointOnPath[];
  /** Order of the columns, least first; equal ones by latency, trace id, root span id. */
  order: HeatmapOrder;
  /** Requests; if there are more than `--columns`, runs of equally many requests. */
  columns: Column[];
  /** Requests of any latency that lead to more than was followed; missing if they end with their answer. */
  cut?: number | null;
  /** `done` if requests end when everything is done that they lead to; missing if they end with their answer. */
  until?: string | null;
  /** The requests that they stand for, where traces were sampled and say so; else left out. */
  weighted?: WeightedOf | null;
}

/** Options of a heat map. */
export interface HeatmapOptions {
  /** Columns at most: where there are more requests, several share one */
  columns?: number | null;
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Order of the columns: by latency, unless set */
  order?: HeatmapOptionsOrder | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** Order of the columns of a heat map. */
export type HeatmapOptionsOrder = "latency" | "start";

/** Order of the columns. */
export type HeatmapOrder = {
  by: "latency";
} | {
  by: "start";
} | {
  by: "row";
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
};

/**
 * Size, depth and parallelism of the requests.
 *
 * | key of `histograms` | values |
 * |---|---|
 * | `spans`, `endpoints` | spans, distinct endpoints of each request; what lies outside its parent does not count |
 * | `latency_us` | latency of each request, in microseconds |
 * | `longest_call_chain` | spans on the longest call chain of each request, its root included |
 * | `max_concurrency` | most spans of each request that overlap in time; spans that touch do not |
 * | `work_us` | self times of the root and of all spans that it waits for, of each request, in microseconds |
 * | `parallelism_percent` | work of each request in percent of the duration of its root span |
 * | `critical_path_spans`, `critical_path_endpoints` | spans, distinct endpoints on the critical path of each request |
 * | `callers_per_endpoint` | distinct endpoints that call each endpoint |
 * | `spans_per_endpoint`, `critical_path_spans_per_endpoint` | spans of each endpoint over all requests, and those of them on critical paths |
 */
export interface Histograms {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** By key, in its own unit. */
  histograms: Record<string, Distribution>;
}

/** How many requests a subject hits. */
export interface HitRequests {
  /** Requests in which it takes longer than it usually does. */
  hit: number;
  /** Requests that use it and are of a type of which enough is known. */
  judged: number;
  /** Requests that use it and are of a type of which too few are there to compare with. */
  too_few: number;
}

/** Judged requests by whether the subject of the verdict hits them, and whether they are delayed. */
export interface Hits {
  /** Requests that are hit and delayed. */
  both: number;
  /** Requests in which it takes longer than is usual. */
  hit: number;
  /** Requests that use it and are of a type of which enough is known. */
  judged: number;
  /** Requests that are delayed and not hit. */
  only_delayed: number;
  /** Requests that are hit and not delayed. */
  only_hit: number;
  /** The part of the service: `own` for its own work, `in` for waiting for it, `out` for its calls of others. */
  part: string;
  /** The service. */
  service: string;
  /** The same in words. */
  text: string;
  /** Requests that use it and are of a type of which too few are there to compare with. */
  too_few: number;
}

/** How services became slower in proportion. */
export interface InProportion {
  /** Services that are slower. */
  slower: number;
  /** Services that have at least 1 % of the time. */
  services: number;
  /** By how much the typical one of these is slower, as a share of its time. */
  growth: number;
  /** The least that one of the slower ones is slower by, as a share of its time. */
  least: number;
  /** The most. */
  most: number;
}

/** A typed error with its sentence: what, where, why, and what to do next. */
export interface IngestError {
  /** The kind of error. */
  kind: ErrorKind;
  /** Name of the input. */
  file: string;
  /** Byte offset. */
  offset: number;
  /** What is wrong, as the end of a sentence. */
  reason: string;
  /** What to do, in one sentence. */
  next: string;
}

/** Overview of the loaded traces and their files. */
export interface Inspect {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Traces over all files, merged by id. */
  traces: number;
  /** Spans over all files, without copies. */
  spans: number;
  /** Services. */
  services: number;
  /** Endpoints. */
  endpoints: number;
  /** Size of the files as they are, packed. */
  bytes: number;
  /** The files that could be opened, in the order given. */
  files: InspectFileReport[];
  /** Quality of the spans: what was wrong with them. */
  quality: QualityOf;
}

/** A place in an input. */
export interface InspectExample {
  /** Byte offset in the text (of an archive: in the unpacked member). */
  offset: number;
  /** What stands there and what was done. */
  text: string;
}

/** The account of one input. */
export interface InspectFileReport {
  /** Name of the file as given. */
  name: string;
  /**
   * Format, recognised by content: `jaeger`, `jaeger-ui`, `jaeger-spans`, `elasticsearch`, `otlp`, `zipkin-v2`, `zipkin-v1`,
   * `otel-stdout`, `pathlight`, `otlp-protobuf`, `jaeger-protobuf`, `jaeger-cassandra`, `next-trace`, `summary`, or
   * one that a table describes (`docs/definitions/ingest.md` section 1), joined by `+` where a file holds several, with `gzip`, `zip` and `utf-16`; empty if
   * unknown.
   */
  format: string;
  /** Size of the file as it is, packed. */
  bytes: number;
  /** Distinct trace ids of this file. */
  traces: number;
  /** Spans of this file; those that stand twice count twice. */
  spans: number;
  /** What was odd, in the order of first sight. */
  problems: InspectReadProblem[];
  /** How reading ended. */
  ended: Ended;
  /** Which traces were kept (`--sample`, `--keep-service`); counts are of those. Missing if all were. */
  keep: KeptTraces;
  /** What an input may be that is not recognised, if it may be rows. */
  guess: Guess | null;
}

/** One kind of oddity, counted, with its first example. */
export interface InspectReadProblem {
  /** The kind of problem. */
  kind: ProblemKind;
  /** How often it was met. */
  count: number;
  /** The place where it was met first. */
  example: InspectExample;
}

/** Where one more span would tell most about what requests wait for. */
export interface Instrument {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Mean length of the stretch without a span in which a microsecond of latency lies, microseconds. */
  unknown_us: number;
  /** Share of the latency between calls and their answers in other services, where no span can stand; 0 to 1. */
  network_share: number;
  /** Number of places, of which `places` has at most 200. */
  places_in_all: number;
  /** Places, the greatest gain first. */
  places: Unseen[];
}

/** A 95 % confidence interval. */
export interface Interval {
  /** Lower end. */
  low: number;
  /** Upper end. */
  high: number;
}

/** Which traces of an input are kept. */
export type KeptTraces = "All" | {
  Sample: number;
} | {
  Service: string;
} | {
  RequestType: {
    /** Service of the root. */
    service: string;
    /** Operation of the root. */
    operation: string;
  };
};

/** What the verdict leads with. */
export interface Leading {
  /**
   * `stops` (visits end before calls they made), `fails`, `slower`, `in_proportion`, `queue` (messages wait longer),
   * `suspect` (weak, or maybe chance), or `nothing`.
   */
  kind: string;
  /** The service it is about, of a queue the one that receives; `null` if it is about none. */
  service: string | null;
}

/** A tag that is not proposed. */
export interface LeftOut {
  /** The tag or process tag. */
  tag: string;
  /** The reason. */
  why: NotProposed;
}

/** Links by whether the span that they lead to is loaded. */
export interface LinkCounts {
  /** Links to a span that is loaded. */
  resolved: number;
  /** Links to a span that is not. */
  unresolved: number;
}

/** The call or visit that took longest. */
export interface Longest {
  /** Canonical trace id. */
  trace_id: string;
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /** Latency in microseconds. */
  latency_us: number;
  /** The calling span, or the span where the service was entered. */
  span_id: string;
  /** The time of this call or visit on the critical path. */
  time_us: number;
}

/** A mean over all requests, microseconds per request; with a baseline also what it was there. */
export interface MapTime {
  /** The mean, microseconds per request. */
  mean_us: number;
  /** The same of the baseline; `null` without one. */
  baseline_us: number | null;
  /**
   * The 95 % interval of the change (Welch), wider by what drift could make of it; `null` without a baseline, or with
   * fewer than two requests on a side.
   */
  change_us: Interval | null;
}

/** Calls of one service by another one. */
export interface MappedCall {
  /** The calling service. */
  caller: string;
  /** The service that answers. */
  service: string;
  /** How long requests wait for the answers, with all these wait for. */
  wait: MapTime;
  /** What of that passes outside the spans that answer, microseconds per request. */
  outside_us: number;
  /** Number of calls that someone waits for. */
  calls: number;
  /** The same in the baseline; `null` without one. */
  baseline_calls: number | null;
  /** Calls whose answer is an error. */
  failed: number;
}

/** A service of the map. */
export interface MappedService {
  /** Service name. */
  service: string;
  /** Its own work on critical paths. */
  own: MapTime;
  /** Requests that use it. */
  requests: number;
  /** How often it was entered. */
  visits: number;
  /** Visits with an error that begins in it. */
  failed: number;
  /** `certain`, `likely` or `weak`, if the comparison of services has it slower than in the baseline; else `null`. */
  slower: string | null;
}

/** One message of errors that start at one endpoint. */
export interface Message {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Tag that has it. */
  tag: string;
  /** What it says. */
  text: string;
  /** Errors that have it. */
  errors: number;
}

/** Number of names with values in them, before and after they became templates. */
export interface NameCount {
  /** Different names, as recorded. */
  names: number;
  /** Templates that stand for them. */
  templates: number;
  /** Whether there may be more names: a worker keeps 16,384 of one template. */
  is_at_least: boolean;
}

/** The question has no options. */
export type NoOptions = Record<string, never>;

/** A request picked as an example. */
export interface NodeExample {
  /** Canonical trace id. */
  trace_id: string;
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /** Canonical id of the span of the node with the greatest exclusive time. */
  span_id: string;
  /** Latency of the request in microseconds. */
  latency_us: number;
  /** Exclusive time of the node in this request in microseconds. */
  exclusive_us: number;
}

/** Reason why a key is not proposed. */
export type NotProposed = "too_many_values" | "too_few_samples" | "no_difference";

/** `"latency"`, or the endpoint whose time is split. */
export type Of = string | {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
};

/**
 * A diagnosis of a summary has neither groups of traces nor layers 3 and 4, percentiles and intervals. Request types are
 * root endpoints, their traces are those of any latency, and the tail begins at the nearest end of a latency bin.
 */
export interface OfSummary {
  /**
   * Endpoints of request types that have more places than a summary tells apart: they have no parts, and are not among
   * what makes the tail slow.
   */
  too_wide: number;
  /** Requests kept out because their trace has several roots. */
  has_roots: number;
}

/** The critical path of one request. */
export interface OneRequest {
  /** Canonical trace id. */
  trace_id: string;
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /** Latency in microseconds: the sum of the segments. */
  latency_us: number;
  /** Work in microseconds: the self times of the root and of all spans that it waits for. */
  work_us: number;
  /** Work by the duration of the root span: how many spans work at once on average, at least 1. */
  parallelism: number;
  /**
   * Segments in order of time on the moved clock; they partition the root span, or with `--until done` all until
   * everything is done.
   */
  segments: OneSegment[];
  /** Calling contexts, in pre-order, siblings by (service, operation). */
  nodes: RequestNode[];
}

/** One segment of a request's critical path, on the moved clock. */
export interface OneSegment {
  /** Canonical span id; of a queue, that of the span that sent the message. */
  span_id: string;
  /** Start, microseconds since the epoch. */
  start_us: number;
  /** End, microseconds since the epoch. */
  end_us: number;
  /** The queue in which a message waits, as service and operation; missing if a span works. */
  queue?: [string, string] | null;
  /** Canonical id of its trace; missing if that is the trace of the request. */
  trace_id?: string | null;
}

/** A part of a sentence. */
export type Part = {
  text: string;
} | {
  endpoint: {
    /** Service name. */
    service: string;
    /** Operation name. */
    operation: string;
  };
} | {
  service: string;
} | {
  number: string;
};

/** The critical path of every request. */
export interface PerRequest {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** By (trace id, root span id). */
  requests: OneRequest[];
}

/** Mean and percentiles of some times in microseconds (linear interpolation at (n - 1) p); all 0 if there are none. */
export interface Percentiles {
  /** Arithmetic mean. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
  /** Greatest. */
  max: number;
}

/** A kind of call or of visit. */
export interface Place2 {
  /** The part of the service it belongs to: `own`, `in` or `out`. */
  part: string;
  /** The service on the other side of a call; `null` for own work. */
  other: string | null;
  /** The operation that answers, or where the service was entered. */
  operation: string;
  /** Calls or visits of side B. */
  calls: number;
  /** The service's part of the excess, as `[excess, uncertainty]`; `null` if side A has nothing to compare with. */
  excess_us: [number, number] | null;
  /** The request of side B in which it took longest; `null` if it took no time on any critical path. */
  exemplar: Longest | null;
}

/** Change of the time of one place. */
export interface PlaceChange {
  /** Service of the span; for a gap that of the calling side. */
  service: string;
  /** Operation of the span; for a gap that of the called side. */
  operation: string;
  /**
   * Number of the subspan, as it is in most spans; `null` for the gap between a client span and its server span, and of a
   * summary.
   */
  subspan: number | null;
  /** The child that begins or ends last before the subspan; `null` where it begins with the span, and for a gap. */
  previous: [string, string] | null;
  /** The child that begins after the subspan; `null` where it ends with the span, and for a gap. */
  next: [string, string] | null;
  /** The called service of a gap; else `null`. */
  gap_to: string | null;
  /** Mean time per normal trace (of set A); a trace without the place counts as 0. */
  a_us: number;
  /** Mean time per tail trace (of set B). */
  b_us: number;
  /** B minus A. */
  change_us: number;
  /**
   * Welch's 95 % interval of the change; `null` where there is nothing to test, and of a summary. Of a tail against normal
   * traces it describes these traces and is no test.
   */
  interval: Interval | null;
}

/** Changes of places by request type, types with the greatest change first. */
export interface PlacesReport {
  /** All request types together, each weighted by its tail traces (or those of set B); `null` where there is one type. */
  all: TypePlaces | null;
  /** Request types that can be split, or that both sets have; what grew most first. */
  types: TypePlaces[];
  /**
   * Request types that are not compared, by name: of a tail those with fewer than 10 traces, of two sets those that one
   * of them lacks.
   */
  left_out: TypeLeftOut[];
}

/** Calls that wait before they begin, of the service that the finding names. */
export interface PoolWait {
  /** The service that is called, or the peer that tags name, or the operation. */
  callee: string;
  /** Calls of one process that run at once at most. */
  at_once: number;
  /** Processes that have this limit. */
  processes: number;
  /** Calls of all these processes. */
  calls: number;
  /** Those of them that wait. */
  waiting: number;
  /** Mean time that these wait, in microseconds. */
  mean_us: number;
}

/** A place in an input. */
export interface Position {
  /** Name of the input. */
  input: string;
  /** Byte offset in it; of what is packed, in the unpacked text. */
  offset: number;
}

/** Times of a position in a group. */
export interface PositionTimes {
  /** Number of the parent's position; `null` for the root. */
  parent: number | null;
  /** Service name. */
  service: string;
  /** Operation name, numbered if its endpoint has several positions. */
  name: string;
  /** Number of its subspans; none is listed where there are more than the layer has room for. */
  subspans_in_all: number;
  /** Duration of the span. */
  duration_us: SplitStatistic;
  /** Layer 3: from the start of the span to that of its first child, then from the start of each child to that of the next. */
  child_diff_us: SplitStatistic[];
  /** Layer 3: time from the last child's end to the span's end; of a leaf its duration. */
  end_diff_us: SplitStatistic | null;
  /** Layer 4: durations of the subspans. */
  subspans_us: SplitStatistic[];
}

/** What was odd in an input. Nothing of this stops a load. */
export type ProblemKind = "unknown_process" | "missing_duration" | "negative_duration" | "missing_start" | "time_out_of_range" | "invalid_utf8" | "wrong_type" | "bad_syntax" | "too_deep" | "too_long" | "truncated" | "missing_trace_id" | "not_traces" | "bad_member" | "other_unit";

/** A tag whose values differ. */
export interface Proposal {
  /** The tag or process tag. */
  tag: string;
  /** Share of the variance of the ranks between the values, corrected for their number (epsilon squared), 0 to 1. */
  effect: number;
  /** Its 95 % interval by the delta method as `[low, high]`. */
  interval: [number, number];
  /** Values with at least 20 samples, slowest median first. */
  values: ProposedValue[];
}

/**
 * Without `--tag`: the tags whose values differ most. Samples are compared by rank, so that single slow requests do not
 * decide.
 */
export interface Proposals {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** The time that would be split: `"latency"`, or the exclusive time of an endpoint. */
  of: Of;
  /** Meaning of one sample: `"request"` or `"call"`. */
  per: string;
  /** Requests; with `--endpoint` its calls on critical paths, or with `--per request` the requests that have one. */
  samples: number;
  /**
   * By the lower end of the interval, greatest first: keys with an effect of at least 0.01 that the test of Kruskal and
   * Wallis finds at 0.1 %.
   */
  proposals: Proposal[];
  /** The other keys that samples have, by name. */
  left_out: LeftOut[];
}

/** A value of a proposed key. */
export interface ProposedValue {
  /** The value. */
  value: string;
  /** Samples. */
  n: number;
  /** Their median in microseconds, within 1 %. */
  p50_us: number;
}

/** Quality of the spans: what was wrong with them. */
export interface QualityOf {
  /** Spans cut to their parent's interval. */
  clipped_spans: number;
  /** Time that was cut off, in microseconds. */
  clipped_us: number;
  /** Duration of all spans before anything is cut, in microseconds. */
  span_us: number;
  /** Subtrees left out because they lie wholly outside their parent. */
  dropped_subtrees: number;
  /** Spans in them. */
  dropped_spans: number;
  /** Spans whose parent is missing, cut cycles included. */
  orphan_roots: number;
  /**
   * Duration of the spans below orphan roots that are part of no request by default, in microseconds before anything is
   * cut.
   */
  orphan_us: number;
  /** Cycles cut. */
  cycles: number;
  /** Spans of an id seen before, identical copies included. */
  duplicate_spans: number;
  /** Traces with several roots. */
  multi_root_traces: number;
  /** Traces without a parentless root. */
  incomplete_traces: number;
  /** Spans that nobody waits for, and all below them. */
  async_spans: number;
  /** Spans of `unknown-service`. */
  unknown_service_spans: number;
  /** Spans without a start, placed at their parent's. */
  start_missing_spans: number;
  /** `clipped_us` of `span_us`, 0 to 1. */
  clipped_share: number;
  /** Links between spans, by whether the span that they lead to is loaded. */
  links: LinkCounts;
  /** Coverage of the traces by all requests. */
  coverage: Coverage;
  /**
   * Spans at which work that no request holds begins: endpoints with most span time first, asynchronous work
   * before what is unattached.
   */
  outside: TopsOf[];
  /** Overlaps of calls in sequence that pass for clock skew. */
  accepted_overlaps: SequenceTimesOf;
  /** Gaps between calls in sequence: from the end of the one before to the start. */
  gaps: SequenceTimesOf;
  /**
   * Findings of the rules for real traces, by `overlay`, `callees`, `several-callees`, `waiting`, `templates`,
   * `nobody-waits`, `consumers` (whose parent is no producer), `clocks`, `gave-up` (callees that began after
   * their caller gave up), `stopped-waiting` (callees that were cut at the end of their call), `roots` (roots
   * beside the trace root that are requests of their own), `incomplete` (requests whose caller is not recorded),
   * `several-roots` (all roots beside it) and `orphan-roots` (roots whose parent is missing); what was not found
   * is left out.
   */
  reading: Record<string, FoundOf>;
  /** Names with values in them that count as one. */
  names: NameCount;
  /** Pairs of processes whose clocks were set, by caller and callee. */
  clocks: ClockOf[];
  /** How the traces were sampled, as they say it; left out if they say nothing. */
  sampling?: SamplingOf | null;
}

/** A percentile of a latency. */
export type Quantile = "p50" | "p95" | "p99";

/** How much longer messages wait in a queue than on side A. Times are microseconds. */
export interface Queue {
  /** Name of the queue or topic; empty if none was recorded. */
  destination: string;
  /** Service that sends. */
  sender_service: string;
  /** Operation that sends. */
  sender_operation: string;
  /** Service that receives. */
  receiver_service: string;
  /** Operation that receives. */
  receiver_operation: string;
  /** Messages of side A and of side B. */
  messages: [number, number];
  /** Mean time in the queue of a message of side A and of side B. */
  mean_us: [number, number];
  /** What the messages of side B wait longer per request of it, as `[excess, uncertainty]`. It is beside the latency. */
  excess_us: [number, number];
  /** What of it is beyond drift and chance; negative if messages wait shorter. */
  score_us: number;
  /**
   * How sure it is that messages wait longer: `certain`, `likely`, or `weak` (small, or maybe chance); `null` if they
   * do not.
   */
  certainty: string | null;
  /** The sentence of the queue. */
  text: string;
  /** The message of side B that waited longest. */
  longest: QueueExample;
}

/** A message, by its spans. */
export interface QueueExample {
  /** Canonical id of the trace of the span that sent. */
  sender_trace_id: string;
  /** Canonical id of that span. */
  sender_span_id: string;
  /** Canonical id of the trace of the span that received. */
  receiver_trace_id: string;
  /** Canonical id of that span. */
  receiver_span_id: string;
  /** Time in the queue in microseconds. */
  wait_us: number;
}

/**
 * Messages that requests send, and how long they wait until they are received. A message is a pair of spans: an
 * asynchronous span and its parent, or a consumer and a span that it links to.
 */
export interface Queues {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Number of messages. */
  messages: number;
  /** Time of all messages in queues. */
  sum_us: number;
  /** Messages that were received before they were sent, by clocks that were set; they count as 0. */
  early: number;
  /** Links of consumers, of any request, to a span that is not loaded. */
  lost_senders: number;
  /** By sender, receiver and queue: most time in the queue first, then by names. */
  edges: QueuesEdge[];
}

/** Messages from one endpoint to another. */
export interface QueuesEdge {
  /** Service that sends. */
  sender_service: string;
  /** Operation that sends. */
  sender_operation: string;
  /** Service that receives. */
  receiver_service: string;
  /** Operation that receives. */
  receiver_operation: string;
  /** Name of the queue or topic; empty if none was recorded. */
  destination: string;
  /** Requests that send. */
  requests: number;
  /** Number of messages. */
  messages: number;
  /** Time in the queue of each message. */
  wait_us: Percentiles;
  /** Time of all messages in the queue. */
  sum_us: number;
  /** Messages that were received before they were sent, by clocks that were set; they count as 0. */
  early: number;
  /** Mean number of messages that are received at once. */
  fan_in: number;
  /** Greatest number of messages that are received at once. */
  most_fan_in: number;
  /** The message that waited longest. */
  longest: QueueExample;
}

/** One row of the table of changes. */
export interface RankedRow {
  /** Place in the table, from 1. */
  rank: number;
  /** Number of the frame in `nodes`. */
  node: number;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** The time of the frame that this row is about: `subtree` or `exclusive`. */
  measure: string;
  /** Side A, in the unit of `by`. */
  a: number;
  /** Side B. */
  b: number;
  /** B minus A, in the unit of `by`. */
  change: number;
  /**
   * Welch's 95 % interval of the change as `[low, high]`; `null` where there is nothing to test: fewer than two requests
   * on a side, or no variance. With `by` = `share` the times of each request are divided by the side's mean latency.
   */
  interval: [number, number] | null;
  /**
   * Whether the change is no clearer than chance among all frames: false discoveries are kept at 5 % (Benjamini and
   * Hochberg).
   */
  noise: boolean;
  /** Whether the frame stands on side B only. */
  new: boolean;
  /** Whether the frame stands on side A only. */
  gone: boolean;
}

/** A percentile over that of the first value. */
export interface RatioTo {
  /** The ratio; `null` where there is nothing to divide by. */
  ratio: number | null;
  /**
   * Its seeded 95 % bootstrap interval over 2,000 resamples as `[low, high]`; `null` with fewer than two samples on a
   * side.
   */
  interval: [number, number] | null;
}

/** Percentiles of one value over those of the first. */
export interface Ratios {
  /** Ratio of the medians. */
  p50: RatioTo;
  /** Ratio of the 95th percentiles. */
  p95: RatioTo;
  /** Ratio of the 99th percentiles. */
  p99: RatioTo;
}

/** Options of how inputs are read. */
export interface ReadSettings {
  /** Read only one of so many traces, chosen by id: the same ones every time */
  sample?: number | null;
  /** Tag that says how many requests a trace stands for, before those that are known */
  weight?: string | null;
}

/** One reason. */
export interface Reason {
  /** Of an order the endpoint that the call begins after; `null` for none. */
  after: Endpoint | null;
  /** Training calls that are like this one; of structure. */
  alike: number;
  /** 5th and 95th percentile of training, microseconds or a number of calls; `null` of what is neither. */
  baseline: [number, number] | null;
  /** Training calls compared with. */
  calls: number;
  /** Of a delay the one endpoint that the span calls; `null` if it calls none or several, and of other reasons. */
  callee: Endpoint | null;
  /** Kind of deviation. */
  kind: ReasonKind;
  /** Of a delay the longest self time of the training calls, microseconds; else `null`. */
  longest_us: number | null;
  /** The call path, from the root. */
  path: Endpoint[];
  /** The reason in words. */
  text: string;
  /** Microseconds; of `call_count` a number of calls; of `error` and `critical_path` 1 for yes and 0 for no. */
  value: number;
}

/** Kind of a reason. The order is that of reasons of structure. */
export type ReasonKind = "missing_call" | "new_call" | "combination" | "error" | "call_count" | "order" | "critical_path" | "self_time" | "total_time" | "latency" | "wait" | "outside" | "delay";

/** One node of the critical calling context tree of one request. */
export interface RequestNode {
  /** Its number; node 0 is the root. */
  id: number;
  /** Number of the parent, which comes first; `null` for the root. */
  parent: number | null;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Exclusive time on the path in microseconds. */
  exclusive_us: number;
  /** Sanitised duration of its spans in microseconds. */
  inclusive_us: number;
  /** Spans on the critical path. */
  spans: number;
}

/** Options of questions that need to know no more than which requests. */
export interface RequestOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** A request by its ids. */
export interface RequestRef {
  /** Canonical trace id. */
  trace_id: string;
  /** Canonical id of the request's root span. */
  root_span_id: string;
  /** Latency in microseconds. */
  latency_us: number;
}

/** One root endpoint. */
export interface Root {
  /** Number of the root endpoint. */
  id: number;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Number of requests. */
  requests: number;
  /** Sum of their latencies. */
  latency_us: number;
}

/** How the traces were sampled, as they say it. */
export interface SamplingOf {
  /** Requests that the traces stand for: the sum of their weights. */
  weight: number;
  /** Effective number of traces, (sum w)^2 / sum w^2. */
  effective: number;
  /** Least and greatest weight of a trace. */
  weights: [number, number] | null;
  /** Traces by what says their weight. */
  sources: Record<string, number>;
  /** Traces of which nothing says it: their weight is 1. */
  without: number;
  /** Traces of which the source is no weight: theirs is 1. */
  invalid: number;
  /** Traces whose weight was capped at 2^24. */
  capped: number;
  /** Traces whose root has sources that disagree. */
  disagreeing: number;
  /** Traces of which another span says otherwise than the root. */
  varying: number;
  /** Traces of a rate limiter, which says no weight. */
  rate_limited: number;
}

/** Savings of an endpoint if it were faster. */
export interface SavedAt {
  /** If its own work were 10 % faster. */
  faster_10: Saving;
  /** If its own work were 50 % faster. */
  faster_50: Saving;
  /** If its own work took no time. */
  faster_100: Saving;
}

/** Saving at each quantile of the requests' latency, in microseconds. */
export interface Saving {
  /** Saved of the mean. */
  mean: number;
  /** The 95 % interval of that, over requests; how far the model is off comes on top. */
  mean_interval: Interval | null;
  /** Saved of the median. */
  p50: number;
  /** Saved of the 95th percentile. */
  p95: number;
  /** Saved of the 99th percentile. */
  p99: number;
}

/** With `--savings`: where work is best spent. */
export interface Savings {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Selected requests. */
  requests: number;
  /** Latencies of these requests as they are. */
  latency_us: Percentiles;
  /** Endpoints, the greatest saving of the mean at 50 % first (ties: at 100 %, then names). */
  endpoints: EndpointSaving[];
  /** Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none. */
  model_error: ErrorQuantiles | null;
}

/** Overlaps of calls in sequence that pass for clock skew, or gaps between calls in sequence. */
export interface SequenceTimesOf {
  /** Calls that begin so long before, or after, the end of the call that they come after. */
  calls: number;
  /** Traces with such a call. */
  traces: number;
  /** Sum of the overlaps or gaps. */
  sum_us: number;
  /** The longest one. */
  max_us: number;
  /** Number of those that last at least 1, 2, 4, 8, ... microseconds, and less than the next of these. */
  by_doubling: number[];
  /** Mean of these; 0 without any. */
  mean_us: number;
}

/**
 * With `--services`: the services that the requests use and the calls between them, against the files of `--baseline` if there
 * are some.
 */
export interface ServiceMap {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Requests looked at. */
  requests: number;
  /** Requests of the baseline; `null` without one. */
  baseline_requests: number | null;
  /** The latency of the requests. */
  latency: MapTime;
  /** The services, most own work first. */
  services: MappedService[];
  /** Calls of one service by another one, longest waits first. */
  calls: MappedCall[];
}

/** What of a service takes the time. */
export type ServicePart = "own" | "in" | "out";

/** The time of a service on critical paths, microseconds per request. Over all services it sums to the mean latency. */
export interface ServiceTime {
  /** Name of the service. */
  service: string;
  /** Its own work. */
  own_us: number;
  /** What calls into it take outside its spans, over all callers. */
  waiting_us: number;
}

/** What a set holds. */
export interface SetFacts {
  /** Traces, those of summaries too. */
  traces: number;
  /** Spans, without copies. */
  spans: number;
  /** Inputs that gave no trace, or only a part. */
  warnings: Warning[];
}

/** Share of the requests' latency that an endpoint accounts for, before and after a change. */
export interface ShareChange {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Its self time on the way that decides the requests' latency, summed over all requests, in microseconds. */
  before_us: number;
  /** That time after the change, in microseconds. */
  after_us: number;
  /** Share of the sum of latencies. */
  before_share: number;
  /** That share after the change. */
  after_share: number;
}

/** The requests of one side. */
export interface Side {
  /** The set of traces: `A` or `B`. */
  set: string;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Number of requests in it. */
  requests: number;
  /** Latencies of the requests. */
  latency_us: Percentiles;
  /** Sum of their latencies. */
  latency_sum_us: number;
}

/** Since when requests of a type are slower or faster. */
export interface Since {
  /** Service name of the root endpoint. */
  service: string;
  /** Operation name of the root endpoint. */
  operation: string;
  /** The first start after the change, microseconds since the epoch. */
  from_us: number;
  /** Median latency before and after, in microseconds. */
  p50_us: [number, number];
  /** Requests before and after. */
  requests: [number, number];
}

/** A place that is slower. */
export interface Slower {
  /** The tag of processes. */
  key: string;
  /** What is slower there: `{"service": name}`, `{"endpoint": [service, operation]}` or `{"calls": [caller, callee]}`. */
  of: DeploymentOf;
  /** The value of the tag there; `null`: calls that go from one value to another. */
  value: string | null;
  /** The values that it is compared with; none for calls, which are compared with those that stay within one value. */
  others: string[];
  /** Mean there, microseconds: of own work per visit, or of what a call takes outside of what answers. */
  mean_us: number;
  /** Mean elsewhere. */
  other_mean_us: number;
  /** How many times as long it takes there; `null` if it takes no time elsewhere. */
  times: number | null;
  /** The 95 % interval of the difference of the means; `null` if nothing varies. */
  longer_us: Interval | null;
  /** How likely such a difference is by chance alone. */
  p: number;
  /** Whether it is slower by more than chance: at most 5 % of those called so are not. */
  sure: boolean;
  /** What the mean latency of all requests loses to it on critical paths, microseconds. */
  cost_us: number;
  /** Requests there that are compared. */
  requests: number;
  /** Requests elsewhere that are compared with them. */
  other_requests: number;
  /** Width of the slots of time in which they are compared, minutes. */
  slot_minutes: number;
}

/**
 * `--tag K` splits the latency of requests by the tag of their root span; with `--endpoint SERVICE:OPERATION` the
 * exclusive time on the critical path of one endpoint, by the tag of its spans: each call is a sample, or with
 * `--per request` all calls of a request that have one value. A tag of the span goes before one of its process.
 */
export interface Split {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** The tag or process tag. */
  tag: string;
  /** The time that is split: `"latency"`, or the exclusive time of an endpoint. */
  of: Of;
  /** Meaning of one sample: `"request"` or `"call"`. */
  per: string;
  /** Samples without the tag. */
  missing: number;
  /** Whether the key has too many values to store; all samples then count as missing. */
  high_cardinality: boolean;
  /** Values left out because 20 others have more samples. */
  other_values: number;
  /** Samples of the values left out. */
  other_samples: number;
  /** The points of a logarithmic axis at which the densities stand. */
  points_us: number[];
  /**
   * By number of samples, most first (ties by value); the first is what the others are compared with. Times are in
   * microseconds.
   */
  values: Value[];
  /** The tag whose numbers are summed (`--sum`); `null` without. */
  sum_of: string | null;
  /** Whether that tag has too many values to store, so that its sums are not known. */
  sum_unknown: boolean;
  /** Whether it has, and each of its numbers is rounded to three digits. */
  sum_rounded: boolean;
}

/** Options of a split by a tag. */
export interface SplitOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** Key of the tag */
  tag?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/**
 * Statistics of a group of traces, of its normal and of its tail traces, in microseconds; these are missing where a group is
 * not split, for it has fewer than 10 traces, and of a summary.
 */
export interface SplitStatistic {
  /** Statistic over all traces. */
  all: TimeStatistics;
  /** Statistic over the normal traces. */
  normal: TimeStatistics | null;
  /** Statistic over the traces of the tail. */
  tail: TimeStatistics | null;
}

/** Visits of a service that end before calls they made on side A. */
export interface Stopped {
  /** The service to blame: the one visited, or what answers the call after which visits end. */
  service: string;
  /** The service that is visited. */
  caller: string;
  /** The operation where visits begin. */
  operation: string;
  /** The call after which they end, as `[service, operation]`; `null` if they make none. */
  last_call: [string, string] | null;
  /** Visits of side A and of side B. */
  visits: [number, number];
  /** How many of these end so. */
  stopped: [number, number];
  /** By how much their share grew, from 0 to 1. */
  growth: number;
  /** The growth times the share of the requests of side B that have such visits. */
  impact: number;
}

/** Sum of the numbers of a tag. */
export interface Sum {
  /** Sum of the numbers, in the unit of the tag. */
  sum: number;
  /** The sum divided by the requests that have it. */
  when_present: number;
  /** Mean of the spans that have a number. */
  per_span: number;
  /** Greatest number. */
  max: number;
  /** Spans that have a number. */
  spans: number;
  /** Requests with such a span. */
  traces: number;
}

/**
 * Endpoints on the critical path, over all their call paths.
 *
 * `--format text|markdown|csv` prints lists by p50, p95 and p99 instead, to be copied into a ticket.
 */
export interface Summary {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Number of requests in the percentile range. */
  requests: number;
  /** The percentile range as `[from, to]`, in percent. */
  band: [number, number];
  /** Latencies of the requests. */
  latency_us: Percentiles;
  /** Sum of their latencies. */
  latency_sum_us: number;
  /**
   * Endpoints, the one with the most exclusive time first; in `heatmap` as `--sort-rows` and `--inclusive` say. The sums
   * of exclusive time add up to `latency_sum_us`.
   */
  rows: EndpointOnPath[];
  /** The requests near the 50th, 95th and 99th percentile of their latency: within one percent of the requests around it. */
  at_latency: AtLatency[];
  /** Requests of any latency that lead to more than was followed; missing if they end with their answer. */
  cut?: number | null;
  /** `done` if requests end when everything is done that they lead to; missing if they end with their answer. */
  until?: string | null;
  /** The requests that they stand for, where traces were sampled and say so; else left out. */
  weighted?: WeightedOf | null;
}

/** Each node of `to` waits for each node of `from`. */
export interface Sync {
  /** Names of nodes that end. */
  from: string[];
  /** Names of nodes that start. */
  to: string[];
}

/** A tag, or a pair of tags, that more of the slow requests have than chance would give them. */
export interface TagRow {
  /** The tag, or both of a pair. */
  tags: FindingTag[];
  /** Slow requests that have it. */
  slow: number;
  /** Other requests that have it. */
  others: number;
  /**
   * At least this part of the slow requests has it beyond what their request types have anyway: the lower end of the
   * 95 % interval.
   */
  least: number;
  /** Other tags with the same numbers. */
  same: FindingTag[];
}

/** The tags that tell slow requests from the others, best first. */
export interface TagsReport {
  /**
   * Slow requests: the slowest tenth, rounded up and at least five, of each request type of ten or more; or those of the
   * percentile range.
   */
  slow: number;
  /** The other requests of the same types. */
  others: number;
  /** Tags with a value that were looked at. */
  tested: number;
  /** Tags and pairs, at most twelve. */
  rows: TagRow[];
}

/** Verdict on a slowness, by the times in the tail and in normal traces. */
export type TailVerdict = "tail" | "new" | "always" | "unsplit";

/**
 * With `--target p99=300ms` (also p50, p95): how much faster the own work of endpoints has to be for it, or how much less
 * time parts of services have to take. What is usual is that in the files of `--baseline`.
 */
export interface Target {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Selected requests. */
  requests: number;
  /** The percentile of the target. */
  quantile: Quantile;
  /** The percentile as it is, in microseconds. */
  before_us: number;
  /** The target value, in microseconds. */
  target_us: number;
  /** Number of single endpoints that reach the target if their own work takes no time. */
  reaching: number;
  /**
   * The single endpoints that bring it down most, the greatest effect first (ties by name): all that reach the target, and
   * others up to 10.
   */
  single: TargetWay[];
  /**
   * The best two and the best three endpoints that were found, together; none that is no better than fewer. They need not be
   * among `single`: of two calls side by side each alone may change nothing.
   */
  together: TargetWay[];
  /**
   * Parts of services, at all endpoints of a service at once, the greatest effect first (ties by name): of the parts that
   * take most time on the critical paths those that bring the percentile down. Own work of a service with one endpoint is
   * in `single`.
   */
  parts: TargetPart[];
  /**
   * Time that each call may take then, by the first of `single`, `together` and `parts` that reaches the target: the greatest
   * loss first (ties by name); empty if nothing reaches it.
   */
  budgets: CallBudget[];
  /** Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none. */
  model_error: ErrorQuantiles | null;
}

/** Options of a target. */
export interface TargetOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** A percentile and its time: `p99=300ms` */
  target?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** A part of a service that takes less time, at all of its endpoints. */
export interface TargetPart {
  /** Name of the service. */
  service: string;
  /** Its own work, or all calls into it: what these take outside its spans. */
  part: ServicePart;
  /** The least whole percentage by which it has to take less time to reach the target; `null` if even 100 does not. */
  less_percent: number | null;
  /** The percentile if it took no time, in microseconds. */
  at_best_us: number;
  /**
   * The percentile if it took what is usual, in microseconds: in the baseline, or without one in the faster half of each
   * request type.
   */
  usual_us: number;
}

/** Endpoints whose own work becomes faster, all by the same share. */
export interface TargetWay {
  /** The endpoints as `[service, operation]`. */
  endpoints: Array<[string, string]>;
  /** The least whole percentage by which they have to be faster to reach the target; `null` if even 100 does not. */
  faster_percent: number | null;
  /** The percentile if their own work took no time, in microseconds. */
  at_best_us: number;
}

/** What labels have taught a baseline. */
export interface TaughtCounts {
  /** Judged requests labelled as part of the incident. */
  incident: number;
  /** Training requests that are like those, and were left out. */
  left_out: number;
  /** Judged requests that are like those labelled normal, and count as training requests too. */
  like_normal: number;
  /** Judged requests labelled normal, which count as training requests. */
  normal: number;
  /** Labels of requests that are not among the judged ones. */
  unknown: number;
}

/** Requests that started in a stretch of time. */
export interface TimeBin {
  /** Its first microsecond since the epoch. */
  from_us: number;
  /** End in microseconds since the epoch, exclusive. */
  to_us: number;
  /** Requests that started in it. */
  requests: number;
  /** Those of them with a span in error. */
  with_errors: number;
  /** Median latency of these requests in microseconds. */
  p50_us: number;
  /** Greatest latency of these requests in microseconds. */
  max_us: number;
}

/** Statistics of some times in microseconds. */
export interface TimeStatistics {
  /** Number of values. */
  count: number;
  /** Mean; 0 without values. */
  mean: number;
  /** Sample standard deviation; 0 for fewer than two. */
  sd: number;
  /** Median, interpolated; `null` where only sums are known. */
  p50: number | null;
  /** 99th percentile, interpolated; `null` where only sums are known. */
  p99: number | null;
}

/** Spans of an endpoint at which work that no request holds begins. */
export interface TopsOf {
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Whether nobody waits for it; else spans above it are missing. */
  asynchronous: boolean;
  /** Such spans. */
  spans: number;
  /** Their duration. */
  us: number;
  /** The duration of these and of all spans below them. */
  span_us: number;
}

/** One group of traces. */
export interface TraceGroup {
  /** Its request type as `[service, operation]`; of layer 1 none, of layers 3 and 4 the root's endpoint. */
  root: [string, string] | null;
  /** Number of traces. */
  traces: number;
  /** Number of them outside the tail; `null` if the group is too small to split. */
  normal: number | null;
  /** Duration of the root span. */
  root_us: SplitStatistic;
  /**
   * Layers 1 and 2: the times of every endpoint, by name. Of layer 2 the groups with the most time are listed, until they
   * have 20,000 endpoints.
   */
  endpoints: EndpointTimes[];
  /** Layers 3 and 4: how many positions its tree has. */
  positions_in_all: number;
  /**
   * Layers 3 and 4: the times of every position in the tree, parents first. Of a layer the first 20,000 positions and
   * parts are listed, in the order of its groups.
   */
  positions: PositionTimes[];
}

/** An error: what, where, and what to do. */
export interface Trouble {
  /** The kind. */
  kind: TroubleKind;
  /** What is wrong, a sentence. */
  message: string;
  /** Where in the input, if it is about a place. */
  position: Position | null;
  /** What to do, a sentence. */
  nextStep: string;
}

/** The kind of an error. */
export type TroubleKind = "no-traces" | "no-requests" | "bad-option" | "not-in-summary" | "memory" | "unreadable" | "freed" | "elsewhere" | "broken";

/** A request type that is not compared. */
export interface TypeLeftOut {
  /** Service of the root. */
  service: string;
  /** Operation of the root, or `key=value`. */
  operation: string;
  /** Its traces; of two sets those of set A. */
  a_traces: number;
  /** Traces of set B. */
  b_traces: number;
}

/** The places of one request type. */
export interface TypePlaces {
  /** Service of the root. */
  service: string;
  /** Operation of the root, or `key=value`; empty for all together. */
  operation: string;
  /** Normal traces, or those of set A. */
  a_traces: number;
  /** Tail traces, or those of set B. */
  b_traces: number;
  /** Number of places, of which `places` lists at most 50. */
  places_in_all: number;
  /** Places where time is spent, what grew most first. */
  places: PlaceChange[];
}

/** A place in which a span could stand. */
export interface Unseen {
  /** Service of the span in which it lies. */
  service: string;
  /** Operation of the span. */
  operation: string;
  /** The call that ends before it, as `[service, operation]`; `null` where the span begins. */
  previous: [string, string] | null;
  /** The call that begins after it; `null` where the span ends. */
  next: [string, string] | null;
  /**
   * What the span calls, if that has no spans: it would have to be instrumented; empty if nobody knows its name, `null` where
   * the span itself works.
   */
  callee: string | null;
  /** Language of the service, as its SDK says; `null` if it does not. */
  language: string | null;
  /** Mean time on the critical path per request, microseconds. */
  us: number;
  /** The same as a share of the latency of all requests, 0 to 1. */
  share: number;
  /** Stretches per request. */
  stretches: number;
  /** Mean length of the stretch in which a microsecond of this place lies, microseconds. */
  stretch_us: number;
  /** How much `unknown_us` would shrink with a span here, microseconds. */
  gain_us: number;
  /** Code that makes the span; `null` where what is called has to be instrumented. */
  code: string | null;
}

/** One value of the tag. */
export interface Value {
  /** The value. */
  value: string;
  /** Number of samples. */
  n: number;
  /** Arithmetic mean. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
  /** Greatest. */
  max: number;
  /** Its percentiles over those of the first value. */
  ratio: Ratios;
  /** The violin: densities at `points_us`, a Gaussian kernel on the logarithms (Silverman's rule), the greatest being 1. */
  density: number[];
  /**
   * With `--sum`: the numbers of that tag on spans with this value, which is the span's own, else of its process, else
   * of the request's root; `null` if there are none.
   */
  sum: Sum | null;
}

/** A callee that the invocations of a variant call. */
export interface VariantCall {
  /** The endpoint that is called, as `[service, operation]`. */
  callee: [string, string];
  /** Calls in each invocation; `null` where some invocation of the parent makes more than 3: then any number from 1 on. */
  calls: number | null;
}

/**
 * With `--variants`: which calls the invocations of the parent make, how many make the same ones, the flow of each, and what
 * decides which.
 */
export interface Variants {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** The parent endpoint as `[service, operation]`. */
  parent: [string, string];
  /** Its invocations, those that make no call too. */
  invocations: number;
  /** The variants with the most invocations, these first: at most 8, of at least 5 invocations each. */
  variants: VariantsVariant[];
  /** Number of variants that are not listed. */
  others: number;
  /** Invocations of these. */
  other_invocations: number;
}

/** One node waits for another. */
export interface VariantsEdge {
  /** Name of a node, or `start`. */
  from: string;
  /** Name of a node, or `return`. */
  to: string;
  /**
   * Share of the invocations with both ends in which `from` ends before `to` starts (overlaps that pass for clock skew
   * included), 0 to 1.
   */
  support: number;
  /** Invocations with both ends. */
  invocations: number;
  /** Share of them in which `from` ends last of all that `to` waits for. */
  binding_share: number;
}

/**
 * With `--service` and `--operation`: the execution flow of that parent endpoint, learned from all its spans that wait
 * for some call (with filters: those within the requests that pass).
 */
export interface VariantsFlow {
  /** The parent endpoint as `[service, operation]`. */
  parent: [string, string];
  /** Its spans that wait for some call. */
  invocations: number;
  /** Its spans that wait for none. */
  childless: number;
  /** Latency of the invocations. */
  latency_us: Percentiles;
  /** Time from the end of the last call to the end of the invocation. */
  return_us: Percentiles;
  /**
   * Repeats of a callee above this one are folded into one node `#rest`; `null` if nothing is. A flow has at most 512
   * nodes: first the repeats above #8 fold, then those above #1, then all calls of a callee; beyond that the rarest
   * callees share the node `(other callees)`.
   */
  repeats_kept: number | null;
  /** The nodes, sorted by (service, operation, index). */
  nodes: VariantsNode[];
  /** The transitive reduction by (from, to). */
  edges: VariantsEdge[];
  /** Groups of edges that a drawing replaces by one synchronisation node. */
  sync_nodes: Sync[];
}

/** One callee, or one of its repeats. */
export interface VariantsNode {
  /** `service:operation`, with `#k` where the callee repeats (numbered by start), `#rest` for folded repeats. */
  name: string;
  /** Service name. */
  service: string;
  /** Operation name. */
  operation: string;
  /** Number of the call among those of the callee, from 1; 0 is a folded node. */
  index: number;
  /** Invocations that have it. */
  invocations: number;
  /** Latencies of the node. */
  latency_us: Percentiles;
  /** Time to its start from the latest end before it (or from the parent's start). */
  wait_us: Percentiles;
  /** Share of the invocations that have it in which it is on the parent's critical path. */
  critical_share: number;
}

/** Options of variants. */
export interface VariantsOptions {
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /**
   * The endpoint whose calls are looked at, within the requests: `SERVICE:OPERATION`; without it the root endpoint, or the one
   * whose calls take most
   */
  parent?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
}

/** Invocations that make the same calls. */
export interface VariantsVariant {
  /** Their number. */
  invocations: number;
  /** Whether they are in error. */
  error: boolean;
  /** Their calls, by name. */
  calls: VariantCall[];
  /** What nearly all of these invocations have and few others, the best first, at most 3. */
  decided_by: Decider[];
  /** The flow of these invocations alone. */
  flow: VariantsFlow;
}

/** Time on the critical path on the way to a service. */
export interface WaitingFor {
  /** `network`, or `network or caller` where spans have no kind: then the caller's own work may be in it. */
  kind: string;
  /** The service that is waited for. */
  callee: string;
  /** Sum in microseconds. */
  sum_us: number;
  /** Requests that wait. */
  traces: number;
}

/** What was odd in an input that gave traces all the same. */
export interface Warning {
  /** What it is, a sentence. */
  message: string;
  /** Input and place. */
  detail: string;
  /** What to do, a sentence. */
  nextStep: string;
}

/**
 * Sums and percentiles of one weight of a calling context. The mean is over all requests of the percentile range
 * (absent = 0), the percentiles over the requests that contain the context.
 */
export interface Weight {
  /** Sum in microseconds. */
  sum: number;
  /** Mean per request of the percentile range. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
}

/** The requests that sampled ones stand for. */
export interface WeightedOf {
  /** Their number: the sum of the weights of the requests in the percentile range. */
  requests: number;
  /** Effective number of requests, (sum w)^2 / sum w^2. */
  effective: number;
  /** Least and greatest weight. */
  weights: [number, number] | null;
  /** Their latencies by weight. */
  latency_us: Percentiles;
  /** Whether the numbers of this report are by weight; else each request counts once in them. */
  is_applied: boolean;
}

/**
 * With `--what-if 'service:operation=-50%'` (also `+500us`, `-2ms`, `+1s`; several at once) or `--parallel PARENT A B`:
 * the selected requests, every tree recomputed bottom-up with flows learned from all traces.
 */
export interface WhatIf {
  /** It grows when a key goes or changes its meaning. */
  version: 1;
  /** Selected requests. */
  requests: number;
  /** Requests whose latency changes. */
  changed: number;
  /** Their latency as it is, in microseconds. */
  before: Percentiles;
  /** Their latency as predicted, in microseconds. */
  after: Percentiles;
  /** Latency as it is at the quantiles 0, 1/200, ..., 1, in microseconds; empty without requests. */
  before_curve: number[];
  /** Latency after the change at these quantiles. */
  after_curve: number[];
  /** Endpoints, the greatest change of share first. */
  endpoints: ShareChange[];
  /** Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none. */
  model_error: ErrorQuantiles | null;
}

/** Options of a what-if. */
export interface WhatIfOptions {
  /**
   * Changes, all at once: `own:SERVICE=-50%`, `in:SERVICE=usual`, `SERVICE:OPERATION=-2ms`, `=gone`, `queue:NAME=-50%` (with `until: "done"`),
   * `network:A>B=-50%`, `network:A>B@KEY=within`, `move:SERVICE@KEY=VALUE`; `*` is any service;
   * `call:SERVICE:OPERATION=20ms` is what whole calls take then, `SERVICE:OPERATION<=200ms` what none exceeds; `*` in the name of an
   * endpoint stands for any letters
   */
  changes?: string[];
  /** Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual */
  hit?: string | null;
  /** Operation of the root endpoint */
  operation?: string | null;
  /** Percentiles of latency: `95-99`, `P95`, `tail` */
  range?: string | null;
  /** Service of the root endpoint, with `operation` */
  service?: string | null;
  /** When requests end: with their answer, unless set */
  until?: End | null;
  /** Search: `region=eu -retry=true`, `error= OR "GET /cart"` */
  where?: string | null;
  /** Changes of whole calls, with all that they wait for: `SERVICE:OPERATION=-50%`, `=gone` */
  wholeCalls?: string[];
}

/** Effect of a change on the requests of a selection. */
export interface WhatIfReport {
  /** Selected requests. */
  requests: number;
  /** Requests whose latency changes. */
  changed: number;
  /** Their latency as it is, in microseconds. */
  before: Percentiles;
  /** Their latency as predicted, in microseconds. */
  after: Percentiles;
  /** Latency as it is at the quantiles 0, 1/200, ..., 1, in microseconds; empty without requests. */
  before_curve: number[];
  /** Latency after the change at these quantiles. */
  after_curve: number[];
  /** Endpoints, the greatest change of share first. */
  endpoints: ShareChange[];
}

/** The tag with which requests of a type are slower. */
export interface WithTag {
  /** Tag key and value. */
  tag: [string, string];
  /** Service name of the root endpoint. */
  service: string;
  /** Operation name of the root endpoint. */
  operation: string;
  /** How many times as long requests with it take, as those with other values. */
  ratio: number;
  /** The 95 % interval of the ratio as `[low, high]`. */
  ratio_interval: [number, number];
}
