export function Proposals() {
  return <p class="pad">Not built yet.</p>;
}
