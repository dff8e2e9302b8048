export function Tools() {
  return <p class="pad">Not built yet.</p>;
}
