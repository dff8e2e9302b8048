// Why somebody who was logged in is asked to log in again.
import { sessionEnd } from "./api.ts";
import { clock } from "./format.ts";
import { Note } from "./part/notes.tsx";

export function EndedNote() {
  const end = sessionEnd.value;
  if (end === null) return null;
  return (
    <Note tone="info">
      {end.unreachableSince === undefined ? (
        <>
          <b>Your session has ended.</b> Log in again to go on where you were.
        </>
      ) : (
        <>
          <b>Your session has ended with the server.</b> It could not be reached since {clock(end.unreachableSince)}, so it was probably restarted. Log in again to go on where you were.
        </>
      )}
    </Note>
  );
}
