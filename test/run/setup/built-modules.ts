import { registerHooks } from 'node:module'
import { resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

/*
 * Loaded first by each process and thread of system tests (`--import`): a thread that a test starts gets the modules of
 * `src` from the files that `test/built-package.ts` has joined them into. From the source, a slot's thread loads five
 * hundred modules, for which it needs three times the processor time; tests with kills start dozens of threads. The
 * modules of a test's process stay those of the source: messages between threads have no classes.
 */

/** Name of the variable with the URL of the folder with the joined modules. */
export const BUILT_MODULES_VARIABLE = 'TEST_BUILT_MODULES'

/** The flag of Node.js with which a process has them. */
export const BUILT_MODULES_FLAG = `--import=${import.meta.url}`

const SOURCE = pathToFileURL(resolve(import.meta.dirname, '../../../src') + sep).href
const built = process.env[BUILT_MODULES_VARIABLE]

/** Whether this is the process of a test: it keeps the source, and the names of its lines. */
const isTest = isMainThread && process.argv[1]?.includes('/node_modules/vitest/') !== false

/** The URL that an import names without a package; undefined for a package. */
function urlOf(specifier: string, parent: string | undefined): string | undefined {
  if (specifier.startsWith('file:')) return specifier
  return specifier.startsWith('.') && parent !== undefined
    ? new URL(specifier, parent).href
    : undefined
}

const isSource = (url: string | undefined): url is string =>
  url?.startsWith(SOURCE) === true && url.endsWith('.ts')

/** The joined module of one of `src`. */
const joined = (url: string): string =>
  `${built}${url.slice(SOURCE.length).replace(/\.ts$/, '.js')}`

if (built !== undefined && !isTest) {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const named = urlOf(specifier, context.parentURL)
      if (isSource(named)) return { url: joined(named), format: 'module', shortCircuit: true }
      const found = nextResolve(specifier, context)
      // A package in a folder of a test may be a link to the source.
      return isSource(found.url) ? { ...found, url: joined(found.url), format: 'module' } : found
    },
  })
}
