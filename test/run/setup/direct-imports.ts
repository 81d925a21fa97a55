import { registerHooks } from 'node:module'
import { resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * Setup of each test file: resolves the relative imports between our modules without Vitest and without a look at the
 * disk. Vitest reports each import to its main process, for its watch mode, and Node.js looks for links: together that
 * took more processor time than loading the modules. A file that is missing fails when it is loaded.
 */

const ROOT = pathToFileURL(resolve(import.meta.dirname, '../../..') + sep).href
const PACKAGES = '/node_modules/'
const REGISTERED = Symbol.for('weir.test.direct-imports')

const isOurs = (url: string | undefined): url is string =>
  url?.startsWith(ROOT) === true && !url.includes(PACKAGES)

// Files that share a process run their setup each.
if (!(REGISTERED in globalThis)) {
  Object.assign(globalThis, { [REGISTERED]: true })
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const parent = context.parentURL
      if (!specifier.startsWith('.') || !specifier.endsWith('.ts') || !isOurs(parent))
        return nextResolve(specifier, context)
      const url = new URL(specifier, parent).href
      if (!isOurs(url)) return nextResolve(specifier, context)
      return { url, format: 'module-typescript', shortCircuit: true }
    },
  })
}
