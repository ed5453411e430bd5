// Bundles the script of each view with the modules that it imports: `npm run bundle` writes dist/, `--check` compares.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url),
  dist = new URL("dist/", here);
const read = (/** @type {string | URL} */ path) => readFileSync(new URL(path, here));
const sources = readdirSync(here)
  .filter((name) => name.endsWith(".js"))
  .sort();
const entries = sources.filter((name) => read(name).includes("\nexport default {"));

const { outputFiles } = await build({
  absWorkingDir: new URL(".", here).pathname,
  entryPoints: entries,
  bundle: true,
  charset: "utf8",
  format: "iife",
  globalName: "view",
  legalComments: "none",
  minify: true,
  outdir: "dist",
  target: "es2022",
  write: false,
});
const hash = createHash("sha256");
const shared = readdirSync(here).filter((name) => name.endsWith(".json"));
for (const path of [...sources, ...shared.sort(), "../../../package-lock.json"])
  hash.update(`${path.split("/").at(-1)}\0`).update(read(path));
const files = new Map(outputFiles.map(({ path, text }) => [path.replaceAll("\\", "/").split("/").at(-1) ?? "", text]));
files.set("built-from.txt", `${hash.digest("hex")}\n`);

if (process.argv.includes("--check")) {
  const stale = [...files].filter(
    ([name, text]) => !readdirSync(dist).includes(name) || read(new URL(name, dist)).toString() !== text,
  );
  const left = readdirSync(dist).filter((name) => !files.has(name));
  if (stale.length || left.length) {
    console.error(`stale bundles: ${[...stale.map(([name]) => name), ...left].join(", ")}; run \`make scripts\``);
    process.exit(1);
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  for (const [name, text] of files) writeFileSync(new URL(name, dist), text);
}
