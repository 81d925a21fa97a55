import { requireArgument } from '../../core/errors.ts'
import type { Source, SourceReader } from '../../operators/source.ts'
import { LineFileReader } from './line-file-reader.ts'

/** What a `LineFileSource` reads. */
export interface LineFileOptions<T> {
  /**
   * Paths or `hdfs://` URLs. One split per file; a file's place in this list is its partition, so
   * only append to it.
   */
  readonly paths: readonly string[]
  /** Makes a value of a line without its line end; undefined drops it; a throw fails the source. */
  readonly parse: (line: string) => T | undefined
  /** Event time of a value in ms; default none. */
  readonly timestampOf?: (value: T) => number
  /** Bytes read at once; default 256 KiB. A longer line is read whole all the same. */
  readonly chunkBytes?: number
}

/**
 * Reads UTF-8 text files line by line (line ends `\n` or `\r\n`). The offset of a record is the byte
 * at which its line begins.
 */
export class LineFileSource<T> implements Source<T> {
  readonly boundedness = 'bounded' as const
  readonly discoveryIntervalMs: number | undefined = undefined
  private readonly options: LineFileOptions<T>

  constructor(options: LineFileOptions<T>) {
    requireArgument(options.paths.length > 0, 'a LineFileSource needs at least one path')
    this.options = options
  }

  discover(): Promise<readonly number[]> {
    return Promise.resolve(this.options.paths.map((_, partition) => partition))
  }

  createReader(): SourceReader<T> {
    return new LineFileReader(this.options)
  }
}
