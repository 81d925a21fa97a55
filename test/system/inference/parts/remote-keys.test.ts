import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { needs } from '../../../run/needs.ts'
import { hasOpenssl, writeCertificates } from '../../../services/certificates.ts'
import { weir } from '../../cli/command-process.ts'

const KEY = 'key-of-the-peer'

describe(
  'weir run models --remote-keys, with a server that has TLS',
  needs(await hasOpenssl(), 'openssl cannot make certificates here'),
  () => {
    let folder: string
    let peer: Server
    let origin: string
    const seen = new Set<string | undefined>()
    const at = (name: string): string => join(folder, name)

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-keys-'))
      await writeCertificates(folder)
      const [cert, key] = await Promise.all(
        ['server.crt', 'server.key'].map((name) => readFile(at(name))),
      )
      peer = createServer({ cert, key }, (request, response) => {
        const { authorization } = request.headers
        seen.add(authorization)
        if (authorization !== `Bearer ${KEY}`) return response.writeHead(401).end()
        if (request.method === 'GET') {
          return response.end(JSON.stringify({ data: [{ id: 'there' }] }))
        }
        return response.end(JSON.stringify({ id: 'a', object: 'chat.completion', choices: [] }))
      })
      await new Promise<void>((done) => peer.listen(0, '127.0.0.1', done))
      origin = `https://localhost:${(peer.address() as AddressInfo).port}`
      await writeFile(
        at('chat.json'),
        JSON.stringify({ url: origin, model: 'there', protocol: 'openai' }),
      )
      await pushModel(nodeFileSystem, { root: at('models'), name: 'chat', file: at('chat.json') })
      await writeFile(at('keys.yaml'), `${origin}: { env: PEER_KEY }\n`)
    })

    afterAll(async () => {
      peer?.closeAllConnections()
      peer?.close()
      await rm(folder, { recursive: true, force: true })
    })

    const start = (env: Record<string, string>) => {
      const ports = ['--port', '0', '--http', '127.0.0.1:0', '-D', 'rest.enabled=false']
      const words = ['run', 'models', '--repository', 'models', ...ports]
      return weir([...words, '--remote-keys', 'keys.yaml'], { cwd: folder, env })
    }

    it('asks it with the key of the environment, and prints no part of it', async () => {
      await using server = start({ PEER_KEY: KEY, NODE_EXTRA_CA_CERTS: at('ca.crt') })
      const url = (await server.printed(/(http:\/\/127\.0\.0\.1:\d+)\/v2; /))[1]!
      await server.printed(/1 of 1 models answer/)
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'chat', messages: [] }),
      })
      expect([answer.status, await answer.json()]).toMatchObject([200, { model: 'chat' }])
      expect(seen).toContain(`Bearer ${KEY}`)
      server.signal('SIGTERM')
      const { code, stdout, stderr } = await server.ended
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain(KEY)
    })

    it('sends no key to a server whose certificate no one has signed', async () => {
      seen.clear()
      await using server = start({ PEER_KEY: KEY })
      await server.printed(/chat.*does not answer \([A-Z_]*(CERT|VERIFY)[A-Z_]*\)/)
      expect([...seen]).toEqual([])
    })

    it('does not start where the environment has no key', async () => {
      const { code, stderr } = await start({}).ended
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('the environment variable PEER_KEY has no key'),
      ])
    })
  },
)
