export function Connect() {
  return <p class="pad">Not built yet.</p>;
}
