export function CallScreen() {
  return <p>soon</p>;
}
