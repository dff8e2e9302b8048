export function Rules() {
  return <p class="pad">Not built yet.</p>;
}
