import { requireArgument } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'

/** Longest name of a model or an alias. */
const MAX_LENGTH = 100

/** A model, and the version or the alias that a request names: `ocr`, `ocr@stable`. */
export interface ModelReference {
  readonly name: string
  readonly alias: string | undefined
}

/**
 * Checks the name of a model or an alias: it is the name of a folder, so it holds no separators and cannot
 * lead out of the repository. Throws INVALID_ARGUMENT.
 */
export function requireModelName(text: string, what = 'a model'): void {
  requireArgument(
    isModelName(text),
    `"${text.slice(0, 40)}" is no name of ${what}: it takes letters, digits, ".", "-" and "_", begins with a letter or digit, and has at most ${MAX_LENGTH} characters`,
  )
}

/** Whether the text is the name of a model or an alias. */
export function isModelName(text: string): boolean {
  return text.length <= MAX_LENGTH && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text)
}

/** The parts of `NAME` or `NAME@ALIAS`. Throws INVALID_ARGUMENT. */
export function parseReference(text: string): ModelReference {
  const at = text.indexOf('@')
  const name = at < 0 ? text : text.slice(0, at)
  const alias = at < 0 ? undefined : text.slice(at + 1)
  requireModelName(name)
  if (alias !== undefined) requireModelName(alias, 'an alias')
  return { name, alias }
}

/** The number of a version in a folder's name; undefined for any other text. */
export function versionOf(text: string): number | undefined {
  const number = Number(text)
  return /^[1-9][0-9]*$/.test(text) && number <= HIGHEST_VERSION ? number : undefined
}
