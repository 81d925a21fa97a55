import type { ColumnSource } from 'hyparquet-writer'
import { messageOf, WeirError } from '../../core/errors.ts'
import { kindOf, name } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { replaceFileSync } from '../../files/durable-files.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { FeatureExample } from './export.ts'

type Example = FeatureExample<Readonly<Record<string, unknown>>, unknown>
const EXAMPLES = kindOf<readonly unknown[]>('a list of examples', Array.isArray)

type Cell = number | string | boolean | null

const encoder = new TextEncoder()

/**
 * Writes examples into a file, whose name says how: `.jsonl`, one object a line with `key`, `time`, `label` and `features`;
 * or `.parquet`, with the columns `key`, `time`, `label` and one for each feature by its name. There, lists are JSON texts.
 * The file is whole or not there. Rejects with INVALID_ARGUMENT for another name and for columns of two types, with
 * UNSUPPORTED where the package that writes Parquet is not installed.
 */
export async function writeFeatureExamples<D, L>(
  path: string,
  examples: readonly FeatureExample<D, L>[],
): Promise<void> {
  checkArgument('writeFeatureExamples', 'path', name, path)
  checkArgument('writeFeatureExamples', 'examples', EXAMPLES, examples)
  const given = examples as readonly Example[]
  if (path.endsWith('.jsonl')) {
    const lines = given.map((example) => `${JSON.stringify(example)}\n`)
    replaceFileSync(nodeFileSystem, path, encoder.encode(lines.join('')))
  } else if (path.endsWith('.parquet')) {
    replaceFileSync(nodeFileSystem, path, await parquetOf(path, columnsOf(given)))
  } else {
    const message = `writeFeatureExamples writes .jsonl and .parquet, not ${describeValue(path)}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
}

/** The file, in memory. */
async function parquetOf(path: string, columnData: ColumnSource[]): Promise<Uint8Array> {
  const { parquetWriteBuffer } = await loadWriter(path)
  return new Uint8Array(parquetWriteBuffer({ columnData }))
}

/** The library. Rejects with UNSUPPORTED and the command that installs it. */
async function loadWriter(path: string): Promise<typeof import('hyparquet-writer')> {
  try {
    return await import('hyparquet-writer')
  } catch (cause) {
    const message = `${path} is to be a Parquet file, which the package hyparquet-writer writes: run \`npm install hyparquet-writer\`, or name a .jsonl file (${messageOf(cause)})`
    throw new WeirError('UNSUPPORTED', message, { cause, details: { path } })
  }
}

function columnsOf(examples: readonly Example[]): ColumnSource[] {
  const names = Object.keys(examples[0]?.features ?? {})
  const taken = names.find((feature) => ['key', 'time', 'label'].includes(feature))
  if (taken !== undefined) {
    const message = `the feature "${taken}" has the name of a column of the file: give it another one, or write .jsonl`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const times = examples.map(({ time }) => new Date(time))
  return [
    columnOf(
      'key',
      examples.map(({ key }) => key),
    ),
    { name: 'time', type: 'TIMESTAMP', data: times },
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
function columnOf(column: string, given: readonly unknown[]): ColumnSource {
  const values = given.map(cellOf)
  const types = new Set(values.filter((value) => value !== null).map((value) => typeof value))
  if (types.size > 1) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the column "${column}" has values of the types ${[...types].join(' and ')}: a column of Parquet has one; write .jsonl, or make them alike`,
    )
  }
  const type = types.has('string') ? 'STRING' : types.has('boolean') ? 'BOOLEAN' : 'DOUBLE'
  return { name: column, type, data: values }
}

function cellOf(value: unknown): Cell {
  if (value === undefined || value === null) return null
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') {
    return value
  }
  return JSON.stringify(value)
}
