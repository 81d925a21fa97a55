import {
  ERROR_CODES,
  type ErrorCode,
  isWeirError,
  messageOf,
  WeirError,
} from '../../core/errors.ts'
import type {
  FailedRecord,
  MessagePortLike,
  SlotCommand,
  SlotFailure,
  SlotReport,
} from './slot-messages.ts'

/** A slot as the main thread sees it: in a worker thread or in the calling thread. */
export interface SlotHost {
  /** Whether the slot runs in a separate thread, which counts as lost when it does not answer. */
  readonly remote: boolean
  /** Sends a command and transfers `ports` with it. Does nothing after the slot's end. */
  send(command: SlotCommand, ports?: readonly MessagePortLike[]): void
  /** Ends the slot abruptly, as a crash would; the loss is reported. */
  kill(): void
  /** V8's CPU profile of the slot's thread over some time, as JSON. Throws UNSUPPORTED, SLOT_LOST. */
  profile?(durationMs: number): Promise<string>
  /** Ends the slot for good; no loss is reported. */
  terminate(): Promise<void>
}

/** Listener of the main thread for one slot. */
export interface SlotListener {
  report(report: SlotReport): void
  /** The slot is lost: SLOT_LOST with the cause. */
  lost(error: WeirError): void
}

/** Starts the slot with this number. */
export type StartSlot = (slot: number, listener: SlotListener) => SlotHost

/** The error that a slot's failure describes. */
export function failureOf(failure: SlotFailure): WeirError {
  const cause = new Error(failure.message)
  if (failure.stack !== undefined) cause.stack = failure.stack
  const { task, operator, code, message, record, key, timestamp, stray } = failure
  const text = `${whoFailed(failure)} failed: ${message}${whereAndWhy(failure)}`
  return new WeirError('OPERATOR_FAILED', text, {
    cause,
    details: {
      task,
      code,
      ...(operator === undefined ? {} : { operator }),
      ...(record === undefined ? {} : { record: recordText(record) }),
      ...(key === undefined ? {} : { key }),
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(stray === true ? { stray } : {}),
    },
  })
}

/** In brackets: the line of the user's code, the record with its key and time, and the causes. */
function whereAndWhy(failure: SlotFailure): string {
  const { message, place, record, key, timestamp, causes = [] } = failure
  const parts = [
    ...(place === undefined ? [] : [`at ${place}`]),
    ...(record === undefined ? [] : [`at the record ${recordText(record)}`]),
    ...(key === undefined ? [] : [`key ${key}`]),
    ...(timestamp === undefined ? [] : [`event time ${timeText(timestamp)}`]),
    ...causes.filter((cause) => !message.includes(cause)).map((cause) => `caused by ${cause}`),
  ]
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`
}

/** A time as a date, where it is that of one. */
function timeText(timestamp: number): string {
  const date = new Date(timestamp)
  return Number.isNaN(date.getTime()) ? `${timestamp} ms` : date.toISOString()
}

function recordText({ source, topic, partition, offset }: FailedRecord): string {
  const ofTopic = topic === undefined || topic === source ? '' : `, topic ${topic}`
  return `${partition}:${offset} of source ${source}${ofTopic}`
}

function whoFailed({ task, operator, part }: SlotFailure): string {
  if (operator === undefined) return task
  const who =
    part === undefined ? `operator ${operator}` : `the ${part} before operator ${operator}`
  return `${who}, task ${task},`
}

/** The code of the error that failed an attempt: a slot's `failed` report has it in the details. */
export function codeOfFailure(error: WeirError): ErrorCode {
  const code = error.code === 'OPERATOR_FAILED' ? error.details['code'] : undefined
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code)
    ? (code as ErrorCode)
    : error.code
}

/** SLOT_LOST with the cause that ended the slot's worker. `isKilled`: whether `SlotHost.kill` has. */
export function slotLost(slot: number, cause: unknown, isKilled: boolean): WeirError {
  if (isWeirError(cause, 'SLOT_LOST')) return cause
  return new WeirError('SLOT_LOST', `slot ${slot} is lost: ${messageOf(cause)}`, {
    cause,
    details: isKilled ? { slot } : { slot, lostBy: 'end' },
  })
}
