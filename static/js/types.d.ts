// Types of what the server sends and of what the library modules make of it. Only `make check-pages`
// reads this file. The fields of payloads are those of /api/openapi.json.

/** A script of its own, not a module: it stands on the window. */
interface Window {
  Plotly: any;
  htmx: any;
}

declare const Plotly: any;

/** Every element of the pages belongs to HTML or SVG. */
interface Element extends HTMLOrSVGElement, ElementCSSInlineStyle {}

interface HTMLElementEventMap {
  "htmx:afterSwap": CustomEvent;
}

declare const OffscreenCanvas: new (width: number, height: number) => any;

/** A trace as Plotly and the sketches take it. */
type Trace = Record<string, any>;

/** What Plotly and the sketches draw. */
interface Figure {
  data: Trace[];
  layout: any;
}

/** A time axis, or the number of events that have happened. */
type Axis = "time" | "order";

/** Numbers of a payload: a list, or base64 of little-endian bytes. `shape` is "rows,columns". */
type Packed = number[] | ArrayBufferView | { dtype: string; bdata: string; shape?: string } | null | undefined;

/** What `decode` makes of it. */
type Column = any;

interface Matrix {
  rows: number;
  columns: number;
  values: Column;
}

interface ProcessPayload {
  id: string;
  state?: unknown;
}

interface ChannelPayload {
  id: string;
  source: string;
  target: string;
  fifo?: boolean;
}

interface TopologyPayload {
  processes: ProcessPayload[];
  channels: ChannelPayload[];
}

interface OpenChannel extends ChannelPayload {
  code: number;
  sourceCode: number;
  targetCode: number;
}

/** A topology with its codes: the places of processes and channels in their lists. */
interface OpenTopology {
  processes: ProcessPayload[];
  channels: OpenChannel[];
  processCode: Map<string, number>;
  channelCode: Map<string, number>;
}

interface EventsPayload {
  process: Packed;
  index: Packed;
  at: Packed;
  step: Packed;
  kind: Packed;
  channel: Packed;
  snapshot: Packed;
  state: unknown[];
  state_known: Packed;
  label: string[];
}

interface EndsPayload {
  sent_index: Packed;
  received_index: Packed;
  sent_at: Packed;
  received_at: Packed;
  sent_step: Packed;
  received_step: Packed;
}

interface MessagesPayload extends EndsPayload {
  channel: Packed;
  ordinal: Packed;
  message: string[];
  value: unknown[];
}

interface MarkersPayload extends EndsPayload {
  channel: Packed;
  snapshot: Packed;
}

interface BinsPayload {
  edges: Packed;
  events: Packed;
  depth: Packed;
  bin_width: number;
  processes: Packed;
  channels: Packed;
  hidden_processes?: number;
  hidden_channels?: number;
}

interface WindowPayload {
  axis: Axis;
  from: number;
  to: number;
  exact: boolean;
  events_total: number;
  messages_total: number;
  positions: Packed;
  positions_to: Packed;
  states: unknown[];
  states_known: boolean[];
  depths: Packed;
  events?: EventsPayload;
  messages?: MessagesPayload;
  markers?: MarkersPayload;
  kinds: string[];
  snapshots: string[];
  bins?: BinsPayload;
}

interface OpenTable {
  count: number;
  [column: string]: Column;
}

interface OpenBins {
  edges: Column;
  events: Matrix;
  depth: Matrix;
  width: number;
  processes: number[];
  channels: number[];
  hiddenProcesses: number;
  hiddenChannels: number;
}

interface OpenWindow {
  axis: Axis;
  from: number;
  to: number;
  exact: boolean;
  eventsTotal: number;
  messagesTotal: number;
  positions: Column;
  positionsTo: Column;
  states: unknown[];
  known: boolean[];
  depths: Column;
  events: OpenTable;
  messages: OpenTable;
  markers: OpenTable;
  kinds: string[];
  /** For each kind: whether its events carry the state of their process. */
  application: boolean[];
  snapshots: string[];
  bins: OpenBins | null;
  /** The event rows of each process, by index. */
  rows: number[][];
  topology: OpenTopology;
}

interface OrphanPayload {
  verdict: string;
  channel: string;
  message: string;
  value: unknown;
  sent: { process: string; index: number; at: number };
  received: { process: string; index: number; at: number };
  row?: number;
}

/** The answer to the question for a cut, by HTTP and by the websocket. */
interface CutPayload {
  positions: Record<string, number>;
  states?: Record<string, unknown>;
  channels?: Record<string, unknown[]>;
  messages?: Record<string, string[]>;
  consistent: boolean;
  orphans?: OrphanPayload[];
  orphans_total?: number;
  nearest?: { positions: Record<string, number> } | null;
  at?: number;
}

/** A cut as the panels show it. The sums are null where something is not a number. */
interface Cut {
  window?: OpenWindow;
  positions: number[];
  states: unknown[];
  known: boolean[];
  /** Messages in flight by the code of their channel, in order. */
  channels: Map<number, { id: string; value: unknown; row?: number }[]>;
  consistent: boolean;
  orphans: OrphanPayload[];
  orphansTotal: number;
  nearest: number[] | null;
  at?: number;
  events?: number;
  inProcesses?: number | null;
  inChannels?: number | null;
}

interface WindowRequest {
  axis: Axis;
  from: number;
  to: number;
  width: number;
}

type CutQuestion = { positions?: number[]; at?: number; step?: number };

/** What is selected in the workbench: processes and channels by code. */
type Chosen =
  | { of: "event"; process: number; index: number }
  | { of: "message"; channel: number; id: string }
  | { of: "process"; process: number }
  | { of: "channel"; channel: number };

/** What a link to the workbench names. */
interface View {
  axis?: Axis;
  now?: number;
  from?: number;
  to?: number;
  snapshot?: string | null;
  selection?: any;
  cut?: number[] | null;
  folded?: Set<string>;
  tables?: Set<string>;
}

interface SocketOptions {
  onMessage?(message: any): void;
  onState?(state: string, sentence?: string): void;
  /** Class of the socket. */
  Socket?: any;
}

interface ReplaySocket {
  isOpen(): boolean;
  send(message: object): void;
  ask(type: string, body: object): Promise<any>;
  close(): void;
}
