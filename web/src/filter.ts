// The filter language of pcq-analyzer (docs/filters.md), evaluated on records in the page.
//
// The grammar, fields, kinds, units and names come from the command (`vocabulary` of analyzer/questions/filters/filterable_fields.py). What a comparison
// means is written here as in analyzer/questions/filters/binder.py; tests hold both equal. Only `matches` is another engine's: JavaScript's
// regular expressions.

import { FilterError, type Call, type Grammar, type Node, type Operand, type Place, type Quantifier, type Range, type Text, type Word, grouped, parse, printable } from "./parse";

export { FilterError };

export interface Field { name: string; kind: string; paths: string[]; choices: string[]; meaning: string }
export interface Knowledge {
  fields: Map<string, Field>; buffers: Set<string>; methods: string[]; numbers: Record<string, Map<string, number>>;
  kinds: Record<string, string>; units: Record<string, number>; grammar: Grammar;
}
export type Resolve = (field: Field) => unknown[];
// What a filter has to look at: columns of the list, whole records, decoded buffers.
export type Depth = "rows" | "records" | "buffers";
export interface Bound { passes: (resolve: Resolve) => boolean; fields: Set<Field> }

// What `vocabulary` of names.py gives.
export interface Vocabulary {
  fields: [name: string, kind: string, paths: string[], choices: string[], meaning: string][];
  buffers: string[]; methods: string[]; numbers: Record<string, Record<string, number>>;
  kinds: Record<string, string>; units: Record<string, number>; grammar: Grammar;
}

export function knowledge(raw: Vocabulary): Knowledge {
  return {
    ...raw,
    fields: new Map(raw.fields.map(([name, kind, paths, choices, meaning]) => [name, { name, kind, paths, choices, meaning }])),
    buffers: new Set(raw.buffers),
    numbers: Object.fromEntries(Object.entries(raw.numbers).map(([kind, names]) => [kind, new Map(Object.entries(names))])),
  };
}

// ---------------------------------------------------------------------------------------------------------------- binding

const NUMBERS = new Set(["NUMBER", "STATUS", "FAULT", "REQUEST_CODE", "COUNTER_TYPE"]);
const TEXTS = new Set(["TEXT", "CHOICE", "METHOD", "INTERFACE", "NAME", "HANDLE", "GUID"]);
const COMPARABLE = new Set([...NUMBERS, "SECONDS", "TIME", "ANY"]);
const FIELD_FIRST = new Set(["contains", "matches", "&"]);
const SWAPPED: Record<string, string> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };
const FLAGS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };
const GUID = /^\{?([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})\}?$/;
const MOST_OF_PATTERN = 1000;
const DECIMAL = String.raw`[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?`;
interface Ref { name: string; kind: string; values: Resolve1; field: Field; at: Place }
type Resolve1 = (resolve: Resolve) => unknown[];
type Predicate = (resolve: Resolve) => boolean;
type Test = (value: unknown) => boolean;
// A number exactly: a fraction of whole numbers.
interface Ratio { top: bigint; bottom: bigint }

export function compile(source: string, known: Knowledge): Bound {
  const binder = new Binder(known);
  const passes = binder.node(parse(source, known.grammar));
  return { passes, fields: binder.used };
}

// How much of a call a filter looks at; `quick` are paths that the list has.
export function depthOf(bound: Bound, quick: ReadonlySet<string>): Depth {
  const paths = [...bound.fields].flatMap((field) => field.paths);
  if (paths.some((path) => path.includes(".buffer."))) return "buffers";
  return [...bound.fields].every((field) => field.kind !== "GROUP" && field.paths.every((path) => quick.has(path))) ? "rows" : "records";
}

class Binder {
  readonly used = new Set<Field>();
  constructor(private readonly known: Knowledge) {}

  private fail(sentence: string, at: Place): FilterError {
    return new FilterError(sentence, at);
  }

  node(node: Node): Predicate {
    switch (node.tag) {
      case "not": {
        const inner = this.node(node.part);
        return (resolve) => !inner(resolve);
      }
      case "and": {
        const every = node.parts.map((part) => this.node(part));
        return (resolve) => every.every((part) => part(resolve));
      }
      case "or": {
        const some = node.parts.map((part) => this.node(part));
        return (resolve) => some.some((part) => part(resolve));
      }
      case "xor": {
        const odd = node.parts.map((part) => this.node(part));
        return (resolve) => odd.filter((part) => part(resolve)).length % 2 === 1;
      }
      case "exists": {
        if (node.operand.tag === "text") throw this.fail("a text alone says nothing; compare a field with it", node.operand.at);
        const values = this.field(node.operand).values;
        return (resolve) => values(resolve).length > 0;
      }
      case "compare":
        return this.compare(node);
      case "in":
        return this.within(node);
    }
  }

  private field(operand: Operand): Ref {
    const ref = this.ref(operand);
    if (ref === null) throw this.fail(this.unknown(spelled(operand)), operand.at);
    return ref;
  }

  private unknown(name: string): string {
    const lower = name.toLowerCase();
    const near = [...this.known.fields.keys()].filter((one) => one.toLowerCase().endsWith(`.${lower}`) || one.toLowerCase().startsWith(lower));
    return `no field is called ${quoted(name)}${near.length > 0 ? `; near it: ${near.slice(0, 3).join(", ")}` : ""}`;
  }

  private ref(operand: Operand): Ref | null {
    if (operand.tag === "text") return null;
    if (operand.tag === "function") return this.function(operand);
    const field = this.known.fields.get(operand.text) ?? this.bufferField(operand.text);
    if (field === null) return null;
    this.used.add(field);
    return { name: field.name, kind: field.kind, values: (resolve) => resolve(field), field, at: operand.at };
  }

  private bufferField(name: string): Field | null {
    for (const [prefix, sides] of [["buffer.", ["request", "response"]], ["request.buffer.", ["request"]], ["response.buffer.", ["response"]]] as const) {
      if (!name.startsWith(prefix)) continue;
      const steps = name.slice(prefix.length);
      if (!steps.split(".").every((step) => this.known.buffers.has(step))) return null;
      return { name, kind: "ANY", meaning: "decoded lpData", paths: sides.map((side) => `${side}.buffer.${steps}`), choices: [] };
    }
    return null;
  }

  private function(call: Call): Ref {
    const inner = this.field(call.argument);
    const made = (kind: string, values: Resolve1): Ref => ({ name: spelled(call), kind, values, field: inner.field, at: call.at });
    if (call.name === "count") return made("NUMBER", (resolve) => [inner.values(resolve).length]);
    if (!TEXTS.has(inner.kind) && inner.kind !== "ANY") {
      throw this.fail(`${call.name} needs a field of text, and ${inner.name} is ${this.known.kinds[inner.kind]}`, call.at);
    }
    const texts: (resolve: Resolve) => string[] = (resolve) => inner.values(resolve).filter((one): one is string => typeof one === "string");
    if (call.name === "len") return made("NUMBER", (resolve) => texts(resolve).map((one) => Array.from(one).length));
    return made("TEXT", (resolve) => texts(resolve).map((one) => (call.name === "lower" ? one.toLowerCase() : one.toUpperCase())));
  }

  private compare(node: Extract<Node, { tag: "compare" }>): Predicate {
    const left = this.ref(node.left);
    let right = this.ref(node.right);
    let operator = node.operator;
    // `auth.user_from == smb` means the word, though there is a field of that name.
    if (left !== null && left.kind === "CHOICE" && node.right.tag !== "text" && left.field.choices.includes(spelled(node.right))) right = null;
    if (left !== null && right !== null) return this.both(node, left, right);
    let ref: Ref;
    let literal: Operand;
    if (left !== null) [ref, literal] = [left, node.right];
    else if (right !== null && !FIELD_FIRST.has(operator)) [ref, literal, operator] = [right, node.left, SWAPPED[operator] ?? operator];
    else if (node.left.tag === "word") throw this.fail(this.unknown(node.left.text), node.left.at);
    else if (right !== null) throw this.fail(`the field stands before ${operator}`, node.left.at);
    else throw this.fail("one side of a comparison must be a field", node.left.at);
    const values = ref.values;
    if (literal.tag === "word" && literal.text.toLowerCase() === "null") {
      if (!["==", "!=", "===", "!=="].includes(operator)) throw this.fail("null is only compared with == and !=", literal.at);
      const absent = operator.startsWith("=");
      return (resolve) => (values(resolve).length === 0) === absent;
    }
    if (literal.tag === "function") throw this.fail("a function is of a field", literal.at);
    return quantified(values, this.test(ref, operator, literal, node.at), node.quantifier ?? DEFAULT[operator] ?? "any");
  }

  // A field with a field: every value of one with every value of the other.
  private both(node: Extract<Node, { tag: "compare" }>, left: Ref, right: Ref): Predicate {
    for (const ref of [left, right]) {
      if (ref.kind === "GROUP") throw this.fail(`${ref.name} is a group of fields and has no value; quote it to mean the text`, ref.at);
    }
    const classes = [classOf(left.kind), classOf(right.kind)];
    if (classes[0] !== classes[1] && !classes.includes("ANY")) {
      throw this.fail(`${left.name} is ${this.known.kinds[left.kind]} and ${right.name} is ${this.known.kinds[right.kind]}; quote ${right.name} to mean the text`, node.at);
    }
    const operator = node.operator;
    if (operator === "matches") throw this.fail("matches needs a pattern in quotes", right.at);
    let pair: (one: unknown, other: unknown) => boolean;
    if (operator === "contains") {
      this.needText(left, node.at);
      pair = (one, other) => typeof one === "string" && typeof other === "string" && one.includes(other);
    } else if (operator === "&") {
      pair = (one, other) => isWhole(one) && isWhole(other) && (BigInt(one) & BigInt(other)) !== 0n;
    } else if (operator in SWAPPED) {
      if (!COMPARABLE.has(left.kind)) throw this.fail(`${operator} needs a number or a time, and ${left.name} is ${this.known.kinds[left.kind]}`, node.at);
      pair = (one, other) => isNumber(one) && isNumber(other) && ordered(operator, compareNumbers(one, other));
    } else {
      const equal = operator.startsWith("=") && operator !== "!==";
      pair = (one, other) => same(one, other) === equal;
    }
    const every = (node.quantifier ?? DEFAULT[operator] ?? "any") === "all";
    return (resolve) => {
      const others = right.values(resolve);
      const pairs = left.values(resolve).flatMap((one) => others.map((other) => pair(one, other)));
      return every ? pairs.length > 0 && pairs.every(Boolean) : pairs.some(Boolean);
    };
  }

  private test(ref: Ref, operator: string, literal: Word | Text, at: Place): Test {
    if (ref.kind === "GROUP") {
      throw this.fail(`${ref.name} is a group of fields and has no value; name it alone to ask whether it is there`, ref.at);
    }
    if (operator === "contains") {
      this.needText(ref, literal.at);
      return (value) => typeof value === "string" && value.includes(literal.text);
    }
    if (operator === "matches") {
      this.needText(ref, literal.at);
      const pattern = this.pattern(literal);
      return (value) => typeof value === "string" && pattern.test(value);
    }
    if (operator === "&") {
      if (!NUMBERS.has(ref.kind) && ref.kind !== "ANY") throw this.fail(`& needs a number, and ${ref.name} is ${this.known.kinds[ref.kind]}`, at);
      const mask = this.number(ref, literal);
      if (mask.bottom !== 1n) throw this.fail(`${quoted(literal.text)} has no bits`, literal.at);
      return (value) => isWhole(value) && (BigInt(value) & mask.top) !== 0n;
    }
    if (operator in SWAPPED) {
      if (!COMPARABLE.has(ref.kind)) throw this.fail(`${operator} needs a number or a time, and ${ref.name} is ${this.known.kinds[ref.kind]}`, at);
      const limit = this.number(ref, literal);
      return (value) => isNumber(value) && ordered(operator, compareTo(value, limit));
    }
    const equal = this.equal(ref, literal);
    return operator === "==" || operator === "===" ? equal : (value) => !equal(value);
  }

  private within(node: Extract<Node, { tag: "in" }>): Predicate {
    const ref = this.field(node.left);
    if (ref.kind === "GROUP") throw this.fail(`${ref.name} is a group of fields and has no value`, ref.at);
    const tests = node.members.map((member) => this.member(ref, member));
    return quantified(ref.values, (value) => tests.some((test) => test(value)), node.quantifier ?? "any");
  }

  private member(ref: Ref, member: Operand | Range): Test {
    if (member.tag !== "range") {
      if (member.tag === "function") throw this.fail("a set holds values only", member.at);
      return this.equal(ref, member);
    }
    const { low, high } = member;
    if (low.tag === "function" || high.tag === "function") throw this.fail("a range is between values", member.at);
    if (ref.kind === "ADDRESS") {
      const [first, last] = [this.address(low), this.address(high)];
      if (first.version !== last.version || first.number > last.number) throw this.fail(`${spelled(low)}..${spelled(high)} is no range of addresses`, member.at);
      return (value) => {
        const address = typeof value === "string" ? addressOf(value) : null;
        return address !== null && address.version === first.version && first.number <= address.number && address.number <= last.number;
      };
    }
    if (!COMPARABLE.has(ref.kind)) throw this.fail(`a range is of numbers, times or addresses, and ${ref.name} is ${this.known.kinds[ref.kind]}`, member.at);
    const [least, most] = [this.number(ref, low), this.number(ref, high)];
    if (least.top * most.bottom > most.top * least.bottom) throw this.fail(`the range ${spelled(low)}..${spelled(high)} is empty: its first value is the greater`, member.at);
    return (value) => isNumber(value) && compareTo(value, least) >= 0 && compareTo(value, most) <= 0;
  }

  private needText(ref: Ref, at: Place): void {
    if (!TEXTS.has(ref.kind) && ref.kind !== "ANY") throw this.fail(`contains and matches need text, and ${ref.name} is ${this.known.kinds[ref.kind]}`, at);
  }

  private equal(ref: Ref, literal: Word | Text): Test {
    const text = literal.text;
    if (ref.kind === "ANY") return equalToAnything(literal);
    if (ref.kind === "ADDRESS") {
      const network = networkOf(text);
      if (network === null) throw this.fail(`${quoted(text)} is no IP address or network`, literal.at);
      return (value) => {
        const address = typeof value === "string" ? addressOf(value) : null;
        return address !== null && address.version === network.version && address.number >> network.shift === network.number >> network.shift;
      };
    }
    if (ref.kind === "FLAG") {
      const flag = Object.hasOwn(FLAGS, text.toLowerCase()) ? FLAGS[text.toLowerCase()] : undefined;
      if (flag === undefined) throw this.fail(`${ref.name} is true or false, and ${quoted(text)} is neither`, literal.at);
      return (value) => value === flag;
    }
    if (COMPARABLE.has(ref.kind)) {
      const number = this.number(ref, literal);
      return (value) => isNumber(value) && compareTo(value, number) === 0;
    }
    const wanted = this.texts(ref, literal);
    return (value) => typeof value === "string" && wanted.has(value);
  }

  // What the value of a field of text may be, to be what was written.
  private texts(ref: Ref, literal: Word | Text): Set<string> {
    const text = literal.text;
    switch (ref.kind) {
      case "CHOICE":
        if (!ref.field.choices.includes(text) && !/^\p{Nd}+$/u.test(text)) {
          throw this.fail(`${ref.name} is never ${quoted(text)}; it is one of ${ref.field.choices.join(", ")}`, literal.at);
        }
        return new Set([text]);
      case "METHOD": {
        const asked = text.toLowerCase().replace(/^perflibv2/, "");
        return new Set([this.known.methods.find((name) => name.replace(/^PerflibV2/, "").toLowerCase() === asked) ?? text]);
      }
      case "INTERFACE":
        return new Set([({ perflibv2: "PerflibV2", winreg: "winreg" } as Record<string, string>)[text.toLowerCase()] ?? text, plainGuid(text)]);
      case "NAME":
        return new Set([plainGuid(text)]);
      case "GUID":
        if (!GUID.test(text)) throw this.fail(`${ref.name} is a GUID, and ${quoted(text)} is none`, literal.at);
        return new Set([plainGuid(text)]);
      case "HANDLE":
        return new Set([/^\p{Nd}+$/u.test(text) ? `q${text}` : plainGuid(text)]);
      default:
        return new Set([text]);
    }
  }

  private number(ref: Ref, literal: Word | Text): Ratio {
    const { text } = literal;
    if (ref.kind === "TIME") {
      const time = timeOf(text);
      if (time === null) throw this.fail(`${quoted(text)} is no time like 2026-11-20, 2026-11-20T13:50 or 2026-11-20T13:50:16.25Z`, literal.at);
      return { top: time, bottom: 1n };
    }
    if (ref.kind === "SECONDS") {
      const match = new RegExp(`^(${DECIMAL})(${Object.keys(this.known.units).join("|")})?$`).exec(text);
      if (match === null || text.length > 100) throw this.fail(`${ref.name} is in seconds, and ${quoted(text)} is no duration like 0.5 or 500ms`, literal.at);
      const ratio = decimal(match[1]!);
      return reduced({ top: ratio.top * BigInt(this.known.units[match[2] ?? "s"]!), bottom: ratio.bottom });
    }
    const plain = plainNumber(text);
    if (plain !== null) return plain;
    const names = this.known.numbers[ref.kind];
    const found = names?.get(text.toUpperCase());
    if (found !== undefined) return { top: BigInt(found), bottom: 1n };
    throw this.fail(names === undefined ? `${ref.name} is ${this.known.kinds[ref.kind]}, and ${quoted(text)} is none` : `${quoted(text)} is no ${this.known.kinds[ref.kind]!.slice(2)} by number or name`, literal.at);
  }

  private address(literal: Word | Text): Address {
    const address = addressOf(literal.text);
    if (address === null) throw this.fail(`${quoted(literal.text)} is no IP address`, literal.at);
    return address;
  }

  private pattern(literal: Word | Text): RegExp {
    const { length } = Array.from(literal.text);
    if (length > MOST_OF_PATTERN) throw this.fail(`a pattern may have ${grouped(MOST_OF_PATTERN)} characters, this one has ${grouped(length)}`, literal.at);
    let source = literal.text;
    let flags = "iu";
    const inline = /^\(\?([ims]*)(?:-([ims]+))?\)/.exec(source);
    if (inline !== null) {
      source = source.slice(inline[0].length);
      for (const one of inline[1]!) if (!flags.includes(one)) flags += one;
      for (const one of inline[2] ?? "") flags = flags.replace(one, "");
    }
    // The command's engine, whose time is linear, knows neither of these.
    if (/\(\?<?[=!]|\\[1-9]/.test(source)) throw this.fail("this is no regular expression: it looks around or refers back", literal.at);
    // Nor does JavaScript take a backslash before every sign.
    source = source.replaceAll("(?P<", "(?<").replace(/\\([!-/:-@[-`{-~])/g, (_, sign: string) => `\\x${sign.charCodeAt(0).toString(16)}`);
    try {
      return new RegExp(source, flags);
    } catch {
      throw this.fail("this is no regular expression", literal.at);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------- helpers

const DEFAULT: Record<string, Quantifier> = { "!=": "all", "===": "all" };

function spelled(operand: Operand): string {
  if (operand.tag === "function") return `${operand.name}(${spelled(operand.argument)})`;
  return operand.tag === "word" ? operand.text : JSON.stringify(operand.text);
}

function quoted(text: string): string {
  const letters = Array.from(text);
  return printable(letters.length <= 60 ? text : `${letters.slice(0, 57).join("")}...`) || "''";
}

function quantified(values: Resolve1, test: Test, quantifier: Quantifier): Predicate {
  if (quantifier === "any") return (resolve) => values(resolve).some(test);
  return (resolve) => {
    const found = values(resolve);
    return found.length > 0 && found.every(test);
  };
}

const isWhole = (value: unknown): value is number | bigint => typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
const isNumber = (value: unknown): value is number | bigint => typeof value === "bigint" || typeof value === "number";

function same(one: unknown, other: unknown): boolean {
  if (isNumber(one) && isNumber(other)) return compareNumbers(one, other) === 0;
  return one === other;
}

function compareNumbers(one: number | bigint, other: number | bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function compareTo(value: number | bigint, limit: Ratio): number {
  if (isWhole(value)) {
    const left = BigInt(value) * limit.bottom;
    return left < limit.top ? -1 : left > limit.top ? 1 : 0;
  }
  return compareNumbers(value, Number(limit.top) / Number(limit.bottom));
}

function ordered(operator: string, sign: number): boolean {
  return operator === "<" ? sign < 0 : operator === "<=" ? sign <= 0 : operator === ">" ? sign > 0 : sign >= 0;
}

function classOf(kind: string): string {
  return NUMBERS.has(kind) ? "NUMBER" : TEXTS.has(kind) ? "TEXT" : kind;
}

function plainNumber(text: string): Ratio | null {
  if (text.length > 100) return null;
  const whole = /^([+-]?)(0[xX][0-9A-Fa-f]+|0[bB][01]+|[0-9]+)$/.exec(text);
  if (whole !== null) {
    const number = BigInt(whole[2]!);
    return { top: whole[1] === "-" ? -number : number, bottom: 1n };
  }
  return new RegExp(`^${DECIMAL}$`).test(text) ? decimal(text) : null;
}

function decimal(text: string): Ratio {
  const match = /^([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$/.exec(text)!;
  const digits = BigInt(`${match[2]}${match[3]}` || "0");
  const power = Number(match[4] ?? 0) - match[3]!.length;
  const top = (match[1] === "-" ? -digits : digits) * (power > 0 ? 10n ** BigInt(power) : 1n);
  return reduced({ top, bottom: power < 0 ? 10n ** BigInt(-power) : 1n });
}

function reduced({ top, bottom }: Ratio): Ratio {
  let [one, other] = [top < 0n ? -top : top, bottom];
  while (other !== 0n) [one, other] = [other, one % other];
  return one === 0n ? { top: 0n, bottom: 1n } : { top: top / one, bottom: bottom / one };
}

function plainGuid(text: string): string {
  return GUID.exec(text)?.[1]?.toLowerCase() ?? text;
}

function equalToAnything(literal: Word | Text): Test {
  const text = plainGuid(literal.text);
  if (literal.tag === "text") return (value) => value === text;
  const number = plainNumber(literal.text);
  const lower = literal.text.toLowerCase();
  const flag = lower === "true" ? true : lower === "false" ? false : undefined;
  return (value) => {
    if (typeof value === "string") return value === text;
    if (typeof value === "boolean") return value === flag;
    return number !== null && isNumber(value) && compareTo(value, number) === 0;
  };
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

export function timeOf(text: string): bigint | null {
  const match = TIME.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1) return null;
  date.setUTCHours(hour, minute, second);
  let offset = 0n;
  const zone = match[8];
  if (zone !== undefined && zone.toUpperCase() !== "Z") {
    const digits = zone.slice(1).replace(":", "");
    const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
    if (minutes >= 24 * 60) return null;
    offset = BigInt(minutes * 60) * (zone.startsWith("-") ? -1n : 1n);
  }
  return (BigInt(date.getTime()) / 1000n - offset) * 1_000_000_000n + BigInt((match[7] ?? "0").padEnd(9, "0"));
}

interface Address { version: 4 | 6; number: bigint }

export function addressOf(text: string): Address | null {
  const four = fourOf(text);
  if (four !== null) return { version: 4, number: four };
  const [plain, scope] = text.split("%", 2) as [string, string | undefined];
  if (!plain.includes(":") || scope === "") return null;
  let words = plain;
  const dotted = /^(.*:)([0-9.]+\.[0-9.]+)$/.exec(plain);
  if (dotted !== null) {
    const low = fourOf(dotted[2]!);
    if (low === null) return null;
    words = `${dotted[1]}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`;
  }
  const halves = words.split("::");
  if (halves.length > 2) return null;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  const given = groups.reduce((sum, half) => sum + half.length, 0);
  if (halves.length === 1 ? given !== 8 : given > 7) return null;
  const all = halves.length === 1 ? groups[0]! : [...groups[0]!, ...Array<string>(8 - given).fill("0"), ...groups[1]!];
  let number = 0n;
  for (const group of all) {
    if (!/^[0-9A-Fa-f]{1,4}$/.test(group)) return null;
    number = (number << 16n) | BigInt(`0x${group}`);
  }
  return { version: 6, number };
}

function fourOf(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4) return null;
  let number = 0n;
  for (const part of parts) {
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return null;
    number = (number << 8n) | BigInt(part);
  }
  return number;
}

function networkOf(text: string): (Address & { shift: bigint }) | null {
  const [first, mask, ...rest] = text.split("/");
  const address = addressOf(first!);
  if (address === null || rest.length > 0) return null;
  const bits = address.version === 4 ? 32 : 128;
  if (mask === undefined) return { ...address, shift: 0n };
  if (/^[0-9]{1,3}$/.test(mask)) return Number(mask) <= bits ? { ...address, shift: BigInt(bits - Number(mask)) } : null;
  const four = address.version === 4 ? fourOf(mask) : null;
  if (four === null) return null;
  // As a netmask, else as a host mask.
  for (const ones of [four ^ 0xffffffffn, four]) {
    if ((ones & (ones + 1n)) === 0n) return { ...address, shift: BigInt(ones.toString(2).replace(/^0$/, "").length) };
  }
  return null;
}

// ---------------------------------------------------------------------------------------------------------------- values

export interface CallParts { record: Record<string, unknown>; buffers: unknown[] | null }

// Gives the values of fields out of a record as the page has it (analyzer/screens/formats/report_page.py): its buffers stand beside it.
export function ofRecord(parts: CallParts): Resolve {
  return (field) => field.paths.flatMap((path) => at(field, parts, path));
}

function at(field: Field, { record, buffers }: CallParts, path: string): unknown[] {
  const inside = path.indexOf(".buffer.");
  if (inside >= 0) {
    const tree = buffers?.[path.slice(0, inside) === "request" ? 0 : 1];
    return foundIn(tree, path.slice(inside + ".buffer.".length).split("."));
  }
  const steps = path.split(".");
  if (steps.length === 2 && steps[1] === "buffer") steps[1] = "has_buffer";
  const values = walked([record], steps);
  if (field.kind === "GROUP") return values.filter(truthy).map(() => true);
  if (path === "smb.session_id") return values.map((value) => BigInt(value as string));
  return values.filter((value) => typeof value !== "object");
}

// As Python has it: an empty object or list is nothing.
function truthy(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

function walked(values: unknown[], steps: string[]): unknown[] {
  for (const step of steps) {
    values = values.flatMap((value) => (isTree(value) && Object.hasOwn(value, step) ? [value[step]] : []));
    values = values.flat();
  }
  return values.filter((value) => value !== null && value !== undefined).map(revived);
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !("$int" in value);
}

export function revived(value: unknown): unknown {
  return typeof value === "object" && value !== null && "$int" in value ? BigInt((value as { $int: string }).$int) : value;
}

// The values at any depth whose way there has these steps in this order, the last one being their own name.
function foundIn(tree: unknown, steps: string[]): unknown[] {
  const found: unknown[] = [];
  const visit = (value: unknown, step: number, named: boolean): void => {
    if (Array.isArray(value)) for (const part of value) visit(part, step, named);
    else if (isTree(value)) {
      for (const [key, part] of Object.entries(value)) {
        const last = step === steps.length - 1;
        visit(part, last || key !== steps[step] ? step : step + 1, last && key === steps.at(-1));
      }
    } else if (named && value !== null && value !== undefined) found.push(revived(value));
  };
  visit(tree, 0, false);
  return found;
}
