import { registerHooks } from 'node:module'
import { HAS_JOINED, joinedUrl } from './joined-modules.ts'

/*
 * Loaded first by each process and thread of system tests (`--import`): they get the modules of `src` from the files that
 * `test/built-package.ts` has joined them into. From the source, the process of a test loads up to a thousand modules, and
 * a slot's thread five hundred: that takes three times the processor time, and there are hundreds of files, and tests with
 * kills start dozens of threads.
 */

/** The flag of Node.js with which a process has them. */
export const BUILT_MODULES_FLAG = `--import=${import.meta.url}`

/** The URL that an import names without a package; undefined for a package. */
function urlOf(specifier: string, parent: string | undefined): string | undefined {
  if (specifier.startsWith('file:')) return specifier
  return specifier.startsWith('.') && parent !== undefined
    ? new URL(specifier, parent).href
    : undefined
}

if (HAS_JOINED) {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const named = urlOf(specifier, context.parentURL)
      const url = named === undefined ? undefined : joinedUrl(named)
      if (url !== undefined) return { url, format: 'module', shortCircuit: true }
      const found = nextResolve(specifier, context)
      // A package in a folder of a test may be a link to the source.
      const linked = joinedUrl(found.url)
      return linked === undefined ? found : { ...found, url: linked, format: 'module' }
    },
  })
}
