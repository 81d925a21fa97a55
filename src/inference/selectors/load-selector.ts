import { pathToFileURL } from 'node:url'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { ownSelector } from './own-selector.ts'
import type { Selector } from './selector.ts'

/**
 * The selector of a user's module: `FILE#NAME` is the export of that name, and `FILE` the default one. The export is a
 * selector, or a function that makes one of the parameters. Rejects with INVALID_ARGUMENT where the module does not load,
 * has no such export, or the export is no selector.
 */
export async function loadSelector(
  reference: string,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<Selector> {
  const at = reference.lastIndexOf('#')
  const file = at < 0 ? reference : reference.slice(0, at)
  const name = at < 0 ? 'default' : reference.slice(at + 1)
  let exports: Readonly<Record<string, unknown>>
  try {
    exports = await import(pathToFileURL(file).href)
  } catch (error) {
    throw asWeirError(error, 'INVALID_ARGUMENT', `the selector ${reference} cannot be loaded`)
  }
  if (!Object.hasOwn(exports, name)) {
    const names = Object.keys(exports)
    const there = names.length === 0 ? 'it exports nothing' : `it exports ${names.join(', ')}`
    throw new WeirError('INVALID_ARGUMENT', `${file} has no export "${name}": ${there}`)
  }
  const given = exports[name]
  if (typeof given !== 'function') return ownSelector(given, reference)
  let made: unknown
  try {
    made = given(parameters)
  } catch (error) {
    throw asWeirError(error, 'INVALID_ARGUMENT', `the selector ${reference} cannot be made`)
  }
  return ownSelector(made, reference)
}
