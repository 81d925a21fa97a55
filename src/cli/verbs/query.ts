import type { WeirClient } from '../../client/weir-client.ts'
import type { WeirError } from '../../core/errors.ts'
import { readableKey } from '../../core/formats/key-text.ts'
import { readableValue } from '../../core/formats/readable-value.ts'
import { printable } from '../../core/text/printable.ts'
import type { AnswerEnvelope } from '../../wire/model-reader.ts'
import type { KnownState } from '../../wire/state/formats.ts'
import { boundsOf, readRange, type WrittenRange } from '../../wire/state/range.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  type OptionSpec,
  withNeed,
} from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { anyText, name, someText, word } from '../flag-kinds/words.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'

/** Kind of a state of vectors (`QueryableStateInfo`). */
const VECTOR_KIND = 'vector'

/** Flags of a list of entries. */
const RANGE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  prefix: {
    type: 'string',
    value: someText('PREFIX'),
    help: 'Only keys that start with this: a text, or the first elements of tuples as a JSON array',
  },
  from: { type: 'string', value: someText('KEY'), help: 'First key (default: that of the state)' },
  to: {
    type: 'string',
    value: someText('KEY'),
    help: 'Key before which the list ends (default: no end)',
  },
  keys: {
    type: 'string',
    value: word(['text', 'json'], 'FORM'),
    help: 'How --prefix, --from and --to are read (default: as JSON where keys are windows or numbers, else as texts)',
  },
  limit: { type: 'string', value: wholeNumber({ min: 1 }), default: '100', help: 'Most entries' },
}

/** `weir query`: reads rows or values with the metadata of their answers. */
export const queryCommand: Command = {
  name: 'query',
  summary: 'Read queryable state by key',
  positions: [
    { value: name('STATE') },
    { value: anyText('KEY'), isRepeated: true, orFlags: ['entries'] },
  ],
  options: {
    entries: {
      type: 'boolean',
      help: 'In place of keys: list the entries of the state in the order of their keys',
    },
    ...withNeed(RANGE_OPTIONS, 'entries'),
    values: {
      type: 'boolean',
      help: 'Read values instead of vectors (default: what the state has); prints MessagePack and UTF-8 text as JSON',
    },
    hex: { type: 'boolean', help: 'With --values: print the bytes as hexadecimal digits' },
    ...queryOptionsWithoutState(),
  },
  details: `Keys by state:
  ALS_MODEL              1-U, 50-I: the rows of a user and an item; MEAN-U, MEAN-I: the mean rows
  SVM_MODEL              0: the first block of weights, of features 0 to 1023 (--range)
  LEARNING_ERROR         1: the error of version 1
  KNOWN_ITEMS            1: the items of user 1
  USER_COUNTS            1: the number of items of user 1
  ITEM_COUNTS            50: the number of users of item 50
  ITEM_TAGS              50-I: the tags of item 50
  ALS_VARIANCE           1-U, 50-I: two rows, whose inner product is the variance of a rating
  a state of your own    its key as text; one that is no text as JSON
  a store of windows     '["ann",60000]': a key and the start of a window; all windows of a key: --entries --prefix '["ann"]'

Example:
  weir query ALS_MODEL 1-U 50-I MEAN-U --json
  weir query LEARNING_ERROR 1 --values
  weir query COUNTS --entries --prefix '["ann"]'`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const state = args[0]!
    const keys = args.slice(1)
    await using client = await connectWith(flags)
    const options = queryOptionsOf(flags)
    const info = client.routing.states.find(({ name }) => name === state)
    const kind = info?.kind
    if (flags.boolean('entries'))
      return await listEntries(
        client,
        { state, info: info ?? { name: state, kind: 'value' } },
        { flags, io },
      )
    const hasValues = flags.boolean('values') || (kind ?? VECTOR_KIND) !== VECTOR_KIND
    const answers = hasValues
      ? await client.values(state, keys, options)
      : await client.rows(state, keys, options)
    let missing = 0
    for (const [i, answer] of answers.entries()) {
      const key = keys[i]!
      if (!answer.ok) {
        missing++
        io.err(failureText(answer.error, { state, key }))
        continue
      }
      const { value, envelope } = answer
      const shown = flags.boolean('hex') && !(value instanceof Float32Array) ? hexOf(value) : value
      printEntry(io, flags, { key, shown: readable(shown, info), envelope })
    }
    return missing === 0 ? 0 : 1
  },
}

interface AskedState {
  readonly state: string
  readonly info: KnownState
}

/** Prints the entries of a range. Throws UNKNOWN_STATE, INVALID_ARGUMENT. */
async function listEntries(
  client: WeirClient,
  { state, info }: AskedState,
  { flags, io }: { readonly flags: Flags; readonly io: CommandIo },
): Promise<number> {
  const form = flags.optional('keys')
  const written: WrittenRange = {
    prefix: flags.optional('prefix'),
    from: flags.optional('from'),
    to: flags.optional('to'),
    keys: form === 'text' || form === 'json' ? form : undefined,
  }
  const bounds = boundsOf(state, info, readRange(info, written, '--keys text or --keys json'))
  const limit = flags.number('limit')
  const entries = await client.scan(state, { ...bounds, limit: limit + 1 }, queryOptionsOf(flags))
  for (const { key, value } of entries.slice(0, limit)) {
    const row = info.kind === VECTOR_KIND ? new Float32Array(value.slice().buffer) : value
    const shown = flags.boolean('hex') ? hexOf(value) : row
    printEntry(io, flags, { key: readableKey(key), shown: readable(shown, info) })
    await io.drained()
  }
  if (entries.length <= limit) return 0
  const next = printable(readableKey(entries[limit]!.key))
  io.err(`there are more entries: raise --limit above ${limit}, or begin --from ${next}`)
  return 0
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** A row, or a value as plain JSON. */
function readable(
  value: string | Float32Array | Uint8Array,
  info: KnownState | undefined,
): unknown {
  return value instanceof Uint8Array ? readableValue(value, info) : value
}

/** A key and what is shown of it; of an answer its envelope, too. */
interface PrintedEntry {
  readonly key: string
  readonly shown: unknown
  readonly envelope?: AnswerEnvelope
}

function printEntry(io: CommandIo, flags: Flags, { key, shown, envelope }: PrintedEntry): void {
  if (flags.boolean('json')) {
    const value = shown instanceof Float32Array ? Array.from(shown) : shown
    io.out(JSON.stringify({ key, value, ...envelope }))
    return
  }
  io.out(`${printable(key)}  ${textOf(shown)}`)
}

function textOf(shown: unknown): string {
  if (shown instanceof Float32Array) {
    return Array.from(shown, (float) => float.toPrecision(5)).join(' ')
  }
  return typeof shown === 'string' ? printable(shown) : JSON.stringify(shown)
}

/** The flags of a query, but `--state`: here the state is an argument. */
function queryOptionsWithoutState(): typeof QUERY_OPTIONS {
  const { state: _, ...rest } = QUERY_OPTIONS
  return rest
}

function failureText(
  { code, message }: WeirError,
  { state, key }: { readonly state: string; readonly key: string },
): string {
  if (code === 'UNKNOWN_KEY') return `${printable(key)}: not found in ${state} (${code})`
  return `${printable(key)}: ${printable(message)} (${code})`
}
