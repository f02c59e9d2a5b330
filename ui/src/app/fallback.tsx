/** What is shown instead of a screen: not found, or broken. */

import { Link } from "@tanstack/react-router";
import { asProblem } from "@/api/http";
import { Empty } from "@/parts/empty";
import { ProblemView } from "@/parts/problem";
import { useTitle } from "@/parts/use-title";
import { Button } from "@/ui/button";

export function NotFound() {
  useTitle("Not found");
  return (
    <>
      <h1 className="sr-only">Not found</h1>
      <Empty sentence="There is nothing here, or nothing you may see.">
        <Button asChild variant="primary">
          <Link to="/">Home</Link>
        </Button>
      </Empty>
    </>
  );
}

export function ScreenProblem({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <div className="mx-auto max-w-2xl p-6">
      <ProblemView problem={asProblem(error)}>
        <Button size="sm" onClick={reset}>
          Try again
        </Button>
      </ProblemView>
    </div>
  );
}
