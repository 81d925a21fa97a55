import { isWeirError, messageOf, WeirError } from '../core/errors.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from './slot-protocol.ts'

/** A slot as the main thread sees it, in a worker thread or in the calling one. */
export interface SlotHost {
  /** Whether it has a thread of its own, whose silence is a loss. */
  readonly remote: boolean
  /** Sends a command; `ports` are handed over with it. After the slot's end it does nothing. */
  send(command: SlotCommand, ports?: readonly MessagePortLike[]): void
  /** Ends the slot abruptly, as a crash would; the loss is reported. */
  kill(): void
  /** Ends the slot for good; no loss is reported. */
  terminate(): Promise<void>
}

/** What the main thread hears of a slot. */
export interface SlotListener {
  report(report: SlotReport): void
  /** The slot is gone: SLOT_LOST with the cause. */
  lost(error: WeirError): void
}

/** Starts the slot of a number. */
export type StartSlot = (slot: number, listener: SlotListener) => SlotHost

/** The error that a slot's `failed` report stands for. */
export function failureOf(report: Extract<SlotReport, { kind: 'failed' }>): WeirError {
  const cause = new Error(report.message)
  if (report.stack !== undefined) cause.stack = report.stack
  const { task, operator, code, message } = report
  const who = operator === undefined ? task : `operator ${operator}, task ${task},`
  return new WeirError('OPERATOR_FAILED', `${who} failed: ${message}`, {
    cause,
    details: { task, code, ...(operator === undefined ? {} : { operator }) },
  })
}

/** What ended a worker, as SLOT_LOST. */
export function slotLost(slot: number, cause: unknown): WeirError {
  if (isWeirError(cause, 'SLOT_LOST')) return cause
  return new WeirError('SLOT_LOST', `slot ${slot} is gone: ${messageOf(cause)}`, {
    cause,
    details: { slot },
  })
}
