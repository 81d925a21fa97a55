import { systemClock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import { printable } from '../../core/text/printable.ts'
import { codeOfFailure } from '../../runtime/protocol/slot-host.ts'
import type { CommandIo, Flags } from '../command/command.ts'

/** Levels of lines; the numbers are those of pino, as in the log of the gateway. */
const LEVELS = { info: 30, warn: 40, error: 50 } as const

/** What a line says besides its sentence. */
export interface LogFields {
  /** When it happened, ms since 1970. @default now */
  readonly atMs?: number
  readonly attempt?: number
  /** Its code, operator and subtask become fields. */
  readonly error?: WeirError
  readonly partition?: number
  readonly offset?: number
}

/** Tokens of `weir token create`: they never reach a log, whatever message holds one. */
const TOKEN = /\bweir_([0-9a-f]{12})_[A-Za-z0-9_-]+/g

/** Options of the log of a job. */
export interface JobLogOptions {
  /** Name of the job, with which each sentence begins. */
  readonly name: string
  /** Whether lines are JSON. @default false */
  readonly isJson?: boolean
  /** The time of a line that does not say it, ms since 1970. */
  readonly nowMs: () => number
}

/** The log of one job on standard error: sentences for people, or JSON lines for a log collector. */
export class JobLog {
  private readonly name: string
  /** Whether lines are JSON; then all that ends the job is a line, too. */
  readonly isJson: boolean
  private readonly io: CommandIo
  private readonly nowMs: () => number

  constructor(io: CommandIo, { name, isJson = false, nowMs }: JobLogOptions) {
    this.name = name
    this.isJson = isJson
    this.io = io
    this.nowMs = nowMs
  }

  info(sentence: string, fields: LogFields = {}): void {
    this.write('info', sentence, fields)
  }

  warn(sentence: string, fields: LogFields = {}): void {
    this.write('warn', sentence, fields)
  }

  error(sentence: string, fields: LogFields = {}): void {
    this.write('error', sentence, fields)
  }

  private write(level: keyof typeof LEVELS, sentence: string, fields: LogFields): void {
    const safe = sentence.replaceAll(TOKEN, 'weir_$1_...')
    this.io.err(this.isJson ? this.jsonOf(level, safe, fields) : this.textOf(safe, fields))
  }

  private textOf(sentence: string, { atMs }: LogFields): string {
    const time = atMs === undefined ? '' : `${new Date(atMs).toTimeString().slice(0, 8)} `
    return `${this.name}: ${time}${printable(sentence)}`
  }

  private jsonOf(level: keyof typeof LEVELS, msg: string, fields: LogFields): string {
    const { atMs = this.nowMs(), error, ...others } = fields
    const jobId = this.io.jobManager?.jobId
    return JSON.stringify({
      level: LEVELS[level],
      time: atMs,
      name: 'weir',
      job: this.name,
      ...(jobId === undefined ? {} : { jobId }),
      ...others,
      ...(error === undefined ? {} : placeOf(error)),
      msg,
    })
  }
}

/** The code of an error, and where in the job it happened, as far as the error names it. */
function placeOf(error: WeirError): Readonly<Record<string, string | number>> {
  const { task, slot } = error.details
  const [, head, subtask] = typeof task === 'string' ? (TASK.exec(task) ?? []) : []
  const operator = typeof error.details['operator'] === 'string' ? error.details['operator'] : head
  return {
    code: codeOfFailure(error),
    ...(operator === undefined ? {} : { operator }),
    ...(subtask === undefined ? {} : { subtask: Number(subtask) }),
    ...(typeof slot === 'number' ? { slot } : {}),
  }
}

/** Name of a subtask (`taskName`): the first operator of its chain, and its number. */
const TASK = /^(.+)#(\d+)$/

/** The log that the flags of a job ask for. */
export function jobLogOf(name: string, flags: Flags, io: CommandIo): JobLog {
  return new JobLog(io, {
    name,
    isJson: flags.choice('log-format', ['text', 'json'] as const) === 'json',
    nowMs: () => systemClock.nowMs(),
  })
}
