export function SettingsScreen() {
  return <p>soon</p>;
}
