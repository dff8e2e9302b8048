// Text that comes from elsewhere, times, and what can be copied.
import { useState } from "preact/hooks";
import { second } from "../data.ts";
import { absolute, countdown, plain, span } from "../format.ts";

/** "6 min ago" with the whole time on hover and focus. */
export function Ago({ time, suffix = " ago" }: { time: string | number; suffix?: string }) {
  const at = new Date(time).getTime();
  const past = second.value * 1000 - at;
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {past < 1000 && suffix !== "" ? "now" : span(past) + suffix}
    </time>
  );
}

/** What is left until a time. */
export function Left({ until, suffix = "", short = false }: { until: string | number; suffix?: string; short?: boolean }) {
  const at = new Date(until).getTime();
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {(short && at - second.value * 1000 >= 3_600_000 ? span(at - second.value * 1000) : countdown(at - second.value * 1000)) + suffix}
    </time>
  );
}

/** A sentence with what it quotes in backticks set as code. It is text, never markup. */
export function Sentence({ text }: { text: string }) {
  const parts = plain(text).split("`");
  // The last backtick of an odd number quotes nothing.
  const isQuoted = (at: number) => at % 2 === 1 && at < parts.length - 1;
  return <>{parts.map((part, at) => (isQuoted(at) ? <code key={at}>{part}</code> : at % 2 === 1 ? `\`${part}` : part))}</>;
}

/** Text that an agent or a tool wrote, as it is: never markup, hidden characters spelled out. */
export function Foreign({ text, class: name = "" }: { text: string; class?: string }) {
  return <pre class={`foreign ${name}`} dir="ltr" tabIndex={0}>{plain(text)}</pre>;
}

export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a secure address a browser has no clipboard for pages.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`copy ${text.slice(0, 60)}`}>
      {copied ? "copied" : "copy"}
    </button>
  );
}

/** Foreign code or a snippet with its file's name and a button that copies it. */
export function CodeBox({ text, file }: { text: string; file?: string }) {
  return (
    <div class="code">
      {file !== undefined && <span class="file">{plain(file)}</span>}
      <pre tabIndex={0}>{plain(text)}</pre>
      <Copy text={text} />
    </div>
  );
}
