export function PeopleScreen() {
  return <p>soon</p>;
}
