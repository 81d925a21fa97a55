import { requireArgument, WeirError } from '../errors.ts'
import { text as aText, type OptionKind, oneOf, recordOf, required } from '../options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../options/shape.ts'
import type { Serializer } from '../serializer.ts'
import { type CsvField, csvError, formatCsvField, splitCsvRow } from './csv-row.ts'
import { textFormat } from './text.ts'

type RequiredType = 'string' | 'number' | 'integer' | 'boolean'

/** Type of a column; with `?` an empty field (not the quoted `""`) is null. */
export type CsvType = RequiredType | `${RequiredType}?`

/** Column names in the order of the fields, and their types. */
export type CsvColumns = Readonly<Record<string, CsvType>>

type CsvValue<Type> = Type extends `${infer Inner}?`
  ? CsvValue<Inner> | null
  : Type extends 'string'
    ? string
    : Type extends 'boolean'
      ? boolean
      : number

/** A row with a value for every column. */
export type CsvRow<Columns extends CsvColumns> = {
  readonly [Name in keyof Columns]: CsvValue<Columns[Name]>
}

/** Options of `csvFormat`. */
export interface CsvFormatOptions<Columns extends CsvColumns> {
  readonly columns: Columns
  /** One character; default a comma. */
  readonly separator?: string
}

const TYPE: OptionKind<CsvType> = oneOf(
  'string',
  'number',
  'integer',
  'boolean',
  'string?',
  'number?',
  'integer?',
  'boolean?',
)
const COLUMNS: OptionKind<CsvColumns> = recordOf(TYPE)
const CSV_FORMAT: OptionShape<CsvFormatOptions<CsvColumns>> = {
  columns: required(COLUMNS),
  separator: aText,
}

/** Decimal numbers; blanks around one are common and harmless. */
const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i

interface Column {
  readonly name: string
  readonly type: RequiredType
  readonly optional: boolean
}

/**
 * CSV (RFC 4180), one row a record, an object with the columns' names in the program. A row with too
 * few or too many fields, a field that is not of its type, and the header itself are refused.
 */
export function csvFormat<const Columns extends CsvColumns>(
  options: CsvFormatOptions<Columns>,
): Serializer<CsvRow<Columns>> {
  checkOptions('csvFormat', CSV_FORMAT, options)
  const { separator = ',' } = options
  checkSeparator(separator)
  const columns = columnsOf(options.columns)
  const header = columns.map(({ name }) => name)
  return textFormat<CsvRow<Columns>>({
    id: 'csv/1',
    parse(text) {
      const fields = splitCsvRow(text, separator)
      if (fields.length !== columns.length) {
        const problem = `${fields.length} fields where ${columns.length} were expected: ${header.join(separator)}`
        throw csvError(Math.min(fields.length, columns.length) + 1, problem)
      }
      if (fields.every((field, i) => field.text === header[i])) {
        throw new WeirError('UNPARSABLE_RECORD', 'the row is the header')
      }
      const row: Record<string, unknown> = {}
      for (let i = 0; i < columns.length; i++)
        row[header[i]!] = read(fields[i]!, columns[i]!, i + 1)
      return row as CsvRow<Columns>
    },
    format: (row) =>
      columns
        .map((column) => formatCsvField(write(row[column.name], column), separator))
        .join(separator),
  })
}

/**
 * The columns that a header row names, all of type string where `types` does not say otherwise.
 * Throws INVALID_ARGUMENT when `types` names a column that the header lacks.
 */
export function csvColumns(
  header: string,
  types: CsvColumns = {},
  separator = ',',
): Record<string, CsvType> {
  checkArgument('csvColumns', 'header', aText, header)
  checkArgument('csvColumns', 'types', COLUMNS, types)
  checkSeparator(separator)
  const names = splitCsvRow(header, separator).map(({ text }) => text.trim())
  for (const name of Object.keys(types)) {
    requireArgument(names.includes(name), `the header has no column "${name}": ${header}`)
  }
  requireArgument(new Set(names).size === names.length, `a column is named twice: ${header}`)
  return Object.fromEntries(names.map((name) => [name, types[name] ?? 'string']))
}

function checkSeparator(separator: string): void {
  const fits = separator.length === 1 && !/["\r\n]/.test(separator)
  requireArgument(fits, 'a CSV separator is one character, no quote and no line break')
}

function columnsOf(types: CsvColumns): Column[] {
  const columns = Object.entries(types).map(([name, type]): Column => {
    // An object lists names of digits first, whatever their order here.
    requireArgument(!/^\d*$/.test(name) && name !== '__proto__', `"${name}" names no CSV column`)
    const optional = type.endsWith('?')
    return { name, type: (optional ? type.slice(0, -1) : type) as RequiredType, optional }
  })
  requireArgument(columns.length > 0, 'a CSV format needs a column')
  return columns
}

function read(field: CsvField, column: Column, place: number): unknown {
  const { text, quoted } = field
  if (column.optional && text === '' && !quoted) return null
  const { type, name } = column
  if (type === 'string') return text
  if (type === 'boolean') {
    if (text === 'true') return true
    if (text === 'false') return false
  } else {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN
    if (type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)) return value
  }
  throw csvError(place, `"${text.slice(0, 60)}" in ${name} is no ${type}`)
}

function write(value: unknown, { name, type, optional }: Column): CsvField {
  if (value === null && optional) return { text: '', quoted: false }
  const fits =
    type === 'string' || type === 'boolean'
      ? typeof value === type
      : type === 'integer'
        ? Number.isSafeInteger(value)
        : Number.isFinite(value)
  if (!fits) throw new WeirError('INVALID_ARGUMENT', `${String(value)} in ${name} is no ${type}`)
  const text = String(value)
  return { text, quoted: optional && text === '' }
}
