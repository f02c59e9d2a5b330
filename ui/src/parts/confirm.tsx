/** A question before something that cannot be taken back. The button names what it does. */

import type { ReactNode } from "react";
import type { Problem } from "@/api/types";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogClose, DialogContent, DialogFooter } from "@/ui/dialog";
import { ProblemView } from "./problem";

type Props = {
  question: string;
  effect?: ReactNode;
  verb: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  onConfirm: () => void;
  busy?: boolean;
  problem?: Problem | undefined;
};

export function Confirm({ question, effect, verb, open, onOpenChange, onConfirm, busy, problem }: Props) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange}>
      <DialogContent title={question} {...(effect ? { description: effect } : {})}>
        {problem && (
          <DialogBody>
            <ProblemView problem={problem} />
          </DialogBody>
        )}
        <DialogFooter>
          <DialogClose asChild>
            <Button>Keep</Button>
          </DialogClose>
          <Button variant="danger" disabled={busy} onClick={onConfirm}>
            {verb}
          </Button>
        </DialogFooter>
      </DialogContent>
    </Dialog>
  );
}
