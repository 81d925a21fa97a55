import type { TokenRecord } from '../../access/token.ts'
import { readTokens } from '../../access/tokens-on-disk.ts'
import { systemClock } from '../../core/clock.ts'
import { type Command, Flags } from '../command/command.ts'
import { TOKENS_FILE_OPTION } from '../flags/token.ts'

/** `weir token list`: lists the tokens of a file, which holds only their hashes. */
export const tokenListCommand: Command = {
  name: 'token list',
  summary: 'List the tokens of a file: ids, roles, names and limits',
  options: TOKENS_FILE_OPTION,
  details: `Example:
  weir token list --file tokens.json`,
  run({ flags: values, io }) {
    const flags = new Flags(values)
    const records = readTokens(flags.string('file'))
    for (const record of records) {
      const { sha256: _, ...shown } = record
      io.out(flags.boolean('json') ? JSON.stringify(shown) : lineOf(record))
    }
    if (records.length === 0) io.err(`${flags.string('file')} has no tokens`)
    return Promise.resolve(0)
  },
}

function lineOf({ id, role, name, createdMs, expiresMs, limit }: TokenRecord): string {
  const rate = limit === undefined ? 'no limit' : `${limit.perSecond}/s, burst ${limit.burst}`
  return [
    id,
    role.padEnd(5),
    `created ${dayOf(createdMs)}`,
    expiryOf(expiresMs).padEnd(18),
    rate.padEnd(20),
    name,
  ].join('  ')
}

function expiryOf(expiresMs: number | undefined): string {
  if (expiresMs === undefined) return 'never expires'
  return `${expiresMs <= systemClock.nowMs() ? 'expired' : 'expires'} ${dayOf(expiresMs)}`
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
