// A long list begins with a few of its items; "and N more" opens the others.

import { type ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "./text";

// Each click shows so many times as many items: a page of very many stays usable.
const FACTOR = 16;

// The items to show, and the button for the others. `least` items are shown in any case.
export function useFew<T>(items: T[], most: number, least = 0): [some: T[], more: ComponentChildren] {
  const [shown, setShown] = useState(most);
  const number = Math.max(shown, least);
  const left = items.length - number;
  return [
    items.slice(0, number),
    left <= 0 ? null : <button type="button" class="link more" onClick={() => setShown(number * FACTOR)}>and {count(left)} more</button>,
  ];
}
