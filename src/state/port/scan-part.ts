import type { SlotQueryAnswer } from './slot-query.ts'

/**
 * Most bytes of keys and values that a slot answers a scan with at a time: a query thread merges the parts of all slots in
 * one turn of its event loop.
 */
export const SCAN_PART_BYTES = 16 * 1024

/** Keys `from <= key < to`, at most `limit` of them. */
export interface KeyRange {
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly limit: number
}

/** A part of a scan: entries in the order of the keys, and where the rest begins. */
export interface ScanPart {
  readonly answers: readonly SlotQueryAnswer[]
  /** Entries from this key on are not part of the answer; undefined when there are no more. */
  readonly resume: Uint8Array | undefined
}

/** Bytes of an answer. */
export function bytesOfAnswer(answer: SlotQueryAnswer): number {
  return answer.key.length + (answer.kind === 'found' ? answer.value.length : 0)
}

/** The smallest key above a key. */
export function successorOf(key: Uint8Array): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

/**
 * Merges parts of scans over disjoint keys, at most `limit` entries. Entries above the place where one
 * part ends early are left out: that part may have smaller ones.
 */
export function mergeScanParts(parts: readonly ScanPart[], limit: number): ScanPart {
  if (parts.length === 1 && parts[0]!.answers.length <= limit) return parts[0]!
  let resume: Uint8Array | undefined
  for (const part of parts) {
    if (part.resume === undefined) continue
    if (resume === undefined || Buffer.compare(part.resume, resume) < 0) resume = part.resume
  }
  const answers = parts.flatMap((part) => part.answers)
  answers.sort((a, b) => Buffer.compare(a.key, b.key))
  const cut = resume
  const certain =
    cut === undefined ? answers : answers.filter(({ key }) => Buffer.compare(key, cut) < 0)
  if (certain.length <= limit) return { answers: certain, resume }
  const within = certain.slice(0, limit)
  const last = within.at(-1)
  return { answers: within, resume: last === undefined ? certain[0]!.key : successorOf(last.key) }
}

/** The result of work in steps, without a pause between them. */
export function finished<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
