export function InstanceScreen() {
  return <p>soon</p>;
}
