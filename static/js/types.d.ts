// Types of what the server sends, and of what the scripts make of it. Only `make check-pages` reads this file. The
// fields of payloads are those of /api/openapi.json.

/** Plotly and htmx are classic scripts, not modules: they are properties of the window. */
interface Window {
  Plotly: any;
  htmx: any;
}

/** Methods of arrays that this version of TypeScript does not know yet. */
interface Array<T> {
  toReversed(): T[];
  toSorted(compare?: (a: T, b: T) => number): T[];
  findLast(predicate: (value: T, index: number) => boolean): T | undefined;
}

/** Every element of the pages belongs to HTML or SVG. */
interface Element extends HTMLOrSVGElement, ElementCSSInlineStyle {}

interface HTMLElementEventMap {
  "htmx:afterSwap": CustomEvent;
  "htmx:configRequest": CustomEvent;
}

declare class OffscreenCanvas {
  constructor(width: number, height: number);
  getContext(kind: "2d"): Context;
}

type Context = CanvasRenderingContext2D;

interface Point {
  x: number;
  y: number;
}

interface Size {
  width: number;
  height: number;
}

/** Returns the colour of a name in tokens.css. */
type Colours = (name: string) => string;

/** A trace as Plotly takes it. */
interface Trace {
  x?: any[];
  y?: any[];
  z?: ArrayLike<number>[];
  [name: string]: any;
}

/** A layout, an axis or another part of a layout, as Plotly takes it. */
type Layout = Record<string, any>;

/** What Plotly draws. */
interface Figure {
  data: Trace[];
  layout: Layout;
}

/** A time axis, or the number of events that have happened. */
type Axis = "time" | "order";

/** Numbers of a payload: a list, or base64 of little-endian bytes. `shape` is "rows,columns". */
type Packed = number[] | ArrayBufferView | { dtype: string; bdata: string; shape?: string } | null | undefined;

/** What `decode` makes of it: an array or a typed array. */
interface Column extends ArrayLike<number>, Iterable<number> {
  keys(): IterableIterator<number>;
  indexOf(value: number): number;
  forEach(callback: (value: number, index: number) => void): void;
}

interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
}

interface ProcessPayload {
  id: string;
  state?: unknown;
  scope?: string | null;
  events?: number;
  first_at?: number | null;
  first_step?: number | null;
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
  arrangement?: ArrangementPayload;
}

/** How the processes stand in a picture; of `bands`, null is an edge that passes a layer. */
interface ArrangementPayload {
  operators: Operator[];
  bands: (string | null)[][][];
  alone: string[];
  is_guessed: boolean;
  drawn: number[];
  places: number[][];
}

interface OpenChannel extends ChannelPayload {
  code: number;
  sourceCode: number;
  targetCode: number;
}

/** A topology with its codes: the places of processes and channels in their lists. */
interface OpenTopology {
  processes: ProcessPayload[];
  arrangement?: ArrangementPayload;
  channels: OpenChannel[];
  processCode: Map<string, number>;
  channelCode: Map<string, number>;
  /** The codes of the coordinators. */
  coordinators: number[];
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
  watermarks?: (string | null)[];
  depths: Packed;
  strays_before?: number;
  strays?: { process: Packed; index: Packed };
  events?: EventsPayload;
  messages?: MessagesPayload;
  markers?: MarkersPayload;
  kinds: string[];
  snapshots: string[];
  bins?: BinsPayload;
  control?: ControlPayload;
}

interface ControlPayload {
  coordinators: number[];
  doing_names: string[];
  signal_names: string[];
  doings: Record<"process" | "what" | "snapshot" | "channel" | "since" | "until", Packed>;
  doings_hidden: number;
  signals: Record<"kind" | "coordinator" | "task" | "snapshot" | "lost" | "sent" | "arrived", Packed>;
  signals_total: number;
  why_not: string | null;
}

/** What a task does for a while, on the window's own axis. */
interface ControlDoing {
  process: number;
  what: string;
  snapshot: number;
  channel: number;
  since: number;
  until: number;
}

/** What a coordinator and a task say to each other; `arrived` is NaN where the log does not say. */
interface ControlSignal {
  kind: string;
  coordinator: number;
  task: number;
  snapshot: number;
  lost: number;
  sent: number;
  arrived: number;
}

interface OpenControl {
  doings: ControlDoing[];
  signals: ControlSignal[];
  /** What is left out, "" if nothing is. */
  sentence: string;
}

/** Columns of events; `x` is on the window's own axis. */
interface OpenEvents {
  count: number;
  process: Column;
  index: Column;
  at: Column;
  step: Column;
  kind: Column;
  channel: Column;
  snapshot: Column;
  known: Column;
  x: Column;
  state: unknown[];
  label: string[];
}

/** Columns of messages or markers; `sentX` and `receivedX` are on the window's own axis. */
interface OpenFlights {
  count: number;
  channel: Column;
  sent_index: Column;
  received_index: Column;
  sent_at: Column;
  received_at: Column;
  sent_step: Column;
  received_step: Column;
  sentX: Column;
  receivedX: Column;
}

interface OpenMessages extends OpenFlights {
  ordinal: Column;
  id: string[];
  value: unknown[];
}

interface OpenMarkers extends OpenFlights {
  snapshot: Column;
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
  watermarks: (string | null)[];
  depths: Column;
  /** How many receives before `positions` have no send in the log; `strays` are the further ones in the window. */
  straysBefore: number;
  strays: { count: number; process: Column; index: Column };
  events: OpenEvents;
  messages: OpenMessages;
  markers: OpenMarkers;
  kinds: string[];
  /** For each kind: whether its events carry the state of their process. */
  application: boolean[];
  snapshots: string[];
  bins: OpenBins | null;
  control: OpenControl;
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
  watermarks?: Record<string, string>;
  channels?: Record<string, unknown[]>;
  messages?: Record<string, string[]>;
  consistent: boolean | null;
  orphans?: OrphanPayload[];
  orphans_total?: number;
  strays_total?: number;
  nearest?: { positions: Record<string, number> } | null;
  at?: number;
  omitted?: Record<string, number>;
  outline?: {
    positions: Packed;
    nearest: Packed | null;
    channels: Packed;
    depths: Packed;
    hidden_channels: number;
    messages: number;
    in_processes: number | null;
    in_channels: number | null;
  };
}

/** A page of the rows of a list, as codes; `begin` is the place of the first, `total` counts all. */
interface Rows {
  codes: number[];
  page: number;
  begin: number;
  total: number;
}

/** The codes of the processes and channels whose rows are asked for. */
interface AskedRows {
  processes: number[];
  channels: number[];
}

/** What is known of all processes and channels of a cut of which only some rows are here. */
interface CutOutline {
  positions: number[];
  nearest: number[] | null;
  depths: Map<number, number>;
  hiddenChannels: number;
  messages: number;
  inProcesses: number | null;
  inChannels: number | null;
  listed: Set<number>;
}

/** A message in a channel at a cut; `row` is its row in the window, if the cut is from one. */
interface MessageInFlight {
  id: string;
  value: unknown;
  row?: number;
}

/** A cut as the panels show it. The sums are null if a value is not a number. */
interface Cut {
  window?: OpenWindow;
  positions: number[];
  states: unknown[];
  known: boolean[];
  watermarks: (string | null)[];
  /** Messages in flight by the code of their channel, in order. */
  channels: Map<number, MessageInFlight[]>;
  /** Null if all of the cut is here. */
  outline?: CutOutline | null;
  /** How many messages of a channel are not listed, by its code. */
  omitted?: Map<number, number>;
  /** Null if the log lacks events that decide it, and shows no orphan. */
  consistent: boolean | null;
  /** How many receives inside it have no send in the log. */
  strays: number;
  orphans: OrphanPayload[];
  orphansTotal: number;
  nearest: number[] | null;
  at?: number;
  events?: number;
  inProcesses?: number | null;
  inChannels?: number | null;
}

/** How far the chosen snapshot has come: processes that have recorded and channels, by their codes. */
interface Spread {
  snapshot: string;
  /** "not begun", "spreading" or "complete", and how far that has come, as a sentence. */
  phase: string;
  said: string;
  /** The places where it begins to spread and where it is complete, null if it never does or is. */
  begins: number | null;
  completes: number | null;
  /** How many processes belong to it, and how many channels are noted in it. */
  processes: number;
  channels: number;
  recorded: Set<number>;
  opened: Set<number>;
  locked: Set<number>;
  /** Processes that have recorded, and of which all channels are locked. */
  done: Set<number>;
  /** Why the log does not tell what is noted, by the code of the channel. */
  notTold: Map<number, string>;
  /** The counts n, n', m and m' of each channel so far, as a sentence; none of many channels. */
  counts: string[];
  noted: Map<number, { count: number; messages: MessageInFlight[] }>;
}

/** How far the chosen snapshot has recorded a channel; `why` says why that is not known. */
interface Recording {
  stage: string;
  why?: string;
  counts?: string;
  count: number;
  messages: MessageInFlight[];
}

/** All that is there at a place of the axis. */
interface Moment {
  x: number;
  /** How many frames since the key frame are in it, and how many events of the next one. */
  frames: number;
  taken: number;
  cut: Cut;
  /** The numbers on their channels of the messages that the cut lists. */
  ordinals: Map<number, number[]>;
  /** The numbers of the markers in each channel. */
  markers: Map<number, number[]>;
  spread: Spread | null;
  /** What is said beside the lanes of coordinators, by their codes. */
  said: Map<number, { order: number; words: string }>;
  /** What happens at the last event; null if the frame does not say it. */
  sentence: string | null;
}

/** One event of a frame, and what it changes. */
interface FrameStep {
  x: number;
  process: number;
  position: number;
  sentence: string | null;
  changes: ((draft: Moment) => void)[];
}

interface OpenFrame {
  from: number | null;
  at: number;
  ends: boolean;
  sequence?: number;
  /** What is there at its end, if it does not list its events. */
  whole: Moment | null;
  steps: FrameStep[];
}

/** A frame as the server sends it: docs/websocket.md. */
interface FramePayload {
  axis: Axis;
  from: number | null;
  at: number;
  ends: boolean;
  exact: boolean;
  events_total: number;
  session?: string;
  sequence?: number;
  /** That of the step that this key frame answers. */
  by?: number;
  cut?: CutPayload & { ordinals: Record<string, number[]> };
  markers?: { channel: Packed; ordinal: Packed; snapshot: Packed; total: number };
  spread?: any;
  said?: any;
  sentence?: string;
  sentences?: string[] | null;
  events?: any;
  put?: any;
  taken?: any;
  markers_put?: any;
  markers_taken?: any;
  states?: any;
  watermarks?: any;
  strays?: Packed;
}

interface WindowRequest {
  axis: Axis;
  from: number;
  to: number;
  width: number;
  only?: "markers";
}

type CutQuestion = { positions?: number[]; at?: number; step?: number };

/** What is selected in the workbench: processes and channels by code. */
type Chosen =
  | { of: "event"; process: number; index: number }
  | { of: "message"; channel: number; id: string }
  | { of: "process"; process: number }
  | { of: "channel"; channel: number };

/** Something in the diagram, with its row in the window. */
type Target = {
  of: string;
  process?: number;
  index?: number;
  channel?: number;
  id?: string;
  row?: number;
  lane?: LaneRow;
  fold?: Stretch;
};

/** How lanes are ordered: as in the log, by name, by number of events, by first event, or along the channels. */
type LaneSort = "log" | "name" | "events" | "first" | "topology";

/** Which lanes the diagram shows. Lanes are named by their process; the lane of a closed group is "GROUP[*]",
 * with more [*] if a process is called so. */
interface Lanes {
  /** Words that the names of shown processes hold. */
  filter: string;
  sort: LaneSort;
  grouped: boolean;
  /** Whether all lanes share the height, however thin they are. */
  fitted: boolean;
  /** Groups whose processes have lanes of their own. */
  open: string[];
  /** Lanes that stay at the top, in this order. */
  pinned: string[];
  /** The first lane in view below the pinned ones; null for the first of all. */
  first: string | null;
  /** Whether coordinators stand at the top, with what they and the tasks say to each other. */
  control: boolean;
}

interface LaneRow {
  name: string;
  processes: number[];
  group: string | null;
}

/** The lanes that are shown. */
interface Arrangement {
  rows: LaneRow[];
  /** How many rows at the top are pinned. */
  pinned: number;
  /** The row of each process, -1 for a hidden one. */
  rowOf: Int32Array;
  /** The place among all rows of the first one in view below those that stay. */
  first: number;
  /** How many processes are hidden. */
  hidden: number;
  /** Whether all rows share the height. */
  isFitted: boolean;
}

/** A part of the axis. */
interface Stretch {
  from: number;
  to: number;
  /** Whether an event that is shown stands at `to`. */
  endsAtEvent?: boolean;
}

/** What is known of when something happens between `from` and `to`. */
interface Activity extends Stretch {
  /** Instants of events, or the begins of bins with events, in order. */
  starts: Float64Array;
  /** Where nothing happens, in order. */
  stretches: Stretch[];
}

/** A folded stretch: `begin` and `end` are its places on the screen's even scale u. */
interface Fold extends Stretch {
  begin: number;
  end: number;
  removed: number;
}

/** A monotone map from the axis to u, which runs evenly along the screen, and its inverse. */
interface FoldScale extends Stretch {
  /** The folds in view. */
  folds: Fold[];
  /** The length of the view in u. */
  span: number;
  u(x: number): number;
  x(u: number): number;
}

/** What is selected, by ids. */
type ViewSelection =
  | { of: "event"; process: string; index: number }
  | { of: "message"; channel: string; message: string }
  | { of: "process"; process: string }
  | { of: "channel"; channel: string };

/** What the lists beside the diagram show. `full` is null as long as nobody has chosen. */
interface Filters {
  channels: string;
  full: boolean | null;
  states: string;
}

/** How panels are arranged. `sizes` are thousandths of the window's height; that of "read" of the page's width. */
interface PanelsView {
  folded: string[];
  tables: string[];
  order: string[];
  sizes: Record<string, number>;
  tab: string;
}

/** The complete state of the workbench as plain JSON, by the ids of the log. */
interface View {
  axis: Axis;
  now: number;
  from: number;
  to: number;
  snapshot: string | null;
  compared: string | null;
  selection: ViewSelection | null;
  cut: number[] | null;
  idle: boolean;
  lanes: Lanes;
  filters: Filters;
  panels: PanelsView;
}

/** A view of which some fields may be absent. */
interface PartialView extends Partial<Omit<View, "lanes" | "filters" | "panels">> {
  lanes?: Partial<Lanes>;
  filters?: Partial<Filters>;
  panels?: Partial<PanelsView>;
}

/** A view that was read, and its fields that were left out because they mean nothing here. */
interface CheckedView {
  view: PartialView;
  ignored: string[];
}

/** What exists on this page, for checking a view. What is absent is not checked. */
interface KnownNames {
  snapshots?: { has(name: string): boolean };
  panels?: string[];
  tabs?: string[];
}

/** What the websocket of an archived job sends. Without a version, only the newest checkpoint is meant. */
interface ArchiveNews {
  version?: number;
  state?: string;
  stall?: string;
  /** Milliseconds after which how the job is is not known any more. */
  fresh_for?: number;
  newest: { pipeline: number; number: number } | null;
  /** The newest poll of a checkpoint in progress. */
  polled?: { pipeline: number; number: number; at: number } | null;
}

/** Which of the polls of a checkpoint's barrier front is shown. */
interface FrontPoll {
  at: number;
  instants: number[];
  status: string;
}

interface SocketOptions {
  /** Is called with each message that answers no request. */
  onMessage?(message: any): void;
  /** Is called with "open", "closed", or "ended" and a sentence if the server wants no more connection of this page. */
  onState?(state: string, sentence?: string): void;
  /** Class of the socket. */
  Socket?: any;
}

interface ReplaySocket {
  isOpen(): boolean;
  send(message: object): void;
  /** Resolves with the answer to a request. Rejects if the server refuses it or the socket closes. */
  ask(type: string, body: object): Promise<any>;
  close(): void;
}

interface Command {
  name?: string;
  title: string;
  keys?: string[];
  run(event?: Event): void;
}

/** What the search box lists: a command, a name, or an event. */
interface Entry extends Command {
  closes?: boolean;
  isHit?: boolean;
}

interface SearchQuestion {
  query: string;
  limit?: number;
  offset?: number;
  from_step?: number;
}

interface SearchHit {
  process: string;
  index: number;
  at: number;
  step: number;
  kind: string;
  channel: string | null;
  snapshot: string | null;
  message: string | null;
  label: string | null;
  value: any;
}

interface SearchAnswer {
  total: number;
  complete: boolean;
  searched: number;
  offset: number;
  hits: SearchHit[];
  bins_of_time: number[];
  bins_of_order: number[];
}

/** A field in which a recorded and a recomputed state differ. */
interface Difference {
  path: string;
  recorded: any;
  recomputed: any;
}

interface LabelBox {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A line of what is written beside a node: its whole text, then shorter ones. */
interface LabelLine {
  part: string;
  texts: string[];
}

/** A node that gets lines of text. */
interface LabelNode extends Point {
  r: number;
  lines: LabelLine[];
}

/** The lines that are written beside a node, and their box. */
interface Label {
  node: number;
  lines: { part: string; text: string }[];
  box: LabelBox;
}

/** What a search has found so far. */
interface Found {
  query: string;
  total: number;
  complete: boolean;
  searched: number;
  /** The place of `hit` among all, from 1; 0 without one. */
  number: number;
  hit: SearchHit | null;
  page: SearchHit[];
  bins: Record<Axis, number[]> | null;
  error: string;
}

interface PaletteOptions {
  commands(): Command[];
  search: {
    state(): Found;
    count(): string;
    write(number: number): string;
    title(hit: SearchHit): string;
    find(query: string): Promise<any>;
    ready(): Promise<any>;
    step(direction: number): Promise<SearchHit | null>;
    choose(row: number): SearchHit | null;
    clear(): void;
  };
}

interface DroppedFile {
  file: File;
  path: string;
}

/** When a channel is blocked, on the window's axis. */
/** The functions that end a promise. */
interface Settle {
  resolve(value: any): void;
  reject(error: Error): void;
}

interface PlayerState {
  axis: Axis;
  now: number;
  from: number;
  to: number;
  playing: boolean;
  speed: number;
  selection: Chosen | null;
  cones: ConesPayload | null;
  snapshot: string | null;
  /** Positions of the dragged cut. */
  cut: number[] | null;
  /** What is drawn strongly, with all else dimmed. */
  witness: Witness | null;
  /** What can be drawn. */
  window: OpenWindow | null;
  /** The cut that the panels show. */
  shown: Cut | null;
  /** What the frames say of the cursor. */
  moment: Moment | null;
  /** How many events the search has found in equal parts of each axis. */
  marks: Record<Axis, number[]> | null;
  notes: NoteEntry[];
  folded: Set<string>;
  tables: Set<string>;
  /** The order of the panels that were moved; empty as at first. */
  order: string[];
  sizes: Record<string, number>;
  tab: string;
  filters: Filters;
  /** Which page of their rows the panels list. */
  pages: { channels: number; states: number };
  /** The snapshot that the chosen one is compared with. */
  compared: string | null;
  lanes: Lanes;
  /** Whether idle time is folded. */
  idle: boolean;
  /** A window of the whole recording on this axis, once it has been loaded. */
  overview: OpenWindow | null;
}

type Player = ReturnType<typeof import("./lib/player.js").createPlayer>;

/** The events at the edge of a cone, by process; null for a process without any. */
interface ConeEdge {
  at: (number | null)[];
  step: (number | null)[];
}

interface ConesPayload {
  process: string;
  before: number;
  after: number;
  concurrent: number;
  past: ConeEdge;
  future: ConeEdge;
}

/** One verdict about a snapshot, with the events and the message that show it. */
interface Finding {
  verdict?: string;
  sentence?: string;
  process?: string;
  channel?: string;
  message?: string;
  value?: unknown;
  sent?: EventLink;
  received?: EventLink;
}

interface EventLink {
  process: string;
  index: number;
  at?: number;
}

/** What a link in the workbench leads to, by ids. */
interface LinkTarget extends Partial<EventLink> {
  of: string;
  channel?: string;
  id?: string;
  /** The ends of a message that is the witness of a finding. */
  sent?: EventLink;
  received?: EventLink;
}

/** The message that is shown as the witness of a finding. */
interface Witness {
  channel: number;
  id: string;
  sent?: EventLink;
  received?: EventLink;
}

/** An end of a witness: where it is drawn, in u and slots, and its name. */
interface WitnessEnd {
  x: number;
  slot: number;
  text: string;
}

/** A word of a sentence and what it selects. */
interface Noun {
  text: unknown;
  target: LinkTarget;
}

/** One of the four answers of a snapshot. */
interface AnswerPayload {
  question: string;
  answer: string;
  /** Absent in a snapshot in brief. */
  sentence?: string;
  not_compared?: string;
}

interface SnapshotSummary {
  snapshot: string;
  verdict: string;
  /** The word for lists. */
  outcome?: string;
  answers?: AnswerPayload[];
  verdicts?: Finding[];
  positions?: Record<string, number>;
  initiators?: string[];
  began_at?: number | null;
  ended_at?: number | null;
  duration?: number | null;
  markers_sent?: number | null;
  markers_received?: number | null;
  /** How many events lie inside the cut, in a snapshot in brief; null where it does not pass everywhere. */
  events?: number | null;
}

/** A summary with its positions in the order of the processes, or null as long as only its brief form is loaded. */
interface OpenSummary extends SnapshotSummary {
  codes: number[] | null;
}

/** The states of processes and the values in channels, by id. */
interface Contents {
  processes?: Record<string, unknown>;
  channels?: Record<string, unknown[]>;
}

interface SnapshotDetail extends SnapshotSummary {
  channels: Record<string, unknown[] | null>;
  part: { omitted: Record<string, number>; omitted_recorded: Record<string, number> };
  outline: { positions: Packed; channels: Packed; hidden_channels: number; recorded_between: [number, number] | null };
  /** The codes of the processes and channels whose rows are here. */
  loaded: { processes: Set<number>; channels: Set<number> };
  /** The codes of the channels that hold messages, recorded or recomputed. */
  filled: Set<number>;
  recorded?: Contents;
  recomputed?: Contents;
  recorded_messages?: Record<string, string[]>;
  messages?: Record<string, string[]>;
  recorded_at?: Record<string, number>;
  why_unknown?: string;
  why_empty?: string;
}

/** A message or marker as the server describes it at one of its events. */
interface FlightPayload {
  channel: string;
  sent_index: number;
  sent_at: number;
  received_index: number | null;
  received_at: number | null;
}

interface JobPayload {
  id: number;
  state: string;
  phase?: string;
  progress?: number;
  done?: number;
  total?: number | null;
  rate?: number | null;
  remaining?: number | null;
  recording?: number;
  cancel_requested?: boolean;
  error?: ProblemPayload | null;
}

interface ProblemPayload {
  type?: string;
  status?: number;
  detail: string;
  line?: number;
  field?: string;
  excerpt?: string;
  defects?: { line?: number; sentence: string }[];
  defects_total?: number;
  instead?: string;
  choices?: { format: string; name?: string; events: number | null }[];
  kept?: boolean;
}

/** What is uploaded as one: a File, files that go together (parts), or a file that is read in another way (source). */
interface Upload {
  name: string;
  size: number;
  parts?: DroppedFile[];
  source?: any;
  format?: string;
  title?: string;
  team?: string;
}

interface UploadEvent extends Partial<PieceProgress> {
  file: Upload;
  type: "waiting" | "sending" | "accepted" | "refused";
  sent?: number;
  total?: number;
  body?: any;
  problem?: ProblemPayload;
}

interface Answer {
  status: number;
  body: any;
}

/** What a person can do with an upload in pieces; `request` is the piece that is being sent. */
interface PieceControl {
  isPaused: boolean;
  isDiscarded: boolean;
  request: { abort(): void } | null;
  pause(): void;
  goOn(): void;
  discard(): void;
  goesOn(): Promise<void>;
}

/** How an upload in pieces goes: the rate in bytes a second, and the seconds that are left; null is not known. */
interface PieceProgress {
  rate: number | null;
  left: number | null;
  state: "sending" | "paused" | "waiting" | "discarding";
  why: string;
  id: number | null;
  control: PieceControl;
}

type Report = (sent: number, total: number, more?: PieceProgress) => void;

/** What sending in pieces takes from the browser, and from tests. */
interface PieceTools {
  Request?: any;
  pause?: (ms: number, switched: PieceControl) => Promise<void>;
  now?: () => number;
}

/** A file for which a refusal offers another way to read it. */
interface Offer {
  item: Upload;
  words: string;
}

interface ProofPayload {
  is_pre: boolean[];
  words: string[];
  swaps: number;
  lanes: number;
  was: Figure;
  now: Figure & { config: object };
}

/** A swap of two neighbours, by their indexes. */
interface Swap {
  mover: number;
  passed: number;
}

interface EditedProcess {
  key: string;
  id: string;
  state: string;
  x: number | null;
  y: number | null;
}

interface EditedChannel {
  key: string;
  id: string;
  source: string | null;
  target: string | null;
  fifo: boolean;
  named: boolean;
}

interface EditedTopology {
  name: string;
  processes: EditedProcess[];
  channels: EditedChannel[];
  nextKey: number;
}

/** A vertex of an edited dataflow; its numbers are texts as they were typed. */
interface FlowVertex {
  key: string;
  id: string;
  kind: string;
  function: string;
  sink: string;
  rest: Record<string, unknown>;
  [field: string]: any;
}

interface FlowEdge {
  key: string;
  source: string | null;
  target: string | null;
  exchange: string;
}

interface Flow {
  name: string;
  vertices: FlowVertex[];
  edges: FlowEdge[];
  nextKey: number;
}

interface FieldProblem {
  key: string;
  field: string;
  sentence: string;
}

interface Refusal {
  field?: string;
  detail: string;
}

/** What the server put beside an editor's form. */
interface EditorStart {
  document: any;
  /** Why the server refused the document. */
  refusal: Refusal | null;
  /** Whether the document differs from what is stored. */
  unsaved: boolean;
}

/** What the form of an editor needs of it. `T` is the value that is edited. */
interface EditorParts<T> {
  model: {
    fromDocument(document: any): T;
    toDocument(value: T): object;
    asText(value: T): string;
    rename(value: T, name: string): T;
    problems(value: T): FieldProblem[];
    refusalsOf(refusal: Refusal | null, value: T): FieldProblem[];
  };
  /** Draws the editor. */
  show(): void;
  /** Is called after undo and redo. */
  stepped(): void;
  /** Focuses a field of a row. */
  focus(key: string, field: string): void;
}

interface FlowEditor {
  now(): Flow;
  selected(): string | null;
  unfolded(): boolean;
  refusals(): FieldProblem[];
  select(key: string): void;
  focusRow(key: string): void;
  addVertex(): void;
  addEdge(): void;
  changeVertex(key: string, fields: object): void;
  changeEdge(key: string, fields: object): void;
  removeVertex(key: string): void;
  removeEdge(key: string): void;
}

interface TopologyEditor {
  now(): EditedTopology;
  tool(): string;
  selected(): string | null;
  channelFrom(): string | null;
  refusals(): FieldProblem[];
  select(key: string | null): void;
  pick(key: string): void;
  startChannel(key: string): void;
  connect(source: string, target: string): void;
  addAt(x: number | null, y: number | null): void;
  addChannelRow(): void;
  moveTo(key: string, x: number, y: number, going: boolean): void;
  changeProcess(key: string, fields: object): void;
  changeChannel(key: string, fields: object): void;
  remove(key: string): void;
  makeBidirectional(): void;
  rename(key: string): void;
  cancel(): void;
}

/** The colours of the workbench, as canvas and Plotly take them. */
type WorkbenchColours = Record<string, string>;

/** What determines the geometry of the space-time diagram: its size and margins in pixels, and the part in view. */
interface Measures extends Size {
  left: number;
  right: number;
  top: number;
  bottom: number;
  scale: FoldScale;
  arrangement: Arrangement;
}

/** The geometry of the space-time diagram. */
type Geometry = ReturnType<typeof import("./views/workbench/geometry.js").geometry>;

/** What a drawing of the space-time diagram needs. */
interface Scene {
  window: OpenWindow | null;
  g: Geometry;
  topology: OpenTopology;
  arrangement: Arrangement;
  colours: WorkbenchColours;
  axis: Axis;
  unit: string;
  bounds: { from: number; to: number };
  snapshot: string | null;
  /** Positions of the chosen snapshot. */
  positions: number[] | null;
  recordedAt: Record<string, number> | null | undefined;
  dragging: boolean;
  lanes?: Lanes;
  witness?: Witness | null;
  /** The row of its message, -1 if the window lacks it. */
  witnessRow?: number;
}

/** The rows of messages and markers of a window. */
interface Flights {
  window: OpenWindow | null;
  messages: number[];
  markers: number[];
}

/** What a moving figure shows: traces in pixels, always as many. Other places of `view` are not glided to. */
interface MovingMarks {
  data: Trace[];
  size: Size;
  view: string;
}

/** Where a message or marker is on its line, in pixels. */
interface FlightPlace extends Point {
  id: string;
  x0: number;
  y0: number;
}

/** What a channel of the topology holds, and its frame. */
interface Badge extends LabelBox {
  text: string;
}

/** A vertex of a dataflow in the topology, with the codes of its subtasks. */
interface Operator {
  key: string;
  name: string;
  members: number[];
}

/** A topology without cycles. `bands` are the layers of each pipeline. */
interface Dataflow {
  operators: Map<string, Operator>;
  bands: (string | null)[][][];
  /** Operators without channels. */
  alone: string[];
  /** Whether no channel is known, and the order is that of the log. */
  isGuessed: boolean;
}

/** A circle of the topology: a process, or the processes of a closed operator. */
interface Circle extends Point {
  operator: string | null;
  processes: number[];
}

interface NamedCircle extends Circle {
  name: string;
  /** How many subtasks it stands for. */
  count: number;
}

/** Where the circles of a dataflow stand; `row` and `apart` are their least distances. */
interface PlacedFlow {
  circles: Circle[];
  heads: (Point & { operator: string })[];
  row: number;
  apart: number;
  hidden: number;
}

/** All channels from one circle to another. `rim` is the share of the way that lies inside a circle. */
interface Bundle {
  source: number;
  target: number;
  codes: number[];
  from: NamedCircle;
  to: NamedCircle;
  rim: number;
  bow: number;
  path: Point[];
  bounds: LabelBox;
}

/** What the topology draws in one size. `at` has the circle of each process, -1 without one. */
interface Arranged {
  circles: NamedCircle[];
  heads: (Point & { operator: string; name: string; count: number })[];
  bundles: Bundle[];
  at: Int32Array;
  hidden: number;
  radius: number;
  apart: number;
  isGuessed: boolean;
}

/** What stands in the topology. `insides` and `phases` are those of the circles. */
interface TopologyScene extends Arranged {
  colours: WorkbenchColours;
  headings: Label[];
  labels: Label[];
  insides: string[];
  phases: (string | null)[][];
  badges: Badge[];
  /** The boxes of all names, states and contents. */
  covered: LabelBox[];
  bundleOf: Map<number, Bundle>;
}

/** What a frame of the moving canvas needs. */
interface MovingScene extends Scene {
  state: any;
  flights: Flights;
  /** The pixel of the cut on each lane. */
  cutX: number[] | null;
  shown: Cut | null;
  hover: Target | null;
}

/** A list of lines for Plotly, each ended by null. */
interface LineSet {
  x: (number | null)[];
  y: (number | null)[];
}

/** A chart of the workbench: its figure, the rows of its table, and the element of Plotly. */
interface Chart {
  figure(): Figure;
  rows(): TableRows;
  plot: HTMLElement;
  /** Whether the table changes with the shown cut. */
  follows?: boolean;
  /** Returns what moves over the figure: figures of the same size, and what paints the canvas above them. */
  over?: () => { figures?: Figure[]; paint?: (context: Context) => void };
  /** What the server sends whole beside the table of the part in view. */
  whole?: WholeTable;
}

/** A table of the workbench that the server sends whole. */
interface WholeTable {
  name: string;
  title: string;
  query?: () => Record<string, string>;
}

/** What an SVG file is made of; see lib/picture-file.js. */
interface PictureParts {
  title: string;
  captions: string[];
  /** Names with their colours. */
  legend?: [string, string][];
  width: number;
  height: number;
  drawing: string;
  colours: { background: string; text: string; soft: string };
}

interface TableRows {
  head: string[];
  rows: any[][];
  notice?: string;
}

interface DepthMatrix {
  edges: ArrayLike<number>;
  channels: number[];
  rows: Float64Array[];
}

/** A part of the workbench that draws what has changed. */
interface WorkbenchPart {
  update(state: PlayerState, keys: Set<string>): void;
}

interface TourStep {
  title: string;
  text: string;
  view: Record<string, string>;
  leads: [string, string][];
  look: string;
}

interface Guide {
  steps: TourStep[];
  /** Name and address of the next tour. */
  onward: [string, string] | null;
}

/** What the parts of the workbench share. */
interface App {
  root: any;
  recording: any;
  /** Whether somebody with a public link looks, who can open no other page and change nothing. */
  isVisitor: boolean;
  topology: OpenTopology;
  player: Player;
  urls: Record<string, string>;
  /** For each process whose handle was dragged where no window answers, its place on an axis. */
  cutHints: Map<number, { time?: number; order?: number }>;
  colours: WorkbenchColours;
  reducedMotion: boolean;
  say(text: string): void;
  readInstant(at: number): string;
  readDuration(amount: number): string;
  readPlace(x: number): string;
  socket: ReplaySocket;
  source: ReturnType<typeof import("./lib/source.js").createSource>;
  steps: ReturnType<typeof import("./views/workbench/steps.js").createSteps>;
  snapshots: ReturnType<typeof import("./views/workbench/snapshots.js").createSnapshots>;
  pictures: ReturnType<typeof import("./views/workbench/pictures.js").createPictures>;
  playing: ReturnType<typeof import("./views/workbench/playing.js").createPlaying>;
  spacetime: ReturnType<typeof import("./views/workbench/spacetime.js").createSpacetime>;
  lanes: ReturnType<typeof import("./views/workbench/lanes.js").createLanes>;
  listed: ReturnType<typeof import("./views/workbench/listed.js").createListed>;
  witness: ReturnType<typeof import("./views/workbench/witness.js").createWitness>;
  folds: ReturnType<typeof import("./views/workbench/folds.js").createFolds>;
  panels: ReturnType<typeof import("./views/workbench/panels.js").createPanels>;
  /** What exists on this page, for checking a view. */
  known(): KnownNames;
  /** Returns the complete state of the page. */
  view(): View;
  /** Shows a view, and returns its fields that were left out. */
  applyView(value: unknown): string[];
  sayIgnored(ignored: string[]): void;
  palette: { open(toFind?: boolean): void; draw(): void };
  help: HTMLDialogElement;
  firstPicture: Promise<void>;
  snap(x: number): number;
  changeAxis(axis: Axis): Promise<void>;
  plotWidth(): number;
  loadView(): Promise<void>;
  showTab(name: string): void;
  run(name: string): void;
  link(): string;
  select(selection: Chosen | null): void;
  go(target: LinkTarget): Promise<void>;
  /** Resolves with the place of an event on the axis, or null if it is not known. */
  placeOf(process: number, index: number, at?: number): Promise<number | null>;
  messageRow(window: OpenWindow | null, message: { channel?: number; id?: string }): number;
  markerEvent(row: number): Chosen;
  eventsOf(p: number): number;
  chooseSnapshot(snapshot: string): Promise<void>;
  /** Notes that the person has come to the chosen snapshot: its place, or where the cursor was if it has none. */
  standAtSnapshot(): void;
  /** Returns the snapshot to which the person came last, null if they have moved on since or drag a cut. */
  snapshotHere(): string | null;
  fit(): void;
  changeSpeed(steps: number): void;
  back(): void;
  beginCut(): Promise<void>;
  endCut(): void;
  nearest(): void;
  /** Takes the cut as it is now as a step that can be undone. */
  keepCut(): void;
  undoCut(): void;
  redoCut(): void;
  copyLink(): Promise<void>;
  showSharing(): Promise<void>;
  /** The number of the review in whose room the page is; null in the room of the recording. */
  review: string | null;
  /** The people who look at this recording; null before the server has said it, and in a sample. */
  room: Room | null;
  together: {
    present(): void;
    follow(): void;
    accept(): void;
    decline(): void;
    point(event?: Event): void;
    resume(): void;
  };
  /** Returns the process or channel at a pixel of the topology. */
  topologyAt(x: number, y: number): Chosen | null;
  /** Returns where a channel, else a process is drawn in the topology; null if it is not. */
  topologySpot(process: number | undefined, channel: number | undefined): Point | null;
  /** The three commands of the notes; a sample has none. */
  writeNote?(): void;
  keepNote?(): unknown;
  toggleNotes?(): void;
  onNews?(news: any): void;
  /** Of an open recording: follows what comes. */
  live?: { toggle(): void; hear(news: any): boolean; begin(isWanted: boolean): void };
  onConnected?(): void;
  onLost?(): void;
}

/** How far an open recording has come. */
interface LiveHead {
  extent: { from: number; to: number; steps: number };
  counts: Record<string, number>;
  /** How many events have come, shown or not. */
  came: number;
  /** How many snapshots are judged. */
  judged: number;
  /** How many snapshots have begun and are not judged. */
  under_way: number;
  missing: number;
  waits: { process: string; events: number; channel: string; what: string }[];
  waits_total: number;
}

/** A person who is in a room. */
interface RoomPerson {
  person: number;
  name: string;
  may_present: boolean;
  is_following: boolean;
  /** The number of the recording that the person looks at. */
  recording: number;
  axis: Axis;
  /** The place of the cursor on the axis; null if it is not known. */
  at: number | null;
}

/** The people who look at the same thing, and who of them presents (docs/websocket.md). */
interface Room {
  /** At most 50 of them. */
  people: RoomPerson[];
  total: number;
  /** The name is null while the connection of the presenter is lost. */
  presenter: { person: number; name: string | null; is_here: boolean } | null;
  requests: { person: number; name: string }[];
  offered_to: number | null;
  you: { person: number; may_present: boolean; presents: boolean; asks: boolean; is_offered: boolean };
}

/** The presenter's view. */
interface ViewNews {
  view: any;
  playing: boolean;
  speed: number;
  /** Differs if the presenter did anything but play on. */
  revision: number;
  /** How long ago the view was sent, in ms. */
  age: number;
  page: string;
  recording: number;
}

/** What somebody points at. */
interface PointNews {
  person: number;
  name: string;
  recording: number;
  axis?: Axis;
  at?: number;
  process?: string;
  channel?: string;
}

/** What the pointer acts on: the canvas of the space-time diagram. */
interface PointerSurface {
  canvas: HTMLCanvasElement;
  measures(): Geometry;
  window(): OpenWindow | null;
  setHover(target: Target | null, px?: number, py?: number): void;
  scrollLanes(count: number): void;
}

interface TablePanel {
  head: string[];
  rows: HTMLElement[];
  buttons: HTMLElement;
  /** The sentence that is shown without items. */
  empty: string;
  /** Selector of the element around the table. */
  wrap?: string;
  /** Further classes of the table. */
  kind?: string;
  more?: HTMLElement | null;
}

/** The events that two recordings share: steps of each side, rising, beside those of the other side. */
interface Alignment {
  from: [Column, Column];
  to: [Column, Column];
  /** Of each side, the first step of which it is not known whether the other side has its event. */
  settled: [number, number];
}

/** One side of the page that compares two recordings, snapshots or cuts. */
interface ComparedSide {
  recording: number;
  name: string;
  unit: string;
  extent: { from: number; to: number; steps: number };
  positions: Record<string, number> | null;
  snapshot: string | null;
  /** The last event inside the snapshot or cut. */
  start: { at: number; step: number } | null;
  is_derived: boolean;
}

/** A side at the cursor. */
interface CursorSide {
  topology: OpenTopology;
  cut: Cut;
  isDerived: boolean;
}

/** What one side holds of a process or channel; two that are known are the same if their keys are. */
interface CursorCell {
  text: string;
  key: string;
  /** How many messages there are, 1 for a state; null if it is not known. */
  count: number | null;
  /** Whether the side lacks the process or channel. */
  isAbsent: boolean;
  isKnown: boolean;
  /** Whether no other value has the same key. */
  isExact: boolean;
}

/** A line of what both sides hold at the cursor; "open" if it is not compared. */
interface CursorRow {
  name: string;
  texts: [string, string];
  verdict: "other" | "open" | "same";
}

interface ComparedData {
  kind: "recordings" | "states";
  alignment: string;
  sides: [ComparedSide, ComparedSide];
}

/** What the diagrams show of a difference that is chosen. */
interface ComparedDifference {
  process: string | null;
  channel: string | null;
  spots: ({ at: number; step: number } | null)[];
}

/** A place in a recording, as the API says. */
interface NotePlace {
  text: string;
  kind: string;
  words: string;
  state: string;
  reason: string;
  at: number | null;
  step: number | null;
  process: string | null;
  address: string | null;
  workbench: string | null;
}

interface NoteAnswer {
  id: number;
  text: string;
  html: string;
  author: string | null;
  imported_from?: string | null;
  created_at: string;
  edited_at: string | null;
  /** Names its present words, so that a change does not replace newer ones. */
  version: string;
  may: { edit: boolean; resolve: boolean; delete: boolean; answer: boolean };
}

interface NoteEntry extends NoteAnswer {
  number: number;
  kind: string;
  parent: number | null;
  place: NotePlace | null;
  sentence: string;
  due_on: string | null;
  resolved_at: string | null;
  resolved_by: string | null;
  resolution_imported_from?: string | null;
  /** The last ones in a list, else all. */
  answers: NoteAnswer[];
  answers_total: number;
}

interface TrailItem {
  id: number;
  place: NotePlace | null;
  sentence: string;
}

interface TrailPage {
  items: TrailItem[];
  total: number;
}

/** What the form of the notes is open for. */
interface Draft {
  of: "new" | "answer" | "edit" | "keep";
  text?: string;
  entry?: any;
  item?: TrailItem;
  place?: string;
  seen?: string;
  /** The version of the entry that is being changed, as the person has seen it. */
  version?: string;
}

interface NoteActions {
  compose(draft: Draft): void;
  jump(place: NotePlace): unknown;
  keep(item: TrailItem): unknown;
  resolve(entry: NoteEntry, resolved: boolean): unknown;
  remove(entry: NoteAnswer, parent?: NoteEntry): void;
  /** Loads all answers of an entry. */
  unfold(entry: NoteEntry): unknown;
}

/** An event in the evidence of a document. A state is canonical JSON; it is absent where no claim rests on it. */
interface EvidenceEvent {
  kind: string;
  at: number;
  step: number;
  channel?: string;
  message?: string;
  snapshot?: string;
  state?: string;
  messages?: string[];
  value?: string;
  label?: string;
}

/** A message or a marker in the evidence of a document: the indexes of its send and its receive. */
interface EvidenceFlight {
  id?: string;
  snapshot?: string;
  sent: number;
  received?: number;
  value?: string;
}

/** The log on which claims of a document rest, as snapshots/domain/proving/evidence.py writes it. */
interface Evidence {
  name: string;
  time_unit: string;
  derived: boolean;
  only_clocks: boolean;
  flaws: Record<string, number>;
  processes: { id: string; scope?: string; state?: string }[];
  channels: { id: string; source: string; target: string; fifo: boolean; overtaking: boolean }[];
  events: EvidenceEvent[][];
  messages: EvidenceFlight[][];
  markers: EvidenceFlight[][];
  strays: { process: string; index: number }[];
}

/**
 * A message or marker of an opened log; `received` is IN_FLIGHT where it never arrives. It is the index of a restore if
 * that took it back.
 */
interface Flight extends EvidenceFlight {
  channel: number;
  ordinal: number;
  takenBack: boolean;
  sentAt: number;
  receivedAt?: number;
}

interface CheckedLog {
  evidence: Evidence;
  origin: Instant;
  topology: OpenTopology;
  messages: Flight[][];
  markers: Flight[][];
  window: OpenWindow;
}

/** What is known of a snapshot before it is judged; processes and channels are codes. */
interface SnapshotCase {
  log: CheckedLog;
  snapshot: string;
  processes: number[];
  channels: number[];
  positions: Map<number, number>;
  records: Map<number, string[]>;
  recordedStates: Map<number, string>;
  recomputedStates: Map<number, any>;
  inFlight: Map<number, Flight[]>;
  orphans: Map<number, number>;
  markersSent: number;
  markersReceived: number;
  ids: { process: (code: number) => string; channel: (code: number) => string };
}

/** A claim of a document. `why_not` says why it cannot be checked in the document. */
interface Claim {
  id: string;
  kind: "log" | "snapshot" | "cut" | "event" | "message" | "checkpoint";
  evidence: string;
  place?: string;
  says: any;
  why_not?: string;
}

interface Checked {
  outcome: string;
  differences: string[];
}

interface CheckpointTask {
  name: string;
  acknowledged: boolean | null;
  duration: number | null;
  start_delay: number | null;
  alignment: number | null;
  takes_barriers: boolean;
  sync: number | null;
  async: number | null;
  bytes: number | null;
  uploaded: number | null;
  in_flight: number | null;
}

/** A time as the data of a document write it: a decimal text beyond 2^53. */
type Instant = number | string;

interface PathSegment {
  process: string;
  phase: string;
  from: Instant;
  to: Instant | null;
}

interface CheckpointData {
  status: string;
  triggered_at: Instant | null;
  ended_at: Instant | null;
  stated_duration?: number | null;
  stated_acknowledged?: number | null;
  subtasks: number | null;
  tasks: CheckpointTask[];
  path?: PathSegment[];
  time_unit?: string;
}

interface LiveSystem {
  recording: number;
  name: string;
  events: number;
  missing: number;
  heard_at: string;
  is_connected: boolean;
  epoch: number | null;
  total: number | null;
  sum: number | null;
  processes: { name: string; events: number; state: string; since: number | null; balance: number | null }[];
  snapshots: {
    name: string;
    initiator: string | null;
    states: number;
    channels: number | null;
    sum: number | null;
    at: number;
    verdict: string | null;
    sentence: string;
    problem: string | null;
  }[];
  notes: string[];
}

/** What both sides of a restored run show at the end of a frame. */
interface RestoredSides {
  beat: number;
  title: string;
  sentence: string;
  faults: { place: number; kind: string; sentence: string }[];
  is_fault: boolean;
  sums: { texts: string[]; conserved: string; wrong: string } | null;
  rows: { name: string; of: string; texts: string[]; verdict: string }[];
  differ: number;
  counted: string;
  ending: { alike: boolean | null; sentence: string } | null;
  moving: object[][];
  pictures: { data: object[]; layout: object }[] | null;
}

interface RestoredFrame {
  from: number | null;
  at: number;
  ends: boolean;
  sequence?: number;
  restored: RestoredSides;
}

/** What the page of a restored run begins with. */
interface RestoredData {
  recording: number;
  restored: string;
  /** Places in a second. */
  rate: number;
  /** The last place of each beat. */
  beats: number[];
  /** Where something goes wrong. */
  faults: number[];
  end: number;
  sides: string[];
  caption: string;
  frame: RestoredFrame;
  /** All frames, if they are in the page. */
  frames?: RestoredFrame[];
}
