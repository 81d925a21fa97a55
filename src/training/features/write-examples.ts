import { WeirError } from '../../core/errors.ts'
import { kindOf, name } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { replaceFileSync } from '../../files/durable-files.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { type ParquetColumn, parquetOf } from '../../files/parquet/write-table.ts'
import type { FeatureExample } from './export.ts'

type Example = FeatureExample<Readonly<Record<string, unknown>>, unknown>
const EXAMPLES = kindOf<readonly unknown[]>('a list of examples', Array.isArray)

type Cell = number | string | boolean | null

const encoder = new TextEncoder()

/**
 * Writes examples into a file, whose name says how: `.jsonl`, one object a line with `key`, `time`, `label` and `features`;
 * or `.parquet`, with the columns `key`, `time`, `label` and one for each feature by its name. There, lists are JSON texts.
 * The file is whole or not there. Throws INVALID_ARGUMENT for another name, and for columns of two types.
 */
export function writeFeatureExamples<D, L>(
  path: string,
  examples: readonly FeatureExample<D, L>[],
): void {
  checkArgument('writeFeatureExamples', 'path', name, path)
  checkArgument('writeFeatureExamples', 'examples', EXAMPLES, examples)
  const given = examples as readonly Example[]
  if (path.endsWith('.jsonl')) {
    const lines = given.map((example) => `${JSON.stringify(example)}\n`)
    replaceFileSync(nodeFileSystem, path, encoder.encode(lines.join('')))
  } else if (path.endsWith('.parquet')) {
    replaceFileSync(nodeFileSystem, path, parquetOf(columnsOf(given)))
  } else {
    const message = `writeFeatureExamples writes .jsonl and .parquet, not ${describeValue(path)}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
}

function columnsOf(examples: readonly Example[]): readonly ParquetColumn[] {
  const names = Object.keys(examples[0]?.features ?? {})
  const taken = names.find((feature) => ['key', 'time', 'label'].includes(feature))
  if (taken !== undefined) {
    const message = `the feature "${taken}" has the name of a column of the file: give it another one, or write .jsonl`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const times = examples.map(({ time }) => time)
  return [
    columnOf(
      'key',
      examples.map(({ key }) => key),
    ),
    { name: 'time', type: 'time', values: times },
    columnOf(
      'label',
      examples.map(({ label }) => label),
    ),
    ...names.map((feature) =>
      columnOf(
        feature,
        examples.map(({ features }) => features[feature]),
      ),
    ),
  ]
}

/** The column of some values; of nulls alone it has numbers. */
function columnOf(column: string, given: readonly unknown[]): ParquetColumn {
  const values = given.map(cellOf)
  const types = new Set(values.filter((value) => value !== null).map((value) => typeof value))
  if (types.size > 1) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the column "${column}" has values of the types ${[...types].join(' and ')}: a column of Parquet has one; write .jsonl, or make them alike`,
    )
  }
  const type = types.has('string') ? 'text' : types.has('boolean') ? 'boolean' : 'number'
  return { name: column, type, values }
}

function cellOf(value: unknown): Cell {
  if (value === undefined || value === null) return null
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') {
    return value
  }
  return JSON.stringify(value)
}
