import {
  PackedAnswers,
  type SlotQueryReplyMessage,
} from '../../state/catalog/slot-query-message.ts'
import { successorOf } from '../../state/port/scan-part.ts'
import { type EntryPlace, ScanPage } from '../port/scan-page.ts'
import { failureOf } from './failures.ts'

/** Adds an entry that a slot has answered to a page. */
export type AddEntry = (page: ScanPage, entry: EntryPlace) => void

/** A slot's answer to a scan, read entry by entry in the order of the keys. */
export class ScanPart {
  readonly answers: PackedAnswers
  /** Entries from this key on are not part of it; undefined when there are no more. */
  readonly resume: Uint8Array | undefined
  /** Whether `answers` is at an entry; false after the last one. */
  hasEntry = true
  private readonly from: Uint8Array

  /** `from`: the first key of the range. Throws RESTORING. */
  constructor({ packed, resume }: SlotQueryReplyMessage, from: Uint8Array) {
    this.answers = new PackedAnswers(packed)
    this.resume = resume
    this.from = from
    this.advance()
  }

  /** Moves to the next entry. Throws RESTORING. */
  advance(): void {
    const { answers } = this
    while (answers.advance()) {
      if (answers.kind === 'found') return
      if (answers.kind === 'restoring') throw failureOf('RESTORING', this.from)
    }
    this.hasEntry = false
  }
}

/**
 * A page of the entries of slots, which have different keys, in the order of the keys and at most `limit`.
 * Entries above the place where one part ends early are left out: that part may have smaller ones. Throws
 * RESTORING.
 */
export function mergeScanParts(
  parts: readonly ScanPart[],
  limit: number,
  add: AddEntry,
  keyFormat?: string,
): ScanPage {
  const page = new ScanPage(keyFormat)
  const cut = firstResume(parts)
  for (;;) {
    const part = firstPart(parts)
    if (part === undefined || (cut !== undefined && isFrom(part.answers, cut))) {
      page.resume = cut
      return page
    }
    const { answers } = part
    if (page.count >= limit) {
      page.resume = behind(page, answers)
      return page
    }
    add(page, answers)
    part.advance()
  }
}

/** Where a page goes on that is full before this entry. */
function behind(page: ScanPage, { bytes, keyAt, valueAt }: EntryPlace): Uint8Array {
  const last = page.lastKey()
  return last === undefined ? bytes.slice(keyAt, valueAt) : successorOf(last)
}

function firstResume(parts: readonly ScanPart[]): Uint8Array | undefined {
  let first: Uint8Array | undefined
  for (const { resume } of parts) {
    if (resume === undefined) continue
    if (first === undefined || Buffer.compare(resume, first) < 0) first = resume
  }
  return first
}

/** The part whose present entry has the smallest key; undefined when all are read. */
function firstPart(parts: readonly ScanPart[]): ScanPart | undefined {
  let first: ScanPart | undefined
  for (const part of parts) {
    if (!part.hasEntry) continue
    if (first === undefined || isBefore(part.answers, first.answers)) first = part
  }
  return first
}

function isBefore(a: EntryPlace, b: EntryPlace): boolean {
  return compareKeys(a, b.bytes, b.keyAt, b.valueAt) < 0
}

function isFrom(entry: EntryPlace, key: Uint8Array): boolean {
  return compareKeys(entry, key, 0, key.length) >= 0
}

/** Compares the key of an entry with `bytes[from .. to)`, byte by byte: a view costs more than a short key. */
function compareKeys(entry: EntryPlace, bytes: Uint8Array, from: number, to: number): number {
  const { bytes: own, keyAt, valueAt } = entry
  const length = Math.min(valueAt - keyAt, to - from)
  for (let i = 0; i < length; i++) {
    const difference = own[keyAt + i]! - bytes[from + i]!
    if (difference !== 0) return difference
  }
  return valueAt - keyAt - (to - from)
}
