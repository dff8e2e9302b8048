export function Approvals() {
  return <p class="pad">Not built yet.</p>;
}
