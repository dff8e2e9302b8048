// The state of the chain, and the record for other programs.
import { useState } from "preact/hooks";
import { ApiFailure, get, send } from "../../api.ts";
import { bytes, clock, count, duration, plain } from "../../format.ts";
import { FailureNote, Note } from "../../part/notes.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { queryOf, type Search } from "./filters.ts";

type Verified = Reply<"/api/audit/verify">;
type Said = { verified: Verified; at: number; tookMs: number } | { exported: string; size: number } | { busy: string } | { what: string; failure: ApiFailure } | { incomplete: string };

const FORMATS = {
  ndjson: { path: "/api/audit/export", name: "JSON lines", file: "calls.ndjson" },
  csv: { path: "/api/audit/export.csv", name: "CSV, a row for each call", file: "calls.csv" },
};

export function RecordTools({ search }: { search: Search }) {
  const [said, setSaid] = useState<Said>();
  const verify = async () => {
    const start = Date.now();
    setSaid({ busy: "Every line of the record is checked …" });
    try {
      const verified = await get<Verified>("/api/audit/verify");
      setSaid({ verified, at: Date.now(), tookMs: Date.now() - start });
    } catch (failure) {
      if (failure instanceof ApiFailure) setSaid({ what: "The record was not verified.", failure });
    }
  };
  const save = (format: keyof typeof FORMATS) => async () => {
    const { path, file } = FORMATS[format];
    setSaid({ busy: "The calls are exported …" });
    try {
      const query = queryOf(search);
      const response = await send("GET", `${path}${query === "" ? "" : `?${query}`}`, undefined, { accept: "*/*" });
      // The browser keeps a long reply on disk, not in the page.
      const blob = await response.blob();
      const end = await blob.slice(-1000).text();
      const cut = /the export is incomplete: [^"\n]*/.exec(end);
      offer(blob, file);
      setSaid(cut === null ? { exported: file, size: blob.size } : { incomplete: cut[0] });
    } catch (failure) {
      if (failure instanceof ApiFailure) setSaid({ what: "Nothing was exported.", failure });
    }
  };
  return (
    <>
      <div class="record-tools">
        <button type="button" onClick={verify}>
          Verify
        </button>
        <details class="menu">
          <summary class="button">Export</summary>
          <div class="menu-body">
            {Object.keys(FORMATS).map((format) => (
              <button key={format} type="button" onClick={save(format as keyof typeof FORMATS)}>
                {FORMATS[format as keyof typeof FORMATS].name}
              </button>
            ))}
            <p class="third">{Object.keys(search).length === 0 ? "The whole record." : "The calls that match the filter."}</p>
          </div>
        </details>
      </div>
      {said !== undefined && (
        <div class="record-said">
          <div class="grow">
            <Words said={said} />
          </div>
          <button type="button" onClick={() => setSaid(undefined)}>
            Close
          </button>
        </div>
      )}
    </>
  );
}

function offer(blob: Blob, file: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function Words({ said }: { said: Said }) {
  if ("busy" in said) return <p role="status">{said.busy}</p>;
  if ("failure" in said) return <FailureNote what={said.what} failure={said.failure} />;
  if ("incomplete" in said) {
    return (
      <Note tone="bad">
        <b>The file is cut:</b> {plain(said.incomplete)}.
      </Note>
    );
  }
  if ("exported" in said) {
    return (
      <p role="status">
        <b>{said.exported}</b> was saved, {bytes(said.size)}.
      </p>
    );
  }
  return <Verdict {...said} />;
}

const MOST_SHOWN = 20;

function Verdict({ verified, at, tookMs }: { verified: Verified; at: number; tookMs: number }) {
  const { intact, lines, files, first, last, problems, notes } = verified;
  const when = `checked at ${clock(at)} in ${duration(tookMs)}`;
  const what = `${counted(lines, "line")} in ${counted(files, "file")}`;
  return (
    <>
      {intact ? (
        <p role="status">
          <b>The chain is whole:</b> {what}
          {lines > 0 && `, numbers ${count(first)} to ${count(last)}`}; none was changed, removed or moved; {when}.
        </p>
      ) : (
        <Note tone="bad">
          <b>
            The chain is broken in {counted(problems.length, "place")}.
          </b>{" "}
          {what}, {when}.
          <Findings found={problems} />
        </Note>
      )}
      {notes.length > 0 && (
        <>
          <p class="second">Went wrong once, and was recorded as it should be:</p>
          <Findings found={notes} />
        </>
      )}
    </>
  );
}

function Findings({ found }: { found: Verified["problems"] }) {
  return (
    <ul class="findings">
      {found.slice(0, MOST_SHOWN).map((it) => (
        <li key={`${it.file} ${it.line} ${it.what}`}>
          <code>{plain(it.file)}</code>
          {it.line != null && ` line ${count(it.line)}`}: {plain(it.what)}
        </li>
      ))}
      {found.length > MOST_SHOWN && <li>and {count(found.length - MOST_SHOWN)} more; `toolcrib audit verify` lists them</li>}
    </ul>
  );
}
