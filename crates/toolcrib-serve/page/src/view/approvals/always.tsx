// What "always" would cover, where and for how long, and the exact grant that it leaves.
import type { RefObject } from "preact";
import { plain } from "../../format.ts";
import { second } from "../../data.ts";
import { Key } from "../../part/marks.tsx";
import { type Approval, type GrantOffer, coversWords, grantLines, minutesWords, type Where, whereOf, WHERES } from "./question_words.ts";

const coversKey = (offer: GrantOffer) => JSON.stringify(offer.wish.covers);

/** Finds the offer that keeps as much of the present choice as there is. */
function nearest(offers: GrantOffer[], wanted: (offer: GrantOffer) => boolean, now: GrantOffer): number {
  const agree = (offer: GrantOffer) => (whereOf(offer.wish.scope) === whereOf(now.wish.scope) ? 2 : 0) + (offer.wish.minutes === now.wish.minutes ? 1 : 0);
  const fitting = offers.filter(wanted).sort((a, b) => agree(b) - agree(a));
  return offers.indexOf(fitting[0]!);
}

interface Props {
  approval: Approval;
  chosen: number;
  choose: (at: number) => void;
  first: RefObject<HTMLInputElement | null>;
}

export function AlwaysChoice({ approval, chosen, choose, first }: Props) {
  const offers = approval.grants;
  const now = offers[chosen]!;
  const covers = [...new Map(offers.map((offer) => [coversKey(offer), offer])).values()];
  const same = offers.filter((offer) => coversKey(offer) === coversKey(now));
  const wheres = (["session", "project", "user"] as Where[]).filter((where) => offers.some((offer) => whereOf(offer.wish.scope) === where));
  const where = whereOf(now.wish.scope);
  const times = [...new Set(offers.map((offer) => offer.wish.minutes))].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
  const has = (wanted: (offer: GrantOffer) => boolean) => same.some(wanted);
  return (
    <>
      <fieldset>
        <legend>For what</legend>
        {covers.map((offer, at) => (
          <label class="option" key={coversKey(offer)}>
            <input type="radio" name="covers" ref={at === 0 ? first : null} checked={coversKey(offer) === coversKey(now)} onChange={() => choose(nearest(offers, (it) => coversKey(it) === coversKey(offer), now))} />
            <span>{coversWords(offer.wish.covers, approval.workspace)}</span>
          </label>
        ))}
        {approval.refused_grants.map((it) => (
          <label class="option" key={it.words}>
            <input type="radio" name="covers" disabled />
            <span class="third">
              {plain(it.words)}
              <span class="why">Too broad: {plain(it.why)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>Where</legend>
        <div class="options">
          {wheres.map((it) => (
            <label class="option" key={it}>
              <input type="radio" name="where" checked={it === where} disabled={!has((offer) => whereOf(offer.wish.scope) === it)} onChange={() => choose(nearest(offers, (offer) => coversKey(offer) === coversKey(now) && whereOf(offer.wish.scope) === it, now))} />
              <span>{WHERES[it]}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset>
        <legend>How long</legend>
        <div class="options">
          {times.map((it) => {
            const fits = (offer: GrantOffer) => whereOf(offer.wish.scope) === where && offer.wish.minutes === it;
            return (
              <label class="option" key={String(it)}>
                <input type="radio" name="time" checked={it === now.wish.minutes} disabled={!has(fits)} onChange={() => choose(nearest(offers, (offer) => coversKey(offer) === coversKey(now) && fits(offer), now))} />
                <span>{minutesWords(it, where)}</span>
              </label>
            );
          })}
        </div>
      </fieldset>
      <div>
        <span class="label" id="grant-label">
          The grant this leaves: {plain(now.words)}
        </span>
        <dl class="rule-box" aria-labelledby="grant-label">
          {grantLines(approval, now, second.value * 1000).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </div>
    </>
  );
}

export function AlwaysHead({ isHost }: { isHost: boolean }) {
  return (
    <h2>
      {isHost ? "Let it through, and do not ask again" : "Run it, and do not ask again"} <Key name="e" />
    </h2>
  );
}
