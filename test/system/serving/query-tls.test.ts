import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { QueryServer } from '../../../src/serving/server/query-server.ts'
import { needs } from '../../run/needs.ts'
import { FakeQueryBackend } from '../../serving/port/fake-query-backend.ts'

const run = promisify(execFile)

async function selfSigned(): Promise<{ key: string; cert: string } | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  try {
    await run('openssl', [...args, ...subject, '-keyout', key, '-out', cert, '-days', '2'])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } catch (error) {
    console.log(`skipped: openssl cannot make a certificate here (${String(error)})`)
    return undefined
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const pair = await selfSigned()

describe('a query server with TLS', needs(pair, 'openssl makes no certificates here'), () => {
  it('lets in only clients with a certificate when it names who signs them', async () => {
    const backend = new FakeQueryBackend('M')
    await using server = new QueryServer(backend, { tls: { ...pair!, ca: pair!.cert } })
    const port = await server.listen()
    backend.endpoints = [{ server: 'query-0', host: '', port }]
    const tls = { ca: pair!.cert, servername: 'localhost' }
    await using client = await WeirClient.connect({
      port,
      tls: { ...tls, ...pair! },
      deadlineMs: 60_000,
    })
    expect(client.routing.endpoints).toHaveLength(1)
    await expect(WeirClient.connect({ port, tls, deadlineMs: 500 })).rejects.toThrow()
  })

  it('answers only clients that trust its certificate', async () => {
    const backend = new FakeQueryBackend('M')
    backend.rows.set('1-U', Float32Array.of(1, 2))
    for (let i = 0; i < 3000; i++) backend.rows.set(`${i}-X`, new Float32Array(500).fill(i))
    await using server = new QueryServer(backend, { tls: pair! })
    const port = await server.listen()
    backend.endpoints = [{ server: 'query-0', host: '', port }]
    const tls = { ca: pair!.cert, servername: 'localhost' }
    await using client = await WeirClient.connect({ port, tls, deadlineMs: 60_000 })
    const calls = Array.from({ length: 500 }, () => client.predict('M', '1-U', '1-U'))
    expect((await Promise.all(calls)).every(({ score }) => score === 5)).toBe(true)
    const keys = Array.from({ length: 3000 }, (_, i) => `${i}-X`)
    const rows = await client.rows('M', keys)
    expect(rows.every((row, i) => row.ok && row.value[499] === i)).toBe(true)
    await expect(
      WeirClient.connect({ port, tls: { servername: 'localhost' } }),
    ).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
