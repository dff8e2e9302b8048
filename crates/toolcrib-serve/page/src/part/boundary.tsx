// Keeps a part that breaks from taking the rest of the page with it.
import { Component, type ComponentChildren } from "preact";
import { plain } from "../format.ts";
import { Note } from "./notes.tsx";

interface Props {
  /** What is not shown if it breaks, at the beginning of a sentence: "This question". */
  what: string;
  children: ComponentChildren;
}

export class Boundary extends Component<Props, { failure?: string }> {
  static override getDerivedStateFromError(error: unknown) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  override render({ what, children }: Props) {
    const { failure } = this.state;
    if (failure === undefined) return children;
    return (
      <div class="pad">
        <Note tone="bad">
          <b>{what} cannot be shown.</b> The page met an error that is its own: <code>{plain(failure)}</code>{" "}
          <button type="button" class="link" onClick={() => this.setState({ failure: undefined as never })}>
            Try again
          </button>
        </Note>
      </div>
    );
  }
}
