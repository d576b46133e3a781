import assert from "node:assert/strict";
import { test } from "node:test";

import { isNewer, jobLine, jobWords } from "../../static/js/views/jobs/words.js";
import { channelPath, point, processAt, sizeFor, toPlace } from "../../static/js/views/topology/geometry.js";
import {
  formOf,
  grouped,
  offered,
  placeOf,
  postFile,
  problemOf,
  sendAll,
  withFormat,
  withTeam,
} from "../../static/js/views/recordings/upload-queue.js";

const RUNNING = {
  id: 1,
  state: "running",
  phase: "sorting",
  progress: 0.42,
  done: 4200,
  total: 10000,
  rate: 1234.5,
  remaining: 95,
};

test("a running job has phase, progress, events, rate and remaining time", () => {
  assert.deepEqual(jobWords(RUNNING), {
    phase: "sorting",
    progress: "42 %",
    done: "4,200 of 10,000",
    rate: "1,235 events/s",
    remaining: "1.58 min",
  });
  assert.equal(jobLine(RUNNING), "sorting, 42 %");
});

test("a job of which nothing is known yet has a text in every place", () => {
  const words = jobWords({
    state: "queued",
    phase: "",
    progress: 0,
    done: 0,
    total: null,
    rate: null,
    remaining: null,
  });
  assert.deepEqual(words, { phase: "queued", progress: "0 %", done: "0", rate: "–", remaining: "–" });
});

test("a late message does not replace a newer one", () => {
  assert.ok(isNewer(RUNNING, undefined));
  assert.ok(!isNewer({ ...RUNNING, progress: 0.3 }, RUNNING));
  assert.ok(isNewer({ ...RUNNING, state: "done", progress: 0 }, RUNNING));
  assert.ok(!isNewer(RUNNING, { ...RUNNING, state: "done" }));
});

test("a file that is refused does not stop the ones after it", async () => {
  const answers = {
    good: { status: 202, body: { id: 1, job: 2 } },
    bad: { status: 422, body: { detail: "Line 3: not JSON.", line: 3 } },
  };
  const heard = [];
  const files = ["good", "bad", "good"].map((name) => ({ name, size: 10 }));
  const accepted = await sendAll(
    files,
    async ({ name }) => answers[name],
    (event) => heard.push([event.file, event.type]),
  );
  assert.equal(accepted.length, 2);
  const last = files.map((file) => heard.filter(([of]) => of === file).at(-1)[1]);
  assert.deepEqual(last, ["accepted", "refused", "accepted"]);
});

test("an answer without a reason is explained by a sentence that says what to do", () => {
  assert.match(problemOf(0, null).detail, /connection/);
  assert.match(problemOf(502, null).detail, /502/);
  assert.equal(problemOf(422, { detail: "as told" }).detail, "as told");
});

test("a problem names its line and field", () => {
  assert.equal(placeOf({ line: 1200, field: "channel" }), "line 1,200, field “channel”");
  assert.equal(placeOf({}), "");
});

test("a place on the drawing is found again where it was put", () => {
  const size = sizeFor(400);
  const process = { key: "k", x: 0.3, y: 0.8 };
  const back = toPlace(point(process, size), size);
  assert.ok(Math.abs(back.x - 0.3) < 1e-9 && Math.abs(back.y - 0.8) < 1e-9);
  assert.equal(processAt({ processes: [process] }, point(process, size), size), process);
});

test("the two channels between a pair of processes do not cover each other", () => {
  const size = sizeFor(800);
  const [a, b] = [{ x: 0, y: 0.5 }, { x: 1, y: 0.5 }];
  const middle = (path) => Number(path.split("Q")[1].split(" ")[1]);
  assert.notEqual(middle(channelPath(a, b, true, size)), middle(channelPath(b, a, true, size)));
});

const namedFile = (path, text = "0123456789") => ({ file: new File([text], path.split("/").at(-1)), path });
const sizesOf = (groups) => groups.map(({ name, parts, size }) => [name, parts?.length ?? 1, size]);

test("each folder, log and package is one upload, and loose parts are one together", async () => {
  const paths = ["one/chk-1/_metadata", "one/shared/a", "two/a", "run.jsonl", "all.zip", "_metadata", "plan.json"];
  assert.deepEqual(sizesOf(await grouped(paths.map((path) => namedFile(path)))), [
    ["run.jsonl", 1, 10],
    ["all.zip", 1, 10],
    ["one", 2, 20],
    ["two", 1, 10],
    ["2 files", 2, 20],
  ]);
  assert.deepEqual(sizesOf(await grouped([namedFile("_metadata")])), [["_metadata", 1, 10]]);
  assert.deepEqual(sizesOf(await grouped([namedFile("job/a"), namedFile("job/b")])), [["job", 2, 20]]);
  assert.deepEqual(await grouped([]), []);
});

test("what an engine writes side by side is one upload", async () => {
  const flink = ["chk-6/_metadata", "chk-7/_metadata", "shared/a", "checkpoints.json"];
  assert.deepEqual(sizesOf(await grouped(flink.map((path) => namedFile(path)))), [["4 files", 4, 40]]);
  const spark = ["offsets/0", "commits/0", "state/0/0/1.delta", "metadata"];
  assert.deepEqual(sizesOf(await grouped(spark.map((path) => namedFile(path)))), [["4 files", 4, 40]]);
  const answers = ["job/chk-7/_metadata", "job.json"];
  assert.deepEqual(sizesOf(await grouped(answers.map((path) => namedFile(path)))), [["job", 2, 20]]);
});

test("a log is an upload of its own, whatever it is called", async () => {
  const logs = [
    namedFile("a.json", '{"kind":"header","format":"cutline"}\n{"process":"A","kind":"send"}'),
    namedFile("b.json", '\n{"process":"A","kind":"send"}\n'),
    namedFile("c.json", '{"jid":"1"}'),
    namedFile("d.json", "{"),
  ];
  const groups = await grouped(logs);
  assert.deepEqual(groups.map(({ name, parts }) => [name, parts?.length ?? 1]), [
    ["a.json", 1],
    ["b.json", 1],
    ["2 files", 2],
  ]);
});

test("a folder is sent as one file under its name, however many files it has", async () => {
  const parts = Array.from({ length: 3000 }, (_, i) => ({ file: new Blob([`${i}`]), path: `job/shared/${i}` }));
  const form = formOf({ name: "job", parts, format: "flink" });
  assert.deepEqual([...form.keys()], ["file", "name", "format"]);
  assert.deepEqual([form.get("name"), form.get("format"), form.get("file").name], ["job", "flink", "job.tar"]);
  assert.equal(form.get("file").size, 3000 * 1024 + 1024);
});

test("each of several executions is offered as a recording of its own", async () => {
  const file = new File(["log"], "runs.log");
  const choices = [{ format: "shiviz:1", name: "first", events: 1 }, { format: "shiviz:2", name: "", events: null }];
  const [one, two] = offered(file, { choices });
  assert.deepEqual([one.words, two.words], ["first: 1 event", "shiviz:2"]);
  const form = formOf(one.item);
  assert.deepEqual(
    [form.get("name"), form.get("format"), form.get("file").name],
    ["runs.log, first", "shiviz:1", "runs.log"],
  );
  assert.deepEqual(offered(file, {}), []);
});

test("a chosen format is sent along, and can be taken back", () => {
  const file = new File(["log"], "runs.log");
  assert.equal(withFormat(file), file);
  const chosen = withFormat(file, "shiviz");
  assert.equal(formOf(chosen).get("format"), "shiviz");
  assert.equal(formOf(withFormat(chosen)).has("format"), false);
  assert.equal(formOf(withFormat({ name: "job", size: 1, parts: [] }, "flink")).get("file").name, "job.tar");
});

test("a file goes to the chosen team, also when it is read again in another format", () => {
  const file = new File(["x"], "a.log");
  assert.equal(withTeam(file, ""), file);
  const chosen = withFormat(withTeam(withFormat(file, "shiviz"), "7"), "ndjson", "a title");
  const form = formOf(chosen);
  assert.deepEqual([form.get("team"), form.get("format"), form.get("name")], ["7", "ndjson", "a title"]);
  assert.equal(form.get("file").name, "a.log");
  const folder = formOf(withTeam({ name: "job", size: 1, parts: [] }, "7"));
  assert.deepEqual([folder.get("team"), folder.get("file").name], ["7", "job.tar"]);
});

test("more files than a package may hold are not sent", async () => {
  const { status, body } = await postFile("/", "", null)({ name: "all", parts: Array(100_001) }, () => {});
  assert.equal(status, 413);
  assert.match(body.detail, /100,001 files; at most 100,000/);
});

/** Makes a class of requests with these outcomes in turn: a status with its body, or "broken". Notes what is sent. */
function requests(fates) {
  const sent = [];
  class ARequest {
    constructor() {
      this.headers = {};
      this.upload = {};
    }
    open() {}
    setRequestHeader(name, value) {
      this.headers[name] = value;
    }
    send() {
      sent.push(this.headers["Idempotency-Key"]);
      const fate = fates.shift();
      if (fate === "broken") this.onerror();
      else [this.status, this.responseText] = [fate[0], JSON.stringify(fate[1])], this.onload();
    }
  }
  const waits = [];
  const post = postFile("/api/recordings", "token", ARequest, async (ms) => waits.push(ms));
  return { post, sent, waits };
}

const AN_UPLOAD = () => new File(["{}"], "a.jsonl");

test("an upload without an answer is repeated with its key", async () => {
  const { post, sent, waits } = requests(["broken", [409, { type: "/problems/request-under-way" }], [202, { id: 1 }]]);
  assert.deepEqual(await post(AN_UPLOAD(), () => {}), { status: 202, body: { id: 1 } });
  assert.equal(sent.length, 3);
  assert.match(sent[0], /^[0-9a-f]{32}$/);
  assert.equal(new Set(sent).size, 1);
  assert.equal(waits.length, 2);
});

test("every upload has a key of its own, and is not repeated after an answer", async () => {
  const { post, sent } = requests([[202, { id: 1 }], [422, { detail: "no" }], [409, { type: "/problems/conflict" }]]);
  for (const status of [202, 422, 409]) assert.equal((await post(AN_UPLOAD(), () => {})).status, status);
  assert.equal(new Set(sent).size, 3);
});

test("a server that never answers is not asked forever", async () => {
  const { post, sent } = requests(Array(10).fill("broken"));
  assert.equal((await post(AN_UPLOAD(), () => {})).status, 0);
  assert.equal(sent.length, 4);
});
