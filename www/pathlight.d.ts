/**
 * What a page and the Pathlight it shows in a frame (or opened as a window) say to each other by `postMessage`.
 * docs/embedding.md explains it.
 */
declare namespace Pathlight {
  /** Version of the contract; it is in every message. */
  interface Message {
    pathlight: 1;
  }

  /** Answered by {@link Pong}, without asking the user. */
  interface Ping extends Message {
    type: "ping";
  }

  /** Loads traces in any format that can be dropped on the page, packed ones too. */
  interface Traces extends Message {
    type: "traces";
    /** What the input is called, as a file would be. */
    title?: string;
    /** The bytes, to be transferred, or the text. */
    data: ArrayBuffer | ArrayBufferView | Blob | string;
    /** Forget what is loaded first; otherwise the traces are added. */
    replace?: boolean;
    /** Load the traces as one of two sets, which are compared. */
    side?: "a" | "b";
  }

  /** Forgets what is loaded. */
  interface Clear extends Message {
    type: "clear";
  }

  /** Opens the dialog that saves what is loaded as a report, a page in one file. */
  interface Report extends Message {
    type: "report";
  }

  /** Shows what this fragment says, as if it stood behind the `#` of the address. */
  interface Query extends Message {
    type: "query";
    /** For instance `view=flame&range=P95-99`; `new URLSearchParams({...}).toString()` makes one. */
    query: string;
  }

  interface Theme extends Message {
    type: "theme";
    theme: "light" | "dark" | "system";
  }

  interface View extends Message {
    type: "view";
    /** A value of `view=`. The names of earlier versions (`diff`, `heat`, `bottom`, `tprof`, `anomaly`) are understood too. */
    view:
      | "findings" | "flame" | "compare" | "heatmap" | "endpoints" | "split" | "flow" | "diagnosis" | "anomalies"
      | "errors" | "requests" | "trace" | "trend";
  }

  /** What a host sends. */
  type Incoming = Ping | Traces | Clear | Report | Query | Theme | View;

  /** Once, to parent and opener: messages are heard from now on. */
  interface Ready extends Message {
    type: "ready";
  }

  interface Pong extends Message {
    type: "pong";
  }

  /** Whenever a load has ended, whoever began it. Each message with traces has its own answer, in the order they came: this, or a
      {@link Failure} if there is no trace in it. */
  interface Loaded extends Message {
    type: "loaded";
    /** Of everything that is loaded. */
    traces: number;
    spans: number;
    /** Sentences about what was wrong with the input. */
    warnings: string[];
  }

  /** The user selected a request, a span, or opened a trace. */
  interface Select extends Message {
    type: "select";
    traceID: string;
    /** `null` for the trace as a whole. */
    spanID: string | null;
  }

  /** Escape was pressed, and nothing in the page was left to be closed, unselected or zoomed out of. */
  interface Escape extends Message {
    type: "escape";
  }

  interface Failure extends Message {
    type: "error";
    code: "version" | "bad-message" | "refused" | "no-traces";
    /** A sentence for people. */
    message: string;
  }

  /** What Pathlight sends. */
  type Outgoing = Ready | Pong | Loaded | Select | Escape | Failure;
}
