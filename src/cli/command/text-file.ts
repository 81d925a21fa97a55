import { appendFileSync, readFileSync } from 'node:fs'
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

/** Throws UsageError when a file that a flag names cannot be appended to; a missing one is created for this user alone. */
export function requireWritable(flag: string, file: string): void {
  try {
    appendFileSync(file, '', { mode: 0o600 })
  } catch (error) {
    throw new UsageError(`${flag}: cannot write ${file}: ${messageOf(error)}`)
  }
}
