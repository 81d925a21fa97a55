import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { WITHOUT_REGISTRY } from '../../../src/gateway/models/without-registry.ts'
import type { AuditEntry } from '../../../src/http/access/audit.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { GatewayWorld } from '../world.ts'

const admin = tokenOf(1, { role: 'admin' })

it.each([
  ['/register?name=ocr&format=onnx', 'register', 'name=ocr format=onnx'],
  ['/v2/repository/models/ocr/load', 'load', 'model=ocr'],
  ['/v2/repository/models/ocr/unload', 'unload', 'model=ocr'],
  ['/v1/models/versions/7/promote', 'promote', 'version=7'],
  ['/v1/models/rollback', 'rollback', ''],
])('a change of models through a gateway leaves one line: %s', async (url, did, on) => {
  const entries: AuditEntry[] = []
  const access = new AccessControl(shareAccess([admin.record]), systemClock)
  const app = await new GatewayWorld().open(
    { modelControl: {}, models: WITHOUT_REGISTRY },
    { access, audit: (entry) => entries.push(entry) },
  )
  const post = async (token: string) => {
    await app.inject({ method: 'POST', url, headers: { authorization: `Bearer ${token}` } })
    return entries.splice(0)
  }
  const who = admin.record.id
  expect(await post(admin.text)).toMatchObject([
    { who, from: '127.0.0.1', did, on, outcome: 'failed' },
  ])
  expect(await post('wrong')).toMatchObject([
    { who: 'nobody', did, outcome: 'refused', status: '401' },
  ])
  await app.inject({
    method: 'POST',
    url: '/v1/observe',
    headers: { authorization: 'Bearer wrong' },
  })
  await app.inject({ url: '/v1/predict/1/50', headers: { authorization: `Bearer ${admin.text}` } })
  expect(entries).toEqual([])
  await app.close()
})
