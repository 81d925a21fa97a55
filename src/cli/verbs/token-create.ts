import { randomBytes } from 'node:crypto'
import type { RateLimit } from '../../access/rate-bucket.ts'
import { ROLES } from '../../access/role.ts'
import { createToken, TOKEN_RANDOM_BYTES } from '../../access/token.ts'
import { changeTokens } from '../../access/tokens-on-disk.ts'
import { systemClock } from '../../core/clock.ts'
import { type Command, Flags, UsageError } from '../command/command.ts'
import { TOKENS_FILE_OPTION } from '../flags/token.ts'

const MS_PER_DAY = 86_400_000
const MOST_DAYS = 36_500

/** `weir token create`: adds a token to a tokens file. */
export const tokenCreateCommand: Command = {
  name: 'token create',
  summary: 'Create a token with a role, and print it once',
  options: {
    role: {
      type: 'string',
      value: 'ROLE',
      help: 'read (query), write (also send records) or admin (also change jobs and models)',
    },
    name: { type: 'string', value: 'TEXT', default: '', help: 'Who or what uses the token' },
    days: { type: 'string', value: 'N', help: 'Days until it expires (default: never)' },
    rate: { type: 'string', value: 'N', help: 'Most requests a second (default: no limit)' },
    burst: {
      type: 'string',
      value: 'N',
      help: 'With --rate: requests at once after a pause (default: those of a second)',
    },
    ...TOKENS_FILE_OPTION,
  },
  details: `The token goes to standard output, and nothing but its hash is stored: it cannot be shown again. Servers
that were started with --tokens FILE accept it about a second later.

Examples:
  weir token create --role read --name dashboard --file tokens.json
  weir token create --role write --days 90 --rate 500 > ingest.token`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const file = flags.string('file')
    const limit = limitOf(flags)
    const days = flags.optionalInteger('days', 1, MOST_DAYS)
    const createdMs = systemClock.nowMs()
    const { text, record } = createToken(
      {
        name: nameOf(flags),
        role: flags.choice('role', ROLES),
        createdMs,
        ...(days === undefined ? {} : { expiresMs: createdMs + days * MS_PER_DAY }),
        ...(limit === undefined ? {} : { limit }),
      },
      randomBytes(TOKEN_RANDOM_BYTES),
    )
    await changeTokens(file, (records) => [...records, record])
    const { id, role, name } = record
    if (flags.boolean('json')) io.out(JSON.stringify({ token: text, id, role, name, file }))
    else {
      io.out(text)
      io.err(
        `token ${id} with the role ${role} is in ${file}; keep the token, it is shown only now`,
      )
    }
    return 0
  },
}

function nameOf(flags: Flags): string {
  const name = flags.string('name')
  if (/^[^\p{Cc}]{0,100}$/u.test(name)) return name
  throw new UsageError('--name takes at most 100 characters, without control characters')
}

function limitOf(flags: Flags): RateLimit | undefined {
  if (flags.optional('rate') === undefined) {
    if (flags.optional('burst') !== undefined) throw new UsageError('--burst needs --rate')
    return undefined
  }
  const perSecond = flags.number('rate')
  if (perSecond <= 0) throw new UsageError('--rate must be above 0')
  const burst = flags.optionalInteger('burst', 1) ?? Math.max(1, Math.ceil(perSecond))
  return { perSecond, burst }
}
