import { type ErrorCode, WeirError } from '../../core/errors.ts'
import { codeOfNumber } from '../queue/failure-code.ts'
import { SLOT } from '../queue/layout.ts'
import type { QueueMemory } from '../queue/memory.ts'

const SENTENCES: Partial<Record<ErrorCode, string>> = {
  WORKER_LOST: 'the worker that ran the request ended, and there is no time for another try',
  POISONED_REQUEST: 'the request ended every worker that ran it, also alone; do not send it again',
}

/** The error of a failed slot. */
export function failureOf(memory: QueueMemory, slot: number): WeirError {
  const at = memory.slotAt(slot)
  const code = codeOfNumber(memory.words[at + SLOT.code]!)
  const start = memory.outputAt(slot)
  const text = Buffer.from(
    memory.bytes.slice(start, start + memory.words[at + SLOT.outputLength]!),
  ).toString('utf8')
  return new WeirError(code, text === '' ? (SENTENCES[code] ?? 'the model failed') : text)
}

/** The error of a request that a worker shed. */
export function cannotBeInTime(model: string): WeirError {
  return new WeirError(
    'DEADLINE_EXCEEDED',
    `the model ${model} cannot answer before the deadline, so the request was given up early`,
    { details: { shed: true } },
  )
}

/** The error of a request that was not admitted; `retryAfterMs` is undefined when the queue is full. */
export function overloaded(
  model: string,
  retryAfterMs: number | undefined,
  sloMs: number,
): WeirError {
  const cause =
    retryAfterMs === undefined ? 'its queue is full' : 'its queue is too long for the deadline'
  return new WeirError('OVERLOADED', `the model ${model} takes no more requests now: ${cause}`, {
    details: { retryAfterMs: retryAfterMs ?? Math.ceil(sloMs) },
  })
}
