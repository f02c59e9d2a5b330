export function AdminScreen() {
  return <p>soon</p>;
}
