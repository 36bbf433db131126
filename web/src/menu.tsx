// A menu at the pointer, for the mouse and the keyboard.

import { useLayoutEffect, useRef } from "preact/hooks";
import { shown } from "./text";

// An entry that may be on or off says which in `is`.
export interface Entry { words: string; is?: boolean; act: () => void }

interface Props { x: number; y: number; entries: Entry[]; onEnd: () => void }

export function Menu({ x, y, entries, onEnd }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current!;
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    element.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    element.querySelector("button")?.focus();
  }, [x, y]);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = Array.from(box.current!.querySelectorAll("button"));
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape" || event.key === "Tab") onEnd();
    else if (event.key === "ArrowDown") buttons[(at + 1) % buttons.length]!.focus();
    else if (event.key === "ArrowUp") buttons[(at + buttons.length - 1) % buttons.length]!.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu-back" onPointerDown={onEnd} onContextMenu={(event) => { event.preventDefault(); onEnd(); }}>
      <div ref={box} class="menu" role="menu" onKeyDown={onKeyDown} onPointerDown={(event) => event.stopPropagation()}>
        {entries.map(({ words, is, act }) => (
          <button
            type="button" role={is === undefined ? "menuitem" : "menuitemcheckbox"} aria-checked={is}
            onClick={() => { onEnd(); act(); }}
          >
            {is === undefined ? "" : is ? "✓ " : "  "}{shown(words)}
          </button>
        ))}
      </div>
    </div>
  );
}

// Puts a text where other programs can take it from.
export function copied(text: string): void {
  void navigator.clipboard.writeText(text).catch(() => {
    // Some browsers keep the clipboard from pages that are files: the older way works there.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  });
}
