/** A plan. */
export function PlanScreen() {
  return null;
}
