// The text of a filter in, its tree out: an LALR parser with the tables of the command's grammar (analyzer/questions/filters/grammar.py).

export type Place = [start: number, stop: number];
export interface Word { tag: "word"; text: string; at: Place }
export interface Text { tag: "text"; text: string; at: Place }
export interface Call { tag: "function"; name: string; argument: Operand; at: Place }
export type Operand = Word | Text | Call;
export interface Range { tag: "range"; low: Operand; high: Operand; at: Place }
export type Quantifier = "any" | "all" | null;
export type Node =
  | { tag: "exists"; operand: Operand }
  | { tag: "compare"; left: Operand; operator: string; right: Operand; quantifier: Quantifier; at: Place }
  | { tag: "in"; left: Operand; members: (Operand | Range)[]; quantifier: Quantifier }
  | { tag: "not"; part: Node }
  | { tag: "and" | "or" | "xor"; parts: Node[] };

// What `tables` of grammar.py describes.
export interface Grammar {
  terminals: [name: string, pattern: string][]; ignore: string[]; states: Record<string, number>[]; end: number;
  rules: [origin: string, name: string, parts: string, unwraps: boolean][];
  operators: Record<string, string>; signs: [terminal: string, sign: string][]; escapes: Record<string, string>; most: [length: number, depth: number];
}

export class FilterError extends Error {
  constructor(message: string, public readonly at: Place) {
    super(message);
  }
}

interface Token { name: string; text: string; at: Place }
interface Tree { name: string; parts: Part[]; at: Place }
type Part = Token | Tree;

export function parse(source: string, grammar: Grammar): Node {
  const length = Array.from(source).length;
  const [most] = grammar.most;
  if (length > most) throw new FilterError(`a filter may have ${grouped(most)} characters, this one has ${grouped(length)}`, [0, 1]);
  const parser = new Parser(source, grammar);
  if (parser.isEmpty()) throw new FilterError("the filter is empty", [0, 1]);
  return new Builder(grammar).node(parser.tree(), 0);
}

export const grouped = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

class Parser {
  private readonly patterns: [name: string, pattern: RegExp][];
  private states = [0];
  private values: Part[] = [];
  private at = 0;

  constructor(private readonly source: string, private readonly grammar: Grammar) {
    this.patterns = grammar.terminals.map(([name, pattern]) => [name, new RegExp(pattern, "suy")]);
  }

  isEmpty(): boolean {
    this.skip();
    return this.at === this.source.length;
  }

  tree(): Tree {
    for (;;) {
      const token = this.token();
      for (;;) {
        const action = this.row()[token.name];
        if (action === undefined) throw this.unexpected(token);
        if (action >= 0) {
          this.states.push(action);
          this.values.push(token);
          break;
        }
        this.reduce(-1 - action);
        if (token.name === "$END" && this.states.at(-1) === this.grammar.end) return this.values[0] as Tree;
      }
    }
  }

  private row(states = this.states): Record<string, number> {
    return this.grammar.states[states.at(-1)!]!;
  }

  private reduce(rule: number): void {
    const [origin, name, does, unwraps] = this.grammar.rules[rule]!;
    const taken = this.values.splice(-does.length);
    const parts = taken.flatMap((part, at) => (does[at] === "d" ? [] : does[at] === "i" ? (part as Tree).parts : [part]));
    this.values.push(unwraps && parts.length === 1 ? parts[0]! : { name, parts, at: [taken[0]!.at[0], taken.at(-1)!.at[1]] });
    this.states.splice(-does.length);
    this.states.push(this.row()[origin]!);
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.source)?.[0] ?? null;
  }

  private skip(): void {
    for (const [name, pattern] of this.patterns) if (this.grammar.ignore.includes(name)) this.at += this.match(pattern)?.length ?? 0;
  }

  // What may stand here goes before what may not, which only a message names.
  private token(): Token {
    this.skip();
    const start = this.at;
    if (start === this.source.length) return { name: "$END", text: "", at: [start, start] };
    const row = this.row();
    for (const mayStand of [true, false]) {
      for (const [name, pattern] of this.patterns) {
        const text = name in row === mayStand ? this.match(pattern) : null;
        if (text === null) continue;
        this.at += text.length;
        return { name, text, at: [start, this.at] };
      }
    }
    const found = String.fromCodePoint(this.source.codePointAt(start)!);
    return { name: "", text: found, at: [start, start + found.length] };
  }

  // Whether a token can be taken, once what ends before it is put together.
  private accepts(name: string): boolean {
    const states = [...this.states];
    for (;;) {
      const action = this.row(states)[name];
      if (action === undefined || action >= 0) return action !== undefined;
      const [origin, , does] = this.grammar.rules[-1 - action]!;
      states.splice(-does.length);
      states.push(this.row(states)[origin]!);
      if (name === "$END" && states.at(-1) === this.grammar.end) return true;
    }
  }

  private unexpected({ name, text, at }: Token): FilterError {
    const accepted = Object.keys(this.row()).filter((one) => one === one.toUpperCase() && this.accepts(one));
    const signs = this.grammar.signs.filter(([terminal]) => accepted.includes(terminal)).map(([, sign]) => sign).join(", ");
    const wanted = accepted.includes("WORD") ? "a field or a value" : signs.includes(", ") ? `one of ${signs}` : signs || "nothing more";
    if (name === "" && (text === '"' || text === "'")) return new FilterError("this text has no closing quote", [at[0], this.source.length]);
    if (name === "" && text === "=" && accepted.includes("COMPARE")) return new FilterError("a single = is no operator, write == or !=", at);
    if (name === "$END") return new FilterError(`the filter ends here, but ${wanted} must follow`, [at[0], at[0] + 1]);
    return new FilterError(`${printable(text)} was not expected here, but ${wanted}`, at);
  }
}

// As Python writes a text that has characters which cannot be seen.
export function printable(text: string): string {
  if (/^[^\p{C}\p{Z}]*$/u.test(text.replaceAll(" ", ""))) return text;
  const escaped = Array.from(text, (one) => {
    const code = one.codePointAt(0)!;
    const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" }[one];
    const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return short ?? (code >= 0x20 && code < 0x7f ? one : `\\${letter}${code.toString(16).padStart(width as number, "0")}`);
  }).join("");
  return escaped.includes("'") && !escaped.includes('"') ? `"${escaped}"` : `'${escaped.replaceAll("'", "\\'")}'`;
}

// Makes nodes of the parser's trees, as `_Builder` of grammar.py does.
class Builder {
  constructor(private readonly grammar: Grammar) {}

  private depth(depth: number, part: Part): void {
    const most = this.grammar.most[1];
    if (depth > most) throw new FilterError(`this filter nests deeper than ${most} levels`, part.at);
  }

  node(part: Part, depth: number): Node {
    this.depth(depth, part);
    const { name, parts } = part as Tree;
    if (name === "group") return this.node(parts[0]!, depth + 1);
    if (name === "not_") return { tag: "not", part: this.node(parts[1]!, depth + 1) };
    if (name === "quantified") return this.relation(parts[1] as Tree, (parts[0] as Token).text.toLowerCase() as Quantifier);
    const tag = ({ or_: "or", xor_: "xor", and_: "and" } as const)[name];
    if (tag !== undefined) return { tag, parts: parts.map((one) => this.node(one, depth + 1)) };
    return this.relation(part as Tree, null);
  }

  private relation({ name, parts, at }: Tree, quantifier: Quantifier): Node {
    const left = (): Operand => this.operand(parts[0]!, 0);
    if (name === "exists") {
      if (quantifier !== null) throw new FilterError(`${quantifier} stands before a comparison, and this is none`, at);
      return { tag: "exists", operand: left() };
    }
    if (name !== "compared") {
      const found: Node = { tag: "in", left: left(), members: this.members(parts.at(-1) as Tree), quantifier };
      return name === "in_" ? found : { tag: "not", part: found };
    }
    // `a < b < c` means `a < b and b < c`.
    const operands = parts.filter((_, place) => place % 2 === 0).map((one) => this.operand(one, 0));
    const relations = operands.slice(1).map((right, place): Node => {
      const sign = parts[2 * place + 1] as Token;
      return { tag: "compare", left: operands[place]!, operator: this.grammar.operators[sign.text.toLowerCase()]!, right, quantifier, at: sign.at };
    });
    return relations.length === 1 ? relations[0]! : { tag: "and", parts: relations };
  }

  private members({ parts }: Tree): (Operand | Range)[] {
    return parts.map((part) => {
      if (part.name !== "range_") return this.operand(part, 0);
      const [low, high] = (part as Tree).parts.map((end) => this.operand(end, 0)) as [Operand, Operand];
      return { tag: "range", low, high, at: part.at };
    });
  }

  private operand(part: Part, depth: number): Operand {
    if ("parts" in part) {
      this.depth(depth, part);
      const [name, argument] = part.parts as [Token, Part];
      return { tag: "function", name: name.text.toLowerCase(), argument: this.operand(argument, depth + 1), at: part.at };
    }
    if (part.name === "RAW") return { tag: "text", text: part.text.slice(2, -1), at: part.at };
    return part.name === "STRING" ? { tag: "text", text: this.unescaped(part), at: part.at } : { tag: "word", text: part.text, at: part.at };
  }

  private unescaped({ text, at }: Token): string {
    return text.slice(1, -1).replace(/\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/gsu, (match, x, u, long, one) => {
      const code = (x ?? u ?? long) as string | undefined;
      if (code === undefined) return this.grammar.escapes[one as string] ?? match;
      const number = parseInt(code, 16);
      if (number > 0x10ffff) throw new FilterError(`${match} is no character`, at);
      return String.fromCodePoint(number);
    });
  }
}
