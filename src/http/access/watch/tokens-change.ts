import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry } from '../audit.ts'
import type { TokenRecord } from '../token.ts'

/** The audit entry of a change of the tokens file: `+` added, `-` revoked, `~` changed; undefined for none. */
export function tokensChange(
  before: readonly TokenRecord[],
  now: readonly TokenRecord[],
): AuditEntry | undefined {
  const known = new Map(before.map((record) => [record.id, record]))
  const kept = new Set(now.map(({ id }) => id))
  const parts = [
    ...now.flatMap((record) => {
      const old = known.get(record.id)
      if (old === undefined) return [`+${record.id}`]
      return isDeepStrictEqual(old, record) ? [] : [`~${record.id}`]
    }),
    ...before.flatMap(({ id }) => (kept.has(id) ? [] : [`-${id}`])),
  ]
  if (parts.length === 0) return undefined
  const on = parts.join(' ')
  return {
    who: 'the tokens file',
    name: '',
    from: '',
    did: 'tokens',
    on,
    outcome: 'done',
    status: 'OK',
  }
}
