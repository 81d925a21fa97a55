import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import type { AuditEntry } from '../../../src/http/access/audit.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { TokenUses } from '../../../src/http/access/token-uses.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { ForwardingProxy } from '../../http/forwarding-proxy.ts'
import { GatewayWorld } from '../world.ts'

const PROXY = '127.0.0.2'
const CLIENT = '127.0.0.3'
const admin = tokenOf(1, { role: 'admin' })

it.each([
  ['a trusted proxy', [PROXY], CLIENT],
  ['a peer that is none', ['10.0.0.5'], PROXY],
])(
  'through %s, the audit and the uses of tokens have the right address',
  async (_, proxies, from) => {
    const entries: AuditEntry[] = []
    const share = { ...shareAccess([admin.record]), proxies }
    const access = new AccessControl(share, systemClock)
    const app = await new GatewayWorld().open(
      { modelControl: {} },
      { access, proxies: access.proxies, audit: (entry) => entries.push(entry) },
    )
    try {
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      await using proxy = await ForwardingProxy.open(port, PROXY)
      const ask = async (method: string, path: string): Promise<number | undefined> => {
        const headers = { authorization: `Bearer ${admin.text}` }
        const place = { host: '127.0.0.1', port: proxy.port, localAddress: CLIENT, agent: false }
        const sent = request({ ...place, method, path, headers })
        const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage]
        answer.resume()
        return answer.statusCode
      }
      expect(await ask('GET', '/v1/predict/1/50')).toBe(200)
      expect(new TokenUses(share.uses).read()).toMatchObject([{ address: from }])
      await ask('POST', '/v2/repository/models/ocr/load')
      expect(entries).toMatchObject([{ who: admin.record.id, from, did: 'load' }])
    } finally {
      await app.close()
    }
  },
)
