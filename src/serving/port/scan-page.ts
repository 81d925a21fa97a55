import { bytesOfKeyText } from '../../core/formats/key-text.ts'
import type { ScanEntry } from '../../wire/model-reader.ts'
import { listedKey } from '../../wire/state/formatted-key.ts'

/** Where an entry is: its value begins where its key ends. */
export interface EntryPlace {
  readonly bytes: Uint8Array
  readonly keyAt: number
  readonly valueAt: number
  readonly end: number
}

/**
 * A part of a scan, in the order of the keys. Keys and values stay where the slots have written them: hundreds of
 * objects and texts a page would hold up a thread's other connections by its garbage collector.
 */
export class ScanPage {
  /** The format of the keys; undefined for those of vectors. */
  readonly keyFormat: string | undefined
  /** The key to continue from; undefined when the range has no more entries. */
  resume: Uint8Array | undefined
  /** By entry, the bytes that hold its key and its value. */
  readonly bytes: Uint8Array[] = []
  /** Four numbers an entry: start and end of its key, start and end of its value. */
  readonly spans: number[] = []

  constructor(keyFormat?: string) {
    this.keyFormat = keyFormat
  }

  /** Entries. */
  get count(): number {
    return this.bytes.length
  }

  /** Adds an entry, or its key and a part of its value. */
  add(entry: EntryPlace, valueAt = entry.valueAt, valueEnd = entry.end): void {
    this.bytes.push(entry.bytes)
    this.spans.push(entry.keyAt, entry.valueAt, valueAt, valueEnd)
  }

  /** A view of the last entry's key; undefined on an empty page. */
  lastKey(): Uint8Array | undefined {
    const { spans } = this
    return this.bytes.at(-1)?.subarray(spans.at(-4), spans.at(-3))
  }

  /** Objects, for callers in this process; values are views. */
  toEntries(): ScanEntry[] {
    const { spans } = this
    return this.bytes.map((bytes, i) => ({
      key: listedKey(bytes.subarray(spans[4 * i]!, spans[4 * i + 1]!), this.keyFormat),
      value: bytes.subarray(spans[4 * i + 2]!, spans[4 * i + 3]!),
    }))
  }

  /** The text of the key to continue from. */
  get resumeText(): string | undefined {
    return this.resume === undefined ? undefined : listedKey(this.resume, this.keyFormat)
  }

  /** From objects. */
  static of(entries: readonly ScanEntry[], resume?: string): ScanPage {
    const page = new ScanPage()
    for (const { key, value } of entries) {
      const bytes = Buffer.concat([bytesOfKeyText(key), value])
      const end = bytes.length
      page.add({ bytes, keyAt: 0, valueAt: end - value.length, end })
    }
    if (resume !== undefined) page.resume = bytesOfKeyText(resume)
    return page
  }
}
