import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { GatewayWorld } from '../world.ts'

/** The first line of the answer to a POST of a body that says it is gzip. */
async function statusOf(port: number, path: string, body: Buffer, type: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Content-Type: ${type}`,
    'Content-Encoding: gzip',
    'Connection: close',
    `Content-Length: ${body.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  await once(socket, 'close')
  return answer.slice(0, answer.indexOf('\r\n'))
}

it('a damaged gzip body fails its request, also where no one reads the body, and nothing else', async () => {
  const app = await new GatewayWorld().open()
  try {
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const good = gzipSync('1,2,3\n')
    const noise = Buffer.concat([good.subarray(0, 10), Buffer.alloc(50_000, 0xa8)])
    const large = gzipSync(Buffer.alloc(17_000_000, 0x31))
    large.fill(0, large.length - 2_000)
    for (const body of [noise, large, good.subarray(0, 12)]) {
      for (const [path, type] of [
        ['/v1/observe', 'text/csv'],
        ['/v1/observe', 'text/unknown'],
        ['/v1/predict', 'application/json'],
        ['/nothing', 'text/csv'],
        ['/pref/1/2', 'text/plain'],
      ] as const) {
        expect(await statusOf(port, path, body, type)).toMatch(/^HTTP\/1\.1 4\d\d /)
      }
    }
    expect(await statusOf(port, '/v1/observe', good, 'text/csv')).toBe('HTTP/1.1 200 OK')
  } finally {
    await app.close()
  }
})
