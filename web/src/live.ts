// The page of a capture that grows: asks the server it came from whether there is a newer one.

import { useEffect, useState } from "preact/hooks";
import { head } from "./data";

// "new": there is a newer page. "gone": nobody answers any more.
export type LiveState = "none" | "live" | "new" | "ended" | "gone";

export function useLive(): LiveState {
  const live = head().live;
  const [state, setState] = useState<LiveState>(live === null ? "none" : live.ended ? "ended" : "live");
  useEffect(() => {
    if (live === null || live.ended) return;
    let over = false;
    const ask = async (): Promise<void> => {
      const answer = await fetch(`/newer${location.search}&than=${live.version}`);
      if (over) return;
      if (!answer.ok) return setState("gone");
      const { version } = (await answer.json()) as { version: number };
      if (version > live.version) setState("new");
      else await ask();
    };
    ask().catch(() => { if (!over) setState("gone"); });
    return () => void (over = true);
  }, []);
  return state;
}
