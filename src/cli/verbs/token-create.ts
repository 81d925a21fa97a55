import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { systemClock } from '../../core/clock.ts'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { systemCodeOf } from '../../files/file-system.ts'
import { type ObjectRight, parseRight } from '../../http/access/object-rights.ts'
import type { RateLimit } from '../../http/access/rate-bucket.ts'
import { ROLES } from '../../http/access/role.ts'
import { createToken, TOKEN_RANDOM_BYTES } from '../../http/access/token.ts'
import { changeTokens } from '../../http/access/tokens-on-disk.ts'
import { type Command, Flags, needs } from '../command/command.ts'
import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { anyNumber, wholeNumber } from '../flag-kinds/numbers.ts'
import { output } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'
import { TOKENS_FILE_OPTION } from '../flags/token.ts'

const MS_PER_DAY = 86_400_000
const MOST_DAYS = 36_500

const RIGHT: FlagKind = {
  sort: 'pair',
  shown: 'ROLE:KIND:NAME',
  takes: 'ROLE:KIND:NAME',
  problem(text) {
    try {
      parseRight(text)
      return undefined
    } catch (error) {
      return `is wrong: ${messageOf(error)}`
    }
  },
}

const TOKEN_NAME: FlagKind = kindOf(
  { sort: 'text', shown: 'TEXT', takes: 'at most 100 characters, without control characters' },
  (text) => /^[^\p{Cc}]{0,100}$/u.test(text),
)

/** `weir token create`: adds a token to a tokens file. */
export const tokenCreateCommand: Command = {
  name: 'token create',
  summary: 'Create a token with a role, and print it once',
  options: {
    role: {
      type: 'string',
      isRequired: true,
      value: word(ROLES, 'ROLE'),
      help: 'read (query), write (also send records) or admin (also change jobs and models)',
    },
    right: {
      type: 'string',
      multiple: true,
      value: RIGHT,
      help: 'Right on a model, state, topic or job, or on all whose names begin so: NAME* (repeatable; default: the role holds for all)',
    },
    name: { type: 'string', value: TOKEN_NAME, default: '', help: 'Who or what uses the token' },
    days: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_DAYS }),
      help: 'Days until it expires (default: never)',
    },
    rate: {
      type: 'string',
      value: anyNumber({ above: 0 }, 'N'),
      help: 'Most requests a second (default: no limit)',
    },
    burst: {
      type: 'string',
      needs: [needs('rate')],
      value: wholeNumber({ min: 1 }),
      help: 'With --rate: requests at once after a pause (default: those of a second)',
    },
    out: {
      type: 'string',
      value: output(),
      help: 'Write the token to this new file, which only you may read (default: print it)',
    },
    ...TOKENS_FILE_OPTION,
  },
  details: `The token goes to standard output or to --out, and nothing but its hash is stored: it cannot be shown again. Servers
that were started with --tokens FILE accept it about a second later.

With --right, the token may act only on what its rights name; its role then holds for what is no model, state, topic
or job, such as /metrics and the end of the process.

Examples:
  weir token create --role read --name dashboard --tokens tokens.json
  weir token create --role read --right read:model:fraud-* --right write:topic:ratings
  weir token create --role write --days 90 --rate 500 --out ingest.token`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const file = flags.string('tokens')
    const limit = limitOf(flags)
    const rights = rightsOf(flags)
    const days = flags.optionalNumber('days')
    const createdMs = systemClock.nowMs()
    const { text, record } = createToken(
      {
        name: flags.string('name'),
        role: flags.choice('role', ROLES),
        createdMs,
        ...(days === undefined ? {} : { expiresMs: createdMs + days * MS_PER_DAY }),
        ...(limit === undefined ? {} : { limit }),
        ...(rights === undefined ? {} : { rights }),
      },
      randomBytes(TOKEN_RANDOM_BYTES),
    )
    const out = flags.optional('out')
    // A token that cannot be written must not be accepted.
    if (out !== undefined) writeNew(out, `${text}\n`)
    await changeTokens(file, (records) => [...records, record])
    const { id, role, name } = record
    const shown = out === undefined ? { token: text } : { out }
    if (flags.boolean('json')) io.out(JSON.stringify({ ...shown, id, role, name, file }))
    else {
      if (out === undefined) io.out(text)
      const where = out === undefined ? 'keep the token, it is shown only now' : `it is in ${out}`
      io.err(`token ${id} with the role ${role} is accepted by ${file}; ${where}`)
    }
    return 0
  },
}

function rightsOf(flags: Flags): readonly ObjectRight[] | undefined {
  const texts = flags.list('right')
  return texts.length === 0 ? undefined : texts.map(parseRight)
}

/** Writes a file that only this user may read. Throws FILE_EXISTS, PERMISSION_DENIED. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') {
      throw new WeirError('FILE_EXISTS', `--out: ${path} exists; name a new file, or remove it`)
    }
    throw asWeirError(error, 'INVALID_ARGUMENT', '--out')
  }
}

function limitOf(flags: Flags): RateLimit | undefined {
  const perSecond = flags.optionalNumber('rate')
  if (perSecond === undefined) return undefined
  const burst = flags.optionalNumber('burst') ?? Math.max(1, Math.ceil(perSecond))
  return { perSecond, burst }
}
