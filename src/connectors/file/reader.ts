import { isUtf8 } from 'node:buffer'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { aFunction, count, listOf, name, required } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { requireLineEnd } from '../../core/text/longest-line.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type {
  PollResult,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/port/source.ts'
import type { LineFileInput } from './line-folder.ts'
import { openLineInput } from './open-folder.ts'

/** Options of a `LineFileSource`. */
export interface LineFileOptions<T> {
  /**
   * Paths or `hdfs://` URLs. One split per file; the index of a file in this list is its partition, so
   * only append to the list.
   */
  readonly paths: readonly string[]
  /** Makes a value of a line without its line end; undefined drops it; a throw fails the source. */
  readonly parse: (line: string) => T | undefined
  /** Event time of a value in ms; default none. */
  readonly timestampOf?: (value: T) => number
  /** Bytes of one read; default 256 KiB. Longer lines, up to 16 MiB, are read as a whole nevertheless. */
  readonly chunkBytes?: number
}

/** The options of a `LineFileSource`. */
export const LINE_FILE_SOURCE: OptionShape<LineFileOptions<unknown>> = {
  paths: required(listOf(name)),
  parse: required(aFunction()),
  timestampOf: aFunction(),
  chunkBytes: count,
}

const DEFAULT_CHUNK_BYTES = 256 * 1024
const NEWLINE = 10
const CARRIAGE_RETURN = 13

/** A file that is being read. */
interface OpenFile {
  readonly partition: number
  readonly input: LineFileInput
  /** Position of the next line, bytes. */
  nextOffset: number
  /** Bytes that were read: those from `nextOffset` on are at `at` to `end`. */
  chunk: Buffer
  at: number
  end: number
  atEndOfFile: boolean
  /** Whether all lines of the chunk are UTF-8; if not, each line is checked. */
  isText: boolean
}

/** Reads the files of one subtask; see `LineFileSource`. */
export class LineFileReader<T> implements SourceReader<T> {
  private readonly options: LineFileOptions<T>
  private readonly files: OpenFile[] = []
  private reading: Promise<void> | undefined
  private failure: unknown

  constructor(options: LineFileOptions<T>) {
    this.options = options
  }

  open(_context: SourceReaderContext): Promise<void> {
    return Promise.resolve()
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    const chunkBytes = this.options.chunkBytes ?? DEFAULT_CHUNK_BYTES
    for (const { partition, nextOffset } of splits) {
      const input = await this.openFile(partition)
      this.files.push({
        partition,
        input,
        nextOffset: Math.max(nextOffset, 0),
        chunk: Buffer.alloc(chunkBytes),
        at: 0,
        end: 0,
        atEndOfFile: false,
        isText: true,
      })
    }
  }

  private async openFile(partition: number): Promise<LineFileInput> {
    const path = this.options.paths[partition]
    try {
      return await openLineInput(path ?? '')
    } catch (cause) {
      const message = `file ${partition} of the source, "${path}", cannot be opened`
      const { code, message: reason } = asWeirError(cause, 'CONNECTOR_FAILED')
      throw new WeirError(code, `${message}: ${reason}`, { cause })
    }
  }

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    if (this.failure !== undefined) throw this.failure
    // During a read the chunks belong to it.
    if (this.reading !== undefined) return 'idle'
    let left = maxRecords
    for (const file of this.files) {
      const before = file.nextOffset
      left -= this.pollFile(file, output, left)
      if (file.nextOffset !== before) output.progress(file.partition, file.nextOffset)
      if (left === 0) return 'more'
    }
    return this.files.every(isDone) ? 'ended' : 'idle'
  }

  private pollFile(file: OpenFile, output: SourceOutput<T>, max: number): number {
    let delivered = 0
    while (delivered < max) {
      const lineEnd = this.endOfLine(file)
      if (lineEnd < 0) break
      const stripped =
        lineEnd > file.at && file.chunk[lineEnd - 1] === CARRIAGE_RETURN ? lineEnd - 1 : lineEnd
      const offset = file.nextOffset
      if (!file.isText) this.checkText(file, stripped)
      const value = this.parse(file, file.chunk.toString('utf8', file.at, stripped))
      const next = Math.min(lineEnd + 1, file.end)
      file.nextOffset += next - file.at
      file.at = next
      delivered += 1
      if (value === undefined) continue
      const timestamp = this.options.timestampOf?.(value) ?? NO_TIMESTAMP
      output.collect(value, timestamp, file.partition, offset)
    }
    return delivered
  }

  /** End of the next line (the last one needs no line end); -1 when more must be read. */
  private endOfLine(file: OpenFile): number {
    if (file.at === file.end) return -1
    const newline = file.chunk.subarray(0, file.end).indexOf(NEWLINE, file.at)
    if (newline >= 0) return newline
    return file.atEndOfFile ? file.end : -1
  }

  private checkText(file: OpenFile, end: number): void {
    if (isUtf8(file.chunk.subarray(file.at, end))) return
    const path = this.options.paths[file.partition] ?? ''
    const message = `the line at byte ${file.nextOffset} of ${path} is not UTF-8; convert the file`
    const details = { path, partition: file.partition, offset: file.nextOffset }
    throw new WeirError('MALFORMED_DATA', message, { details })
  }

  private parse(file: OpenFile, line: string): T | undefined {
    try {
      return this.options.parse(line)
    } catch (cause) {
      const path = this.options.paths[file.partition] ?? ''
      const message = `the line at byte ${file.nextOffset} of ${path} cannot be parsed: ${messageOf(cause)}`
      const details = { path, partition: file.partition, offset: file.nextOffset }
      throw new WeirError('UNPARSABLE_RECORD', message, { cause, details })
    }
  }

  available(): Promise<void> {
    this.reading ??= this.refill()
    return this.reading
  }

  private async refill(): Promise<void> {
    try {
      await Promise.all(
        this.files
          .filter((file) => this.endOfLine(file) < 0 && !file.atEndOfFile)
          .map((file) => this.fill(file)),
      )
    } catch (cause) {
      this.failure = asWeirError(cause, 'CONNECTOR_FAILED')
    }
    this.reading = undefined
  }

  private async fill(file: OpenFile): Promise<void> {
    const path = this.options.paths[file.partition] ?? ''
    requireLineEnd(file.end - file.at, `the line at byte ${file.nextOffset} of ${path}`)
    await fill(file)
  }

  snapshot(): SourceSplit[] {
    return this.files.map(({ partition, nextOffset }) => ({ partition, nextOffset }))
  }

  checkpointCompleted(_checkpointId: number): void {
    // Only the checkpoint stores byte positions.
  }

  async close(): Promise<void> {
    await this.reading
    for (const file of this.files) await file.input.close()
    this.files.length = 0
  }
}

const isDone = (file: OpenFile): boolean => file.atEndOfFile && file.at === file.end

/** Moves the rest to the front and reads more, into a larger chunk when a line fills the chunk. */
async function fill(file: OpenFile): Promise<void> {
  const rest = file.end - file.at
  const target = rest === file.chunk.length ? Buffer.alloc(file.chunk.length * 2) : file.chunk
  file.chunk.copy(target, 0, file.at, file.end)
  file.chunk = target
  file.at = 0
  file.end = rest
  const bytesRead = await file.input.read(target.subarray(rest), file.nextOffset + rest)
  file.end += bytesRead
  file.atEndOfFile = bytesRead === 0
  const lines = file.atEndOfFile ? file.end : target.subarray(0, file.end).lastIndexOf(NEWLINE) + 1
  file.isText = isUtf8(target.subarray(0, lines))
}
