// The words of an answer while they are written, and the answer while it is sent.
import { useState } from "preact/hooks";
import { ApiFailure, post } from "../api.ts";

/** Words that were begun, by question: whoever looks at another one finds them again. */
const drafts = new Map<string, string>();

/** How a question was closed: by this answer, or by another that was first. */
export type Closed = "used" | "raced";

/** `closedCode` is what the server says when another answer was first. */
export function useAnswer(id: string, closedCode: string, onClosed: (how: Closed) => void) {
  const [words, setWords] = useState(drafts.get(id) ?? "");
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);
  const write = (text: string) => {
    setWords(text);
    drafts.set(id, text);
  };
  const send = async (path: string, body: Record<string, unknown>) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await post(path, body);
      drafts.delete(id);
      onClosed("used");
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (error.code === closedCode) onClosed("raced");
      else setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return { words, write, send, failure, isBusy };
}
