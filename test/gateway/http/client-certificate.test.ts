import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { needs } from '../../run/needs.ts'
import { hasOpenssl, writeCertificates } from '../../services/certificates.ts'
import { GatewayWorld } from '../world.ts'

describe(
  'a gateway with an authority of its clients',
  needs(await hasOpenssl(), 'openssl makes no certificates here'),
  () => {
    it('answers only clients with a certificate that the authority has signed', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'weir-gateway-tls-'))
      const pem = (name: string): string => readFileSync(join(folder, name), 'utf8')
      await writeCertificates(folder)
      const [cert, key, ca] = [pem('server.crt'), pem('server.key'), pem('ca.crt')]
      const app = await new GatewayWorld().open({}, { tls: { cert, key, ca } })
      try {
        await app.listen({ host: '127.0.0.1', port: 0 })
        const { port } = app.server.address() as AddressInfo
        const ask = async (own: { cert?: string; key?: string }): Promise<number | undefined> => {
          const options = {
            host: '127.0.0.1',
            port,
            path: '/v1/predict/1/50',
            agent: false,
            ca,
            ...own,
          }
          const [answer] = (await once(request(options).end(), 'response')) as [IncomingMessage]
          answer.resume()
          return answer.statusCode
        }
        expect(await ask({ cert: pem('client.crt'), key: pem('client.key') })).toBe(200)
        await expect(ask({})).rejects.toThrow()
        await expect(ask({ cert: pem('foreign.crt'), key: pem('foreign.key') })).rejects.toThrow()
      } finally {
        await app.close()
        await rm(folder, { recursive: true, force: true })
      }
    })
  },
)
