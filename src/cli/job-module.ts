import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/nearest-word.ts'
import type { JobDefinition } from '../dataflow/job-definition.ts'
import { UsageError } from './usage-error.ts'

/** A job of the user's own. */
export interface JobModule {
  readonly url: URL
  /** The name it was defined with. */
  readonly name: string
}

/**
 * Imports the module of a job, once, to see that it is one. Throws UsageError when there is no such
 * file, INVALID_ARGUMENT when its default export is no job, and what the module itself throws.
 */
export async function loadJobModule(path: string, builtIn: readonly string[]): Promise<JobModule> {
  const file = resolve(path)
  if (!existsSync(file)) {
    const nearest = nearestWord(path, builtIn)
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    throw new UsageError(`there is no job "${path}" and no such file${hint}`)
  }
  const url = pathToFileURL(file)
  let exported: { readonly default?: Partial<JobDefinition> }
  try {
    exported = (await import(url.href)) as typeof exported
  } catch (cause) {
    throw new WeirError('INVALID_ARGUMENT', `${path} cannot be loaded: ${messageOf(cause)}`, {
      cause,
    })
  }
  const definition = exported.default
  if (typeof definition?.name === 'string' && typeof definition.build === 'function') {
    return { url, name: definition.name }
  }
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${path} is not a job: end it with "export default defineJob({ name, build(env, options) { ... } })"`,
  )
}
