// Builds the script and the style of the pages: `node build.mjs DIRECTORY` writes report.js, report.css, diff.css (the page of
// `diff`) and filter.mjs (for tests) there.
import { build } from "esbuild";
import { join } from "node:path";

const out = process.argv[2] ?? "../analyzer/screens/formats/page_assets";
const common = { bundle: true, minify: true, charset: "ascii", legalComments: "none", logLevel: "warning", target: "es2022" };

await build({ ...common, entryPoints: ["src/main.tsx"], outfile: join(out, "report.js"), format: "iife", jsx: "automatic", jsxImportSource: "preact" });
await build({ ...common, entryPoints: ["src/style.css"], outfile: join(out, "report.css") });
await build({ ...common, entryPoints: ["src/diff.css"], outfile: join(out, "diff.css") });
if (process.argv[2] !== undefined) {
  await build({ ...common, entryPoints: ["src/filter.ts"], outfile: join(out, "filter.mjs"), format: "esm" });
}
