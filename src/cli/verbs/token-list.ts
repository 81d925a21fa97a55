import { systemClock } from '../../core/clock.ts'
import { printable } from '../../core/text/printable.ts'
import { rightText } from '../../http/access/object-rights.ts'
import type { TokenRecord } from '../../http/access/token.ts'
import { readTokens } from '../../http/access/tokens-on-disk.ts'
import { readUses, type StoredUse } from '../../http/access/uses-file.ts'
import { type Command, Flags } from '../command/command.ts'
import { TOKENS_FILE_OPTION } from '../flags/token.ts'

/** `weir token list`: lists the tokens of a file, which holds only their hashes. */
export const tokenListCommand: Command = {
  name: 'token list',
  summary: 'List the tokens of a file: ids, roles, rights, limits, names and last uses',
  options: TOKENS_FILE_OPTION,
  details: `Servers that accept the tokens store each last use in FILE.uses, a few seconds later.

Example:
  weir token list --tokens tokens.json`,
  run({ flags: values, io }) {
    const flags = new Flags(values)
    const records = readTokens(flags.string('tokens'))
    const uses = readUses(flags.string('tokens'))
    for (const record of records) {
      const use = uses.get(record.id)
      io.out(flags.boolean('json') ? jsonOf(record, use) : lineOf(record, use))
    }
    if (records.length === 0) io.err(`${flags.string('tokens')} has no tokens`)
    return Promise.resolve(0)
  },
}

function jsonOf({ sha256: _, rights, ...shown }: TokenRecord, use: StoredUse | undefined): string {
  return JSON.stringify({
    ...shown,
    ...(rights === undefined ? {} : { rights: rights.map(rightText) }),
    ...(use === undefined ? {} : { lastUseMs: use.lastMs, lastUseFrom: use.from }),
  })
}

function lineOf(
  { id, role, name, createdMs, expiresMs, limit, rights }: TokenRecord,
  use: StoredUse | undefined,
): string {
  const rate = limit === undefined ? 'no limit' : `${limit.perSecond}/s, burst ${limit.burst}`
  return [
    id,
    role.padEnd(5),
    `created ${dayOf(createdMs)}`,
    expiryOf(expiresMs).padEnd(18),
    rate.padEnd(20),
    useText(use).padEnd(42),
    [name, ...(rights ?? []).map(rightText)].filter((text) => text !== '').join(' '),
  ]
    .join('  ')
    .trimEnd()
}

function useText(use: StoredUse | undefined): string {
  if (use === undefined) return 'never used'
  const time = new Date(use.lastMs).toISOString().replace(/\.\d+Z$/, 'Z')
  return printable(`used ${time} from ${use.from === '' ? 'unknown' : use.from}`)
}

function expiryOf(expiresMs: number | undefined): string {
  if (expiresMs === undefined) return 'never expires'
  return `${expiresMs <= systemClock.nowMs() ? 'expired' : 'expires'} ${dayOf(expiresMs)}`
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
