// Rows of equal height of which only the visible ones exist. They lie in a layer that stays put while the content scrolls below it,
// so that a browser that scrolls ahead of the script shows rows a frame old, never blank ones.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  count: number;
  height: number;
  current: number | null;
  row: (at: number) => ComponentChildren;
  header?: ComponentChildren;
  // Of the header, in pixels; by default a little more than a row.
  headerHeight?: number;
  box?: RefObject<HTMLDivElement>;
  attributes: Record<string, unknown>;
}

// Browsers end a page's content somewhere beyond 16 million pixels.
const MOST_PIXELS = 15_000_000;

export function Virtual({ count, height, current, row, header, headerHeight: stated, box, attributes }: Props) {
  const own = useRef<HTMLDivElement>(null);
  const ref = box ?? own;
  const [view, setView] = useState({ top: 0, room: 400 });
  const headerHeight = header === undefined ? 0 : stated ?? height + 2;
  const total = Math.min(count * height, MOST_PIXELS);
  // Of very long lists a pixel of the scroll bar is more than a pixel of the list.
  const ratio = total > view.room ? Math.max(1, (count * height - view.room) / Math.max(1, total - view.room)) : 1;

  useLayoutEffect(() => {
    const element = ref.current!;
    const measure = () => setView({ top: element.scrollTop, room: element.clientHeight - headerHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [headerHeight]);

  // What is chosen stays in sight.
  useEffect(() => {
    const element = ref.current!;
    if (current === null || current < 0) return;
    const room = element.clientHeight - headerHeight;
    const top = current * height;
    const from = element.scrollTop * ratio;
    if (top < from) element.scrollTop = Math.max(0, (top - height) / ratio);
    else if (top + height > from + room) element.scrollTop = (top + 2 * height - room) / ratio;
  }, [current, count]);

  const from = Math.min(view.top * ratio, Math.max(0, count * height - view.room));
  const first = Math.max(0, Math.floor(from / height) - 2);
  const last = Math.min(count, Math.ceil((from + view.room) / height) + 2);
  const rows: ComponentChildren[] = [];
  for (let at = first; at < last; at++) rows.push(row(at));
  return (
    <div class="virtual" ref={ref} {...attributes}>
      {header}
      <div class="virtual-view" role="presentation" style={{ height: `${view.room}px`, top: `${headerHeight}px` }}>
        <div role="presentation" style={{ transform: `translateY(${first * height - from}px)` }}>{rows}</div>
      </div>
      <div role="presentation" style={{ height: `${Math.max(0, total - view.room)}px` }} />
    </div>
  );
}
