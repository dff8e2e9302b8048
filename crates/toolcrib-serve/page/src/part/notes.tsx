// What a view says when there is nothing to show, or when something went wrong.
import type { ComponentChildren } from "preact";
import type { ApiFailure } from "../api.ts";
import type { Loaded } from "../data.ts";
import { Mark, type MarkName } from "./marks.tsx";
import { Copy, Sentence } from "./texts.tsx";

export function Note({ tone, mark, children }: { tone: "bad" | "wait" | "info"; mark?: MarkName; children: ComponentChildren }) {
  const own: MarkName = tone === "bad" ? "failed" : "waits";
  return (
    <div class={`note ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <Mark name={mark ?? own} tone="inherit" />
      <div>{children}</div>
    </div>
  );
}

/** What did not happen, what the server said about it, and the id of the request. */
export function FailureNote({ what, failure, children }: { what: string; failure: ApiFailure; children?: ComponentChildren }) {
  return (
    <Note tone="bad">
      <b>{what}</b> <Sentence text={failure.message} /> {children}
      {failure.requestId !== null && (
        <div class="second">
          Request <code>{failure.requestId}</code> <Copy text={failure.requestId} />
        </div>
      )}
    </Note>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <b>{title}</b>
      {children}
    </div>
  );
}

/** Shows data when it is there, and until then what there is to say. Old data stays beside a new error. */
export function Shown<T>({ loaded, what, children }: { loaded: Loaded<T>; what: string; children: (data: T) => ComponentChildren }) {
  const { data, error } = loaded;
  const failed = error !== undefined && !error.isUnreachable && <FailureNote what={`${what} could not be loaded.`} failure={error} />;
  if (data !== undefined) {
    return (
      <>
        {failed && <div class="pad">{failed}</div>}
        {children(data)}
      </>
    );
  }
  return <div class="pad">{failed || <p class="loading">Loading {what.toLowerCase()} …</p>}</div>;
}
