import { readFileSync } from 'node:fs'
import { messageOf } from '../../core/errors.ts'
import { UsageError } from './usage-error.ts'

/** Text of a file that a flag names. Throws UsageError. */
export function textOfFile(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${flag}: cannot read ${file}: ${messageOf(error)}`)
  }
}
