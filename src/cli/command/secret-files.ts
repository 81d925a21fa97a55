import { statSync } from 'node:fs'
import type { CommandInput } from './command.ts'

/** Flags of files that hold a secret. */
const SECRETS: readonly string[] = [
  'token-file',
  'sasl-password-file',
  'server-tls-key',
  'tls-key',
  'query-tls-key',
  'jobmanager-tls-key',
]
/** Flags of the files that decide who may enter. */
const DECIDING: readonly string[] = ['tokens', 'people']

const OTHERS_READ = 0o044
const OTHERS_WRITE = 0o022

/** Sentences about files of the flags that other users of this machine can read, or change. */
export function secretFileWarnings(flags: CommandInput['flags']): readonly string[] {
  if (process.platform === 'win32') return []
  const read = SECRETS.flatMap((flag) => warningOf(`--${flag}`, flags[flag], OTHERS_READ, 'read'))
  return [
    ...read,
    ...DECIDING.flatMap((flag) => warningOf(`--${flag}`, flags[flag], OTHERS_WRITE, 'change')),
  ]
}

/** The same of a file with a secret that `name` has in messages. */
export function secretFileWarning(name: string, file: string): readonly string[] {
  return process.platform === 'win32' ? [] : warningOf(name, file, OTHERS_READ, 'read')
}

function warningOf(name: string, file: unknown, bits: number, what: string): readonly string[] {
  if (typeof file !== 'string') return []
  // A pipe or a missing file is the matter of who reads it.
  const status = statSync(file, { throwIfNoEntry: false })
  if (status?.isFile() !== true || (status.mode & bits) === 0) return []
  const mode = (status.mode & 0o777).toString(8).padStart(4, '0')
  return [
    `other users of this machine can ${what} ${name} ${file} (mode ${mode}); run "chmod 600 ${file}"`,
  ]
}
