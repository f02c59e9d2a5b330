/** No model is set up or chosen: how to, and what works without one. */

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Sentence } from "@/parts/problem";
import { SnippetView } from "@/parts/snippet";
import { modelsQuery } from "../bud/api";

const CONFIG = `[provider.local]
kind = "openai"                    # OpenAI, Ollama, vLLM, LM Studio, OpenRouter
url = "http://127.0.0.1:11434/v1"

[provider.claude]
kind = "anthropic"
key = "\${env:ANTHROPIC_API_KEY}"`;

export function NoModel({ children }: { children?: ReactNode }) {
  const { data } = useQuery(modelsQuery);
  const provider = data?.providers[0]?.name;
  return (
    <div className="space-y-2 rounded-lg border bg-surface p-4">
      <h2 className="font-semibold">{provider ? "No model is chosen" : "No model is set up"}</h2>
      {provider ? (
        <p className="text-muted">
          <Sentence
            text={`Press Model below and name one, such as \`${provider}/<model>\`, or choose a bud.`}
          />
        </p>
      ) : (
        <>
          <p className="text-muted">
            <Sentence text={data?.hint ?? "add a provider to `toolgrove.toml`, then start the hub again"} />
          </p>
          <SnippetView text={CONFIG} label="the configuration" />
        </>
      )}
      <p className="text-muted">
        Tools work without one: type <code>/</code>, or drag one here from the registry.
      </p>
      {children}
    </div>
  );
}
