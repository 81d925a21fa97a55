import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import type { AuditEntry } from '../../../src/http/access/audit.ts'
import { requestFrame } from './frames.ts'
import { openPort, RawClient } from './open-port.ts'

/** Error code of HTTP/2 of a stream that its client gives up. */
const CANCEL = 8
/** A clock on which all work takes longer than a turn of the event loop has. */
function slowClock(): Clock {
  let spentMs = 0
  return {
    ...systemClock,
    after: systemClock.after.bind(systemClock),
    monotonicMs: () => {
      spentMs += 6
      return systemClock.monotonicMs() + spentMs
    },
  }
}

describe('turns of a port of gRPC', () => {
  it('begins few of the calls that a client cancels at once', async () => {
    const entries: AuditEntry[] = []
    const audit = (entry: AuditEntry): unknown => entries.push(entry)
    await using port = await openPort({ audit, clock: slowClock() })
    using client = new RawClient(port.port)
    const change = requestFrame('RepositoryModelLoad', { model_name: 'ocr' })
    await client.call('RepositoryModelLoad', change)
    expect(entries.splice(0)).toHaveLength(1)
    const canceled = Array.from({ length: 100 }, () => {
      const { stream, ended } = client.open('RepositoryModelLoad')
      stream.close(CANCEL)
      return ended
    })
    await Promise.all(canceled)
    await client.call('RepositoryModelLoad', change)
    expect(entries.length).toBeLessThan(20)
  })
})
