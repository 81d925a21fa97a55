import { openLineInput } from '../../connectors/file/open-folder.ts'
import { WeirError } from '../../core/errors.ts'
import { openRatingsFile } from '../../models/observations/ratings-file.ts'
import type { RatingColumns } from '../../models/ratings/columns.ts'
import { detectRatingsFormat, SEPARATORS } from '../../models/ratings/format.ts'
import { RatingsParser, type RatingsParserOptions } from '../../models/ratings/parser.ts'
import type { SparkRatings } from '../../training/spark/run.ts'

const LINE_FEED = 10

/**
 * How the ratings of a file are laid out, found as a training in this process finds it: by the first line, or the columns of
 * a Parquet file. Spark reads all files of the folder that way. Throws UNPARSABLE_RECORD for a first line that says nothing
 * or has no rating, UNSUPPORTED for an Arrow file.
 */
export async function ratingsLayout(
  file: string,
  options: RatingsParserOptions,
): Promise<Pick<SparkRatings, 'format' | 'separator' | 'header' | 'columns'>> {
  let columns: RatingColumns | undefined
  const opened = await openRatingsFile(file, {
    ...options,
    badLines: 'fail',
    onColumns(text, positions) {
      columns = positions
      options.onColumns?.(text, positions)
    },
  })
  let hasRating = false
  const parser = new RatingsParser(() => {
    hasRating = true
  }, opened.options)
  const line = await firstLine(opened.pieces)
  parser.push(line)
  parser.end()
  const isTable = opened.options.hasHeader === true
  if (isTable && !(await isParquet(file))) {
    const message = `${file} is an Arrow file, which Spark does not read; write it as Parquet`
    throw new WeirError('UNSUPPORTED', message, { details: { path: file } })
  }
  if (columns === undefined) {
    throw new WeirError(
      'EMPTY_DATASET',
      `the first line of ${file} is empty; Spark needs it to know the columns`,
    )
  }
  const { user, item, rating } = columns
  const format = options.format ?? (isTable ? 'csv' : detectRatingsFormat(line.toString()))
  return {
    format: isTable ? 'parquet' : 'text',
    separator: SEPARATORS[format],
    header: !hasRating,
    columns: { user, item, ...(rating === undefined ? {} : { rating }) },
  }
}

/** The first line, with its end; closes the file. */
async function firstLine(pieces: AsyncGenerator<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const piece of pieces) {
    const end = piece.indexOf(LINE_FEED)
    parts.push(piece.slice(0, end < 0 ? piece.length : end + 1))
    if (end >= 0) break
  }
  return Buffer.concat(parts)
}

async function isParquet(file: string): Promise<boolean> {
  const input = await openLineInput(file)
  try {
    const magic = Buffer.alloc(4)
    await input.read(magic, 0)
    return magic.toString('latin1') === 'PAR1'
  } finally {
    await input.close()
  }
}
