/** Where the way to a server ends, and what to do there. */

import { Stethoscope } from "lucide-react";
import { asProblem } from "@/api/http";
import { useDoctor } from "@/api/mutations";
import type { Instance } from "@/api/types";
import { ProblemView, Sentence } from "@/parts/problem";
import { Steps } from "@/parts/steps";
import { Button } from "@/ui/button";

export function Doctor({ instance }: { instance: Instance }) {
  const doctor = useDoctor(instance.id);
  return (
    <div className="mt-3 space-y-2 rounded-md border bg-surface px-3 py-2.5">
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1 basis-60">
          {doctor.data ? (
            <Sentence text={doctor.data.advice} />
          ) : (
            "The doctor walks the way to this server and says where it ends."
          )}
        </p>
        <Button size="sm" disabled={doctor.isPending} onClick={() => doctor.mutate()}>
          <Stethoscope />
          {doctor.isPending ? "Looking…" : doctor.data ? "Look again" : "Find out why"}
        </Button>
      </div>
      {doctor.data && <Steps steps={doctor.data.steps} />}
      {doctor.error && <ProblemView problem={asProblem(doctor.error)} />}
    </div>
  );
}
