export function Audit() {
  return <p class="pad">Not built yet.</p>;
}
