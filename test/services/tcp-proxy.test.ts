import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pause } from '../run/pause.ts'
import { TcpProxy } from './tcp-proxy.ts'

let server: Server
let proxy: TcpProxy

beforeEach(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  proxy = await TcpProxy.start((server.address() as AddressInfo).port)
})

afterEach(async () => {
  await proxy.stop()
  server.close()
})

function connectToProxy(): Socket {
  const socket = connect(proxy.port, '127.0.0.1')
  // Without a listener, an error of a socket would end the process.
  return socket.on('error', () => undefined)
}

async function dial(): Promise<Socket> {
  const socket = connectToProxy()
  await once(socket, 'connect')
  return socket
}

async function echo(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString()
}

describe('TcpProxy', () => {
  it('passes bytes, with a delay if set', async () => {
    const socket = await dial()
    expect(await echo(socket, 'one')).toBe('one')
    proxy.delay(40)
    const start = performance.now()
    expect(await echo(socket, 'two')).toBe('two')
    // Both ways; a timer of Node may fire a millisecond early.
    expect(performance.now() - start).toBeGreaterThan(75)
  })

  it('passes a large transfer completely to a slow reader', async () => {
    const socket = await dial()
    const sent = Buffer.alloc(8 << 20, 'abcdefg')
    socket.end(sent)
    const received: Buffer[] = []
    for await (const chunk of socket) received.push(chunk as Buffer)
    expect(Buffer.compare(Buffer.concat(received), sent)).toBe(0)
  })

  it('cuts open connections and accepts new ones', async () => {
    const socket = await dial()
    await echo(socket, 'one')
    proxy.cut()
    await expect(once(socket, 'data')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await echo(await dial(), 'two')).toBe('two')
  })

  it('cuts in the middle of a transfer', async () => {
    const socket = await dial()
    proxy.cutAfterBytes(100_000)
    socket.write(Buffer.alloc(1 << 20))
    socket.resume()
    await expect(once(socket, 'close')).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  it('keeps a half-open connection silent', async () => {
    const socket = await dial()
    await echo(socket, 'one')
    proxy.set('half-open')
    let heard = false
    socket.on('data', () => {
      heard = true
    })
    socket.write('two')
    await pause(50, 'shows that nothing is heard')
    expect(heard).toBe(false)
    expect(socket.readyState).toBe('open')
    proxy.set('pass')
    expect(await echo(socket, 'three')).toBe('three')
  })

  it('freezes open connections permanently and accepts new ones', async () => {
    const socket = await dial()
    await echo(socket, 'one')
    proxy.freeze()
    let heard = false
    socket.on('data', () => {
      heard = true
    })
    socket.write('two')
    expect(await echo(await dial(), 'three')).toBe('three')
    await pause(50, 'shows that nothing is heard')
    expect(heard).toBe(false)
    expect(socket.readyState).toBe('open')
  })

  it('refuses connections', async () => {
    proxy.set('refuse')
    const socket = connectToProxy()
    await expect(once(socket, 'close')).rejects.toMatchObject({ code: 'ECONNRESET' })
  })
})
