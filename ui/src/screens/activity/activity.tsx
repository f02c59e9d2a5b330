export function ActivityScreen() {
  return <p>soon</p>;
}
