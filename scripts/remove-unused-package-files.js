// Runs after `npm install` in a checkout (`prepare`): deletes the files of packages that nothing here reads,
// about 440 MB. npm can only unpack whole packages. A file goes only where the one that is used instead is
// there. Plain JavaScript, because it also runs on Node 20.
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES = fileURLToPath(new URL('../node_modules', import.meta.url))
const REMOVED = `#!/usr/bin/env node
throw new Error('scripts/remove-unused-package-files.js of Weir removed this program')
`

removeForeignRuntimes(join(PACKAGES, 'onnxruntime-node/bin'))
removeSources(join(PACKAGES, '@nxtedition/rocksdb'))
removeSources(join(PACKAGES, 'classic-level'))
removeHeaders(join(PACKAGES, 'node'))
removePrograms(join(PACKAGES, 'binaryen'))
removeMaps(join(PACKAGES, 'assemblyscript/dist'))
// The digits a second time, 21 MB, for browsers: the benchmarks read the JSON files.
if (existsSync(join(PACKAGES, 'mnist/src/digits'))) remove(join(PACKAGES, 'mnist/dist'))

/**
 * Deletes the libraries of onnxruntime-node for other platforms, in `bin/napi-vN/PLATFORM/ARCH`.
 * @param {string} folder
 */
function removeForeignRuntimes(folder) {
  for (const api of namesIn(folder)) {
    keepOnly(join(folder, api), process.platform)
    keepOnly(join(folder, api, process.platform), process.arch)
  }
}

/**
 * Deletes the sources of a native package, and its binaries for other platforms. Keeps all where the package
 * loads a binary that was compiled here: then it may have to be compiled again.
 * @param {string} folder
 */
function removeSources(folder) {
  if (!existsSync(folder)) return
  const prebuilds = join(folder, 'prebuilds')
  const loaded = dirname(loadedBinary(folder) ?? '')
  if (dirname(loaded) !== prebuilds) return
  for (const name of namesIn(prebuilds)) {
    if (join(prebuilds, name) !== loaded) remove(join(prebuilds, name))
  }
  remove(join(folder, 'deps'))
  remove(join(folder, 'prebuilds.zip'))
}

/**
 * The binary that a native package loads, by the rules of the loader that it uses.
 * @param {string} folder
 * @returns {string | undefined}
 */
function loadedBinary(folder) {
  try {
    return createRequire(join(folder, 'package.json'))('node-gyp-build').path(folder)
  } catch {
    // There is none for this platform. The package's own error names what it looked for.
    return undefined
  }
}

/**
 * Deletes the C++ headers of the package node. Its program is in `bin`; the folder of the platform's package
 * has a second link to it.
 * @param {string} folder
 */
function removeHeaders(folder) {
  if (!['node', 'node.exe'].some((name) => existsSync(join(folder, 'bin', name)))) return
  for (const name of namesIn(join(folder, 'node_modules'))) {
    if (name.startsWith('node-')) remove(join(folder, 'node_modules', name, 'include'))
  }
}

/**
 * Replaces the command line programs of binaryen, of 9 MB each, by one that fails: assemblyscript uses the
 * library. Where a program of a package is missing, each `npm install` unpacks the package again.
 * @param {string} folder
 */
function removePrograms(folder) {
  if (!existsSync(join(folder, 'index.js'))) return
  for (const name of namesIn(join(folder, 'bin'))) {
    if (name.startsWith('wasm')) writeFileSync(join(folder, 'bin', name), REMOVED)
  }
}

/**
 * Deletes the source maps of a folder: only a debugger reads them.
 * @param {string} folder
 */
function removeMaps(folder) {
  for (const name of namesIn(folder)) if (name.endsWith('.map')) remove(join(folder, name))
}

/**
 * Deletes every subfolder but `kept`. Deletes nothing where `kept` is missing: there is no library for
 * this platform, and the error of onnxruntime-node should name the path that it knows.
 * @param {string} folder
 * @param {string} kept
 */
function keepOnly(folder, kept) {
  if (!existsSync(join(folder, kept))) return
  for (const name of namesIn(folder)) {
    if (name !== kept) remove(join(folder, name))
  }
}

/**
 * The names in a folder; none if it does not exist.
 * @param {string} folder
 * @returns {string[]}
 */
function namesIn(folder) {
  return existsSync(folder) ? readdirSync(folder) : []
}

/** @param {string} path */
function remove(path) {
  rmSync(path, { recursive: true, force: true })
}
