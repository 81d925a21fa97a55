import { requireArgument, WeirError } from '../../core/errors.ts'
import { splitCsvRow } from '../../core/formats/csv-row.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { isMeanId, MEAN_ID_IS_TAKEN } from '../../models/mean-id.ts'
import { IdNumbers } from './id-numbers.ts'

/** Features of users or of items: a sparse matrix `[ids x names]` in rows. */
export interface FeatureTable {
  readonly ids: readonly string[]
  /** A column of numbers is a feature, and so is each value of a column of categories: `column=value`. */
  readonly names: readonly string[]
  /** Entries of id r are those from offsets[r] to offsets[r + 1]. */
  readonly offsets: Uint32Array
  /** The feature and the value of each entry. */
  readonly features: Uint32Array
  readonly values: Float32Array
}

/** Separator of the values of a field that has several. */
const SEVERAL = '|'
/** Ending of a column of numbers that are names, such as years or codes. */
const CATEGORIES = ':category'

/**
 * The features of lines: the first names the columns, the others have an id and its values, separated by commas or tabs.
 * A column of which all values are numbers is scaled to mean 0 and standard deviation 1, and an empty value counts as the mean.
 * Every other column has categories, one or several (`drama|war`), which together weigh as much as one. A column whose name ends
 * in `:category` has categories that are numbers. Throws UNPARSABLE_RECORD with the line, EMPTY_DATASET.
 */
export function featureTable(lines: Iterable<string>): FeatureTable {
  const { columns, ids, rows } = fieldsOf(lines)
  const names = new IdNumbers()
  const entries = columns.map((column, at) =>
    columnEntries(
      column,
      rows.map((row) => row[at]!),
      names,
    ),
  )
  return joined(ids, names.ids, entries)
}

/** The entries of a column, by row. */
type ColumnEntries = readonly (readonly (readonly [feature: number, value: number])[])[]

interface Fields {
  readonly columns: readonly string[]
  readonly ids: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function fieldsOf(lines: Iterable<string>): Fields {
  let separator = ','
  let columns: readonly string[] | undefined
  const rows = new Map<string, readonly string[]>()
  let line = 0
  for (const text of lines) {
    line++
    if (text.trim() === '') continue
    if (columns === undefined) separator = text.includes('\t') ? '\t' : ','
    const [id = '', ...fields] = fieldsOfLine(text, separator, line)
    if (columns === undefined) columns = namedColumns(fields, line)
    else rows.set(checkedId(id, { fields, columns, line, isKnown: rows.has(id) }), fields)
  }
  if (columns === undefined || rows.size === 0) {
    throw new WeirError(
      'EMPTY_DATASET',
      'there are no features; write a line that names the columns, then an id and its values in each line',
    )
  }
  return { columns, ids: [...rows.keys()], rows: [...rows.values()] }
}

function fieldsOfLine(text: string, separator: string, line: number): string[] {
  try {
    return splitCsvRow(text, separator).map((field) => field.text.trim())
  } catch (cause) {
    throw unparsable(line, cause instanceof Error ? cause.message : String(cause), cause)
  }
}

function namedColumns(columns: readonly string[], line: number): readonly string[] {
  if (columns.length === 0) {
    throw unparsable(line, 'the first line names the column of ids and at least one of features')
  }
  const isTwice = columns.find((name, at) => name === '' || columns.indexOf(name) !== at)
  if (isTwice === undefined) return columns
  throw unparsable(line, `the column name "${isTwice}" is empty or there twice`)
}

function checkedId(
  id: string,
  row: {
    readonly fields: readonly string[]
    readonly columns: readonly string[]
    readonly line: number
    readonly isKnown: boolean
  },
): string {
  const { fields, columns, line, isKnown } = row
  if (id === '' || id.includes('\0')) throw unparsable(line, 'the first field is an id')
  if (isMeanId(id)) throw unparsable(line, MEAN_ID_IS_TAKEN)
  if (isKnown) throw unparsable(line, `the id "${id}" was there before`)
  if (fields.length !== columns.length) {
    throw unparsable(
      line,
      `${fields.length + 1} fields where the first line names ${columns.length + 1}`,
    )
  }
  return id
}

function unparsable(line: number, what: string, cause?: unknown): WeirError {
  return new WeirError('UNPARSABLE_RECORD', `line ${line} of the features: ${what}`, {
    details: { line },
    ...(cause === undefined ? {} : { cause }),
  })
}

function columnEntries(column: string, fields: readonly string[], names: IdNumbers): ColumnEntries {
  const numbers = fields.map((field) => (field === '' ? undefined : decimalNumber(field)))
  const areNumbers = numbers.every((value) => value === undefined || Number.isFinite(value))
  const isNamed = column.endsWith(CATEGORIES)
  if (areNumbers && !isNamed) return scaledNumbers(numbers, names.of(column))
  const name = isNamed ? column.slice(0, -CATEGORIES.length) : column
  return fields.map((field) => {
    const values = new Set(field.split(SEVERAL).map((value) => value.trim()))
    values.delete('')
    const weight = 1 / Math.sqrt(values.size)
    return [...values].map((value) => [names.of(`${name}=${value}`), weight] as const)
  })
}

function scaledNumbers(numbers: readonly (number | undefined)[], feature: number): ColumnEntries {
  const known = numbers.filter((value) => value !== undefined)
  const mean = known.reduce((sum, value) => sum + value / known.length, 0)
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2 / known.length, 0)
  requireArgument(
    Number.isFinite(variance),
    'the numbers of a column of features are too large to scale; write them in other units',
  )
  const scale = variance > 0 ? 1 / Math.sqrt(variance) : 0
  return numbers.map((value) =>
    value === undefined || value === mean ? [] : [[feature, scale * (value - mean)] as const],
  )
}

function joined(
  ids: readonly string[],
  names: readonly string[],
  columns: readonly ColumnEntries[],
): FeatureTable {
  const offsets = new Uint32Array(ids.length + 1)
  const features: number[] = []
  const values: number[] = []
  for (let row = 0; row < ids.length; row++) {
    for (const column of columns) {
      for (const [feature, value] of column[row]!) {
        features.push(feature)
        values.push(value)
      }
    }
    offsets[row + 1] = features.length
  }
  return {
    ids,
    names,
    offsets,
    features: Uint32Array.from(features),
    values: Float32Array.from(values),
  }
}
