import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import type { AuditEntry } from '../../../src/http/access/audit.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { TokenUses } from '../../../src/http/access/token-uses.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { requestFrame } from './frames.ts'
import { openPort, RawClient } from './open-port.ts'

const admin = tokenOf(1, { role: 'admin', name: 'ops' })

it.each([
  ['RepositoryModelLoad', 'load'],
  ['RepositoryModelUnload', 'unload'],
])('a change of models over gRPC leaves one line, also a refused one: %s', async (method, did) => {
  const entries: AuditEntry[] = []
  const access = new AccessControl(shareAccess([admin.record]), systemClock)
  const audit = (entry: AuditEntry): unknown => entries.push(entry)
  await using port = await openPort({ access, audit, services: { modelControl: {} } })
  using client = new RawClient(port.port)
  const request = requestFrame(method, { model_name: 'ocr' })
  const call = async (token: string): Promise<AuditEntry[]> => {
    await client.call(method, request, { authorization: `Bearer ${token}` })
    return entries.splice(0)
  }
  expect(await call(admin.text)).toEqual([
    {
      ...{ who: admin.record.id, name: 'ops', from: '127.0.0.1', did, on: 'model=ocr' },
      ...{ outcome: 'failed', status: expect.stringMatching(/^(404|501)$/) },
    },
  ])
  expect(await call('wrong')).toMatchObject([
    { who: 'nobody', from: '127.0.0.1', did, outcome: 'refused', status: '401' },
  ])
  await client.call('RepositoryIndex', requestFrame('RepositoryIndex', {}))
  expect(entries).toEqual([])
})

it('a use of a token over gRPC is noted with its address', async () => {
  const share = shareAccess([admin.record])
  await using port = await openPort({ access: new AccessControl(share, systemClock) })
  using client = new RawClient(port.port)
  const headers = { authorization: `Bearer ${admin.text}` }
  await client.call('ServerMetadata', requestFrame('ServerMetadata', {}), headers)
  expect(new TokenUses(share.uses).read()).toMatchObject([{ index: 0, address: '127.0.0.1' }])
})
