// What keeps an answer locked: the moment after a question appears, what of it was not on the screen yet, and what makes
// an answer useless.
import { useEffect, useState } from "preact/hooks";
import { second } from "../data.ts";
import { connection } from "../live.ts";

/** How long answers stay locked after a question appears: nobody shall answer what has just moved under the pointer. */
const SETTLE_MS = 600;

interface Question {
  /** What stands after all that an answer is about. */
  end: { current: HTMLElement | null };
  /** Whether all before the end is there. */
  isComplete: boolean;
  /** Why whoever looks at it cannot answer. */
  forbidden?: string | null;
  /** When its time is over, if it ever is. */
  expiresAt?: string;
}

interface AnswerLock {
  /** Whether everything that an answer is about was on the screen. A yes needs it, a no does not. */
  isSeen: boolean;
  /** Whether no answer at all can be given now. */
  isLocked: boolean;
  /** Why not, unless it is only for the moment. */
  why: string | null;
}

/** Belongs into the component that has the buttons: the time runs from when it is shown. */
export function useAnswerLock({ end, isComplete, forbidden = null, expiresAt }: Question): AnswerLock {
  const isSettling = useSettling();
  const isSeen = useSeen(end, isComplete);
  const isOver = expiresAt !== undefined && new Date(expiresAt).getTime() <= second.value * 1000;
  const isLost = connection.value.state === "lost";
  const why = isLost ? "No connection: answers cannot be given until it is back." : (forbidden ?? (isOver ? "Its time is over." : null));
  return { isSeen, isLocked: isSettling || why !== null, why };
}

/** Whether what has just appeared is still too new to be pressed. */
export function useSettling(): boolean {
  const [isSettling, setSettling] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setSettling(false), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSettling;
}

/** Of the bottom of a phone's screen, the answer and the views cover this much. */
const COVERED_ON_PHONE = "0px 0px -190px 0px";

/** Whether an element has been on the screen since all before it was there. */
export function useSeen(element: { current: HTMLElement | null }, isComplete: boolean): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (element.current === null || !isComplete || isSeen) return;
    const rootMargin = matchMedia("(max-width: 760px)").matches ? COVERED_ON_PHONE : "0px";
    const observer = new IntersectionObserver((entries) => entries.at(-1)!.isIntersecting && setSeen(true), { rootMargin });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isComplete, isSeen]);
  return isSeen;
}
