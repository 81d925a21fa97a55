import { cliReference } from './cli-reference.ts'
import { configurationReference } from './configuration-reference.ts'
import { errorReference } from './error-reference.ts'

/** Pages of docs/reference that are written from the source: file name to text. */
export const REFERENCE_PAGES: Readonly<Record<string, () => string>> = {
  'cli.md': cliReference,
  'configuration.md': configurationReference,
  'errors.md': errorReference,
}
