import { type Command, Flags, UsageError } from './command.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from './query-flags.ts'

/** `weir query STATE KEY...`: rows or values with all that their answer says. */
export const queryCommand: Command = {
  name: 'query',
  summary: 'Read queryable state by key',
  usage: 'STATE KEY...',
  options: {
    values: { type: 'boolean', help: 'The state holds encoded values, not vectors; prints hex' },
    ...QUERY_OPTIONS,
  },
  details: `Example:
  weir query ALS_MODEL 1-U 50-I MEAN-U --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [state, ...keys] = args
    if (state === undefined || keys.length === 0) throw new UsageError('give a state and keys')
    await using client = await connectWith(flags)
    const options = queryOptionsOf(flags)
    const answers = flags.boolean('values')
      ? await client.values(state, keys, options)
      : await client.rows(state, keys, options)
    let missing = 0
    for (const [i, answer] of answers.entries()) {
      const key = keys[i]!
      if (!answer.ok) {
        missing++
        io.err(`${key}: ${answer.error.code}: ${answer.error.message}`)
        continue
      }
      const value =
        answer.value instanceof Float32Array
          ? Array.from(answer.value)
          : Buffer.from(answer.value).toString('hex')
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ key, value, ...answer.envelope })
          : `${key}  ${Array.isArray(value) ? value.map((x) => x.toPrecision(5)).join(' ') : value}`,
      )
    }
    return missing === 0 ? 0 : 1
  },
}
