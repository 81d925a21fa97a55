import { requireArgument } from '../../core/errors.ts'
import { checkOptions } from '../../core/options/shape.ts'
import { refuseAsync } from '../../operators/port/refuse-promise.ts'
import type { Source, SourceReader } from '../../operators/port/source.ts'
import { LINE_FILE_SOURCE, type LineFileOptions, LineFileReader } from './reader.ts'

/**
 * Reads UTF-8 text files line by line (line ends `\n` or `\r\n`). The offset of a record is the byte
 * at which its line begins.
 */
export class LineFileSource<T> implements Source<T> {
  readonly boundedness = 'bounded' as const
  readonly discoveryIntervalMs: number | undefined = undefined
  private readonly options: LineFileOptions<T>

  constructor(options: LineFileOptions<T>) {
    checkOptions('new LineFileSource', LINE_FILE_SOURCE, options)
    requireArgument(options.paths.length > 0, 'a LineFileSource needs at least one path')
    refuseAsync(options.parse, 'parse of a LineFileSource')
    this.options = options
  }

  discover(): Promise<readonly number[]> {
    return Promise.resolve(this.options.paths.map((_, partition) => partition))
  }

  createReader(): SourceReader<T> {
    return new LineFileReader(this.options)
  }
}
