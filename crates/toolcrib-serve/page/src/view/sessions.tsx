export function Sessions() {
  return <p class="pad">Not built yet.</p>;
}
