import { seededRandom } from '../core/random.ts'
import type { LinearOptions } from '../training/linear-options.ts'
import type { SparseTable } from '../training/sparse-table.ts'
import { type Flags, type OptionSpec, UsageError } from './command.ts'

/** Flags of `train svm` and `train logistic`. */
export const LINEAR_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  examples: { type: 'string', value: 'FILE', help: 'LIBSVM text: label feature:value ...' },
  test: { type: 'string', value: 'FILE', help: 'Held-out examples to report the quality on' },
  folds: { type: 'string', value: 'N', help: 'Also cross-validate in N folds' },
  cost: { type: 'string', value: 'C', default: '1', help: 'Weight of the losses' },
  bias: {
    type: 'string',
    value: 'X',
    default: '1',
    help: 'Value of the constant feature, 0: none',
  },
  tolerance: {
    type: 'string',
    value: 'X',
    default: '0.001',
    help: 'Relative duality gap to reach',
  },
  rounds: { type: 'string', value: 'N', default: '1000', help: 'Largest number of rounds' },
  threads: { type: 'string', value: 'N', default: '1', help: 'Training threads' },
  blocks: { type: 'string', value: 'N', help: 'Parts trained side by side (default: threads)' },
  seed: { type: 'string', value: 'N', default: '1', help: 'Seed of the order of examples' },
  validation: { type: 'string', value: 'SHARE', help: 'Share of the examples kept for validation' },
  patience: {
    type: 'string',
    value: 'N',
    help: 'End after N rounds without a better validation accuracy',
  },
  weights: {
    type: 'string',
    value: 'FILE',
    help: 'Write the weights, "<feature>,<weight>", here or to an hdfs:// URL',
  },
  curve: { type: 'string', value: 'FILE', help: 'Write the learning curve (SVG)' },
}

/** The training options that the flags say. Throws UsageError. */
export function linearOptionsOf(flags: Flags, table: SparseTable): LinearOptions {
  const seed = flags.integer('seed')
  const blocks = flags.optionalInteger('blocks', 1, 256)
  const patience = flags.optionalInteger('patience', 1)
  const share = flags.optional('validation') === undefined ? 0 : flags.number('validation')
  if (share < 0 || share >= 1) throw new UsageError('--validation is a share from 0 to below 1')
  if (patience !== undefined && share === 0) {
    throw new UsageError('--patience needs --validation SHARE to measure on')
  }
  return {
    cost: flags.number('cost'),
    bias: flags.number('bias'),
    tolerance: flags.number('tolerance'),
    maxRounds: flags.integer('rounds', 1, 1_000_000),
    threads: flags.integer('threads', 0, 256),
    seed,
    ...(blocks === undefined ? {} : { blocks }),
    ...(patience === undefined ? {} : { patience }),
    ...(share === 0 ? {} : validationOf(table, share, seed)),
  }
}

function validationOf(
  table: SparseTable,
  share: number,
  seed: number,
): Pick<LinearOptions, 'rows' | 'validation'> {
  const random = seededRandom(seed)
  const kept = Uint8Array.from({ length: table.rows }, () => (random.next() < share ? 1 : 0))
  const rows = Uint32Array.from({ length: table.rows }, (_, row) => row)
  return {
    rows: rows.filter((row) => kept[row] === 0),
    validation: { table, rows: rows.filter((row) => kept[row] === 1) },
  }
}
