import { isWeirError, messageOf } from '../../core/errors.ts'
import type { CommandInput, CommandIo } from './command.ts'
import { InterruptedError } from './command.ts'
import { UsageError } from './usage-error.ts'

/** How a command was told to print. */
export interface OutputForm {
  /** `--json`: an error is an object, too. */
  readonly json: boolean
  /** `--log-format json`: each line of standard error is an object. */
  readonly jsonLog: boolean
}

/** The form that parsed flags ask for. */
export function formOf(flags: CommandInput['flags']): OutputForm {
  return { json: flags['json'] === true, jsonLog: flags['log-format'] === 'json' }
}

/** The form that words ask for which could not be parsed. */
export function formOfWords(argv: readonly string[]): OutputForm {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  const log = words.some(
    (word, i) =>
      word === '--log-format=json' || (word === '--log-format' && words[i + 1] === 'json'),
  )
  return { json: words.includes('--json'), jsonLog: log }
}

/** Levels of lines, as in the log of a job. */
const LEVEL = { info: 30, warn: 40, error: 50 } as const

/** Lines that a command prints on standard error, as the form asks for them. */
export function withJsonLog(
  io: CommandIo,
  { jsonLog }: OutputForm,
  nowMs: () => number,
): CommandIo {
  if (!jsonLog) return io
  return {
    ...io,
    err: (line) => {
      // The log of a job writes objects itself, with more fields.
      if (line.startsWith('{"level":')) return io.err(line)
      const level = /\bwarning: /.test(line) ? LEVEL.warn : LEVEL.info
      io.err(JSON.stringify({ level, time: nowMs(), name: 'weir', msg: line }))
    },
  }
}

/** An error that ends a command, as one line of JSON; undefined where the form asks for text. */
export function errorLine(
  error: unknown,
  { json, jsonLog }: OutputForm,
  nowMs: () => number,
): string | undefined {
  const code = codeOf(error)
  const message = messageOf(error)
  if (jsonLog) {
    return JSON.stringify({
      ...{ level: LEVEL.error, time: nowMs(), name: 'weir' },
      ...(code === undefined ? {} : { code }),
      msg: message,
    })
  }
  if (!json) return undefined
  const details = isWeirError(error) ? error.details : {}
  return JSON.stringify({
    error: {
      code: code ?? 'ILLEGAL_STATE',
      message,
      ...(Object.keys(details).length === 0 ? {} : { details }),
    },
  })
}

function codeOf(error: unknown): string | undefined {
  if (isWeirError(error)) return error.code
  if (error instanceof UsageError) return 'INVALID_ARGUMENT'
  return error instanceof InterruptedError ? 'JOB_CANCELED' : undefined
}
