/**
 * Writes into dist/ the hash of what it was built from, so that a test can tell a stale dist without Node.
 *
 * The hash is over the sources and package.json, each as "path NUL length NUL bytes", in the order of their paths.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const files = (/** @type {string} */ folder) => readdirSync(folder).map((name) => `${folder}/${name}`);
const shared = ["commands.json", "relaytokens.js"].map((name) => `../passlab/display/web/${name}`); // with the views
const paths = ["../package-lock.json", "package.json", ...shared, ...files("schema"), ...files("src")].sort();
const hash = createHash("sha256");
for (const path of paths) {
  const text = readFileSync(path);
  hash.update(`${path}\0${text.length}\0`).update(text);
}
writeFileSync("dist/built-from.txt", `${hash.digest("hex")}\n`);
