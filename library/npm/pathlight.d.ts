/**
 * Pathlight as a library: where the latency of distributed traces comes from. docs/javascript.md explains it.
 *
 * Types change with the version of the package: what is removed or changes its meaning raises the major version (before 1.0
 * the minor), what is new the minor.
 */
import type { Chart, ChartOptions, Against, Position, Questions, ReadSettings, TroubleKind, Warning } from "./reports.js";

export type * from "./reports.js";

/** Traces in any format that Pathlight reads, packed ones too: recognised by content, not by name. */
export type Input = ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array>;

/** How far reading is. */
export interface Progress {
  /** Bytes of all inputs so far. */
  bytes: number;
  /** Bytes of all inputs; `null` where a stream does not say. */
  total: number | null;
  /** Traces so far. */
  traces: number;
  /** Spans so far. */
  spans: number;
  /** Name of the input that is read. */
  input: string;
}

/** How traces are read. */
export interface ReadOptions extends ReadSettings {
  /** What the inputs are called in messages: one name, or one for each. A `File` has one. */
  name?: string | string[];
  /** Called after each part of an input. */
  progress?: (progress: Progress) => void;
  /** Ends reading; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** A set of traces. Free it when it is no longer needed; else that happens some time after nobody holds it. */
export interface TraceSet extends Questions {
  /** Traces, those of summaries too. */
  readonly traces: number;
  /** Spans, without copies. */
  readonly spans: number;
  /** Inputs that gave no trace, or only a part. */
  readonly warnings: readonly Warning[];

  /** Draws a chart; returns an SVG document. `difference` and `services` may have a baseline. */
  svg(chart: Chart, options?: ChartOptions & Against): Promise<string>;

  /** Gives the memory back; questions are rejected from then on. */
  free(): void;
}

/** Something that reads traces. */
export interface Reads {
  /**
   * Reads traces into a set.
   *
   * @throws {PathlightError} when nothing in the inputs is a trace, an input fails, or memory ends.
   */
  read(input: Input | Input[], options?: ReadOptions): Promise<TraceSet>;
}

/** A worker that reads and answers. */
export interface PathlightWorker extends Reads {
  /** Whether it is one: where none can be started, everything runs in this thread. */
  readonly isWorker: boolean;
  /** Ends the worker; its sets are gone. */
  close(): void;
}

export declare const Pathlight: Reads & {
  /** Starts a worker, so that this thread is never busy. Sets of one worker can be compared with each other. */
  inWorker(): Promise<PathlightWorker>;
};

/** What went wrong: `message` says what, `nextStep` what to do. */
export declare class PathlightError extends Error {
  readonly kind: TroubleKind;
  /** Where in the input, if it is about a place. */
  readonly position: Position | null;
  /** What to do, a sentence. */
  readonly nextStep: string;
  /** The error behind it, of a stream for instance. */
  readonly cause?: unknown;
}

