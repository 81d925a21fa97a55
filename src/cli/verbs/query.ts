import type { WeirError } from '../../core/errors.ts'
import { readableValue } from '../../core/formats/readable-value.ts'
import { printable } from '../../core/text/printable.ts'
import { type Command, Flags } from '../command/command.ts'
import { anyText, name } from '../flag-kinds/words.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'

/** Kind of a state of vectors (`QueryableStateInfo`). */
const VECTOR_KIND = 'vector'

/** `weir query`: reads rows or values with the metadata of their answers. */
export const queryCommand: Command = {
  name: 'query',
  summary: 'Read queryable state by key',
  positions: [{ value: name('STATE') }, { value: anyText('KEY'), isRepeated: true }],
  options: {
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

Example:
  weir query ALS_MODEL 1-U 50-I MEAN-U --json
  weir query LEARNING_ERROR 1 --values`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const state = args[0]!
    const keys = args.slice(1)
    await using client = await connectWith(flags)
    const options = queryOptionsOf(flags)
    const kind = client.routing.states.find(({ name }) => name === state)?.kind
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
      const value =
        answer.value instanceof Float32Array
          ? Array.from(answer.value)
          : flags.boolean('hex')
            ? Buffer.from(answer.value).toString('hex')
            : readableValue(answer.value, kind)
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ key, value, ...answer.envelope })
          : `${printable(key)}  ${answer.value instanceof Float32Array ? (value as number[]).map((x) => x.toPrecision(5)).join(' ') : typeof value === 'string' ? printable(value) : JSON.stringify(value)}`,
      )
    }
    return missing === 0 ? 0 : 1
  },
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
