import { KEY_SUFFIXES } from '../../models/als/row-key.ts'
import type { KeyDistribution } from '../../testing/load/keys/id-drawer.ts'
import { parseKeys, parseTrace } from '../../testing/load/keys/key-lines.ts'
import type { IdRange, KeySettings } from '../../testing/load/keys/key-settings.ts'
import type { KeyPair } from '../../testing/load/port/target.ts'
import type { TargetSettings } from '../../testing/load/targets/open-target.ts'
import { pairsOf, servedKeys } from '../../testing/load/targets/served-keys.ts'
import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { readDataFile } from '../files/data-file.ts'
import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'
import { readText } from './text.ts'

const DISTRIBUTIONS: readonly KeyDistribution[] = ['uniform', 'zipf']

/** Largest range of ids: a distribution takes 20 bytes for each. */
const MAX_IDS = 100_000_000

/** Ids from 1, or from another number, to a number. */
const IDS: FlagKind = kindOf(
  { sort: 'range', shown: 'N', takes: `N or FROM:TO, at most ${MAX_IDS} ids` },
  (text) => idRange(text) !== undefined,
)

/** Flags of the keys that are asked for. */
export const KEY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  users: {
    type: 'string',
    excludes: ['input-data', 'trace'],
    value: IDS,
    help: 'Ask for the users 1 to N, or FROM:TO',
  },
  items: {
    type: 'string',
    needs: [needs('users')],
    value: IDS,
    help: 'Ask for the items 1 to N, or FROM:TO',
  },
  'key-distribution': {
    type: 'string',
    needs: [needs('users')],
    value: word(DISTRIBUTIONS, 'NAME'),
    default: 'uniform',
    help: 'How users and items are drawn: uniform, or zipf with exponent 0.99',
  },
  seed: {
    type: 'string',
    value: wholeNumber(),
    default: '1',
    help: 'Seed of keys and Poisson times',
  },
  'input-data': {
    type: 'string',
    excludes: ['trace'],
    value: input(),
    help: 'Ask for the pairs USER,ITEM or the keys of a file, one a line, again from its start',
  },
  trace: {
    type: 'string',
    value: input(),
    help: 'Replay MILLISECONDS,USER,ITEM or MILLISECONDS,KEY lines, once, at their times',
  },
}

/** Keys of a load, and the times of a trace. */
export interface LoadKeys {
  readonly keys: KeySettings
  /** ms after the start; undefined without `--trace`. */
  readonly traceMs: Float64Array | undefined
}

/**
 * The keys of the flags; without any, the first keys of the served state. Rejects with UsageError,
 * MALFORMED_DATA, the error of the server.
 */
export async function loadKeysOf(flags: Flags, target: TargetSettings): Promise<LoadKeys> {
  const given = SOURCES.filter((name) => flags.optional(name) !== undefined)
  if (given.length > 1 && given.join() !== 'users,items') {
    throw new UsageError('give one of --users with --items, --input-data and --trace')
  }
  switch (given[0]) {
    case 'trace':
      return await tracedKeys(flags, target)
    case 'input-data':
      return { keys: listOf(await listedPairs(flags), target), traceMs: undefined }
    case 'users':
    case 'items':
      return { keys: drawnKeys(flags, target), traceMs: undefined }
    default:
      return { keys: await keysOfServer(flags, target), traceMs: undefined }
  }
}

const SOURCES = ['users', 'items', 'input-data', 'trace'] as const

async function tracedKeys(flags: Flags, target: TargetSettings): Promise<LoadKeys> {
  const hint = 'lines MILLISECONDS,USER,ITEM or MILLISECONDS,KEY'
  const { offsetsMs, pairs } = await readDataFile(
    flags.string('trace'),
    { content: 'trace', hint },
    async (path) => parseTrace(await readText(path)),
  )
  return { keys: listOf(pairs, target), traceMs: offsetsMs }
}

async function listedPairs(flags: Flags): Promise<readonly KeyPair[]> {
  const hint = 'lines USER,ITEM or KEY'
  return await readDataFile(flags.string('input-data'), { content: 'keys', hint }, async (path) =>
    parseKeys(await readText(path)),
  )
}

function listOf(pairs: readonly KeyPair[], target: TargetSettings): KeySettings {
  if (needsItems(target) && pairs.some(({ item }) => item === '')) {
    throw new UsageError(`--operation ${target.operation.kind} needs USER,ITEM in every line`)
  }
  return { kind: 'list', pairs }
}

function drawnKeys(flags: Flags, target: TargetSettings): KeySettings {
  const [users, items] = [rangeOf(flags, 'users'), rangeOf(flags, 'items')]
  if (users === undefined || (items === undefined && needsItems(target))) {
    throw new UsageError(
      `--operation ${target.operation.kind} needs --users${needsItems(target) ? ' and --items' : ''}`,
    )
  }
  return {
    kind: 'ranges',
    users,
    items: items ?? { from: 1, to: 1 },
    userSuffix: target.operation.kind === 'rows' ? KEY_SUFFIXES.U : '',
    distribution: flags.choice('key-distribution', DISTRIBUTIONS),
    seed: flags.number('seed'),
  }
}

async function keysOfServer(flags: Flags, target: TargetSettings): Promise<KeySettings> {
  const { operation } = target
  if (operation.kind === 'template') {
    if (!/\{(user|item)\}/.test(operation.path + (operation.body ?? ''))) {
      return { kind: 'list', pairs: [{ user: '', item: '' }] }
    }
    throw new UsageError('{user} and {item} need --users and --items, --input-data or --trace')
  }
  const keys = await servedKeys(target, flags.string('state'))
  const pairs =
    operation.kind === 'rows' ? keys.map((key) => ({ user: key, item: '' })) : pairsOf(keys)
  return { kind: 'list', pairs }
}

/** Whether a request needs a user and an item. */
const needsItems = ({ operation: { kind } }: TargetSettings): boolean =>
  kind === 'predict' || kind === 'observe'

function rangeOf(flags: Flags, name: string): IdRange | undefined {
  const text = flags.optional(name)
  return text === undefined ? undefined : idRange(text)
}

function idRange(text: string): IdRange | undefined {
  const [, from = '1', to] = /^(?:(\d+):)?(\d+)$/.exec(text) ?? []
  const range = { from: Number(from), to: Number(to) }
  return range.to >= range.from && range.to - range.from < MAX_IDS ? range : undefined
}
