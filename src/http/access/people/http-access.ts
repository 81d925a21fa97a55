import type { Clock } from '../../../core/clock.ts'
import type { AuditSink } from '../audit.ts'
import { AccessControl, type AccessShare } from '../control.ts'
import { isJwt, People } from './people.ts'

/** Access to an HTTP port: with tokens of the file and, where the operator named an issuer, with those of people. */
export function httpAccess(share: AccessShare, clock: Clock, audit?: AuditSink): AccessControl {
  const { people: settings } = share
  if (settings === undefined) return new AccessControl(share, clock, { audit })
  const people = new People(settings, clock)
  return new AccessControl(share, clock, {
    audit,
    people: {
      find: (token) => people.find(token),
      verify: (token) => people.verify(token),
      takes: isJwt,
    },
  })
}
