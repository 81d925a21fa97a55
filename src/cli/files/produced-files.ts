import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type FileToRead, withoutSettings } from '../../connectors/file/list.ts'
import { WeirError } from '../../core/errors.ts'
import { replaceFileSync } from '../../files/durable-files.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'

/** What to do with a file at one look at its place. */
export type FileDecision =
  /** It is new, empty, or its size was another one at the look before: someone may be writing it. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'append' }
  | { readonly kind: 'done' }
  /** Its lines are in the topic, but it had another size then. */
  | { readonly kind: 'changed'; readonly bytesThen: number }

/** Size of a file whose lines an earlier build appended: it did not note it. */
const UNKNOWN_BYTES = -1

/**
 * The files of a watched place whose lines are in a topic, and their sizes then: a JSON array of
 * `{"file": place, "bytes": n}`, or of places alone, as earlier builds wrote it. A file is known by its place
 * without the settings of an `hdfs://` URL.
 */
export class ProducedFiles {
  private readonly path: string
  private readonly bytesOf: Map<string, number>
  /** By place, the size at the look before, of files that are not in the topic. */
  private readonly seen = new Map<string, number>()
  /** By place, the size that was reported as changed last. */
  private readonly reported = new Map<string, number>()

  private constructor(path: string, bytesOf: ReadonlyMap<string, number>) {
    this.path = path
    this.bytesOf = new Map(bytesOf)
  }

  /** Reads the list, empty where there is no file. Throws MALFORMED_DATA. */
  static open(path: string): ProducedFiles {
    let text: string
    try {
      text = readFileSync(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return new ProducedFiles(path, new Map())
    }
    return new ProducedFiles(path, filesIn(text, path))
  }

  /** Decides on a file that a look has found. A change of a file is returned once. */
  look({ place, bytes }: FileToRead): FileDecision {
    const file = withoutSettings(place)
    const bytesThen = this.bytesOf.get(file)
    if (bytesThen === undefined) {
      const before = this.seen.get(file)
      this.seen.set(file, bytes)
      return { kind: bytes > 0 && before === bytes ? 'append' : 'wait' }
    }
    const isKnown = bytesThen === UNKNOWN_BYTES || bytesThen === bytes
    if (isKnown || this.reported.get(file) === bytes) return { kind: 'done' }
    this.reported.set(file, bytes)
    return { kind: 'changed', bytesThen }
  }

  /** Adds a file; on the disk when this returns. */
  add({ place, bytes }: FileToRead): void {
    const file = withoutSettings(place)
    this.bytesOf.set(file, bytes)
    this.seen.delete(file)
    mkdirSync(dirname(this.path), { recursive: true })
    const files = [...this.bytesOf].map(([name, size]) =>
      size === UNKNOWN_BYTES ? name : { file: name, bytes: size },
    )
    const text = `${JSON.stringify(files, undefined, 1)}\n`
    replaceFileSync(nodeFileSystem, this.path, new TextEncoder().encode(text))
  }
}

function filesIn(text: string, path: string): ReadonlyMap<string, number> {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    entries = undefined
  }
  const files = Array.isArray(entries) ? entries.map(entryOf) : [undefined]
  if (files.every((file) => file !== undefined)) return new Map(files)
  throw new WeirError(
    'MALFORMED_DATA',
    `${path} is not the list of files that "weir topic produce --watch SECONDS" wrote; write a JSON array of the files that are in the topic, or remove it to append all files again`,
    { details: { path } },
  )
}

function entryOf(entry: unknown): readonly [string, number] | undefined {
  if (typeof entry === 'string') return [entry, UNKNOWN_BYTES]
  const { file, bytes } = (entry ?? {}) as { readonly file?: unknown; readonly bytes?: unknown }
  return typeof file === 'string' && Number.isSafeInteger(bytes)
    ? [file, bytes as number]
    : undefined
}
