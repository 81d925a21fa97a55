import { isWeirError, messageOf } from '../../core/errors.ts'
import type { CommandIo } from './command.ts'
import { InterruptedError } from './command.ts'
import { UsageError } from './usage-error.ts'

/** How a command prints. */
export interface OutputForm {
  /** `--json`: an error is an object, too. */
  readonly json: boolean
  /** `--log-format json`: each line of standard error is an object. */
  readonly jsonLog: boolean
}

/** Levels of lines, as in the log of a job. */
const LEVEL = { info: 30, warn: 40, error: 50 } as const

/** Surroundings of a command whose lines on standard error are objects. */
export function withJsonLog<T extends Pick<CommandIo, 'err'>>(io: T, nowMs: () => number): T {
  return {
    ...io,
    err: (line) => {
      // The log of a job writes objects itself, with more fields.
      if (line.startsWith('{"level":')) {
        io.err(line)
        return
      }
      const level = /\bwarning: /.test(line) ? LEVEL.warn : LEVEL.info
      io.err(JSON.stringify({ level, time: nowMs(), name: 'weir', msg: line }))
    },
  }
}

/** An error that ends a command, as one line of JSON: a line of the log, or an object with the error. */
export function errorLine(error: unknown, { jsonLog }: OutputForm, nowMs: number): string {
  const code = codeOf(error)
  const message = messageOf(error)
  if (jsonLog) {
    const head = { level: LEVEL.error, time: nowMs, name: 'weir' }
    return JSON.stringify({ ...head, ...(code === undefined ? {} : { code }), msg: message })
  }
  const details = isWeirError(error) ? error.details : {}
  const shown = Object.keys(details).length === 0 ? {} : { details }
  return JSON.stringify({ error: { code: code ?? 'ILLEGAL_STATE', message, ...shown } })
}

function codeOf(error: unknown): string | undefined {
  if (isWeirError(error)) return error.code
  if (error instanceof UsageError) return 'INVALID_ARGUMENT'
  return error instanceof InterruptedError ? 'JOB_CANCELED' : undefined
}
