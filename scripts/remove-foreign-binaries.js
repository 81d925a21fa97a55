// Runs after `npm install` in a checkout (`prepare`): deletes the libraries of other platforms, about
// 245 MB, from the development dependency onnxruntime-node. Plain JavaScript, because it also runs on
// Node 20.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BINARIES = fileURLToPath(new URL('../node_modules/onnxruntime-node/bin/', import.meta.url))

/**
 * Deletes every subfolder but `kept`. Deletes nothing where `kept` is missing: there is no library for
 * this platform, and the error of onnxruntime-node should name the path that it knows.
 * @param {string} folder
 * @param {string} kept
 */
function keepOnly(folder, kept) {
  if (!existsSync(join(folder, kept))) return
  for (const name of readdirSync(folder)) {
    if (name !== kept) rmSync(join(folder, name), { recursive: true })
  }
}

for (const api of existsSync(BINARIES) ? readdirSync(BINARIES) : []) {
  keepOnly(join(BINARIES, api), process.platform)
  keepOnly(join(BINARIES, api, process.platform), process.arch)
}
